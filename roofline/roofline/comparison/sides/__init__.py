"""Baseline and candidate: files and folders in; the cases that may be compared, and why others may not, out.

`session_observations` reads a side, `compared_figures` has what can be compared beside the step time, `workload` says
whether two sides measured the same work, and `matching` puts the cases of both sides together.
"""
