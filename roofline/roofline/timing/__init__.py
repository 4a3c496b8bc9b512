"""From rounds: the step time, its margin, flags, and the means of the machine's readings."""
