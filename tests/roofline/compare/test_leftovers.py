"""What may have been left from another run is told with its file, and what surely wasn't isn't."""

from __future__ import annotations

import pytest

from roofline.compare.identity import Identity
from roofline.compare.leftovers import code_of, left_from_another_run, left_in_side
from roofline.compare.sides import Run


def _run(
    file: str, when: str = "2026-11-20T12:00:00+00:00", commit: str | None = "a" * 40, *, dirty: bool | None = False
) -> Run:
    machine = Identity(label="lab", parts=())
    return Run(file=file, machine=machine, setup={}, when=when, commit=commit, dirty=dirty, not_measured={})


def _at(day: int, hour: int = 12) -> str:
    return f"2026-11-{day:02}T{hour:02}:00:00+00:00"


BASE = [_run("b1", _at(10)), _run("b2", _at(11))]


@pytest.mark.parametrize(
    ("commit", "dirty", "words"),
    [
        ("0123456789", False, "commit 01234567"),
        ("0123456789", None, "commit 01234567"),
        ("0123456789", True, "commit 01234567 with changes"),
        (None, None, "no commit told"),
    ],
)
def test_code_in_words(commit: str | None, dirty: bool | None, words: str) -> None:
    """As much of the commit as tells it apart, and whether there were changes beside it."""
    assert code_of(_run("a", commit=commit, dirty=dirty)) == words


def test_sessions_of_one_code_in_one_stretch_of_time_have_nothing_to_tell() -> None:
    """Up to a day, whichever came first; nor where no commit or no date is told."""
    runs = [_run("a", _at(20, 0)), _run("b", _at(21, 0)), _run("c", _at(20, 12))]
    assert left_in_side("new side", runs) == []
    untold = [_run("a", "", None, dirty=None), _run("b", _at(20)), _run("c", "soon", None, dirty=None)]
    assert left_in_side("new side", untold) == []
    assert left_from_another_run(BASE, runs) == []


def test_other_code_and_other_days_of_a_side_are_named() -> None:
    """Against its newest session, in whatever order they were given."""
    runs = [_run("new", _at(20)), _run("old", _at(2), "f" * 40), _run("changed", _at(19, 13), dirty=True)]
    assert left_in_side("baseline", runs) == [
        "2 of 3 sessions of the baseline are not of commit aaaaaaaa, as the newest is, and taken for the same code:"
        " old (commit ffffffff), changed (commit aaaaaaaa with changes)",
        "1 of 3 sessions of the baseline began more than a day before its newest: old (2026-11-02)",
    ]


def test_many_are_counted() -> None:
    """Three are named."""
    runs = [_run("new", _at(20)), *(_run(f"old{day}", _at(day)) for day in range(1, 6))]
    assert left_in_side("new side", runs) == [
        "5 of 6 sessions of the new side began more than a day before its newest: old1 (2026-11-01), old2 (2026-11-02),"
        " old3 (2026-11-03) and 2 more"
    ]


def test_a_new_side_from_before_the_baseline_is_one_line() -> None:
    """Whatever else speaks against its files."""
    new = [_run("n1", _at(9, 7)), _run("n2", _at(9, 8), "f" * 40)]
    assert left_from_another_run(BASE, new) == [
        "the new side is older than the baseline (2026-11-09 08:00 UTC, 2026-11-10 12:00 UTC): is n1 and 1 more what"
        " the run just measured wrote?"
    ]


@pytest.mark.parametrize(
    ("commit", "dirty", "why"),
    [
        ("a" * 40, False, ""),
        ("a" * 40, None, "begun 2026-11-09 07:00 UTC, before the baseline"),
        (None, None, "begun 2026-11-09 07:00 UTC, before the baseline"),
        (
            "a" * 40,
            True,
            "of commit aaaaaaaa with changes, the newest session is of commit aaaaaaaa; begun 2026-11-09 07:00 UTC,"
            " before the baseline",
        ),
    ],
)
def test_one_session_from_before_the_baseline(commit: str | None, dirty: bool | None, why: str) -> None:
    """Told unless it is surely of the newest one's code: then the sides took turns."""
    new = [_run("old", _at(9, 7), commit, dirty=dirty), _run("new", _at(12))]
    assert left_from_another_run(BASE, new) == ([f"left from another run? old: {why}"] if why else [])


def test_before_a_baseline_without_dates_nothing_is() -> None:
    """Another commit is told all the same."""
    base = [*BASE, _run("b3", "")]
    new = [_run("old", _at(9), "f" * 40), _run("new", _at(12))]
    assert left_from_another_run(base, new) == [
        "left from another run? old: of commit ffffffff, the newest session is of commit aaaaaaaa"
    ]
