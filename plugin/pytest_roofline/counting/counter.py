"""Runs one step and writes down every operation it dispatches."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field
from functools import partial
from typing import Any

import torch
from torch import nn
from torch._ops import HigherOrderOperator
from torch.autograd.graph import saved_tensors_hooks
from torch.utils.flop_counter import flop_registry

from pytest_roofline.counting.calls import bind, tensors_in
from pytest_roofline.counting.dispatch import LeafMode, compiling_nothing, leaf_name, may_work
from pytest_roofline.counting.dtypes import Tf32
from pytest_roofline.counting.elsewhere import Elsewhere
from pytest_roofline.counting.handed_over import HandedOver
from pytest_roofline.counting.memory import SavedTensors, gradient_byte
from pytest_roofline.counting.observation import Seen, observe
from pytest_roofline.counting.storages import Storages
from pytest_roofline.counting.traffic import traffic_of


@dataclass(frozen=True, slots=True)
class Dispatched:
    """One leaf that may do work: its name, and what was counted of it; None where it turned out to do none."""

    name: str
    seen: Seen | None


@dataclass(slots=True)
class Trace:
    """Everything one step dispatched, in order."""

    storages: Storages = field(default_factory=Storages)
    dispatched: list[Dispatched] = field(default_factory=list)
    seen: list[Seen] = field(default_factory=list)
    """What of it was counted."""
    unseen: Counter[str] = field(default_factory=Counter)
    """Calls of higher-order operators, by name: what they run inside is not visible."""
    devices: Counter[str] = field(default_factory=Counter)
    gradient_byte: int = 0
    """What the optimiser found: a step may drop the gradients before it ends."""
    elsewhere: str | None = None
    """Why this is not all that the step did (see `elsewhere` and `handed_over`)."""


class CountingMode(LeafMode):
    """Writes every operation into ``trace`` and lets it run."""

    def __init__(self, trace: Trace, tf32: Tf32, elsewhere: Elsewhere | None = None) -> None:
        super().__init__()
        self.trace = trace
        self.elsewhere = elsewhere
        self.tf32 = tf32
        self.in_optimizer = False

    def leaf(self, func: Any, args: tuple[Any, ...], kwargs: Mapping[str, Any]) -> Any:
        seen = None
        if self.elsewhere and self._forward:
            self.elsewhere.read(tensors_in((args, tuple(kwargs.values()))))
        result = func(*args, **kwargs)
        if isinstance(func, HigherOrderOperator):
            self.trace.unseen[func.name()] += 1
        else:
            seen = self._observe(func, args, kwargs, result)
        if seen:
            self.trace.seen.append(seen)
        if may_work(func):
            self.trace.dispatched.append(Dispatched(leaf_name(func), seen))
        return result

    @property
    def _forward(self) -> bool:
        return torch._C._current_graph_task_id() == -1 and not self.in_optimizer

    def _observe(self, func: Any, args: tuple[Any, ...], kwargs: Mapping[str, Any], result: object) -> Seen | None:
        call = bind(func, args, kwargs, result)
        tensors = (*call.inputs, *call.outputs)
        if not tensors:
            return None
        self.trace.devices.update({tensor.device.type for tensor in tensors})
        formula = flop_registry.get(func._overloadpacket)
        return observe(
            call,
            traffic_of(call, self.trace.storages, forward=self._forward),
            tags=frozenset(func.tags),
            registered=partial(formula, *args, **kwargs, out_val=result) if formula else None,
            in_optimizer=self.in_optimizer,
            tf32=self.tf32,
        )


def run_counted(
    step: Callable[[], object],
    *,
    model: nn.Module,
    optimizer: torch.optim.Optimizer | None,
    tf32: Tf32,
    watch_saved: bool = True,
) -> tuple[Trace, SavedTensors, object]:
    """Run ``step`` once, eagerly, and return what it dispatched, what it saved for its backward, and its own result.

    :param watch_saved: whether to look at what it saves.
    """
    trace, saved, elsewhere = Trace(), SavedTensors(model), Elsewhere(model)
    mode = CountingMode(trace, tf32, elsewhere)
    handed_over = HandedOver(mode)
    with ExitStack() as stack:
        stack.enter_context(compiling_nothing())
        if optimizer is not None:
            stack.enter_context(_optimizer_watched(mode, model, optimizer))
        if watch_saved:
            stack.enter_context(saved_tensors_hooks(saved.save, saved.restore))
        stack.enter_context(elsewhere.watching())
        stack.enter_context(handed_over.watching())
        stack.enter_context(mode)
        result = step()
    trace.elsewhere = elsewhere.reason or handed_over.reason
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
