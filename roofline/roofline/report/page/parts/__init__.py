"""Parts of the page: points come in, plain dicts go out, or a table that the report's other files have, too.

`roofline_data`, `batch_data` and `sessions_data` are of a machine; `verdicts_data` of a comparison with a baseline;
`attention_data` has what a reader should look at first. `case_data` is the panel of a case, `step_data` its part on the
step.
"""
