"""What may have been left from another run is told with its file, and what surely wasn't isn't."""

from __future__ import annotations

import pytest

from roofline.comparison.runs import Identity, Run, before_the_baseline, days_apart, other_code


def _run(
    file: str, when: str = "2026-11-20T12:00:00+00:00", commit: str | None = "a" * 40, *, dirty: bool | None = False
) -> Run:
    machine = Identity(label="lab", parts=())
    return Run(file=file, machine=machine, setup={}, when=when, commit=commit, dirty=dirty, not_measured={})


def _at(day: int, hour: int = 12) -> str:
    return f"2026-11-{day:02}T{hour:02}:00:00+00:00"


BASE = [_run("b1", _at(10)), _run("b2", _at(11))]


def test_sessions_of_one_code_in_one_stretch_of_time_have_nothing_to_tell() -> None:
    """Up to a day, whichever came first; nor where no commit or no date is told."""
    runs = [_run("a", _at(20, 0)), _run("b", _at(21, 0)), _run("c", _at(20, 12))]
    untold = [_run("a", "", None, dirty=None), _run("b", _at(20)), _run("c", "", None, dirty=None)]
    for side in (runs, untold):
        assert (other_code("new side", side), days_apart("new side", side)) == ([], [])
    assert before_the_baseline(BASE, runs) == []


def test_other_code_than_the_newest_session_s_is_named() -> None:
    """In whatever order they were given; changes beside a commit make another code of it."""
    runs = [_run("new", _at(20)), _run("old", _at(2), "f" * 40), _run("changed", _at(19, 13), dirty=True)]
    assert other_code("baseline", runs) == [
        "2 of 3 sessions of the baseline are not of commit aaaaaaaa, as the newest is, and taken for the same code:"
        " old (commit ffffffff), changed (commit aaaaaaaa with changes)"
    ]
    untold = [_run("new", _at(20)), _run("whether", _at(20), dirty=None)]
    assert other_code("baseline", untold) == []


def test_other_days_than_the_newest_session_s_are_named() -> None:
    """Three of them, and how many more."""
    runs = [_run("new", _at(20)), _run("old", _at(2)), _run("close", _at(19, 13))]
    assert days_apart("baseline", runs) == [
        "1 of 3 sessions of the baseline began more than a day before its newest: old (2026-11-02)"
    ]
    runs = [_run("new", _at(20)), *(_run(f"old{day}", _at(day)) for day in range(1, 6))]
    assert days_apart("new side", runs) == [
        "5 of 6 sessions of the new side began more than a day before its newest: old1 (2026-11-01), old2 (2026-11-02),"
        " old3 (2026-11-03) and 2 more"
    ]


@pytest.mark.parametrize(
    ("commit", "dirty", "told"),
    [("a" * 40, False, False), ("a" * 40, None, True), ("a" * 40, True, True), (None, None, True), ("f", False, True)],
)
def test_one_session_from_before_the_baseline(commit: str | None, dirty: bool | None, told: bool) -> None:
    """Told unless it is surely of the newest one's code: then the sides took turns."""
    new = [_run("old", _at(9, 7), commit, dirty=dirty), _run("new", _at(12))]
    line = (
        "1 of 2 sessions of the new side began before the baseline (2026-11-10 12:00 UTC): is old (2026-11-09 07:00"
        " UTC) of another run?"
    )
    assert before_the_baseline(BASE, new) == ([line] if told else [])


def test_before_a_baseline_without_dates_is_nothing() -> None:
    """Nor is a session that tells none."""
    new = [_run("old", _at(9), "f" * 40), _run("new", _at(12))]
    assert before_the_baseline([*BASE, _run("b3", "")], new) == []
    assert before_the_baseline(BASE, [_run("some time", "", None), _run("new", _at(12))]) == []
