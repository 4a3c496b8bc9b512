"""The worst of several exit codes, and what the check's become."""

from __future__ import annotations

from itertools import pairwise

import pytest

from pytest_roofline import pytest_exit_codes


def test_the_codes_are_pytests() -> None:
    """Their numbers are pytest's, which the module doesn't import: everybody's pytest loads the plugin."""
    codes = pytest.ExitCode
    assert pytest_exit_codes.PASSED == codes.OK
    assert pytest_exit_codes.FAILED == codes.TESTS_FAILED
    assert pytest_exit_codes.INTERRUPTED == codes.INTERRUPTED
    assert pytest_exit_codes.INTERNAL_ERROR == codes.INTERNAL_ERROR
    assert pytest_exit_codes.USAGE_ERROR == codes.USAGE_ERROR
    assert pytest_exit_codes.NO_TESTS == codes.NO_TESTS_COLLECTED


def test_the_order_from_worst_to_best() -> None:
    """Internal error, usage error, interrupted, failed, nothing collected, passed; in whatever order they come."""
    worst_first = [3, 4, 2, 1, 5, 0]
    for worse, better in pairwise(worst_first):
        assert pytest_exit_codes.worst([worse, better]) == pytest_exit_codes.worst([better, worse]) == worse
    assert pytest_exit_codes.worst(worst_first) == 3
