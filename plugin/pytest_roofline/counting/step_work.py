"""Counting one step: `count_step`, and the sums over what it dispatched."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field
from itertools import chain
from math import inf

import torch
from torch import Tensor, nn

from pytest_roofline.counting.counter import Trace, run_counted
from pytest_roofline.counting.flop.matrix_operations import Tf32
from pytest_roofline.counting.operation_cost import CountedOperation
from pytest_roofline.counting.step_memory import (
    PeakMode,
    SavedTensors,
    gradient_byte,
    held_before,
    optimizer_state,
    stored_byte,
)
from pytest_roofline.counting.traffic import Traffic, Unit, least_traffic_byte
from roofline.schema.record import Operation, Uncovered, Work

_NO_HOOKS = "don't yet support saved tensor hooks"
"""How torch says it, in the message of a plain RuntimeError."""

_IEEE = Tf32()


@dataclass(frozen=True, slots=True)
class Leaf:
    """One dispatched operation that may do work, and where it is counted.

    ``operation`` is its position among the step's operations; None where it turned out to do nothing, and where it
    can't be seen into. ``uncovered``: it is among the uncovered ones of its name.
    """

    name: str
    operation: int | None
    uncovered: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class Counted:
    """The work of one step.

    ``operations`` are its operations in order of first occurrence; their FLOPs add up to ``work.flop_per_step``, their
    bytes to ``work.byte_high_per_step``. ``leaves`` are the single calls in order, each with the operation it belongs
    to, as whoever times them one by one meets them (see `dispatch`). ``devices`` tells on which types of device the
    tensors of dispatched operations were, with the number of operations; one that has tensors on two counts for both.
    ``peak_byte`` is the most that its tensors take at once (see `PeakMode`). ``missing`` says why a value is None,
    under its path in the record (``memory.peak_predicted_byte`` for ``peak_byte``), and what had to be assumed.
    ``escaped`` is the reason where some of the step ran unseen, in another thread or library: then the work is not all
    of it.
    """

    work: Work
    operations: tuple[Operation, ...]
    leaves: tuple[Leaf, ...]
    devices: dict[str, int]
    peak_byte: int | None
    escaped: str | None = None
    missing: dict[str, str] = field(default_factory=dict)

    @property
    def flop_by_dtype(self) -> dict[str, float]:
        """Matrix FLOPs by compute dtype."""
        return self.work.flop_by_dtype


def count_step(
    step: Callable[[], object],
    *,
    model: nn.Module,
    optimizer: torch.optim.Optimizer | None = None,
    held: Iterable[Tensor] = (),
    last_level_cache_byte: int | None = None,
    tf32: Tf32 = _IEEE,
) -> Counted:
    """Run ``step`` once and count what it dispatched; once more where it can't be watched for what it saves.

    It runs eagerly, compiled parts too, with the same results as uncounted, on whatever its tensors are: of a device or
    fake. Tensors are not held. Memory is recorded of the model and optimiser; what ``step`` does with them is its own.
    An optimiser that has not yet stepped makes its state in the step, which is a little other work than in all
    later ones: let it step once before.

    :param step: a training step or a forward pass.
    :param optimizer: its work is counted in any case; if given, its operations are separate and its state is counted.
    :param held: what is in memory beside the model, its gradients and the optimiser's state: all batches that lie
        ready. What the step reads is known without.
    :param last_level_cache_byte: size of the cache before memory. None: unknown; then nothing between operations is
        counted in ``byte_low_per_step``, as if it held everything.
    :param tf32: torch's switches.
    :raises Exception: whatever ``step`` raises; hooks and modes are taken away again.
    """
    held = tuple(held)

    def run(*, watch_saved: bool) -> tuple[PeakMode, Trace, SavedTensors, object]:
        peak = PeakMode(chain(held_before(model, optimizer), held))
        with peak:
            return peak, *run_counted(step, model=model, optimizer=optimizer, tf32=tf32, watch_saved=watch_saved)

    unwatched = None
    try:
        peak, trace, saved, result = run(watch_saved=True)
    except RuntimeError as error:
        # torch.func.grad and its like refuse to run under the hooks. All else can be counted without them.
        if _NO_HOOKS not in str(error):
            raise
        unwatched = str(error).partition(". ")[0]
    if unwatched is not None:
        peak, trace, saved, result = run(watch_saved=False)
    # ``result`` is held until here: what the step returns outlives it.
    low = _byte_low(trace, last_level_cache_byte)
    del result
    by_dtype = flop_by_dtype(trace.operations)
    other_flop = _other_flop(trace)
    uncovered = uncovered_in(trace)
    missing = {}
    if other_flop is None:
        names = ", ".join(one.name for one in uncovered)
        missing["work.other_flop_per_step"] = f"no formula for {names}"
    if unwatched is not None:
        missing["work.saved_for_backward_byte"] = f"can't be seen: {unwatched}"
    if last_level_cache_byte is None:
        missing["work.byte_low_per_step"] = (
            "size of the last-level cache unknown: assumed to hold everything that passes between operations"
        )
    if peak.hidden:
        missing["memory.peak_predicted_byte"] = f"memory of {', '.join(sorted(peak.hidden))} can't be seen"
    work = Work(
        flop_per_step=float(sum(by_dtype.values())),
        flop_by_dtype=by_dtype,
        byte_low_per_step=float(low),
        byte_high_per_step=float(sum(one.traffic.byte for one in trace.operations)),
        parameter_count=sum(parameter.numel() for parameter in model.parameters()),
        parameter_byte=stored_byte(model.parameters()),
        gradient_byte=max(trace.gradient_byte, gradient_byte(model)),
        optimizer_state_byte=None if optimizer is None else stored_byte(optimizer_state(optimizer)),
        activation_byte=_activation_byte(trace),
        saved_for_backward_byte=saved.byte if unwatched is None else None,
        other_flop_per_step=None if other_flop is None else float(other_flop),
        uncovered=uncovered,
    )
    groups = _alike(trace.operations)
    return Counted(
        work=work,
        operations=tuple(_operation(description, calls) for description, calls in groups.items()),
        leaves=_leaves(trace, list(groups)),
        devices=dict(trace.devices),
        peak_byte=None if peak.hidden else peak.peak_byte,
        escaped=trace.escaped,
        missing=missing,
    )


def flop_by_dtype(operations: Iterable[CountedOperation]) -> dict[str, float]:
    """Matrix FLOPs by the dtype they were computed in."""
    total: dict[str, float] = {}
    for one in operations:
        if one.flop:
            total[one.dtype] = total.get(one.dtype, 0.0) + one.flop
    return total


def uncovered_in(trace: Trace) -> tuple[Uncovered, ...]:
    """Operations that compute something no formula tells."""
    calls = Counter(one.name for one in trace.operations if one.uncovered) + trace.opaque
    return tuple(Uncovered(name=name, calls=count) for name, count in calls.items())


def _other_flop(trace: Trace) -> int | None:
    """FLOPs of operations without matrix arithmetic; None if there are some that nothing tells."""
    each = [one.other_flop for one in trace.operations]
    known = [flop for flop in each if flop is not None]
    return None if trace.opaque or len(known) < len(each) else sum(known)


def _byte_low(trace: Trace, last_level_cache_byte: int | None) -> int:
    """Traffic behind an ideal last-level cache; one of unknown size is taken to hold everything.

    Content outlives the step if it was there before, is still held after it, or is an outcome of it: the result of an
    operation of which nothing is read.
    """
    touched = [one.traffic for one in trace.operations]
    outcomes = _outcomes(touched)
    units = [
        Unit(storage.touched_byte, storage.external, storage.external or storage.alive or number in outcomes)
        for number, storage in enumerate(trace.storages.all)
    ]
    return least_traffic_byte(touched, units, inf if last_level_cache_byte is None else last_level_cache_byte)


def _outcomes(touched: Sequence[Traffic]) -> set[int]:
    """Storages written by operations of which nothing is read afterwards: a forward pass's output that nobody holds.

    By-products, as the indices of a maximum pooling, are none: another result of their operation is read.
    """
    unread: set[int] = set()
    for one in touched:
        unread.difference_update(access.unit for access in one.reads)
        unread.update(access.unit for access in one.writes)
    written = [{access.unit for access in one.writes} for one in touched]
    return {unit for units in written if units <= unread for unit in units}


def _activation_byte(trace: Trace) -> int:
    """Bytes of everything that operations made outside of the backward pass and the optimiser.

    These are the forward pass's results and intermediates, with the loss and the gradient of 1 that the backward pass
    starts from; each storage once, whether it is kept or not. With gradient accumulation those of all its passes.
    """
    return sum(storage.byte for storage in trace.storages.all if storage.forward and not storage.external)


_Description = tuple[str, str, str, str]


def _description(one: CountedOperation) -> _Description:
    return one.name, one.kind, one.dtype, one.shape


def _alike(operations: Iterable[CountedOperation]) -> dict[_Description, list[CountedOperation]]:
    """Calls alike put together, in order of first occurrence. Work of the optimiser stays apart from the model's."""
    groups: dict[_Description, list[CountedOperation]] = {}
    for one in operations:
        groups.setdefault(_description(one), []).append(one)
    return groups


def _operation(description: _Description, calls: Sequence[CountedOperation]) -> Operation:
    name, kind, dtype, shape = description
    return Operation(
        name=name,
        kind=kind,
        dtype=dtype,
        shape=shape,
        calls=len(calls),
        flop=float(sum(call.flop or 0 for call in calls)),
        byte=float(sum(call.traffic.byte for call in calls)),
        working_set_byte=float(max(call.traffic.working_set_byte for call in calls)),
        winograd=any(call.winograd for call in calls),
    )


def _leaves(trace: Trace, order: Sequence[_Description]) -> tuple[Leaf, ...]:
    """List what was dispatched, in order, views left out."""
    positions = {description: position for position, description in enumerate(order)}
    return tuple(
        Leaf(one.name, None, one.name in trace.opaque)
        if one.counted is None
        else Leaf(one.name, positions[_description(one.counted)], one.counted.uncovered)
        for one in trace.dispatched
    )
