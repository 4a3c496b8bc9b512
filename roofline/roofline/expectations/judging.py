"""Expectations held against points: a finding for each case and expectation, each part of it judged by itself.

- The bound is **held** where every session has it, **failed** where every session has another, else **not evaluable**.
- A floor is **failed** where the fraction lies below it by more than the measurement leaves open (see `fraction`), and
  else held. It is not evaluable without such a fraction, below the floor with a time of which nothing tells how well it
  is known, or that leaves open more than twice what was found, and with a time that is known to no better than itself.
- The worst part counts: failed, not evaluable, held.
- Not evaluable is, too, an expectation of another machine or other work under the same name, one that was edited to
  something none may be, one that holds by the roofs it was locked under, and a case of which half or more of the
  sessions have no usable row. Fewer are left out, and that is reported.
- A case that the file expects on this device and that isn't in the results, or failed in every session, is **not
  measured**; an entry of which all cases were skipped is **not applicable**. Entries of other machines are counted.
- Where the file knows the machine, by an entry of its fingerprint, nothing is judged by entries of its namesakes.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from functools import partial
from operator import itemgetter
from pathlib import Path
from typing import Literal

from roofline.comparison.observations.observation import disturbed_sessions
from roofline.comparison.sides.matching import TOO_MANY
from roofline.expectations.fraction import Fraction, bounding, of_roof, of_speed_of_light, why_disturbed
from roofline.expectations.outcome import (
    Checked,
    CheckedBound,
    Claim,
    Judged,
    lost,
    names_of,
    not_measured,
    unknown_devices,
)
from roofline.machine.published import DeviceTable
from roofline.model.counter_values import counters_of
from roofline.model.point_groups import cases
from roofline.model.points import MachineKey, Point, place_all, points_of
from roofline.results.result import ResultFile
from roofline.schema.expected import ANY, Expected, own_of, why_none
from roofline.schema.session import Session
from roofline.text.units import percent, scaled


def check_results(
    results: Sequence[ResultFile], entries: Sequence[Expected], table: DeviceTable, unreadable: Sequence[str] = ()
) -> Checked:
    """Judge results by the counted work, with what counters and the devices of entries say against it.

    :param entries: the file's. The tests' own expectations stand in the results.
    :param unreadable: files that should be among them and can't be read, with the reason.
    """
    points = place_all(by_counted_work(results), table)
    checked = check_expectations(points, entries, unreadable)
    unknown = unknown_devices(entries, points, table)
    nowhere = {one for of_name in unknown.values() for one in of_name}
    return replace(
        checked,
        counters=otherwise_by_counters(results, table),
        for_others=tuple(one for one in checked.for_others if one not in nowhere),
        unknown_devices=tuple(unknown),
    )


def check_expectations(
    points: Iterable[Point], from_file: Sequence[Expected] = (), unreadable: Sequence[str] = ()
) -> Checked:
    """Judge points by what the file and their own records expect of them.

    :param points: of one or several files; those of one case on one machine are sessions of it. Of the expectations in
        their records, the newest session's count.
    :param unreadable: files that should be among them and can't be read, with the reason.
    """
    points = tuple(points)
    results = {point.result.path: point.result for point in points}
    machines: dict[MachineKey, list[Point]] = {}
    for point in sorted(points, key=lambda point: point.result.when):
        machines.setdefault(_machine_of(point), []).append(point)
    findings: list[CheckedBound] = []
    unexpected: list[str] = []
    disturbed = disturbed_sessions(results.values())
    # Beside rows that have a record those of another project are no device that lacks every case.
    recorded = {machine.key for machine in machines if machine.kind}
    for machine, everything in machines.items():
        groups: dict[tuple[str, str], list[Point]] = {}
        for point in cases(everything):
            groups.setdefault(point.workload, []).append(point)
        of_file = own_of(from_file, machine.key)
        by_case = _by_case(of_file)
        of_machine = [result for result in results.values() if result.machine_key == machine.key]
        for sessions in groups.values():
            expected = _expected_of(sessions[-1], by_case)
            gone = lost(sessions, of_machine) if expected else []
            without = [f"{name}: not measured: {one.why}" for name, one in gone]
            findings += [_judge(one, sessions, without, disturbed) for one in expected]
            # A loader alone has no bound: nothing could be expected of it.
            unexpected += [] if expected or sessions[-1].mode == "input" else [sessions[-1].id]
        if machine.kind or machine.key not in recorded or any(point.benchmark.fault for point in everything):
            findings += not_measured(everything, [one for one in of_file if one.is_of_machine(machine.key)])
    incomplete = {
        path: result.session.why_incomplete
        for path, result in results.items()
        if result.session is not None and result.session.why_incomplete is not None
    }
    found = {finding.expected for finding in findings}
    for_others = tuple(one for one in from_file if one not in found)
    return Checked(
        findings=tuple(findings),
        unexpected=tuple(unexpected),
        for_others=for_others,
        unreadable=tuple(unreadable),
        incomplete=tuple(f"{path}: {why}" for path, why in incomplete.items()),
    )


def _machine_of(point: Point) -> MachineKey:
    """Under whatever label. Rows without a record stand apart: an unreadable one may be any case that is asked for."""
    machine = point.machine._replace(label="")
    return machine if point.benchmark.record is not None else machine._replace(kind="", device="")


_ByCase = Mapping[str, Sequence[tuple[int, Expected]]]
"""The id of a case, or `ANY` of entries with a pattern -> entries with their places in the file."""


def _by_case(entries: Iterable[Expected]) -> _ByCase:
    """Find a case's own entries without a look at all of them: a file that was locked has one of each case."""
    found: dict[str, list[tuple[int, Expected]]] = {}
    for place, one in enumerate(entries):
        found.setdefault(ANY if ANY in one.case else one.case, []).append((place, one))
    return found


