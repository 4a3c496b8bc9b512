"""Files of NVIDIA's and torch's profilers in, kernels with their times and counters out.

`ncu` has counters; `nsys` and `kineto` (torch's traces) give a `timeline`, which `timeline_tables` shows.
"""
