"""Assess what a model needs: parameters, work and memory of a step, and the largest batch that fits."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, replace
from functools import cached_property

import torch
from torch._subclasses.fake_tensor import FakeTensorMode

from pytest_roofline.complexity.fake import fake_model, fake_workload
from pytest_roofline.complexity.layers import Forward, forward_by_layer
from pytest_roofline.counting import count_step
from pytest_roofline.counting.calls import tensors_in
from pytest_roofline.counting.flop.matrix_operations import MATRIX_OPERATIONS, Tf32
from pytest_roofline.counting.step_memory import stored_byte
from pytest_roofline.missing import reason_of
from pytest_roofline.workload import precision as precisions
from pytest_roofline.workload.models import ModelSpec
from pytest_roofline.workload.precision import Precision
from pytest_roofline.workload.step import Mode, Step, Workload
from roofline.schema.record import Operation, Work

MOST = 1 << 20
"""No larger batch is looked for."""


class CannotAssess(ValueError):
    """A model that can't be built, or a batch that it doesn't take."""


@dataclass(frozen=True, slots=True, kw_only=True)
class StepNeeds:
    """Work and memory of one step at one batch. FLOPs in TF32 are as on a device that has it.

    ``peak_byte`` is predicted (`pytest_roofline.counting.step_memory.PeakMode`); it is less than the parts' sum, for
    they are not all there at once. None where some of the memory can't be seen. ``buffer_byte`` are the model's
    buffers, ``input_byte`` the batch with its targets.
    """

    batch: int
    work: Work
    buffer_byte: int
    input_byte: int
    peak_byte: int | None


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
        self._steps: dict[int, StepNeeds] = {}

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

        It is counted once for each batch.

        :raises CannotAssess: the model doesn't take that batch, or some of its work can't be seen.
        """
        if batch not in self._steps:
            self._steps[batch] = self._count(batch)
        return self._steps[batch]

    def _count(self, batch: int) -> StepNeeds:
        with self._fake, _failures_of(self.spec, batch):
            workload, step = self._steady(batch)
            batches = list(tensors_in(workload.batches.next()))
            counted = count_step(step, model=self._model, optimizer=workload.optimizer, held=batches)
        if counted.escaped:
            raise CannotAssess(f"{self.spec.name} can't be counted: {counted.escaped}")
        return StepNeeds(
            batch=batch,
            work=with_tf32(counted.work, counted.operations, tf32_switches(self.precision)),
            buffer_byte=stored_byte(self._model.buffers()),
            input_byte=stored_byte(batches),
            peak_byte=counted.peak_byte,
        )

    def peak_byte(self, batch: int) -> int:
        """Predicted peak memory of a step.

        :raises CannotAssess: the model doesn't take that batch, or some of its memory can't be seen.
        """
        needs = self.step(batch)
        if needs.peak_byte is None:
            raise CannotAssess(f"{self.spec.name}: no peak is predicted of sparse tensors or operations made of others")
        return needs.peak_byte

    def largest_batch(self, memory_byte: int) -> int | None:
        """The largest batch that fits (see the function `largest_batch`); None if none does.

        A model may refuse the smallest one, unknown to its `ModelSpec`: a batch norm can't train on a single value.

        :raises CannotAssess: it refuses the next one as well, or no peak is predicted.
        """
        known = {batch: needs.peak_byte for batch, needs in self._steps.items() if needs.peak_byte is not None}
        try:
            return largest_batch(self.peak_byte, memory_byte, self.smallest_batch, known)
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


def largest_batch(
    peak_byte: Callable[[int], int], memory_byte: int, smallest: int = 1, counted: Mapping[int, int] | None = None
) -> int | None:
    """The largest batch whose predicted peak is at most ``memory_byte``; None if the smallest is too large already.

    :param counted: predicted peaks that are known already, by batch.

    A peak is the largest of several sums that each grow in proportion to the batch. So a straight line through two
    batches that fit leads to the answer or beyond it, and one from a batch that fits to one that doesn't leads to the
    answer or short of it.
    """
    known = dict(counted or {})
    if all(peak > memory_byte for peak in known.values()):
        known[smallest] = peak_byte(smallest)
        if known[smallest] > memory_byte:
            return None
    fails = min((batch for batch, peak in known.items() if peak > memory_byte), default=MOST + 1)
    while (fits := max(batch for batch in known if known[batch] <= memory_byte)) < fails - 1:
        guess = _on_the_line(known, fits, fails, memory_byte) if len(known) > 1 else min(_STRIDE * fits, MOST)
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
        raise CannotAssess(f"{spec.name} {doing} on tensors without data: {reason_of(error)}") from error


def tf32_switches(precision: Precision) -> Tf32:
    """torch's TF32 switches as a case of this precision finds them on a CUDA device that has TF32.

    Left alone (``torch_default``), torch allows it in cuDNN and not in cuBLAS: ``torch.backends.cudnn.allow_tf32`` and
    ``torch.backends.cuda.matmul.allow_tf32`` in "TensorFloat-32 (TF32) on Ampere (and later) devices" of torch's CUDA
    semantics.
    """
    if precision.fp32_mode is None:
        return Tf32(convolution=True)
    return Tf32(matmul=precision.fp32_mode == "tf32", convolution=precision.fp32_mode == "tf32")


def with_tf32(work: Work, operations: Iterable[Operation], tf32: Tf32) -> Work:
    """The work with those fp32 FLOPs as TF32 that a switch lets run in it: the rule that a measured step is counted by.

    :param operations: all that ``work`` is the sum of.
    """
    flop = sum(
        one.flop
        for one in operations
        if one.dtype == "fp32" and (known := MATRIX_OPERATIONS.get(one.name)) and tf32.lets(known.switch)
    )
    by_dtype = dict(work.flop_by_dtype)
    by_dtype["fp32"] = by_dtype.get("fp32", 0.0) - flop
    by_dtype["tf32"] = by_dtype.get("tf32", 0.0) + flop
    return replace(work, flop_by_dtype={dtype: total for dtype, total in by_dtype.items() if total})


_INT64_BYTE = 8

_IMAGE_FACTOR, _TOKEN_BYTE = 500, 1_000_000
"""More than a step of the known models takes for each byte of an image, and for each token."""


def batch_byte(spec: ModelSpec, batch: int, mode: Mode, precision: Precision) -> int:
    """One batch with its targets, on the device."""
    element_byte = _INT64_BYTE if spec.input_kind == "tokens" else precisions.parameter_dtype(precision).itemsize
    targets = math.prod(spec.target_shape) * _INT64_BYTE if mode == "train" else 0
    return batch * (math.prod(spec.input_shape) * element_byte + targets)


def may_be_large(spec: ModelSpec, batch: int, memory_byte: int) -> bool:
    """Tell whether it is worth some seconds to predict the peak of a step: most are small beside the memory."""
    per_sample = _IMAGE_FACTOR * 4 * math.prod(spec.input_shape)
    if spec.input_kind == "tokens":
        per_sample = _TOKEN_BYTE * math.prod(spec.input_shape)
    return batch * per_sample > memory_byte


def predicted_peak_byte(spec: ModelSpec, batch: int, mode: Mode, precision: Precision) -> int | None:
    """The predicted peak of an uncompiled step, its batch included; None where it can't be predicted."""
    try:
        return Assessment(spec, mode=mode, precision=precision).peak_byte(batch)
    except CannotAssess:
        return None
