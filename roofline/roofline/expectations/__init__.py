"""Expected bounds: results and a file of expectations in; what came of them, or a new file out.

`fraction` says how well a case's fraction of its roof is known, `judging` holds results against expectations, `outcome`
is what came of it, with the entries that no case is of, `bounds_table` shows it and hands it to the gate, `locking`
chooses and `lock_file` writes.
"""
