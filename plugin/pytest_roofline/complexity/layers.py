"""A forward pass by layer: parameters, output and matrix work of every module."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import ExitStack
from dataclasses import dataclass, field
from threading import get_ident

from torch import Tensor, nn

from pytest_roofline.counting.calls import has_storage, tensors_in
from pytest_roofline.counting.counter import CountingMode, Trace
from pytest_roofline.counting.flop.matrix_operations import Tf32
from pytest_roofline.counting.step_work import uncovered_in
from roofline.schema.record import Uncovered

ROOT = "(model)"
"""Name of the model itself, for what its own ``forward`` does between the layers."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Layer:
    """A module with work or parameters of its own; what its children do is theirs.

    :param name: its path in the model.
    :param output_shape: of its last call, the first tensor it returned; None where it returned none. ``output_byte``
        are the bytes of it, of all calls together.
    :param parameter_count: of its own parameters; one that an earlier layer has too counts there.
    :param flop: matrix FLOPs of its calls, children excluded.
    """

    name: str
    kind: str
    calls: int
    output_shape: tuple[int, ...] | None
    output_byte: int
    parameter_count: int
    flop: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Forward:
    """A forward pass: its layers in the order of their first calls, and what no formula covers."""

    layers: tuple[Layer, ...]
    uncovered: tuple[Uncovered, ...]

    @property
    def flop(self) -> int:
        """Matrix FLOPs of the pass."""
        return sum(layer.flop for layer in self.layers)


@dataclass(slots=True)
class _Visits:
    """What was seen of one module."""

    calls: int = 0
    flop: int = 0
    output_shape: tuple[int, ...] | None = None
    output_byte: int = 0


@dataclass(slots=True)
class _Watch:
    """Charges every operation to the module whose ``forward`` runs, innermost first."""

    trace: Trace
    visits: dict[nn.Module, _Visits] = field(default_factory=dict)
    unseen: list[nn.Module] = field(default_factory=list)
    _running: list[nn.Module] = field(default_factory=list)
    _charged: int = 0
    _thread: int = field(default_factory=get_ident)

    def enter(self, module: nn.Module, _inputs: object) -> None:
        if get_ident() != self._thread:
            self.unseen.append(module)
            return
        self._charge()
        self._running.append(module)
        self.visits.setdefault(module, _Visits()).calls += 1

    def leave(self, module: nn.Module, _inputs: object, output: object) -> None:
        if get_ident() != self._thread:
            return
        self._charge()
        self._running.pop()
        visits = self.visits[module]
        for tensor in tensors_in(list(output.values()) if isinstance(output, dict) else output):
            visits.output_shape = tuple(tensor.shape)
            visits.output_byte += tensor.numel() * tensor.element_size() if has_storage(tensor) else 0
            break

    def _charge(self) -> None:
        if self._running:
            flop = sum(one.flop or 0 for one in self.trace.operations[self._charged :])
            self.visits[self._running[-1]].flop += flop
        self._charged = len(self.trace.operations)


def forward_by_layer(model: nn.Module, run: Callable[[], object]) -> Forward:
    """Run a forward pass and split it.

    :param run: calls the model once; real or fake tensors.
    :raises RuntimeError: a part of it ran in another thread, where it can't be seen.
    """
    trace = Trace()
    watch = _Watch(trace)
    with ExitStack() as stack:
        for module in model.modules():
            stack.callback(module.register_forward_pre_hook(watch.enter).remove)
            stack.callback(module.register_forward_hook(watch.leave).remove)
        stack.enter_context(CountingMode(trace, Tf32()))
        run()
    if watch.unseen:
        first = next(name or ROOT for name, module in model.named_modules() if module is watch.unseen[0])
        raise RuntimeError(f"{first} ran in another thread: what other threads run can't be seen")
    return Forward(layers=tuple(_layers(model, watch.visits)), uncovered=uncovered_in(trace))


def _layers(model: nn.Module, visits: dict[nn.Module, _Visits]) -> Iterator[Layer]:
    names = {module: name or ROOT for name, module in model.named_modules()}
    counted: set[Tensor] = set()
    # Modules that are never called (a ParameterList) come last: their parameters count all the same.
    for module in (*visits, *(module for module in names if module not in visits)):
        own = set(module.parameters(recurse=False)) - counted
        counted |= own
        seen = visits.get(module, _Visits())
        parameters = sum(parameter.numel() for parameter in own)
        if parameters or seen.flop or (seen.calls and not any(module.children())):
            yield Layer(
                name=names[module],
                kind=type(module).__name__,
                calls=seen.calls,
                output_shape=seen.output_shape,
                output_byte=seen.output_byte,
                parameter_count=parameters,
                flop=seen.flop,
            )
