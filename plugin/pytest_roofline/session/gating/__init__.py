"""A run or a set of them against a baseline: result files in; lines for the terminal, and an exit code, out.

`analysis` calls the commands that show and judge results, `baseline` holds them against one (``--gate``), and `sets`
repeats the run (``--sessions``).
"""
