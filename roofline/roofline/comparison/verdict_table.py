"""Show a comparison: its table with what must be known of both sides."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from roofline.comparison.comparison import Comparison
from roofline.comparison.effects.learning import LEAST_SESSIONS, share_found
from roofline.comparison.effects.verdict import MOST_SESSIONS
from roofline.comparison.gate import found_in, lines_of, lines_of_common, sentence_of
from roofline.comparison.judged_case import BETTER, OUTCOMES, Compared, Outcome
from roofline.comparison.observations.machine_identity import MachineIdentity
from roofline.comparison.observations.observation import OUTLIER
from roofline.comparison.observations.runs import (
    Run,
    changed_roofs,
    code_of,
    newest,
    other_code,
    setup_differences,
)
from roofline.show.tables import Column, Dtype, Table, ends, number, words
from roofline.text.units import (
    SHOWS_ALL,
    counted,
    first_lines,
    named,
    percent,
    signed,
    signed_range,
    significant,
    some_of,
)

LARGE_IMPROVEMENT = 0.1
"""Share of a time or an amount won beyond which an old baseline would hide a loss."""


def asks_for_more(comparison: Comparison) -> bool:
    """Whether more sessions would settle a case."""
    return any(case.more_sessions is not None for case in comparison.cases)


def _of_sides(name: str, title: str = "", get: str = "", *, drop: int = 0, **how: Any) -> list[Column[Compared]]:
    """Make a column a side of what its summary has under ``get``, by default under the name."""
    return [
        number(f"{side}_{name}", f"{side}{title}", f"{side}.{get or name}", drop=drop + later, **how)
        for later, side in enumerate(("base", "new"))
    ]


_CASE: Column[Compared] = words("case", get="match.id", dtype="category")
_VERDICT: Column[Compared] = words("verdict", get="outcome", dtype="category")
_WHY: Column[Compared] = words("why", get=lambda case: case.why or None)
_CHANGE: Column[Compared] = number("change", show=signed)


def _machine(comparison: Comparison) -> Column[Compared]:
    names = comparison.machine_names
    return words("machine", get=lambda case: names[case.match.machine], drop=1, dtype="category")


def _interval(case: Compared, confidence: float) -> list[float] | None:
    return None if case.effect is None else [end - 1 for end in case.effect.interval(confidence)]


def columns(comparison: Comparison) -> list[Column[Compared]]:
    confidence = comparison.settings.confidence
    of_rounds: dict[str, Dtype] = {
        **dict.fromkeys(("fraction_of_roof", "fraction_of_speed_of_light"), "Float64"),
        "outliers": "Int64",
        "slowest_round": "Float64",
    }
    figures = of_rounds if comparison.settings.figure == "step_time" else {}
    return [
        _CASE,
        words("test", get="match.test"),
        _machine(comparison),
        _VERDICT,
        _WHY,
        _CHANGE,
        *ends("change", lambda case: _interval(case, confidence)),
        number(
            "common_change",
            "all together",
            lambda case: None if case.own is None else comparison.common[case.match.machine].ratio - 1,
            signed,
        ),
        number("own_change", "beside that", lambda case: None if case.own is None else case.own.ratio - 1, signed),
        number("confidence", get=lambda _: confidence),
        number("chance", get="effect.chance"),
        number("least_effect", "least effect", "least"),
        number("more_sessions", "more sessions", dtype="string"),
        *_of_sides(comparison.figure.column, get="value"),
        *(column for name, dtype in figures.items() for column in _of_sides(name, dtype=dtype)),
        words("counted_otherwise", "counted otherwise", lambda case: case.match.counted or None),
        number("base_sessions", "base", lambda case: len(case.match.base), dtype="Int64"),
        number("new_sessions", "new", lambda case: len(case.match.new), dtype="Int64"),
        words(
            "base_file", "base", lambda case: next((one.run.file for one in case.match.base), None), dtype="category"
        ),
        words("new_file", "new", lambda case: next((one.run.file for one in case.match.new), None), dtype="category"),
    ]


def display(comparison: Comparison) -> list[Column[Compared]]:
    """Where space is short, what a verdict is about gives way last: times of the sides, then interval, then machine."""
    confidence = comparison.settings.confidence
    between = number(
        "interval",
        f"{significant(100 * confidence, 2)} % interval",
        lambda case: _interval(case, confidence),
        signed_range,
        drop=2,
    )
    shown = [_CASE, *([_machine(comparison)] if len(comparison.machines) > 1 else []), _VERDICT, _CHANGE, between]
    if comparison.settings.by == "roof":
        shown += _of_sides("fraction_of_roof", " of\nroof", show=percent, drop=3)
        shown += _of_sides("fraction_of_speed_of_light", " of\nlight", show=percent, drop=7)
    else:
        shown += _of_sides(comparison.figure.column, get="value", show=comparison.figure.show, drop=3)
    shown.append(
        number(
            "sessions",
            get=lambda case: case.effect and f"{case.effect.base_sessions} v {case.effect.new_sessions}",
            drop=6,
        )
    )
    if asks_for_more(comparison):
        shown.append(
            number("more_sessions", "more to\nsettle it", show=lambda more: f"about {more}", narrow=str, drop=5)
        )
    return shown


_MORE = (
    "More to settle it: sessions a side, if the estimate stays where it is and they scatter as these do; -: not even"
    f" {MOST_SESSIONS} would be likely to, or the estimate lies at what matters, and more may move it to either side"
)

_DIFFERENCES = 4
"""Of the sides beside their code, named unless all are asked for."""

_IN_THE_ROWS = ("slower", "more", "inconclusive", "nothing to judge", "within the floor")
"""Situations that the rows show, or only a gate."""

_NOT_MATCHED: tuple[Outcome, ...] = ("new", "removed", "invalid", "not comparable")


def sentence(comparison: Comparison, exit_code: int | None = None) -> str:
    """Say what came of it in one sentence; with an exit code, of a check: if it passed."""
    counts = {outcome: comparison.counts[outcome] for outcome in OUTCOMES}
    what = "" if comparison.settings.figure == "step_time" else comparison.figure.title
    if exit_code is not None:
        return sentence_of(counts, comparison.judged, exit_code, what, comparison.figure.outcome("slower"))
    parts = [f"{count} {outcome}" for outcome, count in counts.items() if count]
    by = f" by {what}" if what else ""
    return f"{counted(comparison.judged, 'case')} compared{by}: {', '.join(parts) or 'no cases'}"


def coverage(comparison: Comparison) -> str:
    """How much was looked at: every case stands in one of these."""
    counts = comparison.counts
    parts = [f"{comparison.matched} matched", *(f"{counts[outcome]} {outcome}" for outcome in _NOT_MATCHED)]
    return f"Coverage: {', '.join(parts)}"


def table(comparison: Comparison, title: str, *, in_full: bool = True) -> Table[Compared]:
    """A row a case, and below it what has to be known of the two sides."""
    return Table(
        title=title,
        columns=columns(comparison),
        rows=comparison.cases,
        display=display(comparison),
        notes=[
            coverage(comparison),
            *(line for situation, line in found_in(comparison, in_full=in_full) if situation not in _IN_THE_ROWS),
            *_reasons(comparison, in_full=in_full),
            *lines_of_common(comparison, in_full=in_full, worse=False),
            *_left_out(comparison, in_full=in_full),
            *_counted(comparison, in_full=in_full),
            *_outliers(comparison, in_full=in_full),
            *sides(comparison, in_full=in_full),
            *([_MORE] if asks_for_more(comparison) else []),
        ],
    )


def sides(comparison: Comparison, *, in_full: bool = True) -> list[str]:
    """What has to be known of the baseline and of the new side to believe the verdicts."""
    base, new = comparison.base_runs, comparison.new_runs
    machines = comparison.machine_names
    lines = [f"Baseline: {_side(base, machines)}", f"New: {_side(new, machines)}"]
    if comparison.settings.figure != "step_time":
        lines.append(_places(comparison))
    if comparison.settings.by == "roof":
        lines.append(
            "By roof: the step time over the least that each machine's own measured roofs allow is compared, not the"
            " time; base and new are fractions of the measured roof"
        )
        if apart := changed_roofs(base, new):
            lines.append(
                "This machine's own roofs differ between the sides by more than their samples scattered"
                f" ({'; '.join(apart)}). A lower roof hides slower cases, a higher one makes up some: on one machine"
                " compare times (--by time)"
            )
    lines += other_code("baseline", base)
    differing = setup_differences((run.setup for run in base), (run.setup for run in new))
    if differing:
        shown = differing if in_full else differing[:_DIFFERENCES]
        more = f"; and {len(differing) - len(shown)} more {SHOWS_ALL}" if len(differing) > len(shown) else ""
        lines.append(f"What differs beside the code: {'; '.join(shown)}{more}")
    if comparison.judged and comparison.one_session_a_side:
        lines.append(
            "Of one session a side how far sessions scatter is not seen but taken from experience: give several"
        )
    lines += _learned(comparison)
    won = [case for case in comparison.of(*BETTER) if case.change is not None and -case.change >= LARGE_IMPROVEMENT]
    if won:
        names = named([case.match.id for case in won], in_full=in_full)
        lines.append(
            f"{won[0].kind.capitalize()} by {percent(LARGE_IMPROVEMENT)} or more: {names}. Refresh the baseline, or it"
            " hides a later loss of as much"
        )
    return [*lines, *first_lines("left out", comparison.left_out, in_full=in_full)]


def _learned(comparison: Comparison) -> list[str]:
    """What earlier sessions tell of each machine's scatter, and what can be found so; or why they tell nothing."""
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


