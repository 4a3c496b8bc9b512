"""Other programs that look at a case: torch's profiler, ncu, nsys, perf.

In comes what a case's step is and where a program may be; out come what it counted, or why it can't be used here and
what helps: each check of a machine answers with a `check.Check`. `tools` finds the programs, `profiler_access` tries
them before any test, `checkup` has the list of checks that `doctor` shows.
"""
