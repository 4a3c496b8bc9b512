"""From what a step dispatched to the work it is: totals, byte range, operations."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from math import inf

from pytest_roofline.counting.cache import Touch, Unit, least_traffic_byte
from pytest_roofline.counting.counter import Trace
from pytest_roofline.counting.observation import Seen
from roofline.schema.record import Operation, Uncovered


def flop_by_dtype(seen: Iterable[Seen]) -> dict[str, float]:
    """Matrix FLOPs by the dtype they were computed in."""
    total: dict[str, float] = {}
    for one in seen:
        if one.flop:
            total[one.dtype] = total.get(one.dtype, 0.0) + one.flop
    return total


@dataclass(frozen=True, slots=True)
class Leaf:
    """One dispatched operation that may do work, and where it is counted.

    ``operation`` is its position among the step's operations; None where it turned out to do nothing, and where it
    can't be seen into. ``uncovered``: it is among the uncovered ones of its name.
    """

    name: str
    operation: int | None
    uncovered: bool


def leaves(trace: Trace) -> tuple[Leaf, ...]:
    """What was dispatched, in order, views left out. Positions are those in `operations`."""
    positions = {alike: position for position, alike in enumerate(_alike(trace.seen))}
    return tuple(
        Leaf(one.name, None, one.name in trace.unseen)
        if one.seen is None
        else Leaf(one.name, positions[_description(one.seen)], one.seen.uncovered)
        for one in trace.dispatched
    )


def operations(seen: Iterable[Seen]) -> tuple[Operation, ...]:
    """Calls alike put together, in order of first occurrence. Work of the optimiser stays apart from the model's."""
    return tuple(
        Operation(
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
        for (name, kind, dtype, shape), calls in _alike(seen).items()
    )


def uncovered(trace: Trace) -> tuple[Uncovered, ...]:
    """Operations that compute something no formula tells."""
    calls = Counter(one.name for one in trace.seen if one.uncovered) + trace.unseen
    return tuple(Uncovered(name=name, calls=count) for name, count in calls.items())


def other_flop(trace: Trace) -> int | None:
    """FLOPs of operations without matrix arithmetic; None if there are some that no formula tells."""
    if trace.unseen:
        return None
    total = 0
    for one in trace.seen:
        if one.other_flop is None:
            return None
        total += one.other_flop
    return total


def byte_high(trace: Trace) -> int:
    """Eager traffic: what every operation reads and writes by itself (see `traffic`)."""
    return sum(one.traffic.byte for one in trace.seen)


def byte_low(trace: Trace, last_level_cache_byte: int | None) -> int:
    """Traffic behind an ideal last-level cache (see `cache`); one of unknown size is taken to hold everything.

    Content outlives the step if it was there before, is still held after it, or is an outcome of it: the result of an
    operation of which nothing is read.
    """
    touches = [Touch(one.traffic.reads, one.traffic.writes) for one in trace.seen]
    outcomes = _outcomes(touches)
    units = [
        Unit(storage.touched_byte, storage.external, storage.external or storage.alive or number in outcomes)
        for number, storage in enumerate(trace.storages.all)
    ]
    return least_traffic_byte(touches, units, inf if last_level_cache_byte is None else last_level_cache_byte)


def activation_byte(trace: Trace) -> int:
    """Bytes of everything that operations made outside of the backward pass and the optimiser.

    These are the forward pass's results and intermediates, with the loss and the gradient of 1 that the backward pass
    starts from; each storage once, whether it is kept or not. With gradient accumulation those of all its passes.
    """
    return sum(storage.byte for storage in trace.storages.all if storage.forward and not storage.external)


_Description = tuple[str, str, str, str]


def _description(one: Seen) -> _Description:
    return one.name, one.kind, one.dtype, one.shape


def _alike(seen: Iterable[Seen]) -> dict[_Description, list[Seen]]:
    groups: dict[_Description, list[Seen]] = {}
    for one in seen:
        groups.setdefault(_description(one), []).append(one)
    return groups


def _outcomes(touches: Sequence[Touch]) -> set[int]:
    """Storages written by operations of which nothing is read afterwards: a forward pass's output that nobody holds.

    By-products, as the indices of a maximum pooling, are none: another result of their operation is read.
    """
    unread: set[int] = set()
    for touch in touches:
        unread.difference_update(access.unit for access in touch.reads)
        unread.update(access.unit for access in touch.writes)
    written = [{access.unit for access in touch.writes} for touch in touches]
    return {unit for units in written if units <= unread for unit in units}
