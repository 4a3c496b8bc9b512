"""The order of cases: shuffled by seed and session, so that what drifts doesn't always meet the last ones."""

from __future__ import annotations

import pytest

CASES = """
    import pytest

    def test_first():
        pass

    @pytest.mark.parametrize("number", range(8))
    def test_it(roofline, number):
        pass

    @pytest.mark.roofs
    def test_roof(roofline):
        pass

    def test_last():
        pass
"""


def order(project: pytest.Pytester, *arguments: str) -> list[str]:
    shown = project.runpytest_inprocess("--collect-only", "-q", "--roofline-device", "cpu", *arguments)
    return [line.partition("::")[2] for line in shown.outlines if "::" in line]


def test_cases_are_shuffled_by_the_seed(project: pytest.Pytester) -> None:
    """Roofs stay first, and tests that don't measure stay in their places."""
    project.makepyfile(CASES)
    given = order(project)
    cases = [f"test_it[{number}]" for number in range(8)]
    assert given == ["test_roof", "test_first", *cases, "test_last"]
    first, other = (order(project, "--roofline-order", "random", "--roofline-seed", seed) for seed in "12")
    assert order(project, "--roofline-order", "random", "--roofline-seed", "1") == first
    for shuffled in (first, other):
        assert [one for one in shuffled if one not in cases] == ["test_roof", "test_first", "test_last"]
        assert shuffled[1] == "test_first"
        assert sorted(shuffled) == sorted(given)
    assert len({*map(tuple, (given, first, other))}) == 3
