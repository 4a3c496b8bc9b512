"""The commands below "Compare and gate" in ``roofline --help``: sides, histories or expected bounds come in, verdicts
and an exit code go out.

`judging_options` has what several of them judge by, `ab` what it shares with `selftest`.
"""
