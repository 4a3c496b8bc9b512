"""The memory that a case is predicted to need, before anything of it is built."""

from __future__ import annotations

import math

from pytest_roofline.complexity.assessment import Assessment, CannotAssess
from pytest_roofline.workload import precision as precisions
from pytest_roofline.workload.models import ModelSpec
from pytest_roofline.workload.precision import Precision
from pytest_roofline.workload.step import Mode

_INT64_BYTE = 8

_IMAGE_FACTOR, _TOKEN_BYTE = 500, 1_000_000
"""More than a step of the known models takes for each byte of an image, and for each token."""


def batch_byte(spec: ModelSpec, batch: int, mode: Mode, precision: Precision) -> int:
    """One batch with its targets, on the device."""
    element_byte = _INT64_BYTE if spec.input_kind == "tokens" else precisions.parameter_dtype(precision).itemsize
    targets = math.prod(spec.target_shape) * _INT64_BYTE if mode == "train" else 0
    return batch * (math.prod(spec.input_shape) * element_byte + targets)


def may_be_large(spec: ModelSpec, batch: int, memory_byte: int) -> bool:
    """Whether it is worth some seconds to predict the peak of a step: most are small beside the memory."""
    per_sample = _IMAGE_FACTOR * 4 * math.prod(spec.input_shape)
    if spec.input_kind == "tokens":
        per_sample = _TOKEN_BYTE * math.prod(spec.input_shape)
    return batch * per_sample > memory_byte


def peak_byte(spec: ModelSpec, batch: int, mode: Mode, precision: Precision) -> int | None:
    """The predicted peak of an uncompiled step, its batch included; None where it can't be predicted."""
    try:
        return Assessment(spec, mode=mode, precision=precision).peak_byte(batch)
    except CannotAssess:
        return None
