"""The ceilings of a machine, measured: compute per dtype, bandwidth per level, link, launch latency.

Every roof is the best of several kernels over several sizes. The kernel that wins is sampled again later in the
session; the best sample stands and the spread is stored.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Literal

from pytest_roofline.device.device_memory import is_out_of_memory
from pytest_roofline.workload import precision as precisions
from pytest_roofline.workload.precision import PRECISIONS
from roofline.schema.session import Roof, RoofKind, RoofSample

if TYPE_CHECKING:
    import torch

    from pytest_roofline.device.instruments import Instruments

COMPUTE = ("fp32", "tf32", "bf16", "fp16")
"""Compute roofs, each measured in the precision of its name."""

NAMES = (*COMPUTE, "dram", "llc", "host_to_device", "launch")

WINDOW_S = 0.1
"""A sample is taken over at least this long."""

WINDOWS = 3
"""Windows a sample is the best of."""

LARGEST_CALL_S = 1.0
"""A size whose single call is expected to take longer is left out."""

_MATRIX_SIZES = (1024, 2048, 4096, 8192, 16384)
# (channels in, channels out, image side, kernel side); batch is chosen by device.
_CONVOLUTIONS = ((256, 256, 14, 1), (512, 512, 28, 1), (64, 64, 56, 3), (256, 256, 28, 3))


class RoofUnavailable(RuntimeError):
    """The device has no such roof. The message says why."""


@dataclass(frozen=True, slots=True)
class Candidate:
    """A kernel that may reach the roof.

    :param amount: FLOP or byte of one call; 1 for a launch.
    :param prepare: allocates what the kernel needs and returns the call. Everything is freed with the call.
    """

    kernel: str
    amount: float
    prepare: Callable[[], Callable[[], object]]


@dataclass(frozen=True, slots=True)
class RoofPlan:
    """How one roof is measured."""

    kind: RoofKind
    name: str
    detail: str
    precision: str
    candidates: tuple[Candidate, ...]


def plan(name: str, device: torch.device, last_level_cache_byte: int | None) -> RoofPlan:
    """Plan what to run for a roof of ``NAMES``.

    :raises RoofUnavailable: the device has no such roof.
    """
    if name in COMPUTE:
        return _compute(name, device)
    if name in ("dram", "llc"):
        return _bandwidth(name, device, last_level_cache_byte)  # type: ignore[arg-type]
    if name == "host_to_device":
        return _link(device)
    return _launch(device)


def _compute(name: str, device: torch.device) -> RoofPlan:
    precision = PRECISIONS[name]
    reason = precisions.unsupported(precision, device)
    if reason:
        raise RoofUnavailable(reason)
    dtype = precisions.parameter_dtype(precision)
    candidates = [_matrix_product(size, dtype, device) for size in _MATRIX_SIZES]
    candidates += [_convolution(shape, name, dtype, device) for shape in _CONVOLUTIONS]
    return RoofPlan(
        "flop",
        name,
        "2 FLOP a multiply-add; best of square matrix products and convolutions",
        precision.name,
        tuple(candidates),
    )


def _matrix_product(size: int, dtype: torch.dtype, device: torch.device) -> Candidate:
    import torch

    def prepare() -> Callable[[], object]:
        left = torch.randn(size, size, device=device, dtype=dtype)
        right = torch.randn(size, size, device=device, dtype=dtype)
        out = torch.empty_like(left)
        return lambda: torch.mm(left, right, out=out)

    return Candidate(f"matmul {size}x{size}x{size}", 2.0 * size**3, prepare)


def _convolution(shape: tuple[int, int, int, int], name: str, dtype: torch.dtype, device: torch.device) -> Candidate:
    import torch

    inputs, outputs, side, kernel = shape
    batch = 16 if device.type == "cpu" else 256
    # A 3x3 fp32 convolution of stride 1 may run as Winograd, with fewer multiplications than are counted: such a rate
    # is no ceiling for anything else. Of stride 2 it can't.
    stride = 2 if kernel == 3 and name == "fp32" else 1
    out_side = (side - 1) // stride + 1

    def prepare() -> Callable[[], object]:
        layout = torch.channels_last
        images = torch.randn(batch, inputs, side, side, device=device, dtype=dtype).to(memory_format=layout)
        weights = torch.randn(outputs, inputs, kernel, kernel, device=device, dtype=dtype).to(memory_format=layout)
        return lambda: torch.conv2d(images, weights, stride=stride, padding=kernel // 2)

    flop = 2.0 * batch * inputs * outputs * kernel**2 * out_side**2
    return Candidate(
        f"conv {kernel}x{kernel} {inputs}->{outputs} on {batch}x{side}x{side} stride {stride}", flop, prepare
    )


def _bandwidth(name: Literal["dram", "llc"], device: torch.device, cache_byte: int | None) -> RoofPlan:
    if name == "llc" and cache_byte is None:
        raise RoofUnavailable(f"the size of the last-level cache of {device} is unknown")
    if name == "dram":
        # Far out of any cache: at least four times the last level each.
        least = 4 * (cache_byte or 64 * 2**20)
        sizes = [max(least, 128 * 2**20 if device.type == "cpu" else 2**30)]
        detail = "buffers of at least 4x the last-level cache; bytes read plus bytes written, no write-allocate"
    else:
        assert cache_byte is not None
        # All buffers of a kernel together; shared caches seldom give one process everything.
        sizes = [cache_byte // 8, cache_byte // 4, cache_byte // 2]
        detail = "all buffers together in a part of the last-level cache; bytes read plus bytes written"
    candidates = [
        _stream(kind, size if name == "dram" else size // buffers, device)
        for size in sizes
        for kind, buffers in (("copy", 2), ("triad", 3), ("read", 1), ("fill", 1))
    ]
    return RoofPlan("byte", name, detail, "fp32", tuple(candidates))


def _stream(kind: str, byte: int, device: torch.device) -> Candidate:
    import torch

    count = byte // 4

    def prepare() -> Callable[[], object]:
        first = torch.randn(count, device=device)
        if kind == "read":
            return first.sum
        if kind == "fill":
            return lambda: first.fill_(1.5)
        second = torch.empty_like(first)
        if kind == "copy":
            return lambda: second.copy_(first)
        third = torch.randn(count, device=device)
        return lambda: torch.add(first, third, alpha=3.0, out=second)

    traffic = {"copy": 2, "triad": 3, "read": 1, "fill": 1}[kind]
    return Candidate(f"{kind} {byte / 2**20:.0f} MiB", float(traffic * 4 * count), prepare)


def _link(device: torch.device) -> RoofPlan:
    import torch

    if device.type != "cuda":
        raise RoofUnavailable(f"{device.type} shares the host's memory: there is no link to measure")

    def prepare() -> Callable[[], object]:
        host = torch.empty(256 * 2**20, dtype=torch.uint8, pin_memory=True)
        there = torch.empty(host.shape, dtype=host.dtype, device=device)
        return lambda: there.copy_(host, non_blocking=True)

    candidate = Candidate("copy 256 MiB from pinned memory", float(256 * 2**20), prepare)
    return RoofPlan("byte", "host_to_device", "bytes copied from pinned host memory", "fp32", (candidate,))


def _launch(device: torch.device) -> RoofPlan:
    import torch

    def prepare() -> Callable[[], object]:
        one = torch.zeros(1, device=device)
        return lambda: one.add_(1.0)

    return RoofPlan(
        "latency",
        "launch",
        "time of one in-place addition to one element, launched back to back",
        "fp32",
        (Candidate("add_ on 1 element", 1.0, prepare),),
    )


def find_best(
    plan: RoofPlan, instruments: Instruments, clock: Callable[[], float], *, deadline: float = math.inf
) -> Candidate:
    """The candidate with the highest rate, each tried in one window.

    A size that by the rates seen would take longer than `LARGEST_CALL_S`, or doesn't fit into memory, is left out.

    :param deadline: on the clock; no candidate is begun after it.
    :raises RoofUnavailable: none could be run, or not all were tried before the deadline.
    """
    best: tuple[float, Candidate] | None = None
    for candidate in plan.candidates:
        if best is not None and candidate.amount / best[0] > LARGEST_CALL_S:
            continue
        if clock() > deadline:
            raise RoofUnavailable("the time for measuring roofs was up")
        rate = _try(candidate, instruments, clock)
        if rate is not None and (best is None or rate > best[0]):
            best = (rate, candidate)
    if best is None:
        raise RoofUnavailable("no kernel of this roof fits into the device's memory")
    return best[1]


def _try(candidate: Candidate, instruments: Instruments, clock: Callable[[], float]) -> float | None:
    try:
        call = candidate.prepare()
        call()
        return max(_rates(candidate, call, instruments, clock, windows=1))
    except (RuntimeError, MemoryError) as error:
        if not is_out_of_memory(error):
            raise
        return None


def sample(candidate: Candidate, instruments: Instruments, clock: Callable[[], float]) -> float:
    """The best rate of `WINDOWS` windows of at least `WINDOW_S`, in ``amount`` per second."""
    call = candidate.prepare()
    call()
    return max(_rates(candidate, call, instruments, clock, windows=WINDOWS))


def _rates(
    candidate: Candidate,
    call: Callable[[], object],
    instruments: Instruments,
    clock: Callable[[], float],
    *,
    windows: int,
) -> Iterator[float]:
    calls = 1
    while windows:
        instruments.synchronize()
        start = clock()
        for _ in range(calls):
            call()
        instruments.synchronize()
        elapsed = clock() - start
        if elapsed < WINDOW_S and elapsed >= 0:
            calls = max(calls + 1, min(100 * calls, round(1.1 * calls * WINDOW_S / max(elapsed, 1e-9))))
            continue
        windows -= 1
        yield candidate.amount * calls / elapsed


def now() -> str:
    return datetime.now(UTC).isoformat(timespec="seconds")


def roof(plan: RoofPlan, samples: tuple[RoofSample, ...]) -> Roof:
    """The roof that samples of rates (per second) give: the highest rate, or for a latency the least time."""
    values = [sample.value for sample in samples]
    best = (min if plan.kind == "latency" else max)(samples, key=lambda sample: sample.value)
    return Roof(
        kind=plan.kind,
        name=plan.name,
        value=best.value,
        source="measured",
        detail=plan.detail,
        kernel=best.kernel,
        samples=samples,
        spread=(max(values) - min(values)) / best.value,
        measured_at=best.at,
    )


def as_value(plan: RoofPlan, rate: float) -> float:
    """A rate per second as the roof's value: a latency is its inverse."""
    return 1 / rate if plan.kind == "latency" else rate


