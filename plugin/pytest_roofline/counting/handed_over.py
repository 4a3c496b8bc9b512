"""Whether a step hands its numbers to numpy or another library, where no operation tells what becomes of them.

It shows in the methods of tensors that give memory away, which stand replaced while a step is watched. A
``TorchFunctionMode`` would see the same calls, but torch leaves the fast paths of ``nn.TransformerEncoder`` and
``nn.MultiheadAttention`` where one is on: the step would be another.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from contextlib import ExitStack, contextmanager
from functools import wraps
from typing import Any

from torch import Tensor
from torch.utils._python_dispatch import TorchDispatchMode, _get_current_dispatch_mode_stack

from pytest_roofline.counting.dtypes import dtype_name

_RECEIVERS: Mapping[str, str] = {"numpy": "numpy", "__dlpack__": "another library"}
"""Who gets a tensor's memory, by the method that gives it. ``Tensor.__array__`` calls ``numpy``."""


class HandedOver:
    """Floating tensors of more than one element that a step gives to another library.

    A single number is what a loss is logged by, and integers (labels, an argmax, lengths) are no arithmetic that
    could be missing. Nor is what an operation written in Python does inside: it is counted, or named, by itself.

    :param mode: the one that watches the step. Where it is not on, another thread runs, or the inside of an
        operation.
    """

    def __init__(self, mode: TorchDispatchMode) -> None:
        self._mode: TorchDispatchMode | None = mode
        self._first: str | None = None

    @contextmanager
    def watching(self) -> Iterator[None]:
        """Take notice of what is given away."""
        with ExitStack() as stack:
            for name, receiver in _RECEIVERS.items():
                stack.enter_context(_method(name, self._noticing(getattr(Tensor, name), receiver)))
            try:
                yield
            finally:
                # torch's lists of overridable functions may keep the replacement for good, and the mode has the model.
                self._mode = None

    @property
    def reason(self) -> str | None:
        """Why the count of the step is not all of it; None where nothing speaks for that."""
        if self._first is None:
            return None
        return f"the step hands tensors to {self._first}: what is computed there can't be seen"

    def _noticing(self, method: Callable[..., Any], receiver: str) -> Callable[..., Any]:
        @wraps(method)
        def giving(tensor: Tensor, *args: Any, **kwargs: Any) -> Any:
            given = method(tensor, *args, **kwargs)
            if self._first is None and _may_be_computed_with(tensor) and self._is_watched:
                shape = "x".join(map(str, tensor.shape))
                self._first = f"{receiver} (the first is {dtype_name(tensor.dtype)}, {shape})"
            return given

        return giving

    @property
    def _is_watched(self) -> bool:
        return any(mode is self._mode for mode in _get_current_dispatch_mode_stack())


def _may_be_computed_with(tensor: Tensor) -> bool:
    return (tensor.is_floating_point() or tensor.is_complex()) and tensor.numel() > 1


@contextmanager
def _method(name: str, replacement: Callable[..., Any]) -> Iterator[None]:
    """Have a method of all tensors replaced. An inherited one is taken back by taking the replacement away."""
    own = vars(Tensor).get(name)
    setattr(Tensor, name, replacement)
    try:
        yield
    finally:
        if own is None:
            delattr(Tensor, name)
        else:
            setattr(Tensor, name, own)