def _expected_of(point: Point, by_case: _ByCase) -> list[Expected]:
    record = point.benchmark.record
    if record is None:
        return []
    case, precision, names = point.id, record.case.precision, names_of(point)
    of_file = sorted((*by_case.get(case, ()), *by_case.get(ANY, ())), key=itemgetter(0))
    found = (*record.expected, *(one for _, one in of_file))
    return [one for one in found if one.is_for(case=case, precision=precision) and one.is_on(names)]


def _judge(
    expected: Expected, sessions: Sequence[Point], without: Sequence[str], disturbed: Mapping[Path, str]
) -> CheckedBound:
    """:param sessions: of one case, all of one machine and one work.
    :param without: sessions without it that should have it, with the reason.
    :param disturbed: the sessions of a disturbed hour.
    """
    valid = [point for point in sessions if point.valid]
    invalid = [(point, next(flag for flag in point.flags if flag.invalid)) for point in sessions if not point.valid]
    left_out = [
        f"{point.result.path.name}: the row is invalid: {flag.name}: {flag.evidence}" for point, flag in invalid
    ]
    left_out += without
    why, all_of_it = "; ".join(left_out), len(valid) + len(left_out)
    if valid and left_out:
        why = f"{len(left_out)} of {all_of_it} sessions have no usable row: {why}"
    newest = sessions[-1]
    result = partial(CheckedBound, expected=expected, case=newest.id, machine=newest.result.machine_label)
    wrong = why_none(expected)
    says_nothing = _of_another(expected, newest) if wrong is None else f"It can't be judged: {wrong}"
    if says_nothing is not None or not valid or len(left_out) >= TOO_MANY * all_of_it:
        return result(verdict="not_evaluable", points=tuple(sessions), why=says_nothing or why)
    roof, light = of_roof(valid, disturbed), of_speed_of_light(valid, disturbed)
    claims: list[Claim] = []
    if expected.bound is not None:
        claims.append(_bound(expected.bound, valid))
    if expected.min_fraction_of_roof is not None:
        claims.append(_floor("roof", expected.min_fraction_of_roof, roof, valid))
    if expected.min_fraction_of_speed_of_light is not None:
        claims.append(_floor("speed_of_light", expected.min_fraction_of_speed_of_light, light, valid))
    verdicts = {claim.verdict for claim in claims}
    order: tuple[Judged, ...] = ("failed", "not_evaluable", "held")
    verdict: Judged = next((one for one in order if one in verdicts), "not_evaluable")
    changed = _changed_roofs(expected, valid[-1])
    if changed:
        # By the roofs it was locked under, with the same measurements.
        moved = [_under(expected, point) for point in valid]
        as_locked = _judge(replace(expected, roofs=()), moved, (), disturbed)
        if verdict == as_locked.verdict == "held":
            changed = []  # roofs scatter from run to run, and it makes no difference
        elif as_locked.verdict == "held":
            why = f"The roofs changed, not the case: {'; '.join(changed)}. By the old ones it holds. Lock it anew"
            return result(verdict="not_evaluable", points=tuple(valid), why=why, changed_roofs=tuple(changed))
    return result(
        verdict=verdict,
        points=tuple(valid),
        claims=tuple(claims),
        roof=roof,
        speed_of_light=light,
        why=f"Left out: {why}" if why else "",
        changed_roofs=tuple(changed),
        disturbed=next(filter(None, (why_disturbed(point, disturbed) for point in valid)), ""),
    )


