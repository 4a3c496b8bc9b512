"""Two sides held against each other: files in; verdicts, their table, and the exit code of every gate out.

The folders come first, and each imports only from those before it: `observations` of one session, `effects` between
observations, and the `sides` whose cases are matched. Then `judged_case` judges a case by the `comparison_settings` and
`comparison` all of them, `gate` has the policy, and `comparison_lines`, `verdict_table` and `junit` say what came of
it. `sessions_table` shows how far sessions of the same code scatter.
"""
