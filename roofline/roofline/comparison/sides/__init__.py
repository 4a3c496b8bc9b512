"""Baseline and candidate: files and folders in; the cases that may be compared, and why others may not, out.

`side_files` reads a side, `session_results` what a session says of its cases. `compared_figures` has what can be
compared beside the step time, `workload` says whether two sides measured the same work, and `matching` puts the cases
of both sides together. `earlier_sessions` are those that only tell how far sessions scatter.
"""
