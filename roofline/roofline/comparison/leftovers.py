"""Sessions that may have been left from another run: a folder keeps what nobody takes away.

A side's sessions are taken for sessions of the same code. What speaks against it is told with the files: another commit
than the newest session's, another day, and, of the new side, a beginning before the baseline.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from datetime import UTC, datetime, timedelta

from roofline.comparison.seen import Run
from roofline.text.units import some_of

APART = timedelta(days=1)
"""Sessions that began longer than this before the newest of their side are told."""

_SHOWN_COMMIT = 8


def newest(runs: Iterable[Run]) -> Run:
    return max(runs, key=lambda run: run.when)


def code_of(run: Run) -> str:
    """In words: ``commit 01234567 with changes``."""
    if run.commit is None:
        return "no commit told"
    return f"commit {run.commit[:_SHOWN_COMMIT]}{' with changes' if run.dirty else ''}"


def other_code(side: str, runs: Sequence[Run]) -> list[str]:
    """At most a line, for the sessions of a side that are told to be of other code than its newest.

    :param side: in words.
    """
    last = newest(runs)
    other = [run for run in runs if _other_code(run, last)]
    if not other:
        return []
    return [
        f"{_share(other, runs)} of the {side} {_are(other)} not of {code_of(last)}, as the newest is, and taken for the"
        f" same code: {some_of([f'{run.file} ({code_of(run)})' for run in other])}"
    ]


def days_apart(side: str, runs: Sequence[Run]) -> list[str]:
    """At most a line, for the sessions of a side that are of another day than its newest.

    :param side: in words.
    """
    last = newest(runs)
    old = [run for run in runs if _long_before(run, last)]
    if not old:
        return []
    named = some_of([f"{run.file} ({run.when[:10]})" for run in old])
    return [f"{_share(old, runs)} of the {side} began more than a day before its newest: {named}"]


def before_the_baseline(base: Sequence[Run], new: Sequence[Run]) -> list[str]:
    """At most a line, for new sessions that a run can't have written that was measured after the baseline.

    A single one is told unless it is surely of the newest one's code: then the sides took turns.
    """
    first = _first_moment(base)
    if first is None:
        return []
    last = newest(new)
    before = [(run, begun) for run in new if (begun := run.moment) is not None and begun < first]
    if len(before) == len(new):
        return [
            f"the new side is older than the baseline ({_minute(max(begun for _, begun in before))}, {_minute(first)}):"
            f" is {some_of([run.file for run in new], 1)} what the run just measured wrote?"
        ]
    left = [(run, begun) for run, begun in before if not _same_code(run, last)]
    if not left:
        return []
    runs = [run for run, _ in left]
    named = some_of([f"{run.file} ({_minute(begun)})" for run, begun in left])
    return [
        f"{_share(runs, new)} of the new side began before the baseline ({_minute(first)}): {_are(runs)} {named} of"
        " another run?"
    ]


def _other_code(run: Run, last: Run) -> bool:
    """Whether it is told that they are not of one code."""
    if run.commit is None or last.commit is None:
        return False
    return run.commit != last.commit or {run.dirty, last.dirty} == {True, False}


def _same_code(run: Run, last: Run) -> bool:
    """Whether it is told that they are: not where there were changes, for these may have been others."""
    return run.commit is not None and run.commit == last.commit and run.dirty is last.dirty is False


def _long_before(run: Run, last: Run) -> bool:
    begun, end = run.moment, last.moment
    return begun is not None and end is not None and end - begun > APART


def _first_moment(runs: Sequence[Run]) -> datetime | None:
    """When the first began; None where not all tell."""
    moments = [run.moment for run in runs]
    known = [moment for moment in moments if moment is not None]
    return min(known) if len(known) == len(moments) else None


def _minute(moment: datetime) -> str:
    return f"{moment.astimezone(UTC):%Y-%m-%d %H:%M} UTC"


def _share(some: Sequence[Run], runs: Sequence[Run]) -> str:
    return f"{len(some)} of {len(runs)} sessions"


def _are(some: Sequence[Run]) -> str:
    return "is" if len(some) == 1 else "are"
