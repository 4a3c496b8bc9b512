"""Numbers and names as text: SI units, what a terminal must not obey, lines of a width."""
