"""The least traffic of a step: what is left if an ideal cache keeps as much as fits.

The model: the step's operations run in their order. An operation needs its arguments and produces its results; they
stream through, so that an operation may touch more than the cache holds. Between operations the cache holds up to
``capacity_byte`` of what was touched; beyond that it gives up what is read again last (Belady's rule), parts of it
where that is enough. What is given up costs a write if memory doesn't have it yet and it will be needed again, and a
read when it is. What nobody needs again is dropped at no cost. At the end everything that outlives the step is written.

With an unlimited cache that leaves exactly the compulsory traffic: parameters, optimiser state and inputs are read
once; changed parameters, optimiser state, gradients and outputs are written once; nothing between operations counts.
It can't exceed the eager traffic, for no access costs more here than there. A compiler that fuses operations may go
below it, for then less is handed from operation to operation.
"""

from __future__ import annotations

import heapq
from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass, field
from math import inf

from pytest_roofline.counting.storages import Access

NEVER = inf
"""Next use of what is only kept because it outlives the step."""


@dataclass(frozen=True, slots=True)
class Unit:
    """One storage. ``outlives``: its content is needed after the step."""

    byte: int
    external: bool
    outlives: bool


@dataclass(frozen=True, slots=True)
class Touch:
    """What one operation reads and writes."""

    reads: tuple[Access, ...]
    writes: tuple[Access, ...]


def least_traffic_byte(touches: Sequence[Touch], units: Sequence[Unit], capacity_byte: float) -> int:
    """Bytes read from and written to memory by ``touches`` in order, behind an ideal cache.

    :param units: by number, as in the accesses.
    :param capacity_byte: `math.inf` for a cache that holds everything.
    """
    cache = _Cache(units, capacity_byte)
    uses: dict[int, list[int]] = defaultdict(list)
    for index, touch in enumerate(touches):
        for access in touch.reads:
            uses[access.unit].append(index)
    for reads in uses.values():
        reads.reverse()

    for index, touch in enumerate(touches):
        for access in touch.reads:
            cache.read(access)
        for access in touch.writes:
            cache.write(access)
        for unit in {access.unit for access in (*touch.reads, *touch.writes)}:
            ahead = uses[unit]
            while ahead and ahead[-1] <= index:
                ahead.pop()
            cache.schedule(unit, ahead[-1] if ahead else NEVER)
        cache.shrink()
    cache.flush()
    return cache.traffic_byte


@dataclass(slots=True)
class _Held:
    """How much of a unit is in the cache, and how much of that memory doesn't have."""

    byte: int = 0
    dirty: int = 0
    next_use: float = NEVER


@dataclass(slots=True)
class _Cache:
    units: Sequence[Unit]
    capacity_byte: float
    traffic_byte: int = 0
    _used: int = 0
    _held: dict[int, _Held] = field(default_factory=dict)
    _fetched: dict[int, int] = field(default_factory=lambda: defaultdict(int))
    """Bytes of each external unit that memory has given, or that were written over."""
    _order: list[tuple[float, int]] = field(default_factory=list)
    """Heap of (-next use, unit). Entries whose unit has another next use by now are skipped."""

    def read(self, access: Access) -> None:
        unit = self.units[access.unit]
        held = self._held.setdefault(access.unit, _Held())
        cold = 0
        if unit.external and access.first:
            cold = min(access.byte, unit.byte - self._fetched[access.unit])
            self._fetched[access.unit] += cold
        # Of what was there before, the part asked for is taken to be the part that is held.
        missed = max(cold, access.byte - held.byte)
        self.traffic_byte += missed
        self._resize(held, min(unit.byte, held.byte + missed))

    def write(self, access: Access) -> None:
        unit = self.units[access.unit]
        held = self._held.setdefault(access.unit, _Held())
        grown = held.byte + access.byte if access.first else max(held.byte, access.byte)
        self._resize(held, min(unit.byte, grown))
        held.dirty = min(held.byte, held.dirty + access.byte)
        self._fetched[access.unit] = min(unit.byte, self._fetched[access.unit] + access.byte)

    def schedule(self, number: int, next_use: float) -> None:
        """Tell when the unit is read next; drop it where it never matters again."""
        held = self._held[number]
        if next_use == NEVER and not (self.units[number].outlives and held.dirty):
            self._resize(held, 0)
            del self._held[number]
            return
        held.next_use = next_use
        heapq.heappush(self._order, (-next_use, number))

    def shrink(self) -> None:
        """Give up what is read last until the rest fits."""
        while self._used > self.capacity_byte:
            next_use, number = self._order[0]
            held = self._held.get(number)
            if held is None or held.next_use != -next_use:
                heapq.heappop(self._order)
                continue
            given_up = min(held.byte, self._used - int(self.capacity_byte))
            clean = held.byte - held.dirty
            written = max(0, given_up - clean)
            self.traffic_byte += written
            held.dirty -= written
            self._resize(held, held.byte - given_up)
            if not held.byte:
                heapq.heappop(self._order)
                del self._held[number]

    def flush(self) -> None:
        """Write what outlives the step and is not in memory yet."""
        self.traffic_byte += sum(held.dirty for number, held in self._held.items() if self.units[number].outlives)

    def _resize(self, held: _Held, byte: int) -> None:
        self._used += byte - held.byte
        held.byte = byte
        held.dirty = min(held.dirty, byte)
