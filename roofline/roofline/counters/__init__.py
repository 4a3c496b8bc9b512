"""Hardware counters: their metrics by chip, figures and kinds of kernels, and counted work held against them."""
