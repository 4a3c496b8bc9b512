"""The commands below "Read results" in ``roofline --help``: result files come in, tables, figures and files go out.

`result_tables` has those that show a table, `ops` takes a step apart, `plot_report` writes figures and the report,
`store` keeps very many results, and `recover` makes the file of a run that was killed.
"""
