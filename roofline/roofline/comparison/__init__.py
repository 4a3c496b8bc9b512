"""Two sides held against each other: files in; verdicts, their table, and the exit code of every gate out.

`runs` knows a file's machine and code, `session_observations` reads what each session says of a case (`observation`),
`compared_figures` has what can be compared beside the step time, `matching` finds what may be (`workload`: the same
work), `effect` and `verdict` are the statistics (`exact`: of what doesn't scatter, `paired`: of turns, `common_factor`:
of what all cases share, with `machine_state` for its cause), `judged_case` judges a case and `comparison` all of them,
`gate` has the policy, `verdict_table` and `junit` show, and `scatter` is `roofline sessions`.
"""
