"""One run: options and cases in; a results file, the gate and the bounds at its end out.

`hooks` and `outcomes` connect a `run` to pytest, `results_file` writes its file, `progress` shows how far it is,
`resume` goes on with it, `shard` chooses its part of the cases, `case_timeout` ends it in a case that hangs, and
`expected_bounds` holds its cases against what is expected of them. The folder `gating` repeats it and compares it with
a baseline; it imports nothing from here.
"""
