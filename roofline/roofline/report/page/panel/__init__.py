"""What the panel of a case shows: `case_data` makes plain dicts of a point, `step_data` the parts about its step."""
