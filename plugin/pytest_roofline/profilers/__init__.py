"""Other programs that look at a case: ncu, nsys, perf. Found, tried before any test, and asked after the timed rounds.

`system` is what all of them see of the machine, `tools` finds the programs, `preflight` tells whether they are usable
here and what helps if not, `ncu_status` reads ncu's own words.
"""
