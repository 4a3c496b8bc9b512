"""Expectations from good sessions: the bound that all of them have, and floors below what they reached.

A floor is the lowest fraction over the sessions x (1 - safety), rounded down to two digits. The safety is twice the
scatter, at least `LEAST_SAFETY`: the margin of the timing and the deviation between sessions, independent of each
other. A single session knows no deviation: its roofs' spread stands in its place, and the safety is at least
`ONE_SESSION_SAFETY`. Where it is more than `MOST_SAFETY` no floor would mean anything, and none is written; nor is one
where a session was mostly disturbed from outside, for nothing tells how well such a time is known.

What was worked out of one machine and one work is expected of that machine and that work alone: an entry names both.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from roofline.comparison.observations.observation import disturbed_sessions
from roofline.expectations.fraction import (
    Fraction,
    bounding,
    of_roof,
    of_several_commits,
    of_speed_of_light,
    why_disturbed,
)
from roofline.expectations.outcome import lost
from roofline.model.point_groups import cases
from roofline.model.points import MachineKey, Point
from roofline.results.result import ResultFile
from roofline.schema.expected import ANY, Expected
from roofline.text.units import percent

LEAST_SAFETY = 0.10
ONE_SESSION_SAFETY = 0.25
MOST_SAFETY = 0.50


@dataclass(frozen=True, slots=True, kw_only=True)
class Locked:
    """An expectation to write, and the evidence for it, a line each. ``warning`` says what speaks against it; it is
    among the evidence, and empty where nothing does. ``sessions`` are those it comes from, oldest first.
    """

    expected: Expected
    evidence: tuple[str, ...]
    sessions: tuple[Point, ...] = ()
    warning: str = ""


def lock(points: Iterable[Point], least_safety: float = LEAST_SAFETY) -> tuple[list[Locked], list[str]]:
    """Choose what to expect of the cases, and say of those left out why; both by machine and case.

    :param points: those of one case on one machine are sessions of it.
    :param least_safety: share by which a floor lies below the lowest fraction at least.
    """
    points = tuple(points)
    results = {point.result.path: point.result for point in points}.values()
    disturbed = disturbed_sessions(results)
    groups: dict[tuple[str, MachineKey, str], list[Point]] = {}
    for point in sorted(cases(points), key=lambda point: point.result.when):
        groups.setdefault((point.result.machine_label, point.machine, point.id), []).append(point)
    found = [
        _lock(groups[key], [result for result in results if result.machine_key == key[1].key], disturbed, least_safety)
        for key in sorted(groups)
    ]
    return [one for one in found if isinstance(one, Locked)], [one for one in found if isinstance(one, str)]


def _lock(
    sessions: Sequence[Point], results: Iterable[ResultFile], disturbed: Mapping[Path, str], least_safety: float
) -> Locked | str:
    """:param results: all of the sessions' machine."""
    newest = sessions[-1]
    why = _why_not(sessions) or _failed(sessions, results)
    roof, light = of_roof(sessions, disturbed), of_speed_of_light(sessions, disturbed)
    if why is None and roof is None and light is None:
        why = (
            newest.placement.why_not or newest.sol.why_none or "neither a fraction of a roof nor of the speed of light"
        )
    if why is not None:
        return f"{newest.id} on {newest.result.machine_label}: {why}"
    record = newest.benchmark.record
    assert record is not None
    assert newest.bound.kind != "undetermined"
    warning = _disturbed(sessions, disturbed)
    evidence = [f"{newest.bound.why}: {newest.bound.evidence}."]
    floors: dict[str, float] = {}
    for name, of, fraction in (("min_fraction_of_roof", "its roof", roof), (_LIGHT, "the speed of light", light)):
        floor, reached = _floor(of, fraction, least_safety, disturbed=bool(warning))
        evidence.append(reached)
        if floor is not None:
            floors[name] = floor
    expected = Expected(
        bound=newest.bound.kind,
        min_fraction_of_roof=floors.get("min_fraction_of_roof"),
        min_fraction_of_speed_of_light=floors.get(_LIGHT),
        case=newest.id,
        device=newest.result.machine_label,
        fingerprint=ANY if newest.result.machine is None else newest.result.machine.fingerprint,
        workload_hash=record.case.workload_hash,
        roofs=tuple((roof.name, roof.value) for roof in bounding(newest)),
        roofs_source=", ".join(
            dict.fromkeys("measured" if roof.source == "measured" else roof.detail for roof in bounding(newest))
        ),
        source=f"locked from {_sessions(sessions)}",
    )
    commits = of_several_commits([sessions], "locked")
    head = [
        f"Locked from {_sessions(sessions)}.",
        *([f"{warning}."] if warning else []),
        *([commits] if commits is not None else []),
    ]
    return Locked(expected=expected, evidence=(*head, *evidence), sessions=tuple(sessions), warning=warning)


