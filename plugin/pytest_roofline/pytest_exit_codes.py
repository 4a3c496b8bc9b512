"""pytest's exit codes: the worst of several, and the one that an exit code of ``roofline check`` becomes.

====  ==============================================================================================
0     every test passed
1     a test failed; with ``--gate``: a case is slower than the baseline
2     interrupted
3     internal error; of a set: a session crashed
4     usage error, or nothing to go by: nothing measured, no device, nothing comparable in the baseline,
      results that could not be shown or judged
5     no test was collected
====  ==============================================================================================
"""

from __future__ import annotations

from collections.abc import Iterable

PASSED, FAILED, INTERRUPTED, INTERNAL_ERROR, USAGE_ERROR, NO_TESTS = range(6)

_WORST_FIRST = (INTERNAL_ERROR, USAGE_ERROR, INTERRUPTED, FAILED, NO_TESTS, PASSED)
"""What is broken comes before what was asked wrongly, that before what was cut short, and all before a verdict: a
failed test tells something of the code, the others of the run."""


def worst(codes: Iterable[int]) -> int:
    """The worst of several sessions' exit codes. One that pytest doesn't have is a crash: an internal error."""
    found = {code if code in _WORST_FIRST else INTERNAL_ERROR for code in codes}
    return next((code for code in _WORST_FIRST if code in found), PASSED)


def of_check(code: int) -> int:
    """Turn an exit code of ``roofline check`` into pytest's: 0 and 1 stay, 2 (usage) and 3 (cannot compare) are 4.

    Not 3: pytest's 3 says that pytest itself broke.
    """
    return code if code in (PASSED, FAILED) else USAGE_ERROR
