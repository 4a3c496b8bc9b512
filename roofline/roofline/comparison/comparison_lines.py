"""A comparison in lines: what a gate has to judge of it, and what has to be known of both sides to believe it."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

from roofline.comparison.comparison import Comparison
from roofline.comparison.effects.common_factor import CommonFactor
from roofline.comparison.effects.learning import LEAST_SESSIONS, share_found
from roofline.comparison.gate import Found
from roofline.comparison.judged_case import BETTER, MATCHED, WORSE, Compared, measured
from roofline.comparison.observations.observation import OUTLIER
from roofline.comparison.observations.observed_machine import MachineIdentity, machine_difference, state_differences
from roofline.comparison.observations.runs import (
    ObservedRun,
    before_the_baseline,
    changed_roofs,
    code_of,
    newest,
    other_code,
    setup_differences,
)
from roofline.show.tables import grouped
from roofline.text.units import (
    SHOWS_ALL,
    counted,
    first_lines,
    named,
    percent,
    scaled,
    signed,
    signed_range,
    significant,
    some_of,
)

LARGE_IMPROVEMENT = 0.1
"""Share of a time or an amount won beyond which an old baseline would hide a loss."""

A_SIDE = 5
SLOWDOWNS = (0.05, 0.1)
"""Say what a machine's gate can do: of so many sessions, which slowdowns it finds."""

MANY_SESSIONS = 10
"""More sessions a side than these take longer than `roofline ab` does: it needs two and a half minutes a case."""

_DIFFERENCES = 4
"""Of the sides beside their code, named unless all are asked for."""

_IN_THE_ROWS = ("slower", "more", "inconclusive", "nothing to judge", "within the floor")
"""Situations that the rows of a table show, or only a gate."""


def found_in(comparison: Comparison, *, verbose: bool = True) -> list[Found]:
    """List what stands in the way of a pass, or is not covered by it."""
    return ComparisonLines(comparison, verbose=verbose).found()


def lines_of_unreadable(reasons: Iterable[str], *, verbose: bool) -> list[str]:
    """Lines for files that should be results and can't be read."""
    return first_lines("not read", [f"not read: {reason}" for reason in reasons], verbose=verbose)


def nothing_judged(comparison: Comparison) -> str:
    """Say why there was nothing to judge, with the files."""
    sides = ({run.file: None for run in runs} for runs in (comparison.base_runs, comparison.new_runs))
    base, new = (some_of([*files], 1) for files in sides)
    why = f"no case of {base} could be compared with one of {new}"
    if comparison.matched:
        return f"{why}: hardly a round was undisturbed. Measure again on a quieter machine, or in turns: `roofline ab`"
    return why


