"""Sessions that may have been left from another run: a folder keeps what nobody takes away.

A side's sessions are taken for sessions of the same code. What speaks against it is told with the file: another commit
than the newest session's, another day, and, of the new side, a beginning before the baseline.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from datetime import UTC, datetime, timedelta

from roofline.compare.sides import Run

APART = timedelta(days=1)
"""Sessions that began longer than this before the newest of their side are told."""

_SHOWN_COMMIT = 8
_NAMED = 3


def newest(runs: Iterable[Run]) -> Run:
    return max(runs, key=lambda run: run.when)


def code_of(run: Run) -> str:
    """In words: ``commit 01234567 with changes``."""
    if run.commit is None:
        return "no commit told"
    return f"commit {run.commit[:_SHOWN_COMMIT]}{' with changes' if run.dirty else ''}"


def left_in_side(name: str, runs: Sequence[Run]) -> list[str]:
    """What a side holds beside sessions like its newest, a line each for other code and for other days.

    :param name: of the side, in words.
    """
    last = newest(runs)
    lines = []
    if other := [run for run in runs if _other_code(run, last)]:
        named = _listed([f"{run.file} ({code_of(run)})" for run in other])
        lines.append(
            f"{_share(other, runs)} of the {name} {_are(other)} not of {code_of(last)}, as the newest is, and taken for"
            f" the same code: {named}"
        )
    if old := [run for run in runs if _long_before(run, last)]:
        named = _listed([f"{run.file} ({run.when[:10]})" for run in old])
        lines.append(f"{_share(old, runs)} of the {name} began more than a day before its newest: {named}")
    return lines


def left_from_another_run(base: Sequence[Run], new: Sequence[Run]) -> list[str]:
    """Of the new side what a run that just ended can't have written, a line each.

    A session from before the baseline that is surely of the newest one's code is none: the sides may have taken turns.
    """
    first = _first_moment(base)
    begun = [run.moment for run in new]
    before = [first is not None and moment is not None and moment < first for moment in begun]
    if all(before):
        last_begun = max(moment for moment in begun if moment is not None)
        return [
            f"the new side is older than the baseline ({_minute(last_begun)}, {_minute(first)}): is"
            f" {_listed([run.file for run in new], 1)} what the run just measured wrote?"
        ]
    last = newest(new)
    lines = []
    for run, is_before in zip(new, before, strict=True):
        why = []
        if _other_code(run, last):
            why.append(f"of {code_of(run)}, the newest session is of {code_of(last)}")
        if is_before and not _same_code(run, last):
            why.append(f"begun {_minute(run.moment)}, before the baseline")
        if why:
            lines.append(f"left from another run? {run.file}: {'; '.join(why)}")
    return lines


def _other_code(run: Run, last: Run) -> bool:
    """Whether it is told that they are not of one code."""
    if run.commit is None or last.commit is None:
        return False
    return run.commit != last.commit or {run.dirty, last.dirty} == {True, False}


def _same_code(run: Run, last: Run) -> bool:
    """Whether it is told that they are: of a commit with changes nobody knows which."""
    return run.commit is not None and run.commit == last.commit and run.dirty is last.dirty is False


def _long_before(run: Run, last: Run) -> bool:
    begun, end = run.moment, last.moment
    return begun is not None and end is not None and end - begun > APART


def _first_moment(runs: Sequence[Run]) -> datetime | None:
    """When the first began; None where not all tell."""
    moments = [run.moment for run in runs]
    known = [moment for moment in moments if moment is not None]
    return min(known) if len(known) == len(moments) else None


def _minute(moment: datetime | None) -> str:
    return "" if moment is None else f"{moment.astimezone(UTC):%Y-%m-%d %H:%M} UTC"


def _share(some: Sequence[Run], runs: Sequence[Run]) -> str:
    return f"{len(some)} of {len(runs)} sessions"


def _are(some: Sequence[Run]) -> str:
    return "is" if len(some) == 1 else "are"


def _listed(names: Sequence[str], shown: int = _NAMED) -> str:
    more = f" and {len(names) - shown} more" if len(names) > shown else ""
    return ", ".join(names[:shown]) + more
