"""One session by itself: its result file in; its machine, code and setup, and the step time of each case out.

`observation` has a case's step time and how well its rounds know it, or why there is none; `runs` knows machine, code
and setup, `machine_state` the clocks and others' load, and `scatter` is `roofline sessions`.
"""
