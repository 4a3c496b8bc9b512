"""Runs one step and writes down every operation it dispatches."""

from __future__ import annotations

import sys
from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field
from functools import cache, partial
from typing import Any

import torch
from torch import nn
from torch._C import DispatchKey
from torch._ops import HigherOrderOperator
from torch.autograd.graph import saved_tensors_hooks
from torch.utils._python_dispatch import TorchDispatchMode
from torch.utils.flop_counter import flop_registry

from pytest_roofline.counting.calls import bind, is_dense, tensors_in
from pytest_roofline.counting.dtypes import Tf32
from pytest_roofline.counting.memory import SavedTensors, gradient_byte
from pytest_roofline.counting.observation import Seen, observe
from pytest_roofline.counting.storages import Storages
from pytest_roofline.counting.traffic import traffic_of

_BOOKKEEPING = frozenset({"prim", "profiler"})
"""Namespaces of questions about tensors and of profiler marks: no work."""


@dataclass(slots=True)
class Trace:
    """Everything one step dispatched, in order."""

    storages: Storages = field(default_factory=Storages)
    seen: list[Seen] = field(default_factory=list)
    unseen: Counter[str] = field(default_factory=Counter)
    """Calls of higher-order operators, by name: what they run inside is not visible."""
    devices: Counter[str] = field(default_factory=Counter)
    gradient_byte: int = 0
    """What the optimiser found: a step may drop the gradients before it ends."""


class CountingMode(TorchDispatchMode):
    """Writes every operation into ``trace`` and lets it run.

    Composite operations, which reach a mode undivided under ``inference_mode``, are taken apart.
    """

    supports_higher_order_operators = True

    def __init__(self, trace: Trace, tf32: Tf32) -> None:
        super().__init__()  # type: ignore[no-untyped-call]
        self.trace = trace
        self.tf32 = tf32
        self.in_optimizer = False

    def __torch_dispatch__(
        self, func: Any, types: Any, args: tuple[Any, ...] = (), kwargs: Mapping[str, Any] | None = None
    ) -> Any:
        kwargs = kwargs or {}
        if isinstance(func, HigherOrderOperator):
            self.trace.unseen[func.name()] += 1
            return func(*args, **kwargs)
        if func.namespace in _BOOKKEEPING:
            return func(*args, **kwargs)
        formula = flop_registry.get(func._overloadpacket)
        if (formula is None or func.namespace == "aten") and _is_composite_for(func, (args, tuple(kwargs.values()))):
            # Its C++ kernel, not `decompose`: Python may hold another decomposition than the step would run.
            with self:
                return func._op_dk(DispatchKey.CompositeImplicitAutograd, *args, **kwargs)
        result = func(*args, **kwargs)
        call = bind(func, args, kwargs, result)
        if tensors := (*call.inputs, *call.outputs):
            self.trace.devices.update({tensor.device.type for tensor in tensors})
            in_backward = torch._C._current_graph_task_id() != -1
            seen = observe(
                call,
                traffic_of(call, self.trace.storages, forward=not in_backward and not self.in_optimizer),
                tags=frozenset(func.tags),
                registered=partial(formula, *args, **kwargs, out_val=result) if formula else None,
                in_optimizer=self.in_optimizer,
                tf32=self.tf32,
            )
            if seen:
                self.trace.seen.append(seen)
        return result


def run_counted(
    step: Callable[[], object],
    *,
    model: nn.Module,
    optimizer: torch.optim.Optimizer | None,
    tf32: Tf32,
) -> tuple[Trace, SavedTensors, object]:
    """Run ``step`` once, eagerly, and return what it dispatched, what it saved for its backward, and its own result."""
    trace, saved = Trace(), SavedTensors(model)
    mode = CountingMode(trace, tf32)
    with ExitStack() as stack:
        stack.enter_context(_compiling_nothing())
        if optimizer is not None:
            stack.enter_context(_optimizer_watched(mode, model, optimizer))
        stack.enter_context(saved_tensors_hooks(saved.save, saved.restore))
        stack.enter_context(mode)
        result = step()
    return trace, saved, result


@contextmanager
def _optimizer_watched(mode: CountingMode, model: nn.Module, optimizer: torch.optim.Optimizer) -> Iterator[None]:
    """Tell the mode when the optimiser is at work, and note the gradients it gets."""

    def begin(*_: object) -> None:
        mode.trace.gradient_byte = gradient_byte(model)
        mode.in_optimizer = True

    def end(*_: object) -> None:
        mode.in_optimizer = False

    handles = (optimizer.register_step_pre_hook(begin), optimizer.register_step_post_hook(end))
    try:
        yield
    finally:
        for handle in handles:
            handle.remove()


@contextmanager
def _compiling_nothing() -> Iterator[None]:
    """Run compiled functions uncompiled.

    Called under a dispatch mode, a compiled function would be marked as one never to compile, for the rest of the
    process. Where nothing has loaded the compiler there is nothing compiled.
    """
    if "torch._dynamo" not in sys.modules:
        yield
        return
    with torch.compiler.set_stance("force_eager"):
        yield


def _is_composite_for(func: Any, arguments: object) -> bool:
    """Whether the operation would run, on these tensors, as a composition of others."""
    if not _is_composite(func):
        return False
    tensors = list(tensors_in(arguments))
    if not all(is_dense(tensor) for tensor in tensors):
        return False
    return not any(_has_kernel(func, torch._C._dispatch_key_for_device(t.device.type)) for t in tensors)


@cache
def _is_composite(func: Any) -> bool:
    return _has_kernel(func, "CompositeImplicitAutograd")


@cache
def _has_kernel(func: Any, key: str) -> bool:
    return torch._C._dispatch_has_kernel_for_dispatch_key(func.name(), key)
