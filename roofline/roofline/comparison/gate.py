"""What was found becomes an exit code, with a line for each thing in the way: the one policy of every gate.

`GATE_RULES` is all of it. Who compares (`found_in`), holds results against expected bounds or measures in turns gives
each thing that it found under a situation's name, and `judge` makes the outcome.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, TypeVar

from roofline.comparison.comparison import Comparison
from roofline.comparison.effects.common_factor import CommonFactor
from roofline.comparison.judged_case import BETTER, MATCHED, WORSE, Compared, measured
from roofline.comparison.observations.machine_identity import MachineIdentity, machine_difference
from roofline.comparison.observations.machine_state import state_differences
from roofline.comparison.observations.runs import Run, before_the_baseline, other_code, setup_differences
from roofline.comparison.sides.compared_figures import FigureOutcome
from roofline.text.units import counted, first_lines, named, percent, scaled, signed, signed_range, some_of

Case = TypeVar("Case")

WARNING = 0
"""The exit code of a situation that passes: it is reported all the same."""


@dataclass(frozen=True, slots=True)
class GateRule:
    """The exit code that a situation comes to: 1, 3, or `WARNING`; by default and with either option.

    :param meaning: what the situation is, in a few words.
    """

    default: int
    meaning: str
    strict: int | None = None
    allow_removed: int | None = None

    def code(self, *, strict: bool, allow_removed: bool) -> int:
        if allow_removed and self.allow_removed is not None:
            return self.allow_removed
        return self.strict if strict and self.strict is not None else self.default


GATE_RULES = {
    "slower": GateRule(1, "shown not to be chance, and large enough to matter"),
    "more": GateRule(1, "the same of memory, energy or work; of counted ones, more by what matters"),
    "all together": GateRule(1, "cases share a change that is slower, or more, whatever each shows by itself"),
    "not as expected": GateRule(1, "another bound than is expected, or a floor that is missed"),
    "nothing to judge": GateRule(3, "no case matched, or none was left alone by the machine"),
    "not comparable": GateRule(
        3, "another machine, device, workload or unit; a proof that the new side lacks; by roof, other work"
    ),
    "invalid": GateRule(
        3, "a row that is disproved, failed, contradicts itself or has no number, in half or more of the new sessions"
    ),
    "run not ended": GateRule(3, "a new run that was killed"),
    "removed": GateRule(3, "renamed, moved, or missing from half or more of the new sessions", allow_removed=WARNING),
    "within the floor": GateRule(3, "a case that is no longer than `--floor`"),
    "expectation not judged": GateRule(3, "not measured, undetermined, or nothing is expected"),
    "history too short": GateRule(
        3, "`roofline history`: a case with too few points, since the revision or before, to see a change"
    ),
    "file not read": GateRule(3, "broken, in part too, or without results, in a folder too"),
    "invalid before, too": GateRule(WARNING, "the same kind of fault in the baseline: nothing was lost", strict=3),
    "stale session": GateRule(
        WARNING, "a new session older than the baseline, or of another commit than the newest", strict=3
    ),
    "baseline run not ended": GateRule(WARNING, "it was killed", strict=3),
    "sessions missing": GateRule(
        WARNING, "fewer than half of the new sessions lack the case, or any of the baseline", strict=3
    ),
    "all together, disturbed": GateRule(
        WARNING, "the same in an hour full of other programs, unless it is shown beyond that", strict=3
    ),
    "not measured since": GateRule(WARNING, "`roofline history`: a case that ended before the revision"),
    "inconclusive": GateRule(WARNING, "neither slower nor the same", strict=3),
    "unknown device": GateRule(WARNING, "an entry of a device that nobody knows: a typo?", strict=3),
    "roofs changed": GateRule(WARNING, "what is not as expected may be so by the roofs alone"),
}
"""What may be found -> what it comes to, in the order in which it is reported. What isn't here passes in silence: a
case that is faster, less, the same or new, and an expectation that holds or isn't applicable."""

Found = tuple[str, str]
"""A situation of `GATE_RULES`, and the line that says it of this comparison."""


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

    @property
    def messages(self) -> tuple[str, ...]:
        """The same, each line with how bad it is, the worst last."""
        return (*(f"Warning: {line}" for line in self.warnings), *(f"Error: {line}" for line in self.failures))


def judge(found: Iterable[Found], *, strict: bool = False, allow_removed: bool = False) -> Gate:
    """The outcome of all that was found: 1 wins over 3, for a regression is there whatever could not be compared."""
    order = list(GATE_RULES)
    failures: dict[str, None] = {}
    warnings: dict[str, None] = {}
    codes = {0}
    for situation, line in sorted(found, key=lambda one: order.index(one[0])):
        code = GATE_RULES[situation].code(strict=strict, allow_removed=allow_removed)
        codes.add(code)
        (warnings if code == WARNING else failures)[line] = None
    return Gate(
        exit_code=1 if 1 in codes else max(codes),
        failures=tuple(failures),
        warnings=tuple(warnings),
        strict=strict,
        allow_removed=allow_removed,
    )


