"""What one session says of each case: its observation, or why there is none."""

from __future__ import annotations

import math
from array import array
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from typing import Any, Literal

from roofline.comparison.evidence import (
    Loud,
    flags_of,
    observe_record,
    observe_stats,
    rounds_of,
    spread_of_roof,
    why_kept_out,
)
from roofline.comparison.identity import Identity, identity_of, setup_of
from roofline.comparison.observation import Observation, Unusable, loud_session
from roofline.machine.published import DeviceTable
from roofline.machine.roofs import Roofs, roofs_of
from roofline.model.placement import Placement, place
from roofline.model.points import Point, points_of
from roofline.results.reader import Benchmark, ResultFile
from roofline.schema.amounts import usable
from roofline.schema.record import Case, Device, Flag, Record, Roof

By = Literal["time", "roof"]

WorkSource = Literal["analytic", "counters"]

RECORD, TIMES, ROOF = "record", "times", "roof"
"""What a row may be unusable for beside its flags: it can't be read, its numbers are none, or no roof is over it."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Run:
    """One session: a run that wrote one file. ``not_measured``: id of a case -> why it has no number in it. ``when`` it
    began: ISO 8601 in UTC, or empty. ``loud`` is why it says nothing of any case that can tell what disturbed it, or
    empty. ``roofs``: by roof, those that it measured, without their samples. ``incomplete`` says how far it came where
    it did not end, and ``not_run`` holds the ids of the cases that were planned and not run, which are among
    ``not_measured``, too.
    """

    file: str
    machine: Identity
    setup: Mapping[str, str]
    when: str
    commit: str | None
    dirty: bool | None
    not_measured: Mapping[str, str]
    loud: str = ""
    roofs: tuple[Roof, ...] = ()
    incomplete: str = ""
    not_run: frozenset[str] = frozenset()

    @property
    def moment(self) -> datetime | None:
        """When it began; None where that isn't told."""
        return datetime.fromisoformat(self.when) if self.when else None


@dataclass(frozen=True, slots=True)
class Counted:
    """The work of one step: FLOP, and the edges of its bytes; and whether each was counted from the operations or read
    from hardware counters, which give the bytes one value.
    """

    flop: float
    byte_low: float
    byte_high: float
    flop_source: WorkSource = "analytic"
    byte_source: WorkSource = "analytic"


@dataclass(frozen=True, slots=True, kw_only=True)
class Seen:
    """One case in one session.

    ``test`` is the test's full name. ``case`` and ``device`` are None where there is no record. Without an
    ``observation`` ``problem`` tells why, and ``problem_kind`` in a word of which kind that is: a flag's name, or
    `RECORD`, `TIMES` or `ROOF`; ``loud`` where it was the machine's fault and not the row's. ``bimodal`` is the flag's
    evidence. By roof, the observation is of the step time over ``least_s``, which the machine's own measured roofs
    allow, known to ``least_error``, relative; ``sol_s`` is the speed of light, and ``provenance`` where the work is
    from. ``step_time_s`` is always seconds. ``fastest_s`` and ``slowest_s`` are of the session's rounds. ``counted`` is
    the work as its operations were counted, by roof what the case was placed by; None where there is none. ``marked``:
    it was looked for what disturbed the rounds from outside; where some of them or most of the session's were,
    ``all_rounds_s`` are the step times of all of them, for `roofline.comparison.marks`. ``checks`` are the names of the
    claims that the record has a check of.
    """

    run: Run
    id: str
    test: str
    case: Case | None
    device: Device | None
    observation: Observation | None
    problem: str = ""
    problem_kind: str = ""
    loud: bool = False
    bimodal: str = ""
    step_time_s: float = math.nan
    fastest_s: float = math.nan
    slowest_s: float = math.nan
    least_s: float | None = None
    least_error: float = 0.0
    sol_s: float | None = None
    provenance: str = ""
    counted: Counted | None = None
    marked: bool = False
    all_rounds_s: Sequence[float] = ()
    params: Mapping[str, Any] | None = None
    checks: frozenset[str] = frozenset()

    @property
    def fraction_of_roof(self) -> float | None:
        return None if self.least_s is None else self.least_s / self.step_time_s

    @property
    def fraction_of_sol(self) -> float | None:
        return None if self.sol_s is None else self.sol_s / self.step_time_s


def run_of(result: ResultFile) -> Run:
    """The session that wrote a file."""
    session = result.session
    roofs = () if session is None else session.roofs
    return Run(
        file=str(result.path),
        machine=identity_of(result),
        setup=setup_of(result),
        when=result.when,
        commit=result.commit,
        dirty=result.commit_dirty,
        not_measured={} if session is None else {case.id: case.why for case in session.without_number},
        loud=loud_session(rounds_of(result)) or "",
        roofs=tuple(replace(roof, samples=()) for roof in roofs if roof.source == "measured" and usable(roof.value)),
        incomplete="" if session is None else session.why_incomplete or "",
        not_run=frozenset() if session is None else frozenset(session.not_run),
    )


