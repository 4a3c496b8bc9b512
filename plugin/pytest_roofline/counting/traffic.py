"""Bytes an operation moves if nothing stays in a cache.

The model of eager traffic:

- An operation reads each distinct tensor among its arguments once and writes each of its results once. A tensor counts
  with its distinct bytes: expanded dimensions repeat none.
- One that changes an argument reads and writes it, unless it overwrites it (``copy_``, ``zero_``, ``out=``).
- One whose results only alias its arguments (views, ``detach``), are merely allocated (``empty``) or are no tensors
  (``item``) moves nothing.
- A look-up (``embedding``, ``gather``, ``index``) reads as much of the table as it returns; an update by index reads
  and writes as much as it is given.
- Where an accelerator's tensors are among the arguments, tensors in host memory don't count: they don't touch the
  memory whose roof the traffic is compared with.
- What a kernel reads twice, its workspace and reorderings of its layout are not known and not counted.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass

from torch import Tensor

from pytest_roofline.counting.calls import Call, tensors_in
from pytest_roofline.counting.storages import Access, Location, Storages, has_storage, location, tensor_byte

_ALLOCATE = frozenset(
    "aten::" + name
    for name in ("empty", "empty_like", "empty_strided", "empty_permuted", "new_empty", "new_empty_strided")
)

_OVERWRITE = frozenset(
    "aten::" + name
    for name in (
        "copy_",
        "fill_",
        "zero_",
        "normal_",
        "uniform_",
        "bernoulli_",
        "random_",
        "exponential_",
        "_foreach_copy_",
        "_foreach_zero_",
    )
)

_LOOK_UP = {
    "aten::embedding": "weight",
    "aten::index_select": "self",
    "aten::gather": "self",
    "aten::index": "self",
    "aten::_unsafe_index": "self",
    "aten::take": "self",
}
"""Argument of which only as much is read as is returned."""

_BAGS = frozenset({"aten::_embedding_bag", "aten::_embedding_bag_forward_only"})
"""They look up a row for each index and return fewer."""

_SCATTER = {
    "aten::index_put_": "values",
    "aten::_index_put_impl_": "values",
    "aten::index_add_": "source",
    "aten::index_copy_": "source",
    "aten::scatter_": "src",
    "aten::scatter_add_": "src",
}
"""Argument that says how much of the changed tensor is touched."""


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
    if call.metadata_only:
        return Traffic((), (), 0)
    inputs, outputs = call.inputs, call.outputs
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
        for tensor in tensors_in(call.arguments[name]):
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
        return {table: sum(tensor_byte(tensor) for tensor in call.outputs)}
    if source := _SCATTER.get(call.name):
        return {"self": sum(tensor_byte(tensor) for tensor in tensors_in(call.arguments.get(source)))}
    return {}
