"""Hold what was counted of a step against what hardware counters saw of it, and say why the two differ.

FLOPs are compared by kinds of kernels: matrix products (with attention and recurrent layers) and convolutions, each
with the kernels of its kind, and both together, for a convolution may run as a matrix product; the rest of the
arithmetic with all other kernels. DRAM bytes are compared with the counted range.

Where Winograd kernels ran, less is right as well: F(2x2, 3x3) needs 1/2.25 of the multiplications (Lavin, Gray 2016),
so that the count becomes a range. Other reasons are given and not calculated with.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from typing import Literal

from roofline.counters.counted_kernels import CountedKernel, without_flop
from roofline.model.counter_values import counters_of
from roofline.model.speed_of_light import WINOGRAD_SAVING, compiled
from roofline.schema.amounts import total_of, usable_amount
from roofline.schema.record import Operation, Record
from roofline.text.units import counted, scaled

Standing = Literal["agrees", "fewer", "more", "unknown"]
"""How much the counters saw, held against the count."""

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
        """Tell whether the counters saw as much as is counted."""
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
    step = _Step(record=record, kernels=kernels)
    return (*(_arithmetic(step) if kernels else ()), *_traffic_row(step))


def _arithmetic(step: _Step) -> list[Reconciled]:
    work = step.record.work
    assert work is not None
    products, convolutions = step.operations(*_PRODUCTS), step.operations("convolution")
    of_products, of_convolutions = step.of_products(), step.of_convolutions()
    saved = step.may_be_winograd_flop * (1 - 1 / WINOGRAD_SAVING) if step.winograd else 0.0
    rows: list[Reconciled] = []
    name = "convolutions" if convolutions and not products else "matrix products"
    if products and convolutions:
        name = "products and convolutions"
        own = _flop_row("matrix products", _sum(products), of_products)
        others = _flop_row("convolutions", _sum(convolutions), of_convolutions, saved)
        rows += [_with(row, _another_algorithm(row.standing)) for row in (own, others)]
    if work.flop_per_step or of_products or of_convolutions:
        row = _flop_row(name, usable_amount(work.flop_per_step), [*of_products, *of_convolutions], saved)
        rows.append(_with(row, _reasons_of_matrices(step, row.standing)))
    row = _flop_row("other arithmetic", usable_amount(work.other_flop_per_step), step.of_others())
    if work.other_flop_per_step is None:
        row = _with(row, (f"not counted: {step.record.missing.get('work.other_flop_per_step', 'no reason is given')}",))
    rows.append(_with(row, _reasons_of_other_arithmetic(row.standing)))
    return rows


def _flop_row(name: str, counted: float | None, kernels: Sequence[CountedKernel], less: float = 0.0) -> Reconciled:
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


def _traffic_row(step: _Step) -> list[Reconciled]:
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
    return [_with(row, _reasons_of_bytes(step, row.standing))]


def _with(row: Reconciled, reasons: Sequence[str]) -> Reconciled:
    return replace(row, reasons=(*row.reasons, *reasons))


def _sum(operations: Iterable[Operation]) -> float | None:
    return total_of(usable_amount(operation.flop) for operation in operations)


_PRODUCTS = ("matmul", "attention", "rnn")
"""Kinds of operations that are matrix products."""


@dataclass(frozen=True, slots=True, kw_only=True)
class _Step:
    """The two sides of one step."""

    record: Record
    kernels: Sequence[CountedKernel]

    def operations(self, *kinds: str) -> list[Operation]:
        return [operation for operation in self.record.operations if operation.kind in kinds]

    def of_products(self) -> list[CountedKernel]:
        return [kernel for kernel in self.kernels if kernel.kind in ("gemm", "attention")]

    def of_convolutions(self) -> list[CountedKernel]:
        return [kernel for kernel in self.kernels if kernel.kind.startswith("convolution")]

    def of_others(self) -> list[CountedKernel]:
        taken = {id(kernel) for kernel in (*self.of_products(), *self.of_convolutions())}
        return [kernel for kernel in self.kernels if id(kernel) not in taken]

    @property
    def winograd(self) -> list[CountedKernel]:
        return [kernel for kernel in self.kernels if "winograd" in kernel.name.lower()]

    @property
    def may_be_winograd_flop(self) -> float:
        """Counted FLOPs of convolutions that may run with 1/2.25 of the multiplications."""
        return sum(operation.flop for operation in self.operations("convolution") if operation.winograd)


def _reasons_of_matrices(step: _Step, standing: Standing) -> tuple[str, ...]:
    """Of matrix products and convolutions together."""
    found = [_winograd(step), _channels(step) if standing == "more" else None]
    return tuple(reason for reason in found if reason is not None) or _another_algorithm(standing)


def _another_algorithm(standing: Standing) -> tuple[str, ...]:
    if standing in ("agrees", "unknown"):
        return ()
    return (
        "the library may compute it otherwise than counted: a convolution as a matrix product or by Fourier transform,"
        " fp32 as three products in TF32, or tiles beyond a matrix's edge",
    )


def _reasons_of_other_arithmetic(standing: Standing) -> tuple[str, ...]:
    """Of all that is neither."""
    if standing == "more":
        return ("one FLOP is counted for each element, and a kernel takes as many as its function needs",)
    if standing == "fewer":
        return ("comparisons are none to the counters, and bias and activation may run inside of a product's kernel",)
    return ()


def _reasons_of_bytes(step: _Step, standing: Standing) -> tuple[str, ...]:
    """Of DRAM bytes against the counted range."""
    if standing in ("agrees", "unknown"):
        return ()
    found = []
    if compiled(step.record):
        found.append("the step is compiled, and counted as it is uncompiled: fused kernels pass less through memory")
    if standing == "more":
        return (*found, "kernels' scratch memory and conversions of the layout aren't counted")
    size = step.record.device.last_level_cache_byte
    cache = "the last-level cache" if size is None else f"the last-level cache of {scaled(size, 'B')}"
    return (
        *found,
        f"less than one step by itself has to move: {cache} still held data of the step before, or the count is too"
        " high",
    )


def _winograd(step: _Step) -> str | None:
    if not step.winograd:
        return None
    may = step.may_be_winograd_flop
    begin = "Winograd kernels ran, which multiply fewer times"
    if not may:
        return f"{begin}; how many fewer isn't known, for no convolution of the step was marked as one that may"
    return (
        f"{begin}: the {scaled(may, 'FLOP')} of 3x3 convolutions that may run so need as little as"
        f" {scaled(may / WINOGRAD_SAVING, 'FLOP')} (1/{WINOGRAD_SAVING:g}; larger tiles less)"
    )


_CHANNELS = 8
"""Values of 2 bytes that tensor cores read at once (4 of TF32): fewer channels are filled up with zeros."""


def _channels(step: _Step) -> str | None:
    if not any(kernel.tensor_share for kernel in step.of_convolutions()):
        return None
    found = []
    for operation in step.operations("convolution"):
        # The weights are the last tensor of at least three dimensions: (out, in / groups, ...).
        tensors = [part.split("x") for part in operation.shape.split(", ") if re.fullmatch(r"\d+(x\d+){2,}", part)]
        if len(tensors) > 1 and int(tensors[-1][1]) % _CHANNELS != 0:
            found.append(operation)
    if not found:
        return None
    flop = scaled(total_of(operation.flop for operation in found), "FLOP")
    return (
        f"{counted(len(found), 'shape')} of convolutions ({flop}) with a number of input channels that is no"
        f" multiple of {_CHANNELS}: tensor cores compute zeros for the rest"
    )