_LIGHT = "min_fraction_of_speed_of_light"


def _sessions(sessions: Sequence[Point]) -> str:
    files = ", ".join(dict.fromkeys(point.result.path.name for point in sessions))
    return f"1 session ({files})" if len(sessions) == 1 else f"{len(sessions)} sessions ({files})"


def _disturbed(sessions: Sequence[Point], disturbed: Mapping[Path, str]) -> str:
    """Say in which sessions the machine was hardly left alone; empty where there are none."""
    whys = ((point, why_disturbed(point, disturbed)) for point in sessions)
    found = [f"{why} in {point.result.path.name}" for point, why in whys if why is not None]
    if not found:
        return ""
    more = f", and most of them in {len(found) - 1} more of {len(sessions)} sessions" if len(found) > 1 else ""
    return f"{found[0]}{more}: no floor comes from such a time. Lock the case from sessions of a quiet hour"


def _why_not(sessions: Sequence[Point]) -> str | None:
    """Say why these sessions are no base for an expectation; None where they are one."""
    for point in sessions:
        where = point.result.path.name
        if point.benchmark.record is None:
            return f"no record in {where}: another project's benchmark"
        if not point.valid:
            return f"{point.why_invalid} in {where}"
        if point.bound.kind == "undetermined":
            return f"undetermined ({point.bound.why}) in {where}: {point.bound.evidence}"
        beyond = next((flag for flag in point.flags if flag.name in ("above_roof", "faster_than_sol")), None)
        if beyond is not None:
            return f"{beyond.name} in {where}: {beyond.evidence}"
    kinds = dict.fromkeys(point.bound.kind for point in sessions)
    if len(kinds) > 1:
        return f"the sessions differ: {', '.join(kinds)}"
    if len({point.workload for point in sessions}) > 1:
        return "the sessions are of different workloads under one name"
    return None


def _failed(sessions: Sequence[Point], results: Iterable[ResultFile]) -> str | None:
    """Say where the case was to be measured, too, and failed; None where it didn't. Skipped is not failed."""
    for name, one in lost(sessions, results):
        if one.outcome != "skipped":
            return f"not measured in {name}: {one.why}"
    return None


def _floor(of: str, fraction: Fraction | None, least_safety: float, *, disturbed: bool) -> tuple[float | None, str]:
    """A floor, and what it was worked out from.

    :param disturbed: sessions were mostly disturbed.
    """
    if fraction is None:
        return None, f"No fraction of {of}."
    if fraction.timing is None:
        what = "a disturbed time" if disturbed else "one window"
        return None, f"{percent(fraction.value, 3)} of {of}; {what} doesn't tell how well: no floor."
    if fraction.sessions is None:
        safety = max(least_safety, ONE_SESSION_SAFETY, 2 * math.hypot(fraction.scatter, fraction.roofs))
    else:
        safety = max(least_safety, 2 * fraction.scatter)
    reached = f"{percent(fraction.least, 3)} of {of} at the lowest; {fraction.why_open}"
    if safety > MOST_SAFETY:
        return None, f"{reached}: known too badly for a floor."
    floor = _down(fraction.least * (1 - safety))
    if floor > 1:
        return None, f"{reached}: a floor above 1 would say nothing."
    return floor, f"{reached}: {percent(safety)} below."


def _down(value: float) -> float:
    """Two significant digits, rounded down."""
    step = 10.0 ** (math.floor(math.log10(value)) - 1)
    return float(f"{math.floor(value / step + 1e-9) * step:.12g}")
