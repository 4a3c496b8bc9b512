"""Reads the files that ncu wrote, and makes a record's counters of them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from pytest_roofline.profilers.ncu.ncu_run import NotCounted
from roofline.counters.quantities import NAMES, OF_KERNEL, WHOLE
from roofline.files.decoding import ReadError
from roofline.profilers.ncu.kernel_sums import CountedCapture, KernelSum, by_kernel, count, read_all
from roofline.schema.record import Counters, KernelCounters

_PIPE = "flop_by_pipe."
"""Begins the name of a pipe in the reasons why something is missing."""


def of_step(files: Sequence[Path], source: str, *, no_flop: str | None = None) -> Counters:
    """The counters of a step in ncu's files: the first of the run for bytes, the others of more runs of the same step.

    ``passes`` are those of the first, ``flop_passes`` those of the others. More than one of the first are reported,
    for then its bytes are not those of the step.

    :param source: the program that wrote them.
    :param no_flop: why there are no FLOPs, whatever stands in the files; None where they tell them.
    :raises NotCounted: the first can't be read, or has no kernel.
    """
    first = counted = _counted(files[:1])
    if files[1:]:
        try:
            counted = _counted(files)
        except NotCounted as refusal:
            no_flop = no_flop or refusal.reason
    amounts, missing = dict(counted.total.amounts), dict(counted.total.missing)
    if no_flop is not None:
        amounts["flop"], missing["flop"] = None, no_flop
    lacking: dict[str, list[str]] = {}
    for name in WHOLE:
        if amounts[name] is None:
            lacking.setdefault(missing[name], []).append(name)
    reasons = [f"{', '.join(names)}: {why}" for why, names in lacking.items()]
    passes = first.capture.passes
    if passes is not None and passes > 1:
        replay = "replay changes what the caches hold"
        reasons.append(f"the bytes were counted in {passes} passes and not in one: {replay}")
    of_flop = [counted.capture.passes_by_file.get(str(file)) for file in files[1:]]
    values: dict[str, Any] = {name: amounts[name] for name in NAMES}
    return Counters(
        status="missing_metric" if lacking else "ok",
        source=source,
        reason="; ".join(reasons) or None,
        **values,
        flop_by_pipe=_plain(counted.total),
        kernels=tuple(_kernel(one, no_flop) for one in by_kernel(counted.kernels)),
        metrics=dict(counted.metrics),
        passes=passes,
        flop_passes=max((number for number in of_flop if number is not None), default=None),
    )


def of_flops(file: Path) -> float:
    """The FLOPs in the file of a run that has counted nothing else.

    :raises NotCounted: it can't be read, has no kernel, or lacks some of them.
    """
    total = _counted([file]).total
    flop = total.amounts["flop"]
    if flop is None:
        raise NotCounted("missing_metric", total.missing["flop"])
    return flop


def _counted(files: Sequence[Path]) -> CountedCapture:
    """The files joined launch by launch."""
    try:
        return count(read_all(files))
    except ReadError as error:
        raise NotCounted("failed", f"what ncu wrote can't be read: {error}") from error


def _kernel(kernel: KernelSum, no_flop: str | None) -> KernelCounters:
    """:param no_flop: as in `of_step`: then the FLOPs of no kernel are all of them."""
    return KernelCounters(
        name=kernel.name,
        launches=kernel.launches,
        flop_by_pipe=_plain(kernel),
        flop_lacks=None if kernel.flop_by_pipe is None else no_flop or _lacking(kernel),
        **{name: kernel.amounts[name] for name in OF_KERNEL},
    )


def _plain(kernel: KernelSum) -> dict[str, float] | None:
    return None if kernel.flop_by_pipe is None else dict(kernel.flop_by_pipe)


def _lacking(kernel: KernelSum) -> str | None:
    """Say what a kernel's FLOPs by pipe lack: all, or the pipe that only some of its launches have."""
    missing: Mapping[str, str] = kernel.missing
    if kernel.amounts["flop"] is None:
        return missing["flop"]
    partly = (f"{name.removeprefix(_PIPE)}: {why}" for name, why in missing.items() if name.startswith(_PIPE))
    return next(partly, None)
