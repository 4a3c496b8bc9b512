"""``roofline ab``: two sides of one project measured in turns on one machine, and held against each other.

`side` says what a side is and how its processes are started, `worktrees` makes the trees of git revisions in a folder
of `temporary`, `process` is one measuring process, `stragglers` ends whom it leaves behind, `duel` hands two of them
their turns, `provenance` makes sure that each ran its own code, `trial` goes through pairs of processes until the cases
are settled, `turns_file` keeps every turn, `table` shows what came out.

The measuring is done by pytest processes that load `pytest_roofline.ab`; nothing here imports torch or
pytest. So it is no plug-in of the program like the commands that count and measure in its own process, and works as
well where nothing is installed.
"""
