"""The commands below "Compare and gate" in ``roofline --help``: sides, histories or expected bounds come in, verdicts
and an exit code go out.

`baseline_candidate` has what `compare` and `check` share, `ab_options` what `ab` and `selftest` do.
"""
