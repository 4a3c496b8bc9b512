"""Read what a session says of each of its cases: a result in, its rows out."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from functools import partial
from typing import Any, Literal

from roofline.comparison.observations.observation import (
    Disturbed,
    Observation,
    Unusable,
    flags_of,
    observe_record,
    observe_stats,
    spread_of_roof,
    why_kept_out,
)
from roofline.comparison.observations.runs import ObservedRun
from roofline.comparison.sides.compared_figures import FIGURES, FigureName, observe_figure
from roofline.machine.published import DeviceTable
from roofline.machine.roof_choice import Roofs, roofs_of
from roofline.model.placement import Placement, place
from roofline.model.points import Point, points_of
from roofline.results.result import Benchmark, ResultFile
from roofline.schema.record import Case, Device, Flag, Record
from roofline.timing.step_time import mostly_disturbed

By = Literal["time", "roof"]

WorkSource = Literal["analytic", "counters"]

RECORD, TIMES, ROOF, FIGURE = "record", "times", "roof", "figure"
"""What a row may be unusable for beside its flags: it can't be read, its times are none, no roof is over it, or it
lacks the figure that is compared."""


@dataclass(frozen=True, slots=True)
class CountedWork:
    """The work of one step: FLOP, and the edges of its bytes; and whether each was counted from the operations or read
    from hardware counters, which give the bytes one value.
    """

    flop: float
    byte_low: float
    byte_high: float
    flop_source: WorkSource = "analytic"
    byte_source: WorkSource = "analytic"


@dataclass(frozen=True, slots=True, kw_only=True)
class SessionResult:
    """One case in one session.

    ``test`` is the test's full name. ``case`` and ``device`` are None where there is no record. ``checks`` are the
    names of the claims that the record has a check of.

    Without an ``observation``, ``problem`` says why, and ``problem_kind`` of which kind that is: a flag's name, or
    `RECORD`, `TIMES`, `ROOF` or `FIGURE`; ``disturbed``: it was the machine's fault and not the row's. ``bimodal`` is
    the flag's evidence.

    ``value`` is the figure that is compared, by roof too, in its unit; ``fastest_s`` and ``slowest_s`` are of the
    session's rounds. By roof, the observation is of the step time over ``least_s``, which the machine's own measured
    roofs allow; ``sol_s`` is the speed of light. ``provenance`` is where the work is from, or the place in the record
    of a figure other than the step time. ``counted`` is the work as its operations were counted, by roof what the case
    was placed by; None where there is none.
    """

    run: ObservedRun
    id: str
    test: str
    case: Case | None
    device: Device | None
    observation: Observation | None
    problem: str = ""
    problem_kind: str = ""
    disturbed: bool = False
    bimodal: str = ""
    value: float = math.nan
    fastest_s: float = math.nan
    slowest_s: float = math.nan
    least_s: float | None = None
    sol_s: float | None = None
    provenance: str = ""
    counted: CountedWork | None = None
    params: Mapping[str, Any] | None = None
    checks: frozenset[str] = frozenset()

    @property
    def fraction_of_roof(self) -> float | None:
        return None if self.least_s is None else self.least_s / self.value

    @property
    def fraction_of_sol(self) -> float | None:
        return None if self.sol_s is None else self.sol_s / self.value


def session_results(
    result: ResultFile, run: ObservedRun, by: By, devices: DeviceTable, figure: FigureName = "step_time"
) -> Iterable[SessionResult]:
    """Yield what a file says of each case, row by row; roofs are ceilings and no cases."""
    if by == "roof":
        for point in points_of(result, devices):
            if point.mode != "roof":
                yield _by_roof(point, run)
        return
    roofs: dict[Device, Roofs] = {}
    for benchmark in result.benchmarks:
        record = benchmark.record
        if record is None:
            yield _without_record(benchmark, run, figure)
        elif record.case.mode != "roof":
            if record.device not in roofs:
                roofs[record.device] = roofs_of(result, record.device, devices)
            over = roofs[record.device]
            yield _with_record(benchmark, record, run, flags_of(record, place(record, over)), figure)


def _without_record(benchmark: Benchmark, run: ObservedRun, figure: FigureName = "step_time") -> SessionResult:
    stats = benchmark.stats
    seen = partial(
        SessionResult,
        run=run,
        id=benchmark.name,
        test=benchmark.fullname,
        case=None,
        device=None,
        observation=None,
        params=benchmark.params,
    )
    if benchmark.fault is not None:
        return seen(problem=f"record not read: {benchmark.fault}", problem_kind=RECORD)
    if figure != "step_time":
        return seen(problem=f"no record, so no {FIGURES[figure].title}", problem_kind=FIGURE)
    try:
        observation = observe_stats(stats, run.when)
    except Unusable as error:
        return seen(problem=str(error), problem_kind=TIMES)
    least, most = (math.nan if end is None else end for end in (stats.min_s, stats.max_s))
    return seen(observation=observation, value=observation.value, fastest_s=least, slowest_s=most)


def _with_record(
    benchmark: Benchmark, record: Record, run: ObservedRun, flags: tuple[Flag, ...], name: FigureName = "step_time"
) -> SessionResult:
    """Read a row with a record. What scatters is left out where most rounds were disturbed."""
    figure, by_time = FIGURES[name], name == "step_time"
    # Of thousands of rows `dataclasses.replace` would take as long as reading them.
    seen = partial(
        SessionResult,
        run=run,
        id=record.case.id,
        test=benchmark.fullname,
        case=record.case,
        device=record.device,
        observation=None,
        counted=_counted(record),
        checks=frozenset(check.name for check in record.checks),
    )
    kept_out = why_kept_out(flags)
    if kept_out is not None:
        return seen(problem=kept_out, problem_kind=kept_out.partition(":")[0])
    try:
        if by_time:
            observation, path = observe_record(record, benchmark.stats, run.when), ""
        else:
            observation, path = observe_figure(figure, record, run.when)
    except Disturbed as error:
        return seen(problem=str(error), disturbed=True)
    except Unusable as error:
        return seen(problem=str(error), problem_kind=TIMES if by_time else FIGURE)
    rounds = None if record.timing is None else record.timing.rounds
    if figure.prior is not None and rounds is not None and rounds.disturbed is not None:
        disturbed = mostly_disturbed(rounds.disturbed) or run.disturbed
        if disturbed:
            return seen(problem=disturbed, disturbed=True, provenance=path)
    seen = partial(seen, observation=observation, value=observation.value, provenance=path)
    if not by_time or rounds is None:
        return seen()
    return seen(
        bimodal=next((flag.evidence for flag in flags if flag.name == "bimodal"), ""),
        fastest_s=min(rounds.wall_s) / rounds.steps,
        slowest_s=max(rounds.wall_s) / rounds.steps,
    )


def _counted(record: Record) -> CountedWork | None:
    work = record.work
    if work is None:
        return None
    counts = (work.flop_per_step, work.byte_low_per_step, work.byte_high_per_step)
    return CountedWork(*counts) if all(map(math.isfinite, counts)) else None


def _by_roof(point: Point, run: ObservedRun) -> SessionResult:
    record, placement = point.benchmark.record, point.placement
    if record is None:
        seen = _without_record(point.benchmark, run)
        why = seen.problem or "no record of the work, so no fraction of a roof"
        return replace(seen, observation=None, problem=why, problem_kind=seen.problem_kind or ROOF)
    seen = _with_record(point.benchmark, record, run, point.flags)
    if seen.observation is None and not seen.disturbed:
        return seen
    why_none = _why_no_fraction(placement)
    if why_none is not None:
        return replace(seen, observation=None, problem=why_none, problem_kind=ROOF, disturbed=False)
    assert placement.fraction_low is not None
    assert placement.time_s is not None
    least_s, error = placement.fraction_low * placement.time_s, spread_of_roof(placement, record, point.roofs) / 2
    return replace(
        seen,
        observation=None if seen.observation is None else seen.observation.over(least_s, error),
        least_s=least_s,
        sol_s=point.sol.time_s,
        provenance=placement.work_source,
        counted=_placed_by(placement),
    )


def _placed_by(placement: Placement) -> CountedWork:
    """The work that a point with a fraction of its roofs was placed by."""
    assert placement.attained_flop_per_s is not None
    assert placement.time_s is not None
    assert placement.intensity_low is not None
    assert placement.intensity_high is not None
    flop = placement.attained_flop_per_s * placement.time_s
    return CountedWork(
        flop=flop,
        byte_low=flop / placement.intensity_high,
        byte_high=flop / placement.intensity_low,
        flop_source="counters" if placement.flop_source == "counters" else "analytic",
        byte_source="counters" if placement.provenance == "counters" else "analytic",
    )


def _why_no_fraction(placement: Placement) -> str | None:
    if placement.fraction_low is None:
        return f"no fraction of a roof: {placement.why_not or 'no roof for what the step computed in'}"
    if placement.roof_source != "measured":
        return f"its roofs are not measured ones ({placement.roof_source}): measure them with the cases"
    return None
