"""How many sessions of a side lack a case, which of them should have had it, and when that is too many."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import pytest

from roofline.comparison.matching import NONE, shortfalls, shortfalls_of_new
from roofline.comparison.observation import Observation
from roofline.comparison.runs import Identity, Run
from roofline.comparison.sides import Seen

_CASE = "resnet50"


def _runs(side: str, count: int, told: Sequence[int] = ()) -> list[Run]:
    """``told``: those that say that the case failed."""
    return [
        Run(
            file=f"{side}{number}",
            machine=Identity(label="lab", parts=()),
            setup={},
            when="",
            commit=None,
            dirty=None,
            not_measured={_CASE: "failed: assert 1 == 2"} if number in told else {},
        )
        for number in range(count)
    ]


def _seen(runs: Sequence[Run], invalid: int = 0) -> list[Seen]:
    """The case in each of these runs; of the first so many no number of it can be used."""
    observation = Observation(step_time_s=0.1, error=0.001, rounds=20, left_out=0)
    good = [
        Seen(run=run, id=_CASE, test="t", case=None, device=None, observation=observation, step_time_s=0.1)
        for run in runs
    ]
    return [
        replace(one, observation=None, problem="disproved") if number < invalid else one
        for number, one in enumerate(good)
    ]


@pytest.mark.parametrize(
    ("invalid", "of", "too_many"), [(1, 3, False), (1, 2, True), (2, 4, True), (2, 5, False), (3, 5, True)]
)
def test_half_of_the_new_sessions_are_too_many(invalid: int, of: int, too_many: bool) -> None:
    """Exactly half are; of a case that only the new side has as well."""
    base, new = _runs("b", of), _runs("n", of)
    assert shortfalls(_CASE, _seen(base), _seen(new, invalid), base, new).too_many is too_many
    assert shortfalls_of_new(_seen(new, invalid)).too_many is too_many


@pytest.mark.parametrize(("there", "too_many"), [(3, False), (2, True), (1, True)])
def test_half_of_the_new_sessions_without_it_are_too_many(there: int, too_many: bool) -> None:
    """Of four."""
    base, new = _runs("b", 4), _runs("n", 4)
    assert shortfalls(_CASE, _seen(base), _seen(new[:there]), base, new).too_many is too_many


def test_of_a_case_that_lacks_nothing_there_is_nothing_to_tell() -> None:
    """Nor where the tests were run in parts, so that as many of the baseline's sessions lack it."""
    base, new = _runs("b", 4), _runs("n", 4)
    assert shortfalls(_CASE, _seen(base), _seen(new), base, new) == NONE
    assert shortfalls(_CASE, _seen(base[:2]), _seen(new[:2]), base, new) == NONE


def test_a_new_session_that_tells_that_the_case_failed_has_lost_it() -> None:
    """However many of the baseline's sessions lack it: two of four, of which one says why, are half."""
    base, new = _runs("b", 4), _runs("n", 4, told=(3,))
    found = shortfalls(_CASE, _seen(base[:2]), _seen(new[:2]), base, new)
    assert [one.told for one in found.found] == [
        "missing from 2 of 4 new sessions: not in n2 and 1 more (failed: assert 1 == 2)"
    ]
    assert found.too_many
    of_base = shortfalls(_CASE, _seen(base[:2]), _seen(new[:2]), _runs("b", 4, told=(3,)), _runs("n", 4))
    assert [(one.side, one.kind) for one in of_base.found] == [("baseline", "missing")]
    assert not of_base.too_many


def test_sessions_that_were_never_meant_to_have_it_do_not_dilute_the_loss() -> None:
    """Half of each side's sessions are of other tests: one of the two that should have it is half, not a quarter."""
    base, new = _runs("b", 4), _runs("n", 4)
    found = shortfalls(_CASE, _seen(base[:2]), _seen(new[:2], invalid=1), base, new)
    assert [one.short for one in found.found] == ["1 of 4 new sessions invalid"]
    assert found.too_many