class Ledger:
    """The roofs of a session, and how to sample each again."""

    def __init__(self) -> None:
        self._entries: dict[str, tuple[RoofPlan, Candidate, tuple[RoofSample, ...]]] = {}
        self._disturbed: dict[str, str | None] = {}

    def __bool__(self) -> bool:
        return bool(self._entries)

    def add(self, plan: RoofPlan, winner: Candidate, value: float, disturbed: str | None) -> None:
        """Enter a roof with its first sample.

        :param disturbed: what disturbed the machine while the winner was chosen and sampled.
        """
        self._disturbed[plan.name] = disturbed
        self._entries[plan.name] = (plan, winner, (RoofSample(value=value, kernel=winner.kernel, at=now()),))

    def drop(self, name: str) -> None:
        """Forget a roof whose test failed."""
        self._entries.pop(name, None)

    def sample_again(
        self,
        instruments: Instruments,
        clock: Callable[[], float],
        conditions: Callable[[RoofPlan], AbstractContextManager[None]],
    ) -> None:
        """Take one more sample of every roof, under the conditions of the first."""
        for name, (plan, winner, samples) in self._entries.items():
            with conditions(plan):
                value = as_value(plan, sample(winner, instruments, clock))
            taken = RoofSample(value=value, kernel=winner.kernel, at=now())
            self._entries[name] = (plan, winner, (*samples, taken))

    def roofs(self) -> tuple[Roof, ...]:
        return tuple(
            replace(roof(plan, samples), disturbed=self._disturbed[name])
            for name, (plan, _, samples) in self._entries.items()
        )
