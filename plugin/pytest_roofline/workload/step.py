"""Define what is measured: a model, its batches and how one step of it is taken."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any, Literal, Protocol

from pytest_roofline.measuring.plan import InputEnded
from pytest_roofline.workload import compiling
from pytest_roofline.workload import precision as precisions
from pytest_roofline.workload.precision import Precision

if TYPE_CHECKING:
    import torch
    from torch import Tensor, nn

__tracebackhide__ = True  # Where a model fails, pytest shows its frames and not these.

Mode = Literal["train", "infer"]
MODES: tuple[Mode, ...] = ("train", "infer")

LEARNING_RATE = 1e-4
"""Small enough that the loss of a random network on random data stays finite; it doesn't change the work."""


class Batches(Protocol):
    """Batches on the device: without end, or at least as many as a measurement takes."""

    @property
    def startup_s(self) -> float | None:
        """Seconds until the first batch was there; None where nothing had to start."""
        ...

    def next(self) -> tuple[tuple[Tensor, ...], Tensor | None]:
        """The next ``(inputs, target)``; the target is None in inference.

        :raises StopIteration: there are no more. What is complete by then is measured, and the row is marked invalid.
        """
        ...

    def wait_s(self) -> float | None:
        """Host seconds spent waiting for data so far; None where the batches lie ready on the device."""
        ...

    def close(self) -> None:
        """Stop what feeds the batches."""
        ...


class ReadyBatches:
    """Batches that lie ready on the device and are taken in turn. ``ready`` are all of them."""

    def __init__(self, batches: Sequence[tuple[tuple[Tensor, ...], Tensor | None]]) -> None:
        if not batches:
            raise ValueError("at least one batch is needed")
        self.ready = tuple(batches)
        self._turn = 0

    @property
    def startup_s(self) -> float | None:
        return None

    def next(self) -> tuple[tuple[Tensor, ...], Tensor | None]:
        batch = self.ready[self._turn]
        self._turn = (self._turn + 1) % len(self.ready)
        return batch

    def wait_s(self) -> float | None:
        return None

    def close(self) -> None:
        return None


@dataclass(kw_only=True)
class Workload:
    """A model that lies on the device in the case's precision and layout, ready to take steps.

    The layout is read off its weights and ready inputs; see `pytest_roofline.workload.case`.

    :param config: plain values that change the work; they go into the workload's hash.
    :param setting: plain values that don't (threads, loader workers): recorded, so that they can be seen, but two
        machines that differ in them still ran the same workload.
    :param loss: ``(output, target) -> scalar``; needed in training. In inference the output itself is the result.
    :param optimizer: needed in training; see `sgd`.
    :param ranks: processes that take such a step at the same time, each with a batch of its own.
    :param compile: step on ``torch.compile(model)``. ``model`` stays the module itself, with the same parameters.
    """

    model: nn.Module
    batches: Batches
    mode: Mode
    precision: Precision
    device: torch.device
    loss: Callable[[Any, Any], Tensor] | None = None
    optimizer: torch.optim.Optimizer | None = None
    grad_accum_steps: int = 1
    compile: bool = False
    name: str = "model"
    batch: int = 1
    ranks: int = 1
    sample_unit: str = "sample"
    data: str = "synthetic"
    config: Mapping[str, Any] = field(default_factory=dict)
    setting: Mapping[str, Any] = field(default_factory=dict)

    def __post_init__(self) -> None:
        if self.mode == "train" and (self.loss is None or self.optimizer is None):
            raise ValueError("training needs a loss and an optimizer")


def sgd(model: nn.Module) -> torch.optim.Optimizer:
    """SGD with momentum and weight decay as in PyTorch's ImageNet example, and a learning rate that stays harmless."""
    import torch

    return torch.optim.SGD(model.parameters(), lr=LEARNING_RATE, momentum=0.9, weight_decay=1e-4)


