"""Show results: placed points come in, tables go out; and tables as text, as frames and as files.

`tables` says what a table and a column are, `columns` has every figure of a case,
`machine_columns` those of a machine. The folder `cases` makes the tables of cases, the folder `step` those of a step
taken apart. `render` makes text of a table, `export` what a program reads.
"""
