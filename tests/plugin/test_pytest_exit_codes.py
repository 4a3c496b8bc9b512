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


@pytest.mark.parametrize("code", [-11, -6, 17, 139])
def test_a_crash_is_an_internal_error(code: int) -> None:
    """A signal, and an exit code that pytest doesn't have."""
    assert pytest_exit_codes.worst([0, code]) == 3


@pytest.mark.parametrize(("of_check", "becomes"), [(0, 0), (1, 1), (2, 4), (3, 4), (-9, 4), (120, 4)])
def test_of_the_check_only_a_pass_passes(of_check: int, becomes: int) -> None:
    """A regression is a failed test; what could not be compared is 4, for 3 says that pytest broke."""
    assert pytest_exit_codes.of_check(of_check) == becomes
