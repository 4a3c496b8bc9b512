"""Two sides held against each other: what may be compared, how far they differ, and what that shows.

Each stage hands on frozen values: results -> `sides` (sessions of each case, and what can't be compared and why) ->
`observation` (one session's time of a case) -> `effect` (the difference and how well it is known) -> `verdict`.
"""
