"""Bytes of a step: what each operation reads and writes, and what is left of it behind an ideal cache.

Eager traffic, if nothing stays in a cache:

- An operation reads each distinct tensor among its arguments once and writes each of its results once. A tensor counts
  with its distinct bytes: expanded dimensions repeat none.
- One that changes an argument reads and writes it, unless it overwrites it (``copy_``, ``zero_``, ``out=``).
- One whose results only alias its arguments (views, ``detach``), are merely allocated (``empty``) or are no tensors
  (``item``) moves nothing.
- A look-up (``embedding``, ``gather``, ``index``) reads as much of the table as it returns; an update by index, or by
  a sparse tensor, reads and writes as much as it changes.
- Where an accelerator's tensors are among the arguments, tensors in host memory don't count: they don't touch the
  memory whose roof the traffic is compared with.
- What a kernel reads twice, its workspace and reorderings of its layout are not known and not counted.

Behind an ideal cache the operations run in their order, and stream their arguments and results through, so that one may
touch more than the cache holds. Between operations the cache holds up to its capacity of what was touched; beyond that
it gives up what is read again last (Belady's rule), parts of it where that is enough. What is given up costs a write if
memory doesn't have it yet and it will be needed again, and a read when it is. What nobody needs again is dropped at no
cost. At the end everything that outlives the step is written.

With an unlimited cache that leaves exactly the compulsory traffic: parameters, optimiser state and inputs are read
once; changed parameters, optimiser state, gradients and outputs are written once; nothing between operations counts.
It can't exceed the eager traffic, for no access costs more here than there. A compiler that fuses operations may go
below it, for then less is handed from operation to operation.
"""

from __future__ import annotations

import heapq
from collections import defaultdict
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from math import inf, prod

import torch
from torch import Tensor
from torch.multiprocessing.reductions import StorageWeakRef

from pytest_roofline.counting.calls import Call, has_storage, held_in, is_dense
from pytest_roofline.counting.flop.sparse import is_sparse

Interval = tuple[int, int]
Location = tuple[int, int, int]
"""Address of a storage, first byte and end."""


@dataclass(frozen=True, slots=True)
class Access:
    """An operation's touching of one storage.

    ``byte`` are the distinct bytes touched. ``first``: this part of the storage wasn't touched before.
    """

    unit: int
    byte: int
    first: bool


@dataclass(slots=True)
class Storage:
    """What is known of one storage of a step.

    ``external``: it was there before the step. ``forward``: an operation of the forward pass made it.
    """

    reference: StorageWeakRef
    byte: int
    external: bool
    forward: bool
    parts: dict[Interval, int] = field(default_factory=dict)

    @property
    def touched_byte(self) -> int:
        """Bytes of all parts that operations touched; parts may overlap, the storage is the most there is."""
        return min(self.byte, sum(self.parts.values()))

    @property
    def alive(self) -> bool:
        """Tell whether somebody still holds the data."""
        return not self.reference.expired()


class Storages:
    """Numbers for the storages of a step in order of first appearance (the *unit*), and what is known of each.

    Only weak references are kept: the data is freed when the step frees it, while the storage's address can't be given
    to another one.
    """

    def __init__(self) -> None:
        self._units: dict[int, int] = {}
        self.all: list[Storage] = []

    def note(self, tensor: Tensor, *, external: bool, forward: bool) -> None:
        """Take notice of the tensor's storage; ``external`` and ``forward`` tell of one that is new."""
        storage = tensor.untyped_storage()
        unit = self._units.get(storage._cdata)
        if unit is None:
            self._units[storage._cdata] = len(self.all)
            self.all.append(Storage(StorageWeakRef(storage), storage.nbytes(), external, forward))
        else:
            self.all[unit].byte = max(self.all[unit].byte, storage.nbytes())

    def access(self, tensor: Tensor, *, at_most: int | None = None) -> Access:
        """Note that an operation touches ``tensor``, whose storage has been noted.

        :param at_most: bytes really touched, where an operation looks up a few rows of a table.
        """
        address, *interval = location(tensor)
        unit = self._units[address]
        parts = self.all[unit].parts
        byte = tensor_byte(tensor)
        if at_most is not None and at_most < byte:
            # Which rows is not known: every look-up counts as a part of its own, outside of all real ones.
            byte, interval = at_most, [-1 - len(parts), 0]
        part = (interval[0], interval[1])
        first = part not in parts
        parts[part] = byte
        return Access(unit, byte, first)


