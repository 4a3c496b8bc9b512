"""Make what is measured: a model by name or of a test goes in; a workload, one step of it and its case come out.

`models` finds models by name, `own_model` takes a test's; `step` is a workload with its batches and a step of it;
`precision`, `compiling` and `switches` are how it runs, `case` what of it is recorded.
"""
