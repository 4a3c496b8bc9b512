"""Two sides held against each other: files in; verdicts, their table, and the exit code of every gate out.

`runs` knows a file's machine and code, `session_observations` reads what each session says of a case (`observation`),
`matching` finds what may be compared (`workload`: the same work), `effect` and `verdict` are the statistics
(`paired`: of turns), `comparison` judges every case, `gate` has the policy, `verdict_table` and `junit` show, and
`scatter` is `roofline sessions`.
"""