class Step:
    """One step of a workload as a plain call, and what has to be known of it afterwards.

    The call does what a user's loop does and nothing else; what differs between workloads is decided once, here.

    :param scaler: None makes one where the workload needs it.
    :param forward: what is called for the model's forward pass; None is the model, compiled if the workload says so.
    :raises compiling.CompilerMissing: it says so, and there is no ``torch.compile``.
    :raises compiling.NotCompiled: it says so, and compiling is switched off.
    """

    def __init__(self, workload: Workload, scaler: Any = None, forward: Callable[..., Any] | None = None) -> None:
        import torch

        self.last: Any = None
        """Loss of the last training step, or output of the last inference."""
        self.batches = 0
        """Batches taken so far."""
        self.workload = workload
        if forward is None:
            forward = compiling.compiled(workload.model) if workload.compile else workload.model
        self._forward = forward
        self.scaler = scaler or _scaler(workload)
        self._no_grad = torch.inference_mode
        self._cast = precisions.autocast(workload.precision, workload.device)
        # Not bound: a step that held itself would keep its model until Python collects cycles.
        self._take: Callable[[Step], None] = Step._infer
        if workload.mode == "train":
            self._take = Step._train if self.scaler is None else Step._train_scaled

    def __call__(self) -> None:
        self._take(self)

    def freeze_scale(self) -> None:
        """Keep the gradient scale that warm-up found: growing it would skip a step sooner or later."""
        if self.scaler is not None:
            self.scaler.set_growth_interval(2**31 - 1)

    def scale(self) -> float | None:
        """The gradient scale now; None without a scaler."""
        return None if self.scaler is None else float(self.scaler.get_scale())

    def loss(self) -> float | None:
        """The last training step's loss, which waits for the device; None in inference."""
        return None if self.workload.mode == "infer" or self.last is None else float(self.last.detach())

    def on_fetched_batches(self) -> Step:
        """The same step on batches that are fetched now: what a data loader does is no part of the model's work.

        :raises InputEnded: there are none.
        """
        parts = self.workload.grad_accum_steps
        batches = ReadyBatches([self._next_batch() for _ in range(parts)])
        return Step(replace(self.workload, batches=batches), self.scaler, self._forward)

    def uncompiled(self) -> Step:
        """The same step on the model itself: what a compiled one runs can't be separated into operations."""
        return Step(self.workload, self.scaler, self.workload.model)

    def _next_batch(self) -> tuple[tuple[Tensor, ...], Tensor | None]:
        try:
            batch = self.workload.batches.next()
        except StopIteration as end:
            # Told apart here from one that the model raises by a mistake.
            raise InputEnded(f"the data ended after {self.batches} batches") from end
        self.batches += 1
        return batch

    def _infer(self) -> None:
        inputs, _ = self._next_batch()
        with self._no_grad(), self._cast:
            self.last = self._forward(*inputs)

    def _loss(self) -> Tensor:
        inputs, target = self._next_batch()
        with self._cast:
            loss = self.workload.loss(self._forward(*inputs), target)  # type: ignore[misc]  # training has one
        self.last = loss
        parts = self.workload.grad_accum_steps
        return loss if parts == 1 else loss / parts

    def _train(self) -> None:
        optimizer: Any = self.workload.optimizer
        optimizer.zero_grad()
        for _ in range(self.workload.grad_accum_steps):
            self._loss().backward()
        optimizer.step()

    def _train_scaled(self) -> None:
        optimizer: Any = self.workload.optimizer
        optimizer.zero_grad()
        for _ in range(self.workload.grad_accum_steps):
            self.scaler.scale(self._loss()).backward()
        self.scaler.step(optimizer)
        self.scaler.update()


def _scaler(workload: Workload) -> Any:
    if workload.mode != "train" or not precisions.needs_scaler(workload.precision, workload.device):
        return None
    import torch

    return torch.amp.GradScaler(workload.device.type)


def case_id(model: str, mode: str, batch: int, precision: str, *extra: str) -> str:
    """The readable id of a case: ``resnet50-train-b32-amp_bf16``, with what isn't the default appended."""
    return "-".join([model, mode, f"b{batch}", precision, *extra])


def workload_hash(values: Mapping[str, Any]) -> str:
    """A hash over everything that changes the work."""
    return hashlib.sha256(json.dumps(values, sort_keys=True, default=str).encode()).hexdigest()[:16]