def tensor_byte(tensor: Tensor) -> int:
    """Distinct bytes of a tensor's elements: an expanded dimension repeats the same ones. 0 without a storage."""
    if not has_storage(tensor):
        return 0
    elements = tensor.numel()
    if is_dense(tensor) and elements:
        for size, stride in zip(tensor.shape, tensor.stride(), strict=True):
            if stride == 0:
                elements //= size
    return min(elements * tensor.element_size(), tensor.untyped_storage().nbytes())


def location(tensor: Tensor) -> Location:
    """Give what the tensor spans in memory. A transposed view spans the same."""
    if not has_storage(tensor):
        return id(tensor), 0, 0
    storage = tensor.untyped_storage()
    if not is_dense(tensor):
        return storage._cdata, 0, storage.nbytes()
    elements = 1 + sum((size - 1) * stride for size, stride in zip(tensor.shape, tensor.stride(), strict=True) if size)
    start = int(tensor.storage_offset()) * tensor.element_size()
    return storage._cdata, start, start + elements * tensor.element_size()


def _aten(names: str) -> frozenset[str]:
    return frozenset(f"aten::{name}" for name in names.split())


_ALLOCATE = _aten("empty empty_like empty_strided empty_permuted new_empty new_empty_strided")

_ASK = _aten("_nested_get_max_seqlen _nested_get_min_seqlen _nested_get_jagged_dummy")
"""What a jagged tensor is like: no view by their schema, and no data is read."""

_OVERWRITE = _aten(
    "copy_ fill_ zero_ normal_ uniform_ bernoulli_ random_ exponential_ log_normal_ cauchy_ geometric_"
    " _foreach_copy_ _foreach_zero_"
)

_LOOK_UP = {
    "aten::embedding": "weight",
    **dict.fromkeys(_aten("index_select gather index _unsafe_index take sparse_mask"), "self"),
}
"""Argument of which only as much is read as is returned."""

_BAGS = frozenset({"aten::_embedding_bag", "aten::_embedding_bag_forward_only"})
"""They look up a row for each index and return fewer."""

_BY_ELEMENT = _aten("scatter_ scatter_add_ scatter_reduce_ put_")
"""They change an element for each index."""

_BY_SLICE = _aten("index_add_ index_copy_ index_fill_ index_reduce_")
"""They change a slice across one dimension for each index."""

_BY_INDICES = _aten("index_put_ _index_put_impl_")
"""They change what `Tensor.__getitem__` would return for a list of indices."""


@dataclass(frozen=True, slots=True)
class Traffic:
    """What one operation touches. ``working_set_byte``: all of it, each part of memory once."""

    reads: tuple[Access, ...]
    writes: tuple[Access, ...]
    working_set_byte: int

    @property
    def byte(self) -> int:
        """Bytes read and written."""
        return sum(access.byte for access in self.reads) + sum(access.byte for access in self.writes)


def traffic_of(call: Call, storages: Storages, *, forward: bool) -> Traffic:
    """Traffic of one call, noted in ``storages``.

    :param forward: whether the call belongs to the forward pass.
    """
    if call.metadata_only or call.name in _ASK:
        return Traffic((), (), 0)
    inputs, outputs = tuple(held_in(tuple(call.arguments.values()))), tuple(held_in(call.result))
    accelerated = any(tensor.device.type != "cpu" for tensor in (*inputs, *outputs))

    def counts(tensor: Tensor) -> bool:
        return has_storage(tensor) and not (accelerated and tensor.device.type == "cpu")

    given = {tensor.untyped_storage()._cdata for tensor in inputs if has_storage(tensor)}
    made = [tensor for tensor in outputs if counts(tensor) and tensor.untyped_storage()._cdata not in given]
    if call.name in _ALLOCATE:
        for tensor in made:
            storages.note(tensor, external=False, forward=forward)
        return Traffic((), (), 0)
    written = _written(call)
    if not made and not written:
        return Traffic((), (), 0)

    unread, limits = _unread(call), _limits(call)
    touched: dict[Location, int] = {}

    def access(tensor: Tensor, *, external: bool, at_most: int | None = None) -> Access:
        storages.note(tensor, external=external, forward=forward)
        noted = storages.access(tensor, at_most=at_most)
        touched[location(tensor)] = noted.byte
        return noted

    reads = tuple(
        access(tensor, external=True, at_most=limits.get(name))
        for name, tensor in _distinct(call, [name for name in call.arguments if name not in unread])
        if counts(tensor)
    )
    writes = tuple(
        access(tensor, external=True, at_most=limits.get(name))
        for name, tensor in _distinct(call, written)
        if counts(tensor)
    ) + tuple(access(tensor, external=False) for tensor in made)
    return Traffic(reads, writes, sum(touched.values()))