def seen_in(result: ResultFile, run: Run, by: By, devices: DeviceTable) -> Iterable[Seen]:
    """What a file says of each case, row by row; roofs are ceilings and no cases."""
    if by == "roof":
        for point in points_of(result, devices):
            if point.mode != "roof":
                yield _by_roof(point, run)
        return
    roofs: dict[Device, Roofs] = {}
    for benchmark in result.benchmarks:
        record = benchmark.record
        if record is None:
            yield _without_record(benchmark, run)
        elif record.case.mode != "roof":
            if record.device not in roofs:
                roofs[record.device] = roofs_of(result, record.device, devices)
            over = roofs[record.device]
            yield _by_time(benchmark, record, run, flags_of(record, place(record, over)))


def _without_record(benchmark: Benchmark, run: Run) -> Seen:
    empty = Seen(run=run, id=benchmark.name, test=benchmark.fullname, case=None, device=None, observation=None)
    empty = replace(empty, params=benchmark.params)
    if benchmark.fault is not None:
        return replace(empty, problem=f"record not read: {benchmark.fault}", problem_kind=RECORD)
    try:
        observation = observe_stats(benchmark.stats, run.when)
    except Unusable as error:
        return replace(empty, problem=str(error), problem_kind=TIMES)
    least, most = benchmark.stats.min_s, benchmark.stats.max_s
    return replace(
        empty,
        observation=observation,
        step_time_s=observation.step_time_s,
        fastest_s=math.nan if least is None else least,
        slowest_s=math.nan if most is None else most,
    )


def _by_time(benchmark: Benchmark, record: Record, run: Run, flags: tuple[Flag, ...]) -> Seen:
    seen = Seen(
        run=run,
        id=record.case.id,
        test=benchmark.fullname,
        case=record.case,
        device=record.device,
        observation=None,
        bimodal=next((flag.evidence for flag in flags if flag.name == "bimodal"), ""),
        counted=_counted(record),
        checks=frozenset(check.name for check in record.checks),
    )
    why = why_kept_out(flags)
    if why is not None:
        return replace(seen, problem=why, problem_kind=why.partition(":")[0])
    try:
        observation = observe_record(record, benchmark.stats, run.when)
    except Loud as error:
        return replace(_with_rounds(seen, record), problem=str(error), loud=True)
    except Unusable as error:
        return replace(seen, problem=str(error), problem_kind=TIMES)
    seen = _with_rounds(seen, record)
    if seen.marked and run.loud:
        return replace(seen, problem=run.loud, loud=True)
    return replace(seen, observation=observation, step_time_s=observation.step_time_s)


def _with_rounds(seen: Seen, record: Record) -> Seen:
    assert record.timing is not None
    rounds = record.timing.rounds
    some_marked = bool(seen.run.loud) or any(mark is not None for mark in rounds.disturbed or ())
    return replace(
        seen,
        fastest_s=min(rounds.wall_s) / rounds.steps,
        slowest_s=max(rounds.wall_s) / rounds.steps,
        marked=rounds.disturbed is not None,
        # Eight bytes a round: there may be a thousand sessions of a loud hour.
        all_rounds_s=array("d", [wall / rounds.steps for wall in rounds.wall_s]) if some_marked else (),
    )


def _counted(record: Record) -> Counted | None:
    work = record.work
    if work is None:
        return None
    counts = (work.flop_per_step, work.byte_low_per_step, work.byte_high_per_step)
    return Counted(*counts) if all(map(math.isfinite, counts)) else None


def _by_roof(point: Point, run: Run) -> Seen:
    record, placement = point.benchmark.record, point.placement
    if record is None:
        seen = _without_record(point.benchmark, run)
        why = seen.problem or "no record of the work, so no fraction of a roof"
        return replace(seen, observation=None, problem=why, problem_kind=seen.problem_kind or ROOF)
    seen = _by_time(point.benchmark, record, run, point.flags)
    if seen.observation is None and not seen.loud:
        return seen
    why_none = _why_no_fraction(placement)
    if why_none is not None:
        return replace(seen, observation=None, problem=why_none, problem_kind=ROOF, loud=False)
    assert placement.fraction_low is not None
    assert placement.time_s is not None
    least_s, error = placement.fraction_low * placement.time_s, spread_of_roof(placement, record, point.roofs) / 2
    return replace(
        seen,
        observation=None if seen.observation is None else seen.observation.over(least_s, error),
        least_s=least_s,
        least_error=error,
        sol_s=point.sol.time_s,
        provenance=placement.work_source,
        counted=_placed_by(placement),
    )


def _placed_by(placement: Placement) -> Counted:
    """The work that a point with a fraction of its roofs was placed by."""
    assert placement.attained_flop_per_s is not None
    assert placement.time_s is not None
    assert placement.intensity_low is not None
    assert placement.intensity_high is not None
    flop = placement.attained_flop_per_s * placement.time_s
    return Counted(
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
