"""From rounds: the step time, its margin, and the means of the machine's readings."""
