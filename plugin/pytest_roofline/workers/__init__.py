"""Cases measured by other processes than the one that keeps the results: those of pytest-xdist, and one for each case.

In comes which device a process owns, and after each test what its run gained; out goes the same into the main
process's run, as if it had measured the case itself.
"""
