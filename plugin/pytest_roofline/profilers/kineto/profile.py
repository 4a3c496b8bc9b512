"""The profiler's pass over one workload: `profile_step`. It comes after the timed rounds; nothing is timed under it."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from itertools import zip_longest
from operator import attrgetter
from statistics import median
from typing import TYPE_CHECKING, Literal

from pytest_roofline.counting import Counted
from pytest_roofline.counting.dispatch import compiling_nothing
from pytest_roofline.counting.flop.matrix_operations import MATRIX_OPERATIONS
from pytest_roofline.counting.step_work import Leaf
from pytest_roofline.missing import reason_of
from pytest_roofline.profilers.kineto.attribution import (
    StepTimes,
    by_kernel,
    by_operator,
    by_self_time,
    kernel_times,
    outside_times,
)
from pytest_roofline.profilers.kineto.recording import Kernel, LabelMode, ProfilerBusyError, escaped, followed, record
from roofline.profilers.timeline import busy
from roofline.schema.record import Operation, Profile, Work

if TYPE_CHECKING:
    import torch

ENOUGH_STEPS = 3
MOST_STEPS = 10
FILLED_S = 1.0
"""Steps are taken until `ENOUGH_STEPS` are there and this time is over,"""

BUDGET_S = 10.0
"""and before that they end, after one at least, where another like the longest would pass this time."""

COMPILED = "a compiled step runs fused kernels that belong to no single operation; `profile` has their times"

_NO_STEP = "no step could be taken under torch's profiler"


@dataclass(frozen=True, slots=True, kw_only=True)
class Profiled:
    """What was counted, with times.

    ``missing`` says why there are none, under the paths in the record. ``escaped`` is the reason where some of the
    step ran in another thread: then neither the times nor the count are all of it. ``uneven`` is the reason where steps
    differ in their matrix products: then the count is of one of them alone.
    """

    profile: Profile | None
    operations: tuple[Operation, ...]
    work: Work
    missing: dict[str, str] = field(default_factory=dict)
    escaped: str | None = None
    uneven: str | None = None


@dataclass(frozen=True, slots=True)
class _Taken:
    """One step under the profiler."""

    wall_s: float
    times: StepTimes
    names: tuple[str, ...]
    """Operations that were labelled."""
    kernels: tuple[Kernel, ...]


class _NotProfiledError(Exception):
    """There are no times. The message says why, and ``field`` which one of `Profiled` has the reason, too."""

    def __init__(self, why: str, field: Literal["escaped", "uneven"] | None = None) -> None:
        super().__init__(why)
        self.field = field


def profile_step(
    step: Callable[[], object],
    device: torch.device,
    counted: Counted,
    *,
    compiled: bool,
    clock: Callable[[], float],
    all_threads: bool = False,
    agree: Callable[[bool], bool] = bool,
) -> Profiled:
    """Time the operations of ``step`` one by one, on several steps more.

    On a CPU the time of an operation is that of its operator on the host, on a CUDA device that of the kernels it
    launches. A compiled step is timed by kernels, on a CPU by what the profiler sees, each by its name: nothing tells
    which operation they belong to. What can't be had costs the times and nothing else.

    :param counted: the count of the same step, uncompiled.
    :param compiled: whether parts of the step are compiled.
    :param clock: seconds.
    :param all_threads: whether to look for work in other threads as well. Not for training: there torch itself may take
        the backward pass to another thread, and gradients tell what was hidden.
    :param agree: gives all processes that take the step together the same word whether its steps are enough.
    """
    try:
        if device.type not in ("cpu", "cuda"):
            raise _NotProfiledError(f"operators on the host tell nothing of the time on {device.type}")
        taken = _take_steps(step, device, compiled=compiled, clock=clock, all_threads=all_threads, agree=agree)
        if not compiled:
            return _with_operations(counted, device, taken)
        return Profiled(
            profile=_profile(device, taken, 0.0, [one.times.outside for one in taken]),
            operations=counted.operations,
            work=counted.work,
            missing={"operations.time_s": COMPILED, "work.uncovered.time_s": COMPILED},
        )
    except _NotProfiledError as reason:
        return Profiled(
            profile=None,
            operations=counted.operations,
            work=counted.work,
            missing={"profile": str(reason)},
            **({} if reason.field is None else {reason.field: str(reason)}),
        )


def _take_steps(
    step: Callable[[], object],
    device: torch.device,
    *,
    compiled: bool,
    clock: Callable[[], float],
    all_threads: bool,
    agree: Callable[[bool], bool],
) -> list[_Taken]:
    """The steps after a first one, which starts the profiler and fills caches, and is thrown away."""
    names: list[tuple[str, ...]] = []

    def labelled() -> None:
        with compiling_nothing(), LabelMode() as mode:
            step()
        names.append(tuple(mode.names))

    try:
        recordings = record(
            step if compiled else labelled,
            device,
            clock=clock,
            enough=lambda walls: agree(are_enough(walls[1:])),
            all_threads=all_threads,
        )
    except ProfilerBusyError as error:
        raise _NotProfiledError(f"{_NO_STEP}: {error}") from error
    except Exception as error:
        # Whatever it is: the step is the user's, it ran in every timed round, and may raise anything where it finds a
        # profiler or a mode. The row is measured already and must not be lost for it.
        raise _NotProfiledError(f"{_NO_STEP}: {reason_of(error)}") from error
    if all_threads:
        if hidden := escaped(recordings[1:]):
            raise _NotProfiledError(hidden, "escaped")
        recordings = [followed(one) for one in recordings]
    if device.type == "cuda" and not any(one.kernels for one in recordings):
        raise _NotProfiledError(
            "torch's profiler saw no kernel: its CUPTI is missing, not permitted, or taken by another profiler"
        )
    times = by_kernel if device.type == "cuda" else by_self_time if compiled else by_operator
    labels = names or [()] * len(recordings)
    return [
        _Taken(one.wall_s, times(one), own, one.kernels) for one, own in zip(recordings[1:], labels[1:], strict=True)
    ]


def are_enough(walls: Sequence[float]) -> bool:
    """Tell whether steps that took so many seconds each are enough."""
    if len(walls) < ENOUGH_STEPS:
        return bool(walls) and sum(walls) + max(walls) > BUDGET_S
    return len(walls) >= MOST_STEPS or sum(walls) >= FILLED_S


def _with_operations(counted: Counted, device: torch.device, taken: Sequence[_Taken]) -> Profiled:
    for one in taken:
        _check_same([leaf.name for leaf in counted.leaves], one.names)
    operation_s = [0.0] * len(counted.operations)
    uncovered_s = dict.fromkeys((one.name for one in counted.work.uncovered), 0.0)
    for number, leaf in enumerate(counted.leaves):
        time_s = median(one.times.leaf_ns.get(number, 0) for one in taken) / 1e9
        if leaf.operation is not None:
            operation_s[leaf.operation] += time_s
        if leaf.uncovered:
            uncovered_s[leaf.name] += time_s
    uncovered = tuple(replace(one, time_s=uncovered_s[one.name]) for one in counted.work.uncovered)
    return Profiled(
        profile=_profile(device, taken, sum(operation_s), [_outside(one.times, counted.leaves) for one in taken]),
        operations=tuple(
            replace(operation, time_s=time_s) for operation, time_s in zip(counted.operations, operation_s, strict=True)
        ),
        work=replace(counted.work, uncovered=uncovered),
    )


def _outside(times: StepTimes, leaves: Sequence[Leaf]) -> Iterator[tuple[str, int]]:
    """List what has no number, and of what has one, what turned out to be no operation that is counted."""
    yield from times.outside
    for number, leaf in enumerate(leaves):
        if leaf.operation is None and (time_ns := times.leaf_ns.get(number)):
            yield leaf.name, time_ns


_SPAN = (attrgetter("start_ns"), attrgetter("end_ns"))


def _profile(
    device: torch.device,
    taken: Sequence[_Taken],
    operations_s: float,
    outside: Sequence[Iterable[tuple[str, int]]],
) -> Profile:
    import numpy as np

    whole = Profile(
        source="kernels" if device.type == "cuda" else "operators",
        steps=len(taken),
        step_s=median(one.wall_s for one in taken),
        operations_s=operations_s,
        outside=outside_times(outside),
    )
    if device.type != "cuda":
        return whole
    at_work = [busy(*(np.array([when(kernel) for kernel in one.kernels], np.int64) for when in _SPAN)) for one in taken]
    return replace(
        whole,
        device_busy_s=median(one.busy_s if one else 0.0 for one in at_work),
        longest_gap_s=median((one and one.longest_gap_s) or 0.0 for one in at_work),
        kernels=kernel_times([[(kernel.name, kernel.duration_ns) for kernel in one.kernels] for one in taken]),
    )


def _check_same(counted: Sequence[str], labelled: Sequence[str]) -> None:
    """Times belong to what was counted only if the step took the same operations both times.

    :raises _NotProfiledError: it did not.
    """
    if list(counted) == list(labelled):
        return
    nothing = "nothing more"
    here, there = next(
        (found, expected) for found, expected in zip_longest(labelled, counted, fillvalue=nothing) if found != expected
    )
    products, of_counted = ([name for name in names if name in MATRIX_OPERATIONS] for names in (labelled, counted))
    raise _NotProfiledError(
        f"the step took other operations under the profiler than when it was counted ({len(labelled)} instead of "
        f"{len(counted)}); first {here} instead of {there}",
        None if products == of_counted else "uneven",
    )
