"""Runs one step and writes down every operation it dispatches, and signs that some of the work escaped the count."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field
from functools import partial, wraps
from typing import Any

import torch
from torch import Tensor, nn
from torch._ops import HigherOrderOperator
from torch.autograd.graph import saved_tensors_hooks
from torch.utils._python_dispatch import TorchDispatchMode, _get_current_dispatch_mode_stack
from torch.utils.flop_counter import flop_registry

from pytest_roofline.counting.calls import Call, bind, bind_higher_order, dtype_name, has_storage, tensors_in
from pytest_roofline.counting.dispatch import LeafMode, compiling_nothing, leaf_name, may_work
from pytest_roofline.counting.flop.matrix_operations import MATRIX_OPERATIONS, Tf32
from pytest_roofline.counting.operation_cost import CountedOperation, counted_operation
from pytest_roofline.counting.step_memory import SavedTensors, gradient_byte
from pytest_roofline.counting.traffic import Storages, traffic_of


@dataclass(frozen=True, slots=True)
class Dispatched:
    """One leaf that may do work: its name, and what was counted of it; None where it turned out to do none."""

    name: str
    counted: CountedOperation | None


@dataclass(slots=True)
class Trace:
    """Everything one step dispatched, in order."""

    storages: Storages = field(default_factory=Storages)
    dispatched: list[Dispatched] = field(default_factory=list)
    operations: list[CountedOperation] = field(default_factory=list)
    """What of it was counted."""
    opaque: Counter[str] = field(default_factory=Counter)
    """Calls of higher-order operators without a formula, by name: what they run inside is not visible."""
    devices: Counter[str] = field(default_factory=Counter)
    gradient_byte: int = 0
    """What the optimiser found: a step may drop the gradients before it ends."""
    escaped: str | None = None
    """Why this is not all that the step did (see `ParametersRead` and `TensorsGivenAway`)."""


class CountingMode(LeafMode):
    """Writes every operation into ``trace`` and lets it run."""

    def __init__(self, trace: Trace, tf32: Tf32, read: ParametersRead | None = None) -> None:
        super().__init__()
        self.trace = trace
        self._parameters = read
        self.tf32 = tf32
        self.in_optimizer = False

    def leaf(self, func: Any, args: tuple[Any, ...], kwargs: Mapping[str, Any]) -> Any:
        counted = None
        if self._parameters and self._forward:
            self._parameters.read(tensors_in((args, tuple(kwargs.values()))))
        result = func(*args, **kwargs)
        if not isinstance(func, HigherOrderOperator):
            formula = flop_registry.get(func._overloadpacket)
            registered = partial(formula, *args, **kwargs, out_val=result) if formula else None
            counted = self._count(bind(func, args, kwargs, result), frozenset(func.tags), registered)
        elif func.name() in MATRIX_OPERATIONS:
            counted = self._count(bind_higher_order(func, args, kwargs, result))
        else:
            self.trace.opaque[func.name()] += 1
        if counted:
            self.trace.operations.append(counted)
        if may_work(func):
            self.trace.dispatched.append(Dispatched(leaf_name(func), counted))
        return result

    @property
    def _forward(self) -> bool:
        return torch._C._current_graph_task_id() == -1 and not self.in_optimizer

    def _count(
        self,
        call: Call,
        tags: frozenset[torch.Tag] = frozenset(),
        registered: Callable[[], int] | None = None,
    ) -> CountedOperation | None:
        tensors = (*call.inputs, *call.outputs)
        if not tensors:
            return None
        self.trace.devices.update({tensor.device.type for tensor in tensors})
        return counted_operation(
            call,
            traffic_of(call, self.trace.storages, forward=self._forward),
            tags=tags,
            registered=registered,
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
    trace, saved, parameters = Trace(), SavedTensors(model), ParametersRead(model)
    mode = CountingMode(trace, tf32, parameters)
    given_away = TensorsGivenAway(mode)
    with ExitStack() as stack:
        stack.enter_context(compiling_nothing())
        if optimizer is not None:
            stack.enter_context(_optimizer_watched(mode, model, optimizer))
        if watch_saved:
            stack.enter_context(saved_tensors_hooks(saved.save, saved.restore))
        stack.enter_context(parameters.watching())
        stack.enter_context(given_away.watching())
        stack.enter_context(mode)
        result = step()
    trace.escaped = parameters.reason or given_away.reason
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


class ParametersRead:
    """Parameters of ``model`` that got a gradient, and those that an operation read before.

    One that gets a gradient must have been read by an operation of the forward pass. Where none was seen, another
    thread ran some of it (modes belong to a thread): what such a step counts is too little and looks like any other
    number.

    Parameters are known by their storage: a flattened view, or the transpose that a product takes, is the parameter
    too.
    """

    def __init__(self, model: nn.Module) -> None:
        self._watched = {
            name: parameter
            for name, parameter in model.named_parameters()
            if parameter.requires_grad and parameter.is_leaf and has_storage(parameter)
        }
        self._with_gradient: list[str] = []
        self._read: set[int] = set()

    @contextmanager
    def watching(self) -> Iterator[None]:
        """Take notice of gradients, whatever thread they are made in."""

        def noticing(name: str) -> object:
            return lambda _: self._with_gradient.append(name)

        with ExitStack() as stack:
            for name, parameter in self._watched.items():
                stack.callback(parameter.register_post_accumulate_grad_hook(noticing(name)).remove)
            yield

    def read(self, tensors: Iterable[Tensor]) -> None:
        """An operation of the forward pass takes these."""
        self._read.update(tensor.untyped_storage()._cdata for tensor in tensors if has_storage(tensor))

    @property
    def reason(self) -> str | None:
        """Say why the count of the step is not all of it; None where nothing speaks for that."""
        read = self._read
        hidden = [
            name
            for name in dict.fromkeys(self._with_gradient)
            if self._watched[name].untyped_storage()._cdata not in read
        ]
        if not hidden:
            return None
        return (
            f"{len(hidden)} of {len(self._watched)} parameters ({hidden[0]} is the first) got a gradient, but no"
            " operation seen in this thread read them before: what other threads run can't be seen, nor what is no"
            " operation of torch"
        )


_RECEIVERS: Mapping[str, str] = {"numpy": "numpy", "__dlpack__": "another library"}
"""Who gets a tensor's memory, by the method that gives it. ``Tensor.__array__`` calls ``numpy``."""


class TensorsGivenAway:
    """Floating tensors of more than one element that a step gives to numpy or another library.

    The methods of tensors that give memory away stand replaced while a step is watched: under a ``TorchFunctionMode``
    torch would leave the fast paths of ``nn.TransformerEncoder``. A single number is what a loss is logged by, and
    integers are no arithmetic that could be missing.

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
        """Say why the count of the step is not all of it; None where nothing speaks for that."""
        if self._first is None:
            return None
        return f"the step hands tensors to {self._first}: what is computed there can't be seen"

    def _noticing(self, method: Callable[..., Any], receiver: str) -> Callable[..., Any]:
        @wraps(method)
        def giving(tensor: Tensor, *args: Any, **kwargs: Any) -> Any:
            given = method(tensor, *args, **kwargs)
            several = tensor.numel() > 1 and (tensor.is_floating_point() or tensor.is_complex())
            watched = any(mode is self._mode for mode in _get_current_dispatch_mode_stack())
            if self._first is None and several and watched:
                shape = "x".join(map(str, tensor.shape))
                self._first = f"{receiver} (the first is {dtype_name(tensor.dtype)}, {shape})"
            return given

        return giving


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
