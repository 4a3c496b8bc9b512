"""Measures the roofs that cases need and no test of the run measured."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass
from typing import TYPE_CHECKING

from pytest_roofline import roofs
from roofline.record import Device, Record, Roof

if TYPE_CHECKING:
    import torch

    from pytest_roofline.devices import Instruments

BUDGET_S = 60.0
"""Time for all roofs together. A roof whose kernels weren't all tried by then is left out: it could be too low."""


@dataclass(frozen=True, slots=True)
class Measured:
    """``missing`` says of each roof that couldn't be measured why."""

    roofs: tuple[Roof, ...]
    missing: dict[str, str]
    seconds: float


def needed(records: Iterable[Record], device: Device) -> tuple[str, ...]:
    """The roofs that these cases are placed under: of the dtypes they computed in, of memory, and the launch."""
    works = [record.work for record in records if record.work is not None and record.case.mode != "roof"]
    if not works:
        return ()
    dtypes = {dtype for work in works for dtype, flop in work.flop_by_dtype.items() if flop > 0}
    cache = ("llc",) if device.last_level_cache_byte is not None else ()
    return (*(name for name in roofs.COMPUTE if name in dtypes), "dram", *cache, "launch")


def measure(
    names: Sequence[str],
    device: torch.device,
    cache_byte: int | None,
    instruments: Instruments,
    clock: Callable[[], float],
    conditions: Callable[[roofs.RoofPlan], AbstractContextManager[None]],
) -> Measured:
    """Measure roofs of `roofs.NAMES`, each twice, all within `BUDGET_S`. Never raises for a roof that can't be had."""
    start = clock()
    ledger, missing = roofs.Ledger(), dict[str, str]()
    for name in names:
        try:
            plan = roofs.plan(name, device, cache_byte)
            with conditions(plan):
                winner = roofs.find_best(plan, instruments, clock, deadline=start + BUDGET_S)
                ledger.add(plan, winner, roofs.as_value(plan, roofs.sample(winner, instruments, clock)))
        except (RuntimeError, MemoryError) as error:  # torch raises RuntimeError for all that a device can't do
            missing[name] = (str(error).splitlines() or [type(error).__name__])[0]
    try:
        if clock() - start < BUDGET_S:
            ledger.sample_again(instruments, clock, conditions)
    except (RuntimeError, MemoryError):
        pass  # the first sample of each stands
    return Measured(ledger.roofs(), missing, clock() - start)