A_SIDE = 5
SLOWDOWNS = (0.05, 0.1)
"""What is said of a machine's gate: of so many sessions, which slowdowns it finds."""


def _places(comparison: Comparison) -> str:
    """Where in the record the compared figure stands: a peak of memory may be measured, or worked out."""
    seen = (one for case in comparison.cases for one in (*case.match.base, *case.match.new))
    places = dict.fromkeys(one.provenance for one in seen if one.provenance)
    return f"Compared is the {comparison.figure.title}: {', '.join(places) or 'no record has one'}"


def _side(runs: Sequence[Run], names: Mapping[MachineIdentity, str]) -> str:
    last = newest(runs)
    sessions = f"{len(runs)} session{'s' if len(runs) > 1 else ''}"
    machines = list(dict.fromkeys(run.machine for run in runs))
    where = some_of([names.get(machine, machine.label) for machine in machines])
    where = where if len(machines) == 1 else f"{len(machines)} machines ({where})"
    return f"{sessions} of {where}, {code_of(last)}, {last.when[:10] or 'no date recorded'} ({last.file})"


def _reasons(comparison: Comparison, *, in_full: bool) -> list[str]:
    """Why cases that pass have no other verdict."""
    explained = [case for case in comparison.cases if case.why and not case.by_figures]
    return [
        line
        for outcome in ("inconclusive", "same")
        for line in lines_of([case for case in explained if case.outcome == outcome], in_full=in_full)
    ]


