"""``roofline ab``: measure two sides of one project in turns on one machine, and judge each case.

In: options (`side` makes two sides of them, with the trees of `worktrees`, and checks what code each loaded) and
pytest's arguments. Out: an `AbResult` with a verdict for each case, its table and what the gate finds in it
(`turns_table`), and a file of all turns (`turns_file`).

`measuring_in_turns` starts pairs of processes (`process`) until each case has a verdict, `turn_taking` hands the two of
a pair their turns with `messages`. `selftest_outcome` judges the gate itself.

The measuring is done by pytest processes that load `pytest_roofline.ab`; nothing here imports torch or pytest.
"""
