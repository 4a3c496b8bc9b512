"""Expected bounds: results and a file of expectations in; findings, their table, or a new file out.

`fraction` says how well a case's fraction of its roof is known, `judging` holds points against expectations,
`checked` has the entries that no case is of, `bounds_table` shows, `locking` chooses and `lock_file` writes.
"""
