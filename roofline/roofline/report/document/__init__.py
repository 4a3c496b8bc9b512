"""report.md: the results as a written report. `sections` puts together what `tables` and `analysis` have."""
