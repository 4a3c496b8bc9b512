"""The operations that a step is made of, one by one: what counting and profiling both look at.

A *leaf* is an operation that runs as it is dispatched. Whoever follows the same step through a `LeafMode` sees the
same leaves that may do work in the same order, so that what was counted of the n-th and what was timed of the n-th can
be put together. Views are leaves too, but how many there are depends on who looks: hooks on saved tensors make some.
"""

from __future__ import annotations

import sys
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, nullcontext
from functools import cache
from typing import Any

import torch
from torch import Tensor
from torch._C import DispatchKey
from torch._ops import HigherOrderOperator
from torch.utils._python_dispatch import TorchDispatchMode
from torch.utils.flop_counter import flop_registry

from pytest_roofline.counting.calls import is_metadata_only, tensors_in

_BOOKKEEPING = frozenset({"prim", "profiler", "c10d", "_c10d_functional", "fsdp"})
"""Namespaces of questions about tensors, of profiler marks, and of messages between ranks with the copies around them:
no work of a step. `pytest_roofline.parallel` counts messages."""


class LeafMode(TorchDispatchMode):
    """Hands every leaf to `leaf`, which has to run it.

    Composite operations, which reach a mode undivided under ``inference_mode``, are taken apart. A higher-order
    operator is one leaf: what it runs inside is not visible.
    """

    supports_higher_order_operators = True

    def __init__(self) -> None:
        super().__init__()  # type: ignore[no-untyped-call]
        self._cast = False
        """Inside of an operation whose arguments autocast has cast: what it calls is not cast again."""

    def leaf(self, func: Any, args: tuple[Any, ...], kwargs: Mapping[str, Any]) -> Any:
        """Run ``func`` and return what it returns."""
        raise NotImplementedError

    def __torch_dispatch__(
        self, func: Any, types: Any, args: tuple[Any, ...] = (), kwargs: Mapping[str, Any] | None = None
    ) -> Any:
        kwargs = kwargs or {}
        if isinstance(func, HigherOrderOperator):
            return self.leaf(func, args, kwargs)
        if func.namespace in _BOOKKEEPING:
            return func(*args, **kwargs)
        divisible = func.namespace == "aten" or func._overloadpacket not in flop_registry
        if not (divisible and _is_composite_for(func, (args, tuple(kwargs.values())))):
            with nullcontext() if self._cast else autocasting_inside(func):
                return self.leaf(func, args, kwargs)
        cast, self._cast = self._cast, self._cast or _is_cast_by_autocast(func)
        try:
            # Its C++ kernel, not `decompose`: Python may hold another decomposition than the step would run.
            with nullcontext() if self._cast else autocasting_inside(func), self:
                return func._op_dk(DispatchKey.CompositeImplicitAutograd, *args, **kwargs)
        finally:
            self._cast = cast


def leaf_name(func: Any) -> str:
    """Qualified and without overload (``aten::addmm``), as the profiler prints it."""
    name: str = func.name() if isinstance(func, HigherOrderOperator) else func._schema.name
    return name


def may_work(func: Any) -> bool:
    """Tell whether a leaf may compute or move anything: no view does."""
    return isinstance(func, HigherOrderOperator) or not is_metadata_only(func)


@contextmanager
def compiling_nothing() -> Iterator[None]:
    """Run compiled functions uncompiled.

    Called under a dispatch mode, a compiled function would be marked as one never to compile, for the rest of the
    process. Where nothing has loaded the compiler there is nothing compiled.
    """
    if "torch._dynamo" not in sys.modules:
        yield
        return
    with torch.compiler.set_stance("force_eager"):
        yield


_AUTOCAST_KEYS = ("AutocastCPU", "AutocastCUDA", "AutocastMPS")


@contextmanager
def autocasting_inside(func: Any) -> Iterator[None]:
    """Let autocast cast what ``func`` calls in turn, where it would without a mode. To be used inside of a dispatch.

    torch takes autocast away from whatever a mode runs. That is right for operations whose arguments autocast has cast
    by now; one that it leaves alone (``aten::lstm``, a fused encoder layer) would cast what it calls.
    """
    excluded = torch._C._dispatch_tls_is_dispatch_key_excluded
    keys = [key for key in _autocasting() if excluded(key) and not _has_kernel(func, key)]
    for key in keys:
        torch._C._dispatch_tls_set_dispatch_key_excluded(key, False)
    try:
        yield
    finally:
        for key in keys:
            torch._C._dispatch_tls_set_dispatch_key_excluded(key, True)


def _autocasting() -> list[str]:
    """The keys of the devices whose autocast is on where the operation was called."""
    with torch._C._RestorePythonTLSSnapshot():  # type: ignore[attr-defined]
        return [key for key in _AUTOCAST_KEYS if not torch._C._dispatch_tls_is_dispatch_key_excluded(key)]


def _is_cast_by_autocast(func: Any) -> bool:
    """Tell whether it is on that device: CUDA's casts einsum's arguments, a CPU's those of the products in it."""
    return any(_has_kernel(func, key) for key in _autocasting())


def _is_composite_for(func: Any, arguments: object) -> bool:
    """Tell whether the operation would run, on these tensors, as a composition of others."""
    if not _is_composite(func):
        return False
    keys = [_kernel_key(tensor) for tensor in tensors_in(arguments)]
    return all(key is not None and not _has_kernel(func, key) for key in keys)


_OF_LAYOUT = {
    torch.strided: "",
    torch.sparse_coo: "Sparse",
    **dict.fromkeys((torch.sparse_csr, torch.sparse_csc, torch.sparse_bsr, torch.sparse_bsc), "SparseCsr"),
}
"""Begins the name under which kernels are registered for tensors of that layout; a device follows."""


def _kernel_key(tensor: Tensor) -> str | None:
    """Under which name kernels are registered for such tensors. None where that isn't known: nested, oneDNN's own."""
    if tensor.is_nested or tensor.layout not in _OF_LAYOUT:
        return None
    key = _OF_LAYOUT[tensor.layout] + torch._C._dispatch_key_for_device(tensor.device.type)
    return None if torch._C._parse_dispatch_key(key) is None else key


@cache
def _is_composite(func: Any) -> bool:
    return _has_kernel(func, "CompositeImplicitAutograd")


@cache
def _has_kernel(func: Any, key: str) -> bool:
    name = func.name()
    # Of an operation that nothing registered (aten::sym_size of a nested tensor) torch would end the whole process.
    return torch._C._dispatch_has_kernel(name) and torch._C._dispatch_has_kernel_for_dispatch_key(name, key)
