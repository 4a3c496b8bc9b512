"""One session by itself: its result file in; its machine, code and setup, and the step time of each case out.

`observation` has a case's step time and how well its rounds know it, or why there is none, `point_observations` those
of placed points. `runs` knows code and setup, `observed_machine` which machine it was, its clocks and others' load.
"""