def _distinct(call: Call, names: Iterable[str]) -> Iterator[tuple[str, Tensor]]:
    """Tensors of the named arguments, each part of memory once."""
    seen = set()
    for name in names:
        for tensor in held_in(call.arguments[name]):
            where = location(tensor)
            if where not in seen:
                seen.add(where)
                yield name, tensor


def _written(call: Call) -> list[str]:
    written = [name for name in call.arguments if name in call.written]
    if call.name.startswith("aten::_fused_") and call.arguments.get("grad_scale") is None:
        # Fused optimisers write the gradients only where they have to unscale them.
        written = [name for name in written if name != "grads"]
    return written


def _unread(call: Call) -> frozenset[str]:
    if call.name in _OVERWRITE:
        return call.written
    if call.name == "aten::convolution_backward":
        of_input, of_weight, _ = call.arguments["output_mask"]
        return frozenset(name for name, needed in (("weight", of_input), ("input", of_weight)) if not needed)
    return call.out


def _limits(call: Call) -> dict[str, int]:
    """Bytes touched at most, by argument."""
    if call.name in _BAGS:
        table = call.arguments["weight"]
        return {"weight": call.arguments["indices"].numel() * table.shape[-1] * table.element_size()}
    if table := _LOOK_UP.get(call.name):
        return {table: sum(map(_value_byte, call.outputs))}
    changed = _elements_changed(call)
    return {} if changed is None else {"self": changed * call.arguments["self"].element_size()}


def _value_byte(tensor: Tensor) -> int:
    return tensor_byte(next(held_in(tensor)))


def _elements_changed(call: Call) -> int | None:
    """How many elements of ``self`` an update by index touches; None of any other operation, which touches all."""
    given = call.arguments
    if call.name in _BY_ELEMENT:
        return int(given["index"].numel())
    if call.name in _BY_SLICE:
        target = given["self"]
        across = target.shape[given["dim"]] if target.dim() else 1
        return int(given["index"].numel() * target.numel() // max(1, across))
    if call.name in _BY_INDICES:
        return _elements_indexed(given["self"], given["indices"], given["values"])
    if call.name == "aten::add_" and isinstance(given["other"], Tensor) and is_sparse(given["other"]):
        return next(held_in(given["other"])).numel() or None  # a fake one has no values
    return None


def _elements_indexed(target: Tensor, indices: Sequence[Tensor | None], values: Tensor) -> int | None:
    """Elements of ``target[indices]``, which ``values`` are broadcast to.

    How much a mask selects is data. As many ``values`` as it selects tell it; where they are broadcast, all may be.
    """
    places = [index for index in indices if index is not None]
    if any(index.dtype in (torch.bool, torch.uint8) for index in places):
        dimensions = target.dim() - sum(index.dim() for index in places) + 1
        return values.numel() if values.dim() == dimensions and values.shape[0] != 1 else None
    whole = prod(size for at, size in enumerate(target.shape) if at >= len(indices) or indices[at] is None)
    places_at_once: int = prod(torch.broadcast_shapes(*(index.shape for index in places)))
    return places_at_once * whole


_NEVER = inf
"""Next use of what is only kept because it outlives the step."""


@dataclass(frozen=True, slots=True)
class Unit:
    """One storage. ``outlives``: its content is needed after the step."""

    byte: int
    external: bool
    outlives: bool


def least_traffic_byte(operations: Sequence[Traffic], units: Sequence[Unit], capacity_byte: float) -> int:
    """Bytes read from and written to memory by ``operations`` in order, behind an ideal cache.

    :param units: by number, as in the accesses.
    :param capacity_byte: `math.inf` for a cache that holds everything.
    """
    cache = _Cache(units, capacity_byte)
    uses: dict[int, list[int]] = defaultdict(list)
    for index, touch in enumerate(operations):
        for access in touch.reads:
            uses[access.unit].append(index)
    for reads in uses.values():
        reads.reverse()

    for index, touch in enumerate(operations):
        for access in touch.reads:
            cache.read(access)
        for access in touch.writes:
            cache.write(access)
        for unit in {access.unit for access in (*touch.reads, *touch.writes)}:
            ahead = uses[unit]
            while ahead and ahead[-1] <= index:
                ahead.pop()
            cache.schedule(unit, ahead[-1] if ahead else _NEVER)
        cache.shrink()
    cache.flush()
    return cache.traffic_byte


@dataclass(slots=True)
class _Held:
    """How much of a unit is in the cache, and how much of that memory doesn't have."""

    byte: int = 0
    dirty: int = 0
    next_use: float = _NEVER


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
        if next_use == _NEVER and not (self.units[number].outlives and held.dirty):
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
            self.traffic_byte += max(0, given_up - clean)
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
