"""Points by machine, and a name for each machine."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import TypeVar

from roofline.model.points import MachineKey, Point, cases

AnyMachine = TypeVar("AnyMachine")


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