class ComparisonLines:
    """The lines of one comparison.

    :param verbose: all of them, with all names. Else the first of a kind, and how many more there are.
    """

    def __init__(self, comparison: Comparison, *, verbose: bool) -> None:
        self._comparison = comparison
        self._verbose = verbose

    def found(self) -> list[Found]:
        """List what a gate has to judge."""
        comparison = self._comparison
        base, new = comparison.base_runs, comparison.new_runs
        invalid = comparison.of("invalid")
        lines = {
            "slower": self.of(comparison.of("slower")),
            "more": self.of(comparison.of("more")),
            "all together": self._common(worse=True, certain=True),
            "nothing to judge": [] if comparison.judged else [nothing_judged(comparison)],
            "not comparable": self.of(comparison.of("not comparable")),
            "invalid": self.of([case for case in invalid if not case.match.invalid_before]),
            "run not ended": self._incomplete(new),
            "removed": self.of(comparison.of("removed")),
            "all together, disturbed": self._common(worse=True, certain=False),
            "within the floor": self._within_the_floor(),
            "file not read": lines_of_unreadable(comparison.unreadable, verbose=self._verbose),
            "invalid before, too": self.of([case for case in invalid if case.match.invalid_before]),
            "stale session": [*before_the_baseline(base, new), *other_code("new side", new)],
            "baseline run not ended": self._incomplete(base),
            "sessions missing": self._missing(),
            "inconclusive": self._undecided(),
        }
        return [(situation, line) for situation, of in lines.items() for line in of]

    def notes(self) -> list[str]:
        """List what stands below the table of the cases."""
        return [
            *(line for situation, line in self.found() if situation not in _IN_THE_ROWS),
            *self._what_settles(),
            *self._reasons(),
            *self._common(worse=False),
            *self._left_out(),
            *self._counted_otherwise(),
            *self._outliers(),
            *self.sides(),
        ]

    def of(self, cases: Iterable[Compared]) -> list[str]:
        """Lines for cases of one verdict, those of one reason in one."""
        groups = grouped(cases, because)
        kind = next((group[0].kind for group in groups.values()), "")
        lines = [f"{kind}: {self._ids(group)}: {reason}" for reason, group in groups.items()]
        return self._first(kind, lines, [*map(len, groups.values())])

    def sides(self) -> list[str]:
        """List what has to be known of the baseline and of the new side to believe the verdicts."""
        comparison = self._comparison
        base, new = comparison.base_runs, comparison.new_runs
        machines = comparison.machine_names
        lines = [f"Baseline: {_side(base, machines)}", f"New: {_side(new, machines)}"]
        if comparison.settings.figure != "step_time":
            lines.append(_places(comparison))
        if comparison.settings.by == "roof":
            lines.append(
                "By roof: the step time over the least that each machine's own measured roofs allow is compared, not"
                " the time; base and new are fractions of the measured roof"
            )
            if apart := changed_roofs(base, new):
                lines.append(
                    "This machine's own roofs differ between the sides by more than their samples scattered"
                    f" ({'; '.join(apart)}). A lower roof hides slower cases, a higher one makes up some: on one"
                    " machine compare times (--by time)"
                )
        lines += other_code("baseline", base)
        differing = setup_differences((run.setup for run in base), (run.setup for run in new))
        if differing:
            shown = differing if self._verbose else differing[:_DIFFERENCES]
            more = f"; and {len(differing) - len(shown)} more {SHOWS_ALL}" if len(differing) > len(shown) else ""
            lines.append(f"What differs beside the code: {'; '.join(shown)}{more}")
        if comparison.judged and comparison.one_session_a_side:
            lines.append(
                "Of one session a side how far sessions scatter is not seen but taken from experience: give several"
            )
        lines += _learned(comparison)
        won = [case for case in comparison.of(*BETTER) if case.change is not None and -case.change >= LARGE_IMPROVEMENT]
        if won:
            lines.append(
                f"{won[0].kind.capitalize()} by {percent(LARGE_IMPROVEMENT)} or more: {self._ids(won)}. Refresh the"
                " baseline, or it hides a later loss of as much"
            )
        return [*lines, *self._first("left out", comparison.left_out)]

    def _first(self, kind: str, lines: Sequence[str], counts: Sequence[int] | None = None) -> list[str]:
        return first_lines(kind, lines, verbose=self._verbose, counts=counts)

    def _named(self, names: Sequence[str]) -> str:
        return named(names, verbose=self._verbose)

    def _ids(self, cases: Sequence[Compared]) -> str:
        return self._named([case.match.id for case in cases])

    def _common(self, *, worse: bool, certain: bool | None = None) -> list[str]:
        """A line for the change that all cases of a machine share: its interval, the cases that differ from it, and
        what the records of both sides tell of its cause.

        :param worse: those for the worse, or the others; ``certain``: only those that are, or aren't.
        """
        return [
            self._of_common(machine, factor)
            for machine, factor in self._comparison.common.items()
            if worse == (factor.ratio > 1) and certain in (None, factor.certain)
        ]

    def _of_common(self, machine: MachineIdentity, factor: CommonFactor) -> str:
        comparison, confidence = self._comparison, self._comparison.settings.confidence
        where = f" on {comparison.machine_names[machine]}" if len(comparison.machines) > 1 else ""
        low, high = factor.effect.interval(confidence)
        interval = f"{percent(confidence)} interval {signed_range((low - 1, high - 1))}"
        line = f"all {len(factor.own)} cases together{where}: {signed(factor.ratio - 1)} ({interval})"
        apart = [case for case in comparison.cases if case.apart and case.match.machine == machine]
        if apart:
            names = [f"{case.match.id} ({signed(case.own.ratio - 1)})" for case in apart if case.own is not None]
            line += f"; differing from that: {self._named(names)}"
        by_roof = comparison.settings.by == "roof"
        base = [run for run in comparison.base_runs if by_roof or machine_difference(run.machine, machine) is None]
        new = [run for run in comparison.new_runs if run.machine == machine]
        causes = [
            *state_differences([run.state for run in base], [run.state for run in new]),
            *setup_differences((run.setup for run in base), (run.setup for run in new)),
        ]
        if causes:
            return f"{line}; what may have caused it: {self._named(causes)}"
        return f"{line}; nothing that both sides record tells of a cause"

    def _incomplete(self, runs: Iterable[ObservedRun]) -> list[str]:
        """Lines for the runs of a side that did not end: what they would have measured is in no verdict."""
        return self._first("runs that did not end", [f"{run.file}: {run.incomplete}" for run in runs if run.incomplete])

    def _within_the_floor(self) -> list[str]:
        cases, settings = self._comparison.below_floor, self._comparison.settings
        if not cases:
            return []
        shortest = scaled(min(case.base.value for case in cases if case.base is not None), "s")
        return [
            f"--floor {scaled(settings.floor_s, 's')}: no shorter than {self._ids(cases)}: slowdowns to twice the time"
            f" and more would be too small to matter. Give one below {shortest}"
        ]

    def _missing(self) -> list[str]:
        """Lines for the cases that were judged without some of their sessions."""
        cases = [case for case in self._comparison.of(*MATCHED, "new") if case.match.missing]
        groups = grouped(cases, lambda case: case.match.why_missing)
        lines = [f"{self._ids(group)}: {reason}" for reason, group in groups.items()]
        return self._first("sessions invalid or missing", lines, [*map(len, groups.values())])

    def _undecided(self) -> list[str]:
        """One line for all of them, with how many more sessions would settle each, where there are several."""
        comparison = self._comparison
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
        return [f"{cases[0].kind}, neither {worse} nor the same: {self._named(names)}"]

    def _what_settles(self) -> list[str]:
        """One line for the cases that are inconclusive by their scatter: what is found of it, and what settles them."""
        cases = self._comparison.of("inconclusive")
        known = sorted((case.least_detectable, case.match.id) for case in cases if case.least_detectable is not None)
        if not known:
            return []
        (least, first), (most, last) = known[0], known[-1]
        size = f"{percent(least)} ({first}) to {percent(most)} ({last})" if len(known) > 1 else percent(least)
        what = "slowdown" if self._comparison.figure.is_time else "increase"
        found = f"the least {what} found at this scatter, in 19 of 20 checks, is {size}"
        return ["; ".join((f"{counted(len(known), 'case')} inconclusive: {found}", *self._ways()))]

    def _ways(self) -> list[str]:
        """Name what settles the cases that are inconclusive by their scatter: more sessions, or another command."""
        comparison = self._comparison
        cases = [case for case in comparison.of("inconclusive") if case.least_detectable is not None]
        needed = [case.more_sessions for case in cases if case.more_sessions is not None]
        if not needed and comparison.one_session_a_side:
            return []  # `sides` asks for several
        them = "it" if len(cases) == 1 else "them"
        ways = [f"more sessions may not settle {them}"]
        if needed:
            settled = them if len(needed) == len(cases) else f"{len(needed)} of {len(cases)}"
            stays = "the estimate stays" if len(needed) == 1 else "the estimates stay"
            ways = [f"about {counted(max(needed), 'more session')} a side would settle {settled}, if {stays}"]
        if len(needed) < len(cases) or max(needed) > MANY_SESSIONS:
            measured = all(one.case is not None for case in cases for one in case.match.new)
            in_turns = measured and comparison.settings.by == "time" and comparison.settings.figure == "step_time"
            ways.append("`roofline ab` measures in turns" if in_turns else "measure on a quieter machine")
        return ways

    def _reasons(self) -> list[str]:
        """Say why cases that pass have no other verdict; of the inconclusive ones all that ask for more."""
        explained = [case for case in self._comparison.cases if case.why and (self._verbose or not case.by_figures)]
        return [
            line
            for outcome in ("inconclusive", "same")
            for line in self.of([case for case in explained if case.outcome == outcome])
        ]

    def _left_out(self) -> list[str]:
        """Sessions of compared cases that were not taken: those of other work, and in one line those of disturbed
        hours.
        """
        cases = self._comparison.cases
        others = [f"Left out of {case.match.id}: {line}" for case in cases for line in case.match.left_out]
        lines = self._first("Left out", others)
        disturbed = [case.match.disturbed for case in cases if case.match.disturbed]
        if disturbed:
            of = counted(len(disturbed), "case")
            lines.append(f"Left out, hardly a round of them undisturbed: {sum(disturbed)} sessions of {of}")
        return lines

    def _counted_otherwise(self) -> list[str]:
        """Cases of the same declared work that was counted otherwise, a line each."""
        cases = self._comparison.cases
        return self._first(
            "Other work", [f"Other work: {case.match.id}: {case.match.counted}" for case in cases if case.match.counted]
        )

    def _outliers(self) -> list[str]:
        """Rounds far longer than the median, which no verdict is of: in how many cases, and how long the longest is."""
        slowest = {
            case.match.id: max(case.base.slowest_round, case.new.slowest_round)
            for case in self._comparison.cases
            if case.base is not None and case.new is not None and case.base.outliers + case.new.outliers
        }
        if not slowest:
            return []
        names = self._named([f"{name} (up to {significant(times)} times)" for name, times in slowest.items()])
        cases = counted(len(slowest), "case")
        return [f"Outliers: rounds of {OUTLIER:g} times the median or longer in {cases}: {names}"]


