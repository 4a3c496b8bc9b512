"""Proves what a measurement claims: a step that was timed goes in; checks with their evidence, and flags, come out.

`claims` has the checks. `passes` takes the steps after the timed rounds that give their evidence, and counts them.
`attached_profilers` and `denormals` flag what made the timed steps slower than they are elsewhere.
"""
