"""report.md: the results as a written report. `sections` puts together what `document_tables` and
`conclusions` have."""
