"""Measures the roofs that cases need and no test of the run measured."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import AbstractContextManager, suppress
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, TypeVar

from pytest_roofline.measuring.disturbance import disturbances
from pytest_roofline.measuring.host_telemetry import HostTelemetry
from pytest_roofline.measuring.rounds import Stopwatch
from pytest_roofline.roofs import kernels as roofs
from roofline.schema.record import Device, Record
from roofline.schema.session import Roof

if TYPE_CHECKING:
    import torch

    from pytest_roofline.device.instruments import Instruments

Result = TypeVar("Result")

BUDGET_S = 60.0
"""Time for all roofs together. A roof whose kernels weren't all tried by then is left out: it could be too low."""

ATTEMPTS = 3
"""So often a roof is measured at most, where it was disturbed or contradicts what is known."""


@dataclass(frozen=True, slots=True)
class MeasuredRoofs:
    """``missing`` says why roofs could not be measured, ``doubtful`` why measured ones may be wrong; by name."""

    roofs: tuple[Roof, ...]
    missing: dict[str, str]
    seconds: float
    doubtful: Mapping[str, str] = field(default_factory=dict)

    @property
    def again(self) -> str:
        """Tell what becomes of the doubtful ones, as the end of a sentence; empty where there are none."""
        if not self.doubtful:
            return ""
        return f". Doubtful, so that the next run measures them again: {', '.join(self.doubtful)}"


def needed(records: Iterable[Record], device: Device) -> tuple[str, ...]:
    """The roofs that these cases are placed under: of the dtypes they computed in, of memory, and the launch."""
    works = [record.work for record in records if record.work is not None and record.case.mode != "roof"]
    if not works:
        return ()
    dtypes = {dtype for work in works for dtype in work.dtypes}
    cache = ("llc",) if device.last_level_cache_byte is not None else ()
    return (*(name for name in roofs.COMPUTE if name in dtypes), "dram", *cache, "launch")


def doubts(found: Iterable[Roof], device: Device) -> dict[str, str]:
    """Tell why roofs of a device may be wrong, by their names; nothing of a sound one."""
    from roofline.machine import published, roof_choice

    row = published.load().find(device.name)
    return roof_choice.doubts(found, row.best() if row is not None else ())


@dataclass(frozen=True, slots=True, kw_only=True)
class Equipment:
    """A device and what its roofs are measured with.

    :param described: the device as a record has it.
    :param clock: seconds.
    :param conditions: under which a roof's kernels run.
    :param telemetry: tells what else uses the host.
    """

    device: torch.device
    described: Device
    instruments: Instruments
    clock: Callable[[], float]
    conditions: Callable[[roofs.RoofPlan], AbstractContextManager[None]]
    telemetry: HostTelemetry = field(default_factory=HostTelemetry)


def measure(names: Sequence[str], equipment: Equipment, beside: Iterable[Roof] = ()) -> MeasuredRoofs:
    """Measure roofs of `kernels.NAMES`, each twice, all within `BUDGET_S`. Never raises for a roof that can't be had.

    Those that are doubtful then are measured again, up to `ATTEMPTS` times within the same time.

    :param beside: roofs that are known already, which those measured may contradict.
    """
    clock, described = equipment.clock, equipment.described
    start = clock()
    found: dict[str, Roof] = {}
    missing: dict[str, str] = {}
    doubtful: dict[str, str] = {}
    for _ in range(ATTEMPTS):
        taken, failed = _attempt(names, equipment, start + BUDGET_S)
        missing |= {name: why for name, why in failed.items() if name not in found}
        for roof in taken:
            older = found.get(roof.name)
            if older is None or roof.disturbed is None or _reached_more(roof, older):
                found[roof.name] = roof
        known = {roof.name: roof for roof in (*beside, *found.values())}
        doubtful = {name: why for name, why in doubts(known.values(), described).items() if name in found}
        names = tuple(doubtful)
        if not names or clock() - start >= BUDGET_S:
            break
    return MeasuredRoofs(tuple(found.values()), missing, clock() - start, doubtful)


def _attempt(names: Sequence[str], equipment: Equipment, deadline: float) -> tuple[tuple[Roof, ...], dict[str, str]]:
    """:returns: the roofs that were measured, and of the others why they weren't."""
    ledger, missing = roofs.Ledger(), dict[str, str]()
    instruments, clock = equipment.instruments, equipment.clock
    for name in names:
        try:
            plan = roofs.plan(name, equipment.device, equipment.described.last_level_cache_byte)

            def find(plan: roofs.RoofPlan = plan) -> tuple[roofs.Candidate, float]:
                winner = roofs.find_best(plan, instruments, clock, deadline=deadline)
                return winner, roofs.as_value(plan, roofs.sample(winner, instruments, clock))

            with equipment.conditions(plan):
                (winner, value), disturbed = _watched(find, equipment)
            ledger.add(plan, winner, value, disturbed)
        except (RuntimeError, MemoryError) as error:  # torch raises RuntimeError for all that a device can't do
            missing[name] = (str(error).splitlines() or [type(error).__name__])[0]
    with suppress(RuntimeError, MemoryError):  # the first sample of each stands
        if clock() < deadline:
            ledger.sample_again(instruments, clock, equipment.conditions)
    return ledger.roofs(), missing


def _watched(find: Callable[[], Result], equipment: Equipment) -> tuple[Result, str | None]:
    """Give what was found, and what disturbed the machine meanwhile, judged as a round of a case is."""
    results: list[Result] = []
    stopwatch = Stopwatch(lambda: results.append(find()), equipment.instruments, equipment.clock, equipment.telemetry)
    marks = disturbances([stopwatch.round(1)])
    return results[0], None if marks is None else marks[0]


def _reached_more(roof: Roof, other: Roof) -> bool:
    return roof.value < other.value if roof.kind == "latency" else roof.value > other.value
