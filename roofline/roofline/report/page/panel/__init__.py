"""What the panel of a case shows: a point in, plain dicts of texts out.

`panels` says which results have one, `case_data` makes it, `step_data` its parts about the step.
"""
