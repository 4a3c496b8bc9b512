"""Cases counted by hardware counters: the order to ncu, its runs, and what they counted."""
