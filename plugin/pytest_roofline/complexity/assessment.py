"""What a model needs: parameters, work and memory of a step, and the largest batch that fits."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from functools import cached_property

import torch
from torch._subclasses.fake_tensor import FakeTensorMode

from pytest_roofline.complexity.fake import fake_model, fake_workload
from pytest_roofline.complexity.layers import Forward, forward_by_layer
from pytest_roofline.complexity.tf32 import in_tf32, switches
from pytest_roofline.counting import count_step
from pytest_roofline.counting.calls import tensors_in
from pytest_roofline.counting.memory import stored_byte
from pytest_roofline.proof.missing import told
from pytest_roofline.workload.models import ModelSpec
from pytest_roofline.workload.precision import Precision
from pytest_roofline.workload.step import Mode, Step, Workload
from roofline.schema.record import Work

MOST = 1 << 20
"""No larger batch is looked for."""


class CannotAssess(ValueError):
    """A model that can't be built, or a batch that it doesn't take."""


@dataclass(frozen=True, slots=True, kw_only=True)
class StepNeeds:
    """Work and memory of one step at one batch. FLOPs in TF32 are as on a device that has it.

    ``peak_byte`` is predicted (see `pytest_roofline.counting.peak`); it is less than the parts' sum, for they are not
    all there at once. None where some of the memory can't be seen. ``buffer_byte`` are the model's buffers,
    ``input_byte`` the batch with its targets.
    """

    batch: int
    work: Work
    buffer_byte: int
    input_byte: int
    peak_byte: int | None
    elsewhere: str | None = None


class Assessment:
    """One model on fake tensors, in one mode and precision.

    :raises CannotAssess: it can't be built.
    """

    def __init__(self, spec: ModelSpec, *, mode: Mode, precision: Precision) -> None:
        self.spec = spec
        self.mode = mode
        self.precision = precision
        self._fake = FakeTensorMode()
        with _failures_of(spec, None):
            self._model = fake_model(spec, precision, self._fake)
        self._optimizer: torch.optim.Optimizer | None = None

    @property
    def smallest_batch(self) -> int:
        return self.spec.min_train_batch if self.mode == "train" else 1

    @cached_property
    def forward(self) -> Forward:
        """The forward pass of one sample in inference, by layer."""
        with self._fake, _failures_of(self.spec, 1):
            workload = fake_workload(self.spec, self._model, batch=1, mode="infer", precision=self.precision)
            return forward_by_layer(self._model, Step(workload))

    def step(self, batch: int) -> StepNeeds:
        """Count one step, in steady state: the optimiser has its state, and the last step's gradients are there.

        :raises CannotAssess: the model doesn't take that batch.
        """
        with self._fake, _failures_of(self.spec, batch):
            workload, step = self._steady(batch)
            batches = list(tensors_in(workload.batches.next()))
            counted = count_step(step, model=self._model, optimizer=workload.optimizer, held=batches)
        # Of a training step gradients tell; of inference the hooks of the count by layer do.
        elsewhere = self.forward.elsewhere if self.mode == "infer" else counted.elsewhere
        return StepNeeds(
            batch=batch,
            work=in_tf32(counted.work, counted.operations, switches(self.precision)),
            buffer_byte=stored_byte(self._model.buffers()),
            input_byte=stored_byte(batches),
            peak_byte=None if elsewhere else counted.peak_byte,
            elsewhere=elsewhere,
        )

    def peak_byte(self, batch: int) -> int:
        """Predicted peak memory of a step.

        :raises CannotAssess: the model doesn't take that batch, or some of its memory can't be seen.
        """
        needs = self.step(batch)
        if needs.peak_byte is None:
            reason = needs.elsewhere or "it has sparse tensors or operations made of others"
            raise CannotAssess(f"{self.spec.name}: no peak is predicted: {reason}")
        return needs.peak_byte

    def largest_batch(self, memory_byte: int) -> int | None:
        """The largest batch that fits (see the function `largest_batch`); None if none does.

        A model may refuse the smallest one, unknown to its `ModelSpec`: a batch norm can't train on a single value.

        :raises CannotAssess: it refuses the next one as well, or no peak is predicted.
        """
        try:
            return largest_batch(self.peak_byte, memory_byte, self.smallest_batch)
        except CannotAssess:
            return largest_batch(self.peak_byte, memory_byte, self.smallest_batch + 1)

    def _steady(self, batch: int) -> tuple[Workload, Step]:
        if batch < self.smallest_batch:
            raise CannotAssess(self.spec.obstacle(mode=self.mode, batch=batch, layout="contiguous", data="synthetic"))
        workload = fake_workload(self.spec, self._model, batch=batch, mode=self.mode, precision=self.precision)
        if self._optimizer is not None:
            # Its state is the same at every batch.
            workload.optimizer = self._optimizer
        elif workload.optimizer is not None:
            Step(workload)()
            # Only now it has its state: a batch that the model refuses leaves it without.
            self._optimizer = workload.optimizer
        return workload, Step(workload)


def largest_batch(peak_byte: Callable[[int], int], memory_byte: int, smallest: int = 1) -> int | None:
    """The largest batch whose predicted peak is at most ``memory_byte``; None if the smallest is too large already.

    A peak is the largest of several sums that each grow in proportion to the batch. So a straight line through two
    batches that fit leads to the answer or beyond it, and one from a batch that fits to one that doesn't leads to the
    answer or short of it.
    """
    known = {smallest: peak_byte(smallest)}
    if known[smallest] > memory_byte:
        return None
    fails = MOST + 1
    while (fits := max(batch for batch in known if known[batch] <= memory_byte)) < fails - 1:
        guess = _on_the_line(known, fits, fails, memory_byte) if len(known) > 1 else _STRIDE * smallest
        known[guess] = peak_byte(guess)
        if known[guess] > memory_byte:
            fails = guess
    return fits


_STRIDE = 8
"""A batch that is tried is at most so many times the largest that was found to fit."""


def _on_the_line(known: dict[int, int], fits: int, fails: int, memory_byte: int) -> int:
    """Where a line through two known batches reaches the memory, between ``fits`` and ``fails``, both excluded."""
    other = fails if fails in known else max(batch for batch in known if batch < fits)
    per_sample = (known[other] - known[fits]) / (other - fits)
    more = int((memory_byte - known[fits]) / per_sample) if per_sample > 0 else fails
    return min(max(fits + more, fits + 1), fails - 1, _STRIDE * fits)


@contextmanager
def _failures_of(spec: ModelSpec, batch: int | None) -> Iterator[None]:
    """Say of what the model itself raises that it was the model, at which batch."""
    try:
        yield
    except (AttributeError, LookupError, RuntimeError, TypeError, ValueError) as error:
        if isinstance(error, CannotAssess):
            raise
        doing = "can't be built" if batch is None else f"can't take a step at batch {batch}"
        raise CannotAssess(f"{spec.name} {doing} on tensors without data: {told(error)}") from error
