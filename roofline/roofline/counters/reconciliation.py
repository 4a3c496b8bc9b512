"""What was counted of a step against what hardware counters saw of it, and why the two differ.

FLOPs are compared by kinds of kernels: matrix products (with attention and recurrent layers) and convolutions, each
with the kernels of its kind, and both together, for a convolution may run as a matrix product; the rest of the
arithmetic with all other kernels. DRAM bytes are compared with the counted range.

Where Winograd kernels ran, less is right as well: F(2x2, 3x3) needs 1/2.25 of the multiplications (Lavin, Gray 2016),
so that the count becomes a range. Other reasons are given and not calculated with, and only those that something shows:
a kernel's name, the shapes of the step's operations, an operation that it has.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from typing import Literal

from roofline.counters.counted_kernels import CountedKernel, without_flop
from roofline.model.counter_values import counters_of
from roofline.model.sol import WINOGRAD_SAVING, compiled
from roofline.schema.amounts import total_of, usable_amount
from roofline.schema.record import Operation, Record
from roofline.text.units import counted, scaled, some_of

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
        reasons = _reasons_of_parts(own.standing, others.standing)
        rows += [_with(own, reasons), _with(others, reasons)]
    if work.flop_per_step or of_products or of_convolutions:
        row = _flop_row(name, usable_amount(work.flop_per_step), [*of_products, *of_convolutions], saved)
        rows.append(_with(row, _reasons_of_matrices(step, row.standing)))
    row = _flop_row("other arithmetic", usable_amount(work.other_flop_per_step), step.of_others())
    if work.other_flop_per_step is None:
        row = _with(row, (f"not counted: {step.record.missing.get('work.other_flop_per_step', 'no reason is given')}",))
    rows.append(_with(row, _reasons_of_other_arithmetic(step, row.standing)))
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


def _reasons_of_parts(products: Standing, convolutions: Standing) -> tuple[str, ...]:
    """Of matrix products and of convolutions, each by itself."""
    if products == "more" and convolutions == "fewer":
        return ("convolutions may run as matrix products (1x1 ones often do): the sum of both is what tells",)
    return ()


def _reasons_of_matrices(step: _Step, standing: Standing) -> tuple[str, ...]:
    """Of matrix products and convolutions together."""
    found = [_winograd(step), _fourier(step)]
    if standing == "more":
        found += [_three_times(step), _tiles(step), _channels(step)]
    return tuple(reason for reason in found if reason is not None)


def _reasons_of_other_arithmetic(step: _Step, standing: Standing) -> tuple[str, ...]:
    """Of all that is neither."""
    found = []
    if standing == "more":
        found.append("one FLOP is counted for each element, and a kernel takes as many as its function needs")
    if standing == "fewer" and (comparisons := _named(step, _COMPARISONS)):
        found.append(f"a comparison ({comparisons}) is counted as one FLOP, and is none to the counters")
    if standing == "fewer" and (step.of_products() or step.of_convolutions()):
        found.append("bias and activation may run inside of the kernels of products and convolutions, and count there")
    return tuple(found)


def _reasons_of_bytes(step: _Step, standing: Standing) -> tuple[str, ...]:
    """Of DRAM bytes against the counted range."""
    if standing in ("agrees", "unknown"):
        return ()
    found = []
    if compiled(step.record):
        found.append("the step is compiled, and counted as it is uncompiled: fused kernels pass less through memory")
    if standing == "more":
        return (*found, _extra(step))
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
    begin = f"{_launches(step.winograd)} of Winograd kernels, which multiply fewer times"
    if not may:
        return f"{begin}; how many fewer isn't known, for no convolution of the step was marked as one that may"
    return (
        f"{begin}: the {scaled(may, 'FLOP')} of 3x3 convolutions that may run so need as little as"
        f" {scaled(may / WINOGRAD_SAVING, 'FLOP')} (1/{WINOGRAD_SAVING:g}; larger tiles less)"
    )


def _fourier(step: _Step) -> str | None:
    kernels = [kernel for kernel in step.kernels if "fft" in kernel.name.lower()]
    if not kernels or not step.operations("convolution"):
        return None
    return f"{_launches(kernels)} of FFT kernels: convolutions by Fourier transform multiply fewer times than counted"


_IN_THREE__PRODUCTS = re.compile(r"fmha_cutlass[fb]_f32_\w*sm[89]\d", re.IGNORECASE)
"""PyTorch's memory-efficient attention in fp32, from compute capability 8.0 on. Its products are CUTLASS's of the
operator ``OpMultiplyAddFastF32``: each operand is split into two of TF32, and three products of them are added."""


def _three_times(step: _Step) -> str | None:
    kernels = [kernel for kernel in step.kernels if _IN_THREE__PRODUCTS.search(kernel.name)]
    if not kernels:
        return None
    counted = step.operations("attention")
    which = f", which is {_flop(counted)} here" if counted else ""
    return (
        f"3xTF32: {_launches(kernels)} of attention in fp32, whose products are each computed three times in TF32 on"
        f" tensor cores: up to 3 times the count of attention{which}"
    )


_TILE = re.compile(r"(?<![\dx])(\d{2,3})x(\d{2,3})(?!\d)")
"""Rows and columns of a result that one block of threads computes, as cuBLAS, cuDNN and CUTLASS name them."""


def _tiles(step: _Step) -> str | None:
    tiles = {
        (int(found[1]), int(found[2]))
        for kernel in (*step.of_products(), *step.of_convolutions())
        if (found := _TILE.search(kernel.name)) is not None
    }
    if not tiles:
        return None
    # Rows and columns may be either way round: only what fits neither is reported.
    side = min(min(tile) for tile in tiles)
    results = [(operation, result) for operation in step.operations("matmul") if (result := _result(operation))]
    uneven = [operation for operation, (rows, columns) in results if rows % side or columns % side]
    if not uneven:
        return None
    named = ", ".join(f"{rows}x{columns}" for rows, columns in sorted(tiles)[:4])
    return (
        f"tiles ({named}, by the kernels' names) are computed whole, what lies beyond a matrix's edge included:"
        f" {len(uneven)} of {counted(len(results), 'shape')} of products ({_flop(uneven)}) with a result that is no"
        f" multiple of {side}"
    )


def _result(operation: Operation) -> tuple[int, int] | None:
    """Rows and columns of a product's result, from the shapes of its two matrices; None where they don't show."""
    tensors = [part.split("x") for part in operation.shape.split(", ") if re.fullmatch(r"\d+(x\d+)+", part)]
    if len(tensors) < 2 or len(tensors[-2]) != len(tensors[-1]):
        return None
    return int(tensors[-2][-2]), int(tensors[-1][-1])


_CHANNELS = 8
"""Values of 2 bytes that tensor cores read at once (4 of TF32): fewer channels are filled up with zeros."""


def _channels(step: _Step) -> str | None:
    if not any(kernel.tensor_share for kernel in step.of_convolutions()):
        return None
    found = [operation for operation in step.operations("convolution") if _odd_channels(operation)]
    if not found:
        return None
    return (
        f"{counted(len(found), 'shape')} of convolutions ({_flop(found)}) with a number of input channels that is no"
        f" multiple of {_CHANNELS}: tensor cores compute zeros for the rest"
    )


def _odd_channels(operation: Operation) -> bool:
    """By its weights, the last tensor of at least three dimensions: (out, in / groups, ...)."""
    tensors = [part.split("x") for part in operation.shape.split(", ") if re.fullmatch(r"\d+(x\d+){2,}", part)]
    return len(tensors) > 1 and int(tensors[-1][1]) % _CHANNELS != 0


_COMPARISONS = re.compile(
    r"relu|hardtanh|clamp|(?<!soft)max|min(?!us)|where|threshold|dropout|(?:_|::)(?:eq|ne|lt|le|gt|ge)\b"
)


def _named(step: _Step, pattern: re.Pattern[str]) -> str:
    """The operations without matrix arithmetic whose name has it, the first three."""
    names = dict.fromkeys(
        operation.name.removeprefix("aten::")
        for operation in step.record.operations
        if operation.kind not in (*_PRODUCTS, "convolution") and pattern.search(operation.name)
    )
    return some_of([*names])


_EXTRA = (
    ("conversions of the layout", re.compile(r"nchw_?to_?nhwc|nhwc_?to_?nchw", re.IGNORECASE)),
    ("unrolled convolutions", re.compile(r"im2col|col2im", re.IGNORECASE)),
    ("partial sums of split products", re.compile(r"split_?k", re.IGNORECASE)),
    ("Winograd's transforms", re.compile(r"winograd\w*(?:transform|tiles)", re.IGNORECASE)),
)
"""What moves bytes besides the operands of an operation, by the names of its kernels."""


def _extra(step: _Step) -> str:
    causes = []
    for what, pattern in _EXTRA:
        kernels = [kernel for kernel in step.kernels if pattern.search(kernel.name)]
        moved = total_of(kernel.byte["dram_byte"] for kernel in kernels)
        if kernels:
            size = "" if moved is None else f", {scaled(moved, 'B')}"
            causes.append(f"{what} ({_launches(kernels)}{size})")
    which = "; ".join(causes) or "kernels' scratch memory isn't counted, and no name of a kernel tells of any"
    return f"more than the operations read and write: {which}"


def _flop(operations: Sequence[Operation]) -> str:
    return scaled(total_of(operation.flop for operation in operations), "FLOP")


def _launches(kernels: Sequence[CountedKernel]) -> str:
    number = sum(kernel.launches for kernel in kernels)
    return f"{number} launch{'' if number == 1 else 'es'}"
