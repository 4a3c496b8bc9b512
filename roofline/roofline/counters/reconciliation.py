"""What was counted of a step against what hardware counters saw of it.

FLOPs are compared by kinds of kernels: matrix products (with attention and recurrent layers) and convolutions, each
with the kernels of its kind, and both together, for a convolution may run as a matrix product; the rest of the
arithmetic with all other kernels. DRAM bytes are compared with the counted range.

Where Winograd kernels ran, less is right as well: F(2x2, 3x3) needs 1/2.25 of the multiplications (Lavin, Gray 2016),
so that the count becomes a range. Other reasons are told and not calculated with (`discrepancies`).
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from typing import Literal

from roofline.counters.counted_kernels import CountedKernel, without_flop
from roofline.counters.discrepancies import (
    PRODUCTS,
    Standing,
    Step,
    of_bytes,
    of_matrices,
    of_other_arithmetic,
    of_parts,
)
from roofline.model.counter_values import counters_of
from roofline.model.sol import WINOGRAD_SAVING
from roofline.schema.amounts import total_of, usable_amount
from roofline.schema.record import Operation, Record

AGREEMENT = 0.02
"""Relative difference up to which count and counters are the same."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Reconciled:
    """One quantity: what is counted of it, and what the counters have. None: not known, as ``reasons`` say.

    ``counted_low`` is below ``counted_high`` where less is right as well. ``launches`` are those that the counters'
    value is of.
    """

    name: str
    unit: Literal["FLOP", "B"]
    counted_low: float | None
    counted_high: float | None
    counters: float | None
    launches: int
    reasons: tuple[str, ...] = ()

    @property
    def ratio(self) -> float | None:
        """Counters over the nearest counted: 1 inside of the range. None where there is nothing to divide by."""
        if self.counters is None or self.counted_low is None or self.counted_high is None:
            return None
        if self.counted_low <= self.counters <= self.counted_high:
            return 1.0
        nearest = self.counted_low if self.counters < self.counted_low else self.counted_high
        return self.counters / nearest if nearest > 0 else None

    @property
    def standing(self) -> Standing:
        """Whether the counters saw as much as is counted."""
        if self.ratio is None:
            return "unknown"
        if abs(self.ratio - 1) <= AGREEMENT:
            return "agrees"
        return "more" if self.ratio > 1 else "fewer"


def reconcile(record: Record, kernels: Sequence[CountedKernel]) -> tuple[Reconciled, ...]:
    """Every quantity that there is something to say of; nothing without counters or without a count.

    :param kernels: those of the record's counters.
    """
    if counters_of(record) is None or record.work is None:
        return ()
    step = Step(record=record, kernels=kernels)
    return (*(_arithmetic(step) if kernels else ()), *_traffic(step))


def _arithmetic(step: Step) -> list[Reconciled]:
    work = step.record.work
    assert work is not None
    products, convolutions = step.operations(*PRODUCTS), step.operations("convolution")
    of_products, of_convolutions = step.of_products(), step.of_convolutions()
    saved = step.may_be_winograd_flop * (1 - 1 / WINOGRAD_SAVING) if step.winograd else 0.0
    rows: list[Reconciled] = []
    name = "convolutions" if convolutions and not products else "matrix products"
    if products and convolutions:
        name = "products and convolutions"
        own = _flop("matrix products", _sum(products), of_products)
        others = _flop("convolutions", _sum(convolutions), of_convolutions, saved)
        reasons = of_parts(own.standing, others.standing)
        rows += [_with(own, reasons), _with(others, reasons)]
    if work.flop_per_step or of_products or of_convolutions:
        row = _flop(name, usable_amount(work.flop_per_step), [*of_products, *of_convolutions], saved)
        rows.append(_with(row, of_matrices(step, row.standing)))
    row = _flop("other arithmetic", usable_amount(work.other_flop_per_step), step.of_others())
    if work.other_flop_per_step is None:
        row = _with(row, (f"not counted: {step.record.missing.get('work.other_flop_per_step', 'no reason is told')}",))
    rows.append(_with(row, of_other_arithmetic(step, row.standing)))
    return rows


def _flop(name: str, counted: float | None, kernels: Sequence[CountedKernel], less: float = 0.0) -> Reconciled:
    """:param less: how many fewer are right as well."""
    unread = without_flop(kernels)
    return Reconciled(
        name=name,
        unit="FLOP",
        counted_low=None if counted is None else max(0.0, counted - less),
        counted_high=counted,
        counters=total_of(kernel.flop for kernel in kernels),
        launches=sum(kernel.launches for kernel in kernels),
        reasons=() if unread is None else (unread,),
    )


def _traffic(step: Step) -> list[Reconciled]:
    work, counters = step.record.work, counters_of(step.record)
    assert work is not None
    assert counters is not None
    row = Reconciled(
        name="DRAM bytes",
        unit="B",
        counted_low=usable_amount(work.byte_low_per_step),
        counted_high=usable_amount(work.byte_high_per_step),
        counters=usable_amount(counters.dram_byte),
        launches=sum(kernel.launches for kernel in step.kernels),
    )
    return [_with(row, of_bytes(step, row.standing))]


def _with(row: Reconciled, reasons: Sequence[str]) -> Reconciled:
    return replace(row, reasons=(*row.reasons, *reasons))


def _sum(operations: Iterable[Operation]) -> float | None:
    return total_of(usable_amount(operation.flop) for operation in operations)
