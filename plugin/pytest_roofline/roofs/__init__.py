"""The roofs of a machine: a device goes in; its FLOP/s, byte/s and launch latency come out.

`kernels` has what is run for each roof, and samples it. `run_roofs` gets those that a run's cases need: measured by its
tests, `stored` by an earlier run, or measured by `required`. `roofs_command` is ``roofline roofs``.
"""
