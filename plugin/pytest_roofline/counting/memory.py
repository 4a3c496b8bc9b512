"""Memory of a step by part: parameters, gradients, optimiser state, tensors saved for the backward pass.

Everything counts by storage, once, however many tensors share it (tied weights, views).
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator

import torch
from torch import Tensor, nn
from torch.multiprocessing.reductions import StorageWeakRef

from pytest_roofline.counting.calls import tensors_in
from pytest_roofline.counting.storages import has_storage


def parameter_count(model: nn.Module) -> int:
    """Number of parameters; one that is used in several places counts once."""
    return sum(parameter.numel() for parameter in model.parameters())


def parameter_byte(model: nn.Module) -> int:
    """Bytes of the parameters."""
    return stored_byte(model.parameters())


def gradient_byte(model: nn.Module) -> int:
    """Bytes of the gradients the parameters hold now."""
    return stored_byte(parameter.grad for parameter in model.parameters() if parameter.grad is not None)


def optimizer_state_byte(optimizer: torch.optim.Optimizer) -> int:
    """Bytes of what an optimiser keeps between steps: momenta, moments, step counters. 0 before its first step."""
    return stored_byte(optimizer_state(optimizer))


def optimizer_state(optimizer: torch.optim.Optimizer) -> Iterator[Tensor]:
    """The tensors an optimiser keeps between steps."""
    for state in optimizer.state.values():
        yield from tensors_in(list(state.values()))


def stored_byte(tensors: Iterable[Tensor]) -> int:
    """Bytes of the storages under ``tensors``."""
    storages = {}
    for tensor in tensors:
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
        held = (*model.parameters(), *model.buffers())
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
        if has_storage(tensor):
            storage = tensor.untyped_storage()
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
