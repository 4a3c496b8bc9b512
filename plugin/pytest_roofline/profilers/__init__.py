"""Other programs that look at a case: torch's profiler, ncu, nsys, perf.

In comes what a case's step is and where a program may be; out come what it counted, or why it can't be used here and
what helps. `tools` finds the programs, `preflight` tries them before any test, `checkup` is what `doctor` shows.
"""