def _left_out(comparison: Comparison, *, in_full: bool) -> list[str]:
    """Sessions of compared cases that were not taken: those of other work, and in one line those of disturbed hours."""
    others = [f"Left out of {case.match.id}: {line}" for case in comparison.cases for line in case.match.left_out]
    lines = first_lines("Left out", others, in_full=in_full)
    disturbed = [case.match.disturbed for case in comparison.cases if case.match.disturbed]
    if disturbed:
        cases = counted(len(disturbed), "case")
        lines.append(f"Left out, hardly a round of them undisturbed: {sum(disturbed)} sessions of {cases}")
    return lines


def _outliers(comparison: Comparison, *, in_full: bool) -> list[str]:
    """Rounds far longer than the median, which no verdict is of: in how many cases, and how long the longest is."""
    slowest = {
        case.match.id: max(case.base.slowest_round, case.new.slowest_round)
        for case in comparison.cases
        if case.base is not None and case.new is not None and case.base.outliers + case.new.outliers
    }
    if not slowest:
        return []
    names = named([f"{name} (up to {significant(times)} times)" for name, times in slowest.items()], in_full=in_full)
    return [f"Outliers: rounds of {OUTLIER:g} times the median or longer in {counted(len(slowest), 'case')}: {names}"]


def _counted(comparison: Comparison, *, in_full: bool) -> list[str]:
    """Cases of the same declared work that was counted otherwise, a line each."""
    lines = [f"Other work: {case.match.id}: {case.match.counted}" for case in comparison.cases if case.match.counted]
    return first_lines("Other work", lines, in_full=in_full)
