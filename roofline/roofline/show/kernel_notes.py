"""What is said below the tables of a step's kernels: where the numbers come from, tensor cores, and reasons."""

from __future__ import annotations

import re
from collections.abc import Sequence

from roofline.counters.counted_kernels import CountedKernel, flop_by_pipe
from roofline.counters.reconciliation import Reconciled
from roofline.model.counter_values import counters_of, tensor_share, unit_fails
from roofline.schema.amounts import total_of, usable
from roofline.schema.record import Counters, Record
from roofline.text.units import counted, percent, scaled, shares, significant


def plain(name: str) -> str:
    """A kernel's name without what many names of C++ have: return type, arguments, torch's own namespaces.

    >>> plain("void at::native::(anonymous namespace)::softmax_warp<float, 4>(float*, int)")
    'softmax_warp<float, 4>'
    """
    short = name.removeprefix("void ").replace("(anonymous namespace)::", "").replace("at::native::", "")
    return re.sub(r"(?<=\S)\([^()]*\)$", "", short) or name


def about_status(record: Record) -> list[str]:
    """Why there are no counters, or not all, where they were asked for."""
    counters = record.counters
    if counters is None or counters.status in ("ok", "not_requested"):
        return []
    why = f"({counters.status}): {counters.reason or 'no reason is given'}"
    if counters_of(record) is not None:
        return [f"Counters are incomplete {why}"]
    return [f"No counters {why}"]


def about_counted(record: Record, kernels: Sequence[CountedKernel]) -> list[str]:
    """Below the table of kernels by counters.

    :param kernels: those of this record's counters.
    """
    counters = counters_of(record)
    if counters is None:
        return []
    launches = sum(one.launches for one in kernels)
    read = f"Read by {counters.source}: " if counters.source else "Read: "
    read += f"{counted(len(kernels), 'kernel')} in {launches} launch{'' if launches == 1 else 'es'}"
    time_s = total_of(one.time_s for one in kernels)
    together = "" if time_s is None else f" of {scaled(time_s, 's')}"
    read += f". Their time{together} is under that profiler, and no timing"
    return [read, *_tensor_cores(kernels), *_unit_check(record, counters)]


def about_reasons(rows: Sequence[Reconciled]) -> list[str]:
    """Below the table of count and counters."""
    return [f"{row.name[0].upper()}{row.name[1:]}: {reason}" for row in rows for reason in row.reasons]


def _tensor_cores(kernels: Sequence[CountedKernel]) -> list[str]:
    """Whether tensor cores were used, for how much of the FLOPs, and by how many kernels."""
    known = [one for one in kernels if one.flop_by_pipe is not None]
    if not known:
        return ["Tensor cores: not known, for no FLOPs were read"]
    by_pipe = flop_by_pipe(known)
    share = tensor_share(by_pipe)
    if not share:
        return [
            f"Tensor cores: not used{'' if len(known) == len(kernels) else ' by the kernels whose FLOPs were read'}"
        ]
    users = counted(sum(bool(one.tensor_share) for one in known), "kernel")
    return [f"Tensor cores: {percent(share, 3)} of the FLOPs ({shares(by_pipe)}), in {users}"]


def _unit_check(record: Record, counters: Counters) -> list[str]:
    """What a product of known size showed of the counters' unit."""
    ratio = counters.unit_check
    why = record.missing.get("counters.unit_check")
    if ratio is None and why is not None:
        return [f"A matrix product of known size, which would show what a counted FLOP is, was not counted: {why}"]
    if ratio is None or not usable(ratio):
        return []
    checked = f"A matrix product of known size was counted at {significant(ratio, 4)} of its FLOPs"
    if not unit_fails(counters):
        return [checked]
    return [f"{checked}: the counters' FLOPs are not to be trusted on this machine"]
