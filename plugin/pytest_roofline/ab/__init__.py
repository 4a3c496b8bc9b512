"""The measuring process of ``roofline ab``: it builds and warms up each case, then waits for its turn.

`worker` is the pytest plugin that these processes load, and nobody else's; `turns` is what the measuring loop sees of
the other side. What they say to the parent is in `roofline.ab.messages`.
"""
