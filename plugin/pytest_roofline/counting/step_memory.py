"""Memory of a step by part (parameters, gradients, optimiser state, tensors saved for the backward pass), and the most
that it holds at once.

Everything counts by storage, once, however many tensors share it (tied weights, views).
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from contextlib import nullcontext
from typing import Any

import torch
from torch import Tensor, nn
from torch._ops import HigherOrderOperator
from torch.multiprocessing.reductions import StorageWeakRef
from torch.utils._python_dispatch import TorchDispatchMode

from pytest_roofline.counting.calls import has_storage, held_in, tensors_in
from pytest_roofline.counting.dispatch import autocasting_inside


def gradient_byte(model: nn.Module) -> int:
    """Bytes of the gradients the parameters hold now."""
    return stored_byte(parameter.grad for parameter in model.parameters() if parameter.grad is not None)


def optimizer_state(optimizer: torch.optim.Optimizer) -> Iterator[Tensor]:
    """The tensors an optimiser keeps between steps: momenta, moments, step counters; none before its first step."""
    for state in optimizer.state.values():
        yield from tensors_in(list(state.values()))


def stored_byte(tensors: Iterable[Tensor]) -> int:
    """Bytes of the storages under ``tensors``."""
    storages = {}
    for tensor in held_in(list(tensors)):
        if has_storage(tensor):
            storage = tensor.untyped_storage()
            storages[storage._cdata] = storage.nbytes()
    return sum(storages.values())


class SavedTensors:
    """Adds up what autograd saves for a backward pass, parameters and buffers of the model excluded.

    Of several passes in one step (gradient accumulation) the largest counts: each is freed before the next. Its `save`
    and `restore` are a pair for `torch.autograd.graph.saved_tensors_hooks`; they hand tensors on unchanged.
    """

    def __init__(self, model: nn.Module) -> None:
        held = held_in([*model.parameters(), *model.buffers()])
        self._model = {tensor.untyped_storage()._cdata for tensor in held if has_storage(tensor)}
        # The weak references keep addresses from being used again.
        self._saved: dict[int, tuple[StorageWeakRef, int]] = {}
        self._largest_pass_byte = 0
        self._going_back = False

    def save(self, tensor: Tensor) -> Tensor:
        """Note a tensor that is being saved."""
        if self._going_back and torch._C._current_graph_task_id() == -1:
            self._largest_pass_byte, self._going_back = self.byte, False
            self._saved.clear()
        for part in filter(has_storage, held_in(tensor)):
            storage = part.untyped_storage()
            if storage._cdata not in self._model and storage._cdata not in self._saved:
                self._saved[storage._cdata] = (StorageWeakRef(storage), storage.nbytes())
        return tensor

    def restore(self, tensor: Tensor) -> Tensor:
        """Give a saved tensor back: the backward pass has come to it."""
        self._going_back = True
        return tensor

    @property
    def byte(self) -> int:
        """Bytes of all storages that were saved for one pass."""
        return max(self._largest_pass_byte, sum(byte for _, byte in self._saved.values()))


_HOST = "cpu"


class PeakMode(TorchDispatchMode):
    """Follows which storages live while operations run.

    Every storage a step makes counts from the operation that made it until nobody holds it any more; what was there
    before (parameters, buffers, optimiser state, old gradients, the batch) counts until it is freed. After each
    operation the living are added up: what it read, if somebody still holds it, and what it wrote are both among them.
    That is what a framework's allocator has given out at that moment. Not in it: rounding to blocks, fragmentation,
    scratch memory inside a kernel (a convolution's workspace) and the libraries' own (a CUDA context). Storages of an
    accelerator are counted apart from those in host memory: it has an allocator of its own.

    ``hidden`` names the operations whose memory can't be seen: higher-order ones, and those on sparse or opaque
    tensors.

    :param held: tensors that are there before; only weak references to them are kept. What else an operation reads
        that no operation has made is taken to have been there too.
    """

    supports_higher_order_operators = True

    def __init__(self, held: Iterable[Tensor]) -> None:
        super().__init__()  # type: ignore[no-untyped-call]
        # By address, which a weak reference keeps from being used again: reference, bytes, type of device.
        self._living: dict[int, tuple[StorageWeakRef, int, str]] = {}
        # Of the living and of those that died since somebody last looked: never less than the living have.
        self._byte: Counter[str] = Counter()
        self._peak: Counter[str] = Counter()
        self.hidden: set[str] = set()
        for tensor in held:
            self._was_there(tensor)

    @property
    def peak_byte(self) -> int:
        """The most at once so far, of an accelerator's memory where its tensors take part, else of the host's."""
        devices = [device for device in self._peak if device != _HOST]
        return max(self._peak[device] for device in devices) if devices else self._peak[_HOST]

    def __torch_dispatch__(
        self, func: Any, types: Any, args: tuple[Any, ...] = (), kwargs: Mapping[str, Any] | None = None
    ) -> Any:
        kwargs = kwargs or {}
        inputs = list(tensors_in((args, tuple(kwargs.values()))))
        for tensor in inputs:
            self._was_there(tensor)
        higher_order = isinstance(func, HigherOrderOperator)
        # A higher-order operator sees to that by itself.
        with nullcontext() if higher_order else autocasting_inside(func):
            result = func(*args, **kwargs)
        outputs = list(tensors_in(result))
        for tensor in (*inputs, *outputs):  # an operation may enlarge what it is given
            self._note(tensor)
        if higher_order or not all(map(has_storage, (*inputs, *outputs))):
            self.hidden.add(func.name())
        del inputs, outputs
        for device, byte in self._byte.items():
            if byte > self._peak[device]:
                self._look(device)
        return result

    def _was_there(self, tensor: Tensor) -> None:
        """Count a new storage for all the time up to now."""
        if new := self._note(tensor):
            byte, device = new
            self._peak[device] += byte

    def _note(self, tensor: Tensor) -> tuple[int, str] | None:
        """Take notice of a tensor's storage; bytes and device if it is a new one."""
        if not has_storage(tensor):
            return None
        storage = tensor.untyped_storage()
        byte = storage.nbytes()
        if known := self._living.get(storage._cdata):
            reference, before, device = known
            if byte != before:
                self._living[storage._cdata] = reference, byte, device
                self._byte[device] += byte - before
            return None
        device = tensor.device.type
        self._living[storage._cdata] = StorageWeakRef(storage), byte, device
        self._byte[device] += byte
        return byte, device

    def _look(self, device: str) -> None:
        """Forget the dead. Only what could be a new peak is worth looking at everything."""
        dead = [address for address, (reference, _, _) in self._living.items() if reference.expired()]
        for address in dead:
            _, byte, where = self._living.pop(address)
            self._byte[where] -= byte
        self._peak[device] = max(self._peak[device], self._byte[device])


def held_before(model: nn.Module, optimizer: torch.optim.Optimizer | None) -> Iterator[Tensor]:
    """Parameters, buffers, gradients and optimiser state there are now."""
    yield from model.parameters()
    yield from model.buffers()
    yield from (parameter.grad for parameter in model.parameters() if parameter.grad is not None)
    if optimizer is not None:
        yield from optimizer_state(optimizer)
