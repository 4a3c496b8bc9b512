"""Events of the host's cores, counted by perf stat."""
