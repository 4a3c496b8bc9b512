"""Choose and group points: cases, newest runs, one machine's; and compare the throughputs of a group."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from pathlib import Path
from typing import Literal, TypeVar

from roofline.model.points import MachineKey, Point

AnyMachine = TypeVar("AnyMachine")

NEAR_BEST = 0.9
"""Of the best throughput: what larger batches gain beyond this is seldom worth their memory and latency."""

_RUNS_TOLD = 3


def cases(points: Iterable[Point]) -> tuple[Point, ...]:
    """Without the benchmarks that measured a roof: they are ceilings, not cases under them."""
    return tuple(point for point in points if point.mode != "roof")


def newest(points: Sequence[Point]) -> tuple[tuple[Point, ...], tuple[str, ...]]:
    """Of runs of the same workload on the same machine, under one label, the newest alone, never a mean of them; and
    notes saying so, with the numbers of threads where these differ.
    """
    runs: dict[tuple[str, ...], list[Point]] = {}
    for point in sorted(points, key=lambda point: (point.result.when, str(point.result.path))):
        runs.setdefault((*point.machine, *point.workload), []).append(point)
    several: dict[str, list[list[Point]]] = {}
    for group in runs.values():
        if len(group) > 1:
            several.setdefault(group[0].machine.label, []).append(group)
    kept = {id(group[-1]) for group in runs.values()}
    notes = []
    for label, groups in several.items():
        older = sum(len(group) - 1 for group in groups)
        notes.append(
            f"{label}: {older} older result{'s' if older > 1 else ''} of the same workload left out, the newest is"
            f" shown{_other_threads(point for group in groups for point in group)}"
        )
    return tuple(point for point in points if id(point) in kept), tuple(notes)


def _other_threads(points: Iterable[Point]) -> str:
    """Say with how many threads the points' runs computed; empty where all did with as many."""
    machines = [point.result.machine for point in points]
    counts = [None if machine is None else machine.threads.get("intra_op") for machine in machines]
    threads = sorted({count for count in counts if count is not None})
    return f"; threads differ: {', '.join(map(str, threads))}" if len(threads) > 1 else ""


def runs_of(points: Iterable[Point]) -> str | None:
    """When the runs began that the points are of, the newest first; None where all are of one run."""
    count = Counter((point.result.when, str(point.result.path)) for point in points)
    if len(count) < 2:
        return None
    runs = [f"{cases} of {when or Path(path).name}" for (when, path), cases in sorted(count.items(), reverse=True)]
    more = f", and of {len(runs) - _RUNS_TOLD} more" if len(runs) > _RUNS_TOLD else ""
    return f"Cases of {len(runs)} runs: {', '.join(runs[:_RUNS_TOLD])}{more}."


def days_of(points: Iterable[Point]) -> str:
    """The days of the points' runs, the first to the last; empty where none is recorded."""
    days = sorted({point.result.when[:10] for point in points} - {""})
    return " to ".join(dict.fromkeys([*days[:1], *days[-1:]]))


def by_machine(points: Iterable[Point]) -> dict[MachineKey, list[Point]]:
    """The points of each machine, in order of appearance."""
    found: dict[MachineKey, list[Point]] = {}
    for point in points:
        found.setdefault(point.machine, []).append(point)
    return found


def roofs_alone(points: Sequence[Point]) -> list[Point]:
    """The benchmarks of roofs on machines of which there is no case, the newest first."""
    with_cases = {point.machine for point in cases(points)}
    found = [point for point in points if point.mode == "roof" and point.machine not in with_cases]
    return sorted(found, key=lambda point: point.result.when, reverse=True)


def machine_names(points: Iterable[Point]) -> dict[MachineKey, str]:
    """A name for each machine, in order of appearance: its label, with more where labels are not unique."""
    first = {machine: own[0].result for machine, own in by_machine(points).items()}

    def device(machine: MachineKey) -> str | None:
        return machine.device or first[machine].host.cpu

    def key(machine: MachineKey) -> str | None:
        return first[machine].host.system if "|" in machine.key else machine.key[-6:]

    return unique_labels({machine: machine.label for machine in first}, device, key)


def unique_labels(
    labels: Mapping[AnyMachine, str],
    device: Callable[[AnyMachine], str | None],
    key: Callable[[AnyMachine], str | None],
) -> dict[AnyMachine, str]:
    """The label of each machine, with its device where several have one label, and with its key where that is the same,
    too.
    """
    names = dict(labels)
    for tell, form in ((device, "{} ({})"), (key, "{} [{}]")):
        taken = Counter(names.values())
        names = {
            machine: form.format(name, more) if taken[name] > 1 and (more := tell(machine)) else name
            for machine, name in names.items()
        }
    return names


def apart_by_margins(ratio: float, point: Point, other: Point) -> Literal["yes", "no"] | None:
    """Tell whether the ratio of two throughputs or step times differs from 1 by more than both margins together.

    None where one of them has no margin.
    """
    margin = _margin(point, other)
    return None if math.isinf(margin) else "yes" if abs(ratio - 1) > margin else "no"


def knee(points: Sequence[Point]) -> int | None:
    """Place of the smallest batch whose throughput is at least `NEAR_BEST` of the best; None where margins leave it
    open.

    :param points: cases that differ in their batch size alone, the smallest first, each with a throughput.
    """
    for place, point in enumerate(points):
        others = [other for other in points if other is not point]
        shares = [
            ((point.samples_per_s or 0.0) / (other.samples_per_s or 1.0), _margin(point, other)) for other in others
        ]
        if not any(share + margin < NEAR_BEST for share, margin in shares):
            return place if all(share - margin >= NEAR_BEST for share, margin in shares) else None
    return None


def _margin(point: Point, other: Point) -> float:
    """Of the ratio of both, relative; infinite where one has none."""
    return math.inf if point.margin is None or other.margin is None else point.margin + other.margin
