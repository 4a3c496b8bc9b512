"""Whether a comparison passes: the exit code, and in words what is in the way of a pass.

1 where a case is slower, whatever else there is: a regression that was found is not made less certain by what could not
be compared. Else 3 where the gate had less to look at than it should: nothing matched, or nothing was left alone by the
machine; a case was removed, moved or renamed; a row can't be judged, and could in the baseline or couldn't for another
reason; another machine, another workload; half or more of the new sessions lack a case or have no usable row of it; a
file of a folder can't be read. Else 0. What is inconclusive passes with a warning, and does not under ``strict``; the
same of a row that couldn't be judged in the baseline either, for the same kind of reason, of a case that fewer sessions
lack, or sessions of the baseline, and where a new session may be of another run: older than the baseline, or of another
commit than the newest. What is new or faster passes.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from roofline.compare.columns import signed
from roofline.compare.comparison import MATCHED, Compared, Comparison, measured
from roofline.compare.leftovers import before_the_baseline, other_code

MOST_NAMED = 20
"""Cases of one kind that are named one by one."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Gate:
    """``failures`` say why the exit code isn't 0, ``warnings`` what a pass does not cover, one line each.

    ``strict`` and ``allow_removed`` are what it was judged by.
    """

    exit_code: int
    failures: tuple[str, ...] = ()
    warnings: tuple[str, ...] = ()
    strict: bool = False
    allow_removed: bool = False


def gate(comparison: Comparison, *, allow_removed: bool, strict: bool) -> Gate:
    """The outcome of a check."""
    slower = comparison.of("slower")
    removed = comparison.of("removed")
    lost = [case for case in comparison.of("invalid") if not case.pair.settled]
    settled = [case for case in comparison.of("invalid") if case.pair.settled]
    undecided = comparison.of("inconclusive")
    failures = list(_named(slower))
    barred = [*_named(comparison.of("not comparable")), *_named(lost)]
    warnings: list[str] = []
    (barred if strict else warnings).extend(_named(settled))
    new = comparison.new_runs
    left = [*before_the_baseline(comparison.base_runs, new), *other_code("new side", new)]
    (barred if strict else warnings).extend(left)
    (warnings if allow_removed else barred).extend(_named(removed))
    (barred if strict else warnings).extend(_short(comparison.of(*MATCHED, "new")))
    if undecided:
        (barred if strict else warnings).append(_undecided(undecided))
    if not comparison.judged:
        barred.insert(0, nothing_judged(comparison))
    barred += _at_most([f"not read: {reason}" for reason in comparison.unreadable], "not read", "files")
    failures += barred
    return Gate(
        exit_code=1 if slower else 3 if failures else 0,
        failures=tuple(failures),
        warnings=tuple(warnings),
        strict=strict,
        allow_removed=allow_removed,
    )


def nothing_judged(comparison: Comparison) -> str:
    """Why there was nothing to judge, with the files."""
    base, new = ({run.file: None for run in runs} for runs in (comparison.base_runs, comparison.new_runs))
    why = f"no case of {_first(base)} could be compared with one of {_first(new)}"
    if comparison.matched:
        return f"{why}: hardly a round was undisturbed. Measure again when the machine is left alone"
    return why


def told(case: Compared) -> str:
    """One line: the verdict, the case, the numbers and the files, or the reason."""
    where = f"{case.outcome}: {case.pair.id}"
    numbers = ""
    if case.change is not None and case.base is not None and case.new is not None and case.outcome != "not comparable":
        numbers = f"{signed(case.change)} ({measured(case.base, case.pair.base)}, {measured(case.new, case.pair.new)})"
    return f"{where}: {'; '.join(filter(None, (numbers, case.why)))}"


def _undecided(cases: Sequence[Compared]) -> str:
    """One line for all of them: how many sessions would settle how many."""
    told = f"inconclusive, neither slower nor the same: {', '.join(case.pair.id for case in cases[:MOST_NAMED])}"
    if len(cases) > MOST_NAMED:
        told += f" and {len(cases) - MOST_NAMED} more"
    needed = [case.more_sessions for case in cases if case.more_sessions is not None]
    if needed:
        told += f"; about {max(needed)} more sessions a side would settle {len(needed)} of {len(cases)}"
        told += ", if the estimate stays" if len(needed) == 1 else ", if the estimates stay"
    return told


def _short(cases: Iterable[Compared]) -> tuple[str, ...]:
    """A line a case that was judged without some of its sessions."""
    lines = [f"{case.pair.id}: {case.pair.shortfalls.told}" for case in cases if case.pair.shortfalls.found]
    return _at_most(lines, "sessions invalid or missing", "cases")


def _at_most(lines: Sequence[str], kind: str, things: str) -> tuple[str, ...]:
    rest = len(lines) - MOST_NAMED
    return (*lines[:MOST_NAMED], f"{kind}: {rest} more {things}") if rest > 0 else tuple(lines)


def _named(cases: Iterable[Compared]) -> tuple[str, ...]:
    cases = tuple(cases)
    rest = len(cases) - MOST_NAMED
    lines = [told(case) for case in cases[:MOST_NAMED]]
    return (*lines, f"{cases[0].outcome}: {rest} more") if rest > 0 else tuple(lines)


def _first(files: Iterable[str]) -> str:
    files = tuple(files)
    return files[0] if len(files) == 1 else f"{files[0]} and {len(files) - 1} more"