def _changed_roofs(expected: Expected, point: Point) -> list[str]:
    """The roofs that have another value than the expectation was locked under, with both values."""
    old = dict(expected.roofs)
    return [
        f"{roof.name} {scaled(roof.value, roof.unit)} ({'measured' if roof.source == 'measured' else roof.detail}),"
        f" locked under {scaled(old[roof.name], roof.unit)} ({expected.roofs_source})"
        for roof in bounding(point)
        if roof.name in old and not math.isclose(roof.value, old[roof.name], rel_tol=1e-9)
    ]


def _under(expected: Expected, point: Point) -> Point:
    """The same measurement under the roofs that an expectation was locked under."""
    old, session = dict(expected.roofs), point.result.session or Session(started_at="", label="")
    roofs = tuple(
        replace(roof, value=old.get(roof.name, roof.value)) if roof.kind != "latency" else roof
        for roof in point.roofs.roofs
    )
    # Published ones are among them: taken from the session, they need no table.
    result = replace(point.result, session=replace(session, roofs=roofs), benchmarks=(point.benchmark,))
    (moved,) = points_of(result, DeviceTable(devices=()))
    return moved


def _of_another(expected: Expected, point: Point) -> str | None:
    """Say why it says nothing of a case that its name fits: both values of what is not the same. None where it does."""
    record = point.benchmark.record
    assert record is not None
    machine, work = point.result.machine_key, record.case.workload_hash
    if not expected.is_of_machine(machine):
        return (
            f"It is of another machine of that name (fingerprint {expected.fingerprint}, here {machine}): lock it anew"
            " from good sessions of this one, or take fingerprint out of what every such machine has to reach"
        )
    if not expected.is_of_work(work):
        return (
            f"It is of another workload under that id (workload_hash {expected.workload_hash}, here {work}): see what"
            " changed in the case, and lock it anew"
        )
    return None


def _bound(expected: str, points: Sequence[Point]) -> Claim:
    kinds = {point.bound.kind for point in points}
    verdict: Judged = "failed"
    if kinds == {expected}:
        verdict = "held"
    elif kinds & {expected, "undetermined"}:
        verdict = "not_evaluable"
    seen = dict.fromkeys((point.bound.kind, point.bound.why) for point in points)
    if len(points) > 1 and len(seen) > 1:
        number = [sum((point.bound.kind, point.bound.why) == one for point in points) for one in seen]
        got = ", ".join(f"{bounded(*one)} in {count} of {len(points)}" for one, count in zip(seen, number, strict=True))
    else:
        got = bounded(points[-1].bound.kind, points[-1].bound.why)
    short = f"{bounded(points[-1].bound.kind)}, not {bounded(expected)}"
    return Claim(what="bound", verdict=verdict, expected=bounded(expected), got=got, short=short)


