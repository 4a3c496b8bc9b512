"""One run: its results file, sets of runs, the gate and the bounds at its end, and the hooks that do it."""
