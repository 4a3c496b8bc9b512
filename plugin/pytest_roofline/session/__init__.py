"""One run: options and cases in; a results file, its sets, the gate and the bounds at its end out.

`hooks` and `outcomes` connect a `run` to pytest, `results_file` writes its file, `progress` shows how far it is,
`resume` goes on with it, `case_timeout` ends it in a case that hangs, `asserted_bounds` and `baseline` hold it against
what is expected, `sets` repeats it, and `analysis` calls the commands that show and judge it.
"""
