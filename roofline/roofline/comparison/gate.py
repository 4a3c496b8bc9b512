"""Whether a comparison passes: the exit code, and in words what is in the way of a pass.

1 where a case is slower, whatever else there is: a regression that was found is not made less certain by what could not
be compared. Else 3 where the gate had less to look at than it should: nothing matched, or nothing was left alone by the
machine; a case is no longer than the floor; a case was removed, moved or renamed; a row can't be judged, and could in
the baseline or couldn't for another reason; another machine, another workload; half or more of the new sessions lack a
case or have no usable row of it; a file of a folder can't be read. Else 0. What is inconclusive passes with a warning,
and does not under ``strict``; the same of a row that couldn't be judged in the baseline either, for the same kind of
reason, of a case that fewer sessions lack, or sessions of the baseline, and where a new session may be of another run:
older than the baseline, or of another commit than the newest. What is new or faster passes.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass

from roofline.comparison.comparison import MATCHED, Compared, Comparison, measured
from roofline.comparison.runs import Run, before_the_baseline, other_code
from roofline.text.units import first_lines, named, scaled, signed, some_of


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

    @property
    def lines(self) -> tuple[str, ...]:
        """All that it says."""
        return (*self.failures, *self.warnings)


def gate(comparison: Comparison, *, allow_removed: bool, strict: bool, in_full: bool = True) -> Gate:
    """The outcome of a check.

    :param in_full: with a line for each case. Else only the first of a kind have theirs.
    """
    slower = comparison.of("slower")
    removed = comparison.of("removed")
    lost = [case for case in comparison.of("invalid") if not case.pair.settled]
    settled = [case for case in comparison.of("invalid") if case.pair.settled]
    undecided = comparison.of("inconclusive")
    failures = lines_of(slower, in_full=in_full)
    barred = [
        *lines_of(comparison.of("not comparable"), in_full=in_full),
        *lines_of(lost, in_full=in_full),
    ]
    warnings: list[str] = []
    (barred if strict else warnings).extend(lines_of(settled, in_full=in_full))
    new = comparison.new_runs
    left = [*before_the_baseline(comparison.base_runs, new), *other_code("new side", new)]
    (barred if strict else warnings).extend(left)
    barred += lines_of_incomplete(new, in_full=in_full)
    (barred if strict else warnings).extend(lines_of_incomplete(comparison.base_runs, in_full=in_full))
    (warnings if allow_removed else barred).extend(lines_of(removed, in_full=in_full))
    (barred if strict else warnings).extend(lines_of_short(comparison, in_full=in_full))
    if undecided:
        (barred if strict else warnings).append(_undecided(comparison, undecided, in_full=in_full))
    if below := comparison.below_floor:
        barred.append(_below_floor(comparison, below, in_full=in_full))
    if not comparison.judged:
        barred.insert(0, nothing_judged(comparison))
    barred += lines_of_unreadable(comparison.unreadable, in_full=in_full)
    failures += barred
    return Gate(
        exit_code=1 if slower else 3 if failures else 0,
        failures=tuple(failures),
        warnings=tuple(warnings),
        strict=strict,
        allow_removed=allow_removed,
    )


def lines_of_incomplete(runs: Iterable[Run], *, in_full: bool) -> list[str]:
    """Lines for the runs of a side that did not end: what they would have measured is in no verdict."""
    lines = [(f"{run.file}: {run.incomplete}", 1) for run in runs if run.incomplete]
    return first_lines("runs that did not end", lines, in_full=in_full)


def lines_of_unreadable(reasons: Iterable[str], *, in_full: bool) -> list[str]:
    """Lines for files that should be results and can't be read."""
    return first_lines("not read", [(f"not read: {reason}", 1) for reason in reasons], in_full=in_full)


def nothing_judged(comparison: Comparison) -> str:
    """Why there was nothing to judge, with the files."""
    sides = ({run.file: None for run in runs} for runs in (comparison.base_runs, comparison.new_runs))
    base, new = (some_of([*files], 1) for files in sides)
    why = f"no case of {base} could be compared with one of {new}"
    if comparison.matched:
        return f"{why}: hardly a round was undisturbed. Measure again on a quieter machine"
    return why


def told(case: Compared) -> str:
    """One line: the verdict, the case, the numbers and the files, or the reason."""
    return f"{case.outcome}: {case.pair.id}: {_because(case)}"


def _because(case: Compared) -> str:
    numbers = ""
    if case.change is not None and case.base is not None and case.new is not None and case.outcome != "not comparable":
        numbers = f"{signed(case.change)} ({measured(case.base, case.pair.base)}, {measured(case.new, case.pair.new)})"
    return "; ".join(filter(None, (numbers, case.why)))


def _undecided(comparison: Comparison, cases: Sequence[Compared], *, in_full: bool) -> str:
    """One line for all of them: how many sessions would settle how many, and where there are several, which of them."""
    names = [case.pair.id if len(cases) == 1 else _with_number(case) for case in cases]
    told = f"inconclusive, neither slower nor the same: {named(names, in_full=in_full)}"
    needed = [case.more_sessions for case in cases if case.more_sessions is not None]
    if needed:
        told += f"; about {max(needed)} more sessions a side would settle {len(needed)} of {len(cases)}"
        told += ", if the estimate stays" if len(needed) == 1 else ", if the estimates stay"
    elif comparison.one_session_a_side:
        told += "; of one session a side little can be settled: give several"
    return told


def _below_floor(comparison: Comparison, cases: Sequence[Compared], *, in_full: bool) -> str:
    names = named([case.pair.id for case in cases], in_full=in_full)
    floor = scaled(comparison.settings.floor_s, "s")
    shortest = scaled(min(case.base.step_time_s for case in cases if case.base is not None), "s")
    return (
        f"--floor {floor}: no shorter than {names}: slowdowns to twice the time and more would be too small to matter."
        f" Give one below {shortest}"
    )


def _with_number(case: Compared) -> str:
    return case.pair.id if case.more_sessions is None else f"{case.pair.id} (about {case.more_sessions})"


def lines_of_short(comparison: Comparison, *, in_full: bool) -> list[str]:
    """Lines for the cases that were judged without some of their sessions."""
    short = [case for case in comparison.of(*MATCHED, "new") if case.pair.shortfalls.found]
    groups = _grouped(short, lambda case: case.pair.shortfalls.told)
    lines = [
        (f"{named([case.pair.id for case in group], in_full=in_full)}: {reason}", len(group))
        for reason, group in groups.items()
    ]
    return first_lines("sessions invalid or missing", lines, in_full=in_full)


def lines_of(cases: Iterable[Compared], *, in_full: bool, numbers: bool = True) -> list[str]:
    """Lines for cases of one verdict, those of one reason in one.

    :param numbers: with the times and the files, where a case has them.
    """
    groups = _grouped(cases, _because if numbers else lambda case: case.why)
    lines = [
        (f"{group[0].outcome}: {named([case.pair.id for case in group], in_full=in_full)}: {reason}", len(group))
        for reason, group in groups.items()
    ]
    return first_lines(lines[0][0].partition(":")[0], lines, in_full=in_full) if lines else []


def _grouped(cases: Iterable[Compared], reason: Callable[[Compared], str]) -> dict[str, list[Compared]]:
    """By reason, which is told once of all that have it."""
    groups: dict[str, list[Compared]] = {}
    for case in cases:
        groups.setdefault(reason(case), []).append(case)
    return groups