def because(case: Compared) -> str:
    """Of a case that is worse the numbers and the files, and the reason."""
    numbers = ""
    if case.outcome in WORSE and case.change is not None and case.base is not None and case.new is not None:
        sides = (
            f"{measured(case.base, case.match.base, case.figure)}, {measured(case.new, case.match.new, case.figure)}"
        )
        numbers = f"{signed(case.change)} ({sides})"
    return "; ".join(filter(None, (numbers, case.why)))


def _learned(comparison: Comparison) -> list[str]:
    """Say what earlier sessions tell of each machine's scatter, and what can be found so; or why they tell nothing."""
    if not comparison.settings.learn_from:
        return []
    lines = [_learned_of(comparison, machine) for machine in comparison.machines]
    skipped = comparison.earlier.skipped
    if lines and skipped:
        lines[-1] += f". Left out there: {counted(len(skipped), 'file')}, the first: {skipped[0]}"
    return lines


def _learned_of(comparison: Comparison, machine: MachineIdentity) -> str:
    name, tells = comparison.machine_names[machine], comparison.earlier.learned.get(machine)
    if tells is None:
        least = f"{LEAST_SESSIONS} earlier sessions of one commit that followed each other"
        return f"Nothing learned of {name}: it has no {least}"
    text = (
        f"Learned of {name} from {counted(tells.sessions, 'earlier session')} on {counted(tells.days, 'day')}:"
        f" sessions scatter by {percent(tells.prior.deviation)}, and hours drift by"
        f" {significant(tells.prior.drift)} of that"
    )
    if machine in comparison.other_hours:
        return f"{text}. Not used: the sessions compared scatter more, or are fewer than three a side"
    cases = sum(case.effect is not None and case.match.machine == machine for case in comparison.cases)
    alone = 1 - (1 - comparison.settings.confidence) / max(1, cases)
    found = " and ".join(
        f"{percent(slowdown, 1)} slower in {percent(share_found(tells.prior, slowdown, A_SIDE, alone))} of checks"
        for slowdown in SLOWDOWNS
    )
    return f"{text}. {A_SIDE} sessions a side find a case that alone is {found}"


def _places(comparison: Comparison) -> str:
    """Where in the record the compared figure stands: a peak of memory may be measured, or worked out."""
    seen = (one for case in comparison.cases for one in (*case.match.base, *case.match.new))
    places = dict.fromkeys(one.provenance for one in seen if one.provenance)
    return f"Compared is the {comparison.figure.title}: {', '.join(places) or 'no record has one'}"


def _side(runs: Sequence[ObservedRun], names: Mapping[MachineIdentity, str]) -> str:
    last = newest(runs)
    sessions = f"{len(runs)} session{'s' if len(runs) > 1 else ''}"
    machines = list(dict.fromkeys(run.machine for run in runs))
    where = some_of([names.get(machine, machine.label) for machine in machines])
    where = where if len(machines) == 1 else f"{len(machines)} machines ({where})"
    return f"{sessions} of {where}, {code_of(last)}, {last.when[:10] or 'no date recorded'} ({last.file})"