def gate(comparison: Comparison, *, allow_removed: bool, strict: bool, in_full: bool = True) -> Gate:
    """The outcome of a comparison by itself."""
    return judge(found_in(comparison, in_full=in_full), strict=strict, allow_removed=allow_removed)


def found_in(comparison: Comparison, *, in_full: bool = True) -> list[Found]:
    """What stands in the way of a pass, or is not covered by it."""
    base, new = comparison.base_runs, comparison.new_runs
    invalid = comparison.of("invalid")
    lines = {
        "slower": lines_of(comparison.of("slower"), in_full=in_full),
        "more": lines_of(comparison.of("more"), in_full=in_full),
        "all together": lines_of_common(comparison, worse=True, certain=True, in_full=in_full),
        "nothing to judge": [] if comparison.judged else [nothing_judged(comparison)],
        "not comparable": lines_of(comparison.of("not comparable"), in_full=in_full),
        "invalid": lines_of([case for case in invalid if not case.match.invalid_before], in_full=in_full),
        "run not ended": lines_of_incomplete(new, in_full=in_full),
        "removed": lines_of(comparison.of("removed"), in_full=in_full),
        "within the floor": _within_the_floor(comparison, in_full=in_full),
        "file not read": lines_of_unreadable(comparison.unreadable, in_full=in_full),
        "invalid before, too": lines_of([case for case in invalid if case.match.invalid_before], in_full=in_full),
        "stale session": [*before_the_baseline(base, new), *other_code("new side", new)],
        "baseline run not ended": lines_of_incomplete(base, in_full=in_full),
        "sessions missing": lines_of_missing(comparison, in_full=in_full),
        "all together, disturbed": lines_of_common(comparison, worse=True, certain=False, in_full=in_full),
        "inconclusive": _undecided(comparison, in_full=in_full),
    }
    return [(situation, line) for situation, of in lines.items() for line in of]


def lines_of_common(
    comparison: Comparison, *, in_full: bool, worse: bool | None = None, certain: bool | None = None
) -> list[str]:
    """A line for the change that all cases of a machine share: its interval, the cases that differ from it, and what
    the records of both sides tell of its cause.

    :param worse: only those for the worse; ``certain``: only those that are, or aren't.
    """
    return [
        _of_common(comparison, machine, factor, in_full=in_full)
        for machine, factor in comparison.common.items()
        if worse in (None, factor.ratio > 1) and certain in (None, factor.certain)
    ]


def _of_common(comparison: Comparison, machine: MachineIdentity, factor: CommonFactor, *, in_full: bool) -> str:
    confidence = comparison.settings.confidence
    where = f" on {comparison.machine_names[machine]}" if len(comparison.machines) > 1 else ""
    low, high = factor.effect.interval(confidence)
    interval = f"{percent(confidence)} interval {signed_range((low - 1, high - 1))}"
    line = f"all {len(factor.own)} cases together{where}: {signed(factor.ratio - 1)} ({interval})"
    apart = [case for case in comparison.cases if case.apart and case.match.machine == machine]
    if apart:
        names = [f"{case.match.id} ({signed(case.own.ratio - 1)})" for case in apart if case.own is not None]
        line += f"; differing from that: {named(names, in_full=in_full)}"
    by_roof = comparison.settings.by == "roof"
    base = [run for run in comparison.base_runs if by_roof or machine_difference(run.machine, machine) is None]
    new = [run for run in comparison.new_runs if run.machine.parts == machine.parts]
    causes = [
        *state_differences([run.state for run in base], [run.state for run in new]),
        *setup_differences((run.setup for run in base), (run.setup for run in new)),
    ]
    if causes:
        return f"{line}; what may have caused it: {named(causes, in_full=in_full)}"
    return f"{line}; nothing that both sides record tells of a cause"


def lines_of_incomplete(runs: Iterable[Run], *, in_full: bool) -> list[str]:
    """Lines for the runs of a side that did not end: what they would have measured is in no verdict."""
    lines = [f"{run.file}: {run.incomplete}" for run in runs if run.incomplete]
    return first_lines("runs that did not end", lines, in_full=in_full)


def lines_of_unreadable(reasons: Iterable[str], *, in_full: bool) -> list[str]:
    """Lines for files that should be results and can't be read."""
    return first_lines("not read", [f"not read: {reason}" for reason in reasons], in_full=in_full)


def nothing_judged(comparison: Comparison) -> str:
    """Why there was nothing to judge, with the files."""
    sides = ({run.file: None for run in runs} for runs in (comparison.base_runs, comparison.new_runs))
    base, new = (some_of([*files], 1) for files in sides)
    why = f"no case of {base} could be compared with one of {new}"
    if comparison.matched:
        return f"{why}: hardly a round was undisturbed. Measure again on a quieter machine"
    return why