def bounded(kind: str, why: str = "") -> str:
    """A bound in words: ``memory-bound (below the knee (DRAM))``, ``undetermined (range straddles the knee)``."""
    return f"{kind if kind == 'undetermined' else f'{kind}-bound'}{f' ({why})' if why else ''}"


def at_least(what: Literal["roof", "speed_of_light"], floor: float) -> str:
    """A floor in words, with the digits it was given: ``at least 12.5 % of its roof``."""
    return f"at least {100 * floor:g} % {_OF[what]}"


_OF = {"roof": "of its roof", "speed_of_light": "of the speed of light"}


def _floor(
    what: Literal["roof", "speed_of_light"], floor: float, fraction: Fraction | None, points: Sequence[Point]
) -> Claim:
    expected = at_least(what, floor)
    if fraction is None:
        return Claim(what=what, verdict="not_evaluable", expected=expected, got=_why_none(what, points))
    verdict: Judged = "held" if fraction.timed else "not_evaluable"
    if fraction.value < floor:
        if fraction.timing is None or (fraction.open and fraction.at_most >= floor):
            verdict = "not_evaluable"
        elif fraction.at_most < floor:
            verdict = "failed"
    got = f"{percent(fraction.value, 3)} {_OF[what]}"
    if verdict == "held" and fraction.value < floor:
        got += f", which may be {percent(fraction.at_most, 3)} ({fraction.why_at_most}): not shown to be below"
    elif fraction.value < floor or not fraction.timed:
        got += f", at most {percent(fraction.at_most, 3)} ({fraction.why_at_most})"
    short = f"{percent(fraction.value, 3)} {_OF[what]}, not {100 * floor:g} %"
    return Claim(what=what, verdict=verdict, expected=expected, got=got, short=short)


def _why_none(what: Literal["roof", "speed_of_light"], points: Sequence[Point]) -> str:
    """Say why there is no fraction, of the first session that tells."""
    told = (point.sol.why_none if what == "speed_of_light" else point.placement.why_not for point in points)
    why = next(filter(None, told), "its bytes are not known, or a dtype that it ran in has no compute roof")
    return f"no fraction {_OF[what]}: {why}"


def by_counted_work(results: Iterable[ResultFile]) -> tuple[ResultFile, ...]:
    """The results without what hardware counters saw."""
    return tuple(_without_counters(result) for result in results)


def otherwise_by_counters(results: Iterable[ResultFile], table: DeviceTable) -> tuple[str, ...]:
    """The cases that hardware counters have bound otherwise than the count has, a sentence each.

    :param results: with their counters.
    """
    seen = [
        result
        for result in results
        if any(one.record is not None and counters_of(one.record) is not None for one in result.benchmarks)
    ]
    pairs = zip(place_all(seen, table), place_all(by_counted_work(seen), table), strict=True)
    sentences = (
        f"By hardware counters, which not every run reads, {one.id} on {one.result.machine_label} is"
        f" {bounded(one.bound.kind, one.bound.why)}; what is expected is held against the counted work, by which it is"
        f" {bounded(counted.bound.kind, counted.bound.why)}"
        for one, counted in pairs
        if one.bound.kind != counted.bound.kind
    )
    return tuple(dict.fromkeys(sentences))


def _without_counters(result: ResultFile) -> ResultFile:
    return replace(
        result,
        benchmarks=tuple(
            one if one.record is None else replace(one, record=replace(one.record, counters=None))
            for one in result.benchmarks
        ),
    )
