"""Which memory an operation's tensors lie in, without holding any of it.

Tensors come and go and share storage; what traffic and memory are made of are storages. Each gets a number, a *unit*,
for as long as the step runs. Only a weak reference is kept: the data is freed when the step frees it, while the
storage's address can't be given to another one.
"""

from __future__ import annotations

from dataclasses import dataclass, field

import torch
from torch import Tensor
from torch.multiprocessing.reductions import StorageWeakRef

from pytest_roofline.counting.calls import is_dense

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
    """What is known of one unit.

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
        """Whether somebody still holds the data."""
        return not self.reference.expired()


class Storages:
    """Numbers for the storages of a step, in order of first appearance. ``all[unit]`` is what is known of each."""

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


def has_storage(tensor: Tensor) -> bool:
    """Sparse and opaque (oneDNN) tensors keep their data where no storage shows it."""
    return tensor.layout is torch.strided


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
    """What the tensor spans in memory. A transposed view spans the same."""
    if not has_storage(tensor):
        return id(tensor), 0, 0
    storage = tensor.untyped_storage()
    if not is_dense(tensor):
        return storage._cdata, 0, storage.nbytes()
    elements = 1 + sum((size - 1) * stride for size, stride in zip(tensor.shape, tensor.stride(), strict=True) if size)
    start = int(tensor.storage_offset()) * tensor.element_size()
    return storage._cdata, start, start + elements * tensor.element_size()