def _because(case: Compared) -> str:
    """Of a case that is worse the numbers and the files, and the reason."""
    numbers = ""
    if case.outcome in WORSE and case.change is not None and case.base is not None and case.new is not None:
        sides = (
            f"{measured(case.base, case.match.base, case.figure)}, {measured(case.new, case.match.new, case.figure)}"
        )
        numbers = f"{signed(case.change)} ({sides})"
    return "; ".join(filter(None, (numbers, case.why)))


def _undecided(comparison: Comparison, *, in_full: bool) -> list[str]:
    """One line for all of them: how many sessions would settle how many, and where there are several, which of them."""
    cases = comparison.of("inconclusive")
    if not cases:
        return []
    names = [
        case.match.id
        if len(cases) == 1 or case.more_sessions is None
        else f"{case.match.id} (about {case.more_sessions})"
        for case in cases
    ]
    worse = comparison.figure.outcome("slower")
    line = f"{cases[0].kind}, neither {worse} nor the same: {named(names, in_full=in_full)}"
    needed = [case.more_sessions for case in cases if case.more_sessions is not None]
    if needed:
        line += f"; about {max(needed)} more sessions a side would settle {len(needed)} of {len(cases)}"
        line += ", if the estimate stays" if len(needed) == 1 else ", if the estimates stay"
    elif comparison.one_session_a_side:
        line += "; one session a side can decide little: give several"
    return [line]


def _within_the_floor(comparison: Comparison, *, in_full: bool) -> list[str]:
    cases = comparison.below_floor
    if not cases:
        return []
    names = named([case.match.id for case in cases], in_full=in_full)
    floor = scaled(comparison.settings.floor_s, "s")
    shortest = scaled(min(case.base.value for case in cases if case.base is not None), "s")
    return [
        f"--floor {floor}: no shorter than {names}: slowdowns to twice the time and more would be too small to matter."
        f" Give one below {shortest}"
    ]


def lines_of_missing(comparison: Comparison, *, in_full: bool) -> list[str]:
    """Lines for the cases that were judged without some of their sessions."""
    cases = [case for case in comparison.of(*MATCHED, "new") if case.match.missing]
    groups = grouped(cases, lambda case: case.match.why_missing)
    lines = [f"{named(_ids(group), in_full=in_full)}: {reason}" for reason, group in groups.items()]
    counts = [*map(len, groups.values())]
    return first_lines("sessions invalid or missing", lines, in_full=in_full, counts=counts)


def lines_of(cases: Iterable[Compared], *, in_full: bool) -> list[str]:
    """Lines for cases of one verdict, those of one reason in one."""
    groups = grouped(cases, _because)
    kind = next((group[0].kind for group in groups.values()), "")
    lines = [f"{kind}: {named(_ids(group), in_full=in_full)}: {reason}" for reason, group in groups.items()]
    return first_lines(kind, lines, in_full=in_full, counts=[*map(len, groups.values())])


def _ids(cases: Sequence[Compared]) -> list[str]:
    return [case.match.id for case in cases]


def grouped(cases: Iterable[Case], reason: Callable[[Case], str]) -> dict[str, list[Case]]:
    """Group cases by a reason, which is given once for all that have it."""
    groups: dict[str, list[Case]] = {}
    for case in cases:
        groups.setdefault(reason(case), []).append(case)
    return groups


def sentence_of(
    counts: Mapping[Any, int], compared: int, exit_code: int, what: str = "", worse: FigureOutcome = "slower"
) -> str:
    """Say in one sentence if a gate passed, with the number of cases of each verdict, in the order of ``counts``.

    :param compared: how many cases were; 0 where none could be judged.
    :param what: what was compared, in words.
    :param worse: the verdict of a case that is worse, in the words of its figure.
    """
    verb = "be slower" if worse == "slower" else "need more"
    slower, decided = counts[worse], sum(counts.get(one, 0) for one in (*BETTER, "same"))
    none = f"no case shown to {verb}"
    if exit_code == 1 and slower:
        head, rest = "Regression", f"{counted(slower, 'case')} {worse}, of {compared} compared"
    elif exit_code == 1:
        head, rest = "Regression", f"all cases together {worse}, none of {compared} by itself"
    elif exit_code == 0 and decided:
        head, rest = "Passed", f"{none}{not_known(counts)}"
    elif exit_code == 0:
        head, rest = "Undecided", f"{none}, and none to be the same"
    elif compared:
        head, rest = "Not passed", f"{none}, but not all of it could be judged"
    else:
        head, rest = "Cannot compare", "no case could be judged"
    parts = [f"{count} {verdict}" for verdict, count in counts.items() if count]
    return f"{': '.join(filter(None, (head, what, rest)))} ({', '.join(parts) or 'no cases'})"


def not_known(counts: Mapping[Any, int]) -> str:
    """Say behind a pass how much of it is no answer: ``; 149 of 150 inconclusive``. Empty where each case has one."""
    open_, matched = counts["inconclusive"], sum(counts.get(one, 0) for one in MATCHED)
    return f"; {open_} of {matched} inconclusive" if open_ else ""
