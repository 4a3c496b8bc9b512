"""Whether a comparison passes: the exit code, and in words what is in the way of a pass.

1 where a case is slower, whatever else there is: a regression that was found is not made less certain by what could not
be compared. Else 3 where the gate had less to look at than it should: nothing matched, or nothing was left alone by the
machine, or no case is longer than the floor; a case was removed, moved or renamed; a row can't be judged, and could in
the baseline or couldn't for another reason; another machine, another workload; half or more of the new sessions lack a
case or have no usable row of it; a file of a folder can't be read. Else 0. What is inconclusive passes with a warning,
and does not under ``strict``; the same of a row that couldn't be judged in the baseline either, for the same kind of
reason, of a case that fewer sessions lack, or sessions of the baseline, of one that is no longer than the floor, and
where a new session may be of another run: older than the baseline, or of another commit than the newest. What is new or
faster passes.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass

from roofline.compare.columns import signed
from roofline.compare.comparison import MATCHED, Compared, Comparison, measured
from roofline.compare.leftovers import before_the_baseline, other_code
from roofline.compare.seen import Run
from roofline.units import scaled, some_of

MOST_NAMED = 20
"""Lines of one kind, and cases that are named in a line of their own kind."""


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
    barred += _incomplete(new)
    (barred if strict else warnings).extend(_incomplete(comparison.base_runs))
    (warnings if allow_removed else barred).extend(_named(removed))
    (barred if strict else warnings).extend(_short(comparison.of(*MATCHED, "new")))
    if undecided:
        (barred if strict else warnings).append(_undecided(comparison, undecided))
    if below := comparison.below_floor:
        all_of_them = len(below) == comparison.judged
        (barred if strict or all_of_them else warnings).append(_below_floor(comparison, below))
    if not comparison.judged:
        barred.insert(0, nothing_judged(comparison))
    unread = [f"not read: {reason}" for reason in comparison.unreadable]
    barred += _at_most(unread, "not read", len(unread) - MOST_NAMED, " files")
    failures += barred
    return Gate(
        exit_code=1 if slower else 3 if failures else 0,
        failures=tuple(failures),
        warnings=tuple(warnings),
        strict=strict,
        allow_removed=allow_removed,
    )


def _incomplete(runs: Iterable[Run]) -> tuple[str, ...]:
    """Lines for the runs of a side that did not end: what they would have measured is in no verdict."""
    lines = [f"{run.file}: {run.incomplete}" for run in runs if run.incomplete]
    return _at_most(lines, "runs that did not end", len(lines) - MOST_NAMED)


def nothing_judged(comparison: Comparison) -> str:
    """Why there was nothing to judge, with the files."""
    sides = ({run.file: None for run in runs} for runs in (comparison.base_runs, comparison.new_runs))
    base, new = (some_of([*files], 1) for files in sides)
    why = f"no case of {base} could be compared with one of {new}"
    if comparison.matched:
        return f"{why}: hardly a round was undisturbed. Measure again when the machine is left alone"
    return why


def told(case: Compared, *others: Compared) -> str:
    """One line: the verdict, the case, the numbers and the files, or the reason.

    :param others: of the same verdict, for the same reason.
    """
    return f"{case.outcome}: {some_of([one.pair.id for one in (case, *others)])}: {_because(case)}"


def _because(case: Compared) -> str:
    numbers = ""
    if case.change is not None and case.base is not None and case.new is not None and case.outcome != "not comparable":
        numbers = f"{signed(case.change)} ({measured(case.base, case.pair.base)}, {measured(case.new, case.pair.new)})"
    return "; ".join(filter(None, (numbers, case.why)))


def _undecided(comparison: Comparison, cases: Sequence[Compared]) -> str:
    """One line for all of them: how many sessions would settle how many, and where there are several, which of them."""
    names = [case.pair.id if len(cases) == 1 else _with_number(case) for case in cases]
    told = f"inconclusive, neither slower nor the same: {some_of(names, MOST_NAMED)}"
    needed = [case.more_sessions for case in cases if case.more_sessions is not None]
    if needed:
        told += f"; about {max(needed)} more sessions a side would settle {len(needed)} of {len(cases)}"
        told += ", if the estimate stays" if len(needed) == 1 else ", if the estimates stay"
    elif comparison.one_session_a_side:
        told += "; of one session a side little can be settled: give several"
    return told


def _below_floor(comparison: Comparison, cases: Sequence[Compared]) -> str:
    names = some_of([case.pair.id for case in cases], MOST_NAMED)
    floor = scaled(comparison.settings.floor_s, "s")
    return f"--floor {floor}: no shorter than {names}: slowdowns to twice the time and more are too small to matter"


def _with_number(case: Compared) -> str:
    return case.pair.id if case.more_sessions is None else f"{case.pair.id} (about {case.more_sessions})"


def _short(cases: Iterable[Compared]) -> tuple[str, ...]:
    """Lines for the cases that were judged without some of their sessions."""
    groups = _grouped((case for case in cases if case.pair.shortfalls.found), lambda case: case.pair.shortfalls.told)
    lines = [f"{some_of([case.pair.id for case in group])}: {group[0].pair.shortfalls.told}" for group in groups]
    return _at_most(lines, "sessions invalid or missing", _beyond(groups), " cases")


def _named(cases: Iterable[Compared]) -> tuple[str, ...]:
    """Lines for cases of one verdict."""
    groups = _grouped(cases, _because)
    return _at_most([told(*group) for group in groups], groups[0][0].outcome, _beyond(groups)) if groups else ()


def _grouped(cases: Iterable[Compared], reason: Callable[[Compared], str]) -> list[list[Compared]]:
    """Those of one reason together, for it is told once."""
    groups: dict[str, list[Compared]] = {}
    for case in cases:
        groups.setdefault(reason(case), []).append(case)
    return list(groups.values())


def _beyond(groups: Sequence[Sequence[Compared]]) -> int:
    return sum(map(len, groups[MOST_NAMED:]))


def _at_most(lines: Sequence[str], kind: str, rest: int, things: str = "") -> tuple[str, ...]:
    """:param rest: what the lines beyond `MOST_NAMED` stand for."""
    return (*lines[:MOST_NAMED], *([f"{kind}: {rest} more{things}"] if rest > 0 else []))
