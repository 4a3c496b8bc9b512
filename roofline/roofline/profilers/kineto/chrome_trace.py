"""A trace of torch.profiler (``export_chrome_trace``, ``tensorboard_trace_handler``) read: Kineto's Chrome trace.

What ran on a GPU are the events of three categories, kernels, copies and fills; what ran on the host are operators
(``cpu_op``).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from roofline.files.decoding import ReadError
from roofline.profilers.kineto.events import (
    BEGIN_CAPTURE,
    COPY,
    END_CAPTURE,
    FILL,
    HOST,
    KERNEL,
    KNOWN,
    LAUNCH,
    MOST,
    ON_GPU,
    OPERATOR,
    SPAN,
    STEP,
    Kept,
    of_kind,
)
from roofline.profilers.kineto.host_operators import operator_rows
from roofline.profilers.kineto.stream import WHAT_WE_READ, TraceStream
from roofline.profilers.timeline import (
    NS_PER_S,
    OK,
    CopyRow,
    DeviceRow,
    Section,
    Steps,
    Timeline,
    copies_first,
    device_row,
    direction,
    kernel_rows,
    with_faults,
)
from roofline.text.units import some_of

if TYPE_CHECKING:
    import pandas as pd

_KINETO = KNOWN - {SPAN, "overhead"}
"""Of these torch.profiler alone writes some."""

_REPAIRED = (
    "backslashes that nobody had escaped were repaired, as torch.profiler on Windows writes them in paths"
    " (with_stack=True): names may lack or gain a character"
)

_LISTED = 8
"""Categories that a message names."""


def read_trace(path: Path) -> Timeline:
    """Read a trace. It takes less than 1 GB of memory, however long the trace is.

    :raises ReadError: it can't be read, is cut off, isn't JSON, is the trace of another program, or has more events
        than can be kept.
    """
    stream, kept = TraceStream(path), Kept()
    for events in stream:
        kept.add(events)
        if len(kept) > MOST:
            raise ReadError(
                f"{path}: too long: more than {MOST} kernels, copies, launches and operators. Record fewer steps"
                " (schedule(active=...))."
            )
    _refuse_others(path, kept)
    spans = kept.spans()
    on_gpu, operators, kernels, moves = (
        of_kind(spans, *kinds) for kinds in (ON_GPU, (OPERATOR,), (KERNEL,), (COPY, FILL))
    )
    names, lost = [*kept.names], kept.lost
    copies, unsized = _copies(moves, names)
    kernel_section, early = _launched(spans, kernels, _section(kernels, lost, KERNEL))
    head = stream.head
    return Timeline(
        path=path,
        layout="chrome_trace",
        tool="torch.profiler",
        schema=None if head.schemaVersion is None else str(head.schemaVersion),
        rank=_rank(head.distributedInfo),
        sections={
            "kernels": kernel_section,
            "memcpy": with_faults(_section(moves, lost, COPY, FILL), unsized),
            "devices": _section(on_gpu, lost, *ON_GPU),
            "operators": _section(operators, lost, OPERATOR),
        },
        kernels=kernel_rows(names, kernels["name"].to_numpy(), (kernels["end"] - kernels["start"]).to_numpy()),
        copies=copies,
        devices=_devices(on_gpu, [*kept.owners], head.deviceProperties),
        operators=operator_rows(names, *(operators[name].to_numpy() for name in ("name", "owner", "start", "end"))),
        steps=_steps(of_kind(spans, STEP)),
        notes=(*_about(kept), *early, *([_REPAIRED] if stream.backslashes else [])),
    )


def _refuse_others(path: Path, kept: Kept) -> None:
    """:raises ReadError: no event of a category that torch.profiler writes."""
    categories = set(kept.found)
    if categories & _KINETO:
        return
    if not categories:
        raise ReadError(
            f"{path}: a trace without an event that has a duration. Was the profiler stopped before a step, or its"
            f" schedule longer than the run? {WHAT_WE_READ}"
        )
    if kept.profiled:
        raise ReadError(
            f"{path}: of torch.profiler, but nothing was recorded in it. A cycle of its schedule ends after wait +"
            " warmup + active calls of prof.step(), and only the active ones are recorded: run as many steps, and the"
            " work between them, before it is exported."
        )
    found = ", ".join(sorted(category for category in categories if category)[:_LISTED]) or "none"
    raise ReadError(
        f"{path}: a Chrome trace, but not of torch.profiler: no event of the categories that it writes (kernel, cpu_op,"
        f" cuda_runtime, ...). Its categories: {found}. {WHAT_WE_READ}"
    )


def _section(spans: pd.DataFrame, lost: Mapping[str, int], *kinds: str) -> Section:
    """The state of what was read of some categories."""
    left_out = sum(lost.get(one, 0) for one in kinds)
    if left_out:
        reason = (
            f"{left_out} of {left_out + len(spans)} events left out: their start or duration is missing or impossible"
        )
        return Section(state="partial" if len(spans) else "failed", reason=reason)
    if len(spans):
        return OK
    return Section(state="skipped", reason=f"no event of {' or '.join(kinds)} was recorded")


def _launched(spans: pd.DataFrame, kernels: pd.DataFrame, section: Section) -> tuple[Section, list[str]]:
    """Join the calls that launch kernels with them, by correlation: the kernels' section, which isn't whole where a
    launch has none, and a note on kernels that begin before their launch.

    What is called while a graph is captured launches nothing. Traces of several ranks may use a number several times:
    only numbers of one call tell whose kernel began early.
    """
    import numpy as np

    calls = of_kind(spans, LAUNCH)
    begun, ended = (of_kind(spans, kind)["start"].sort_values() for kind in (BEGIN_CAPTURE, END_CAPTURE))
    captured = np.searchsorted(begun, calls["start"]) > np.searchsorted(ended, calls["start"])
    calls = calls[~captured & (calls["correlation"] != 0)]
    numbers = calls["correlation"].drop_duplicates()
    known = kernels.merge(calls.drop_duplicates("correlation", keep=False), on="correlation", suffixes=("", "_call"))
    early = int((known["start"] < known["start_call"]).sum())
    notes = [f"{early} of {len(known)} kernels begin before their launch (clocks): host and GPU don't compare"]
    lost = int((~numbers.isin(kernels["correlation"])).sum())
    if lost:
        reason = f"{lost} of {len(numbers)} launches have no kernel"
        none = Section(state="failed", reason=f"{reason}: none was recorded")
        section = none if section.state == "skipped" else with_faults(section, [reason])
    return section, notes if early else []


def _copies(spans: pd.DataFrame, names: Sequence[str]) -> tuple[tuple[CopyRow, ...], list[str]]:
    """A row a direction, and why some have no bytes."""
    fills = spans.index.isin(of_kind(spans, FILL).index)
    kinds = spans["name"].map(lambda own: direction(names[own])).where(~fills, "memset")
    rows, faults = [], []
    for kind, own in spans.groupby(kinds, sort=False):
        unsized = int(own["byte"].isna().sum())
        if unsized:
            faults.append(f"{kind}: no bytes, for {unsized} of {len(own)} events have none (args.bytes)")
        total_s = int((own["end"] - own["start"]).sum()) / NS_PER_S
        byte = None if unsized else float(own["byte"].sum())
        rows.append(CopyRow(kind=str(kind), count=len(own), total_s=total_s, byte=byte))
    return copies_first(rows), faults


def _devices(spans: pd.DataFrame, owners: Sequence[tuple[str, int | None]], properties: Any) -> tuple[DeviceRow, ...]:
    """A row a GPU. In a trace of several ranks each has its own process number for a GPU, so that is a part of it.

    :param owners: processes with their devices, by the number that the events have of them.
    """
    names = _names(properties)
    rows = []
    groups: Any = spans.groupby("owner")
    by_owner = ((owners[number], own) for number, own in groups)
    for (process, device), own in sorted(by_owner, key=lambda one: (one[0][1] or 0, one[0][0])):
        rows.append(device_row(_label(process, device, names), own, of_kind(own, KERNEL), own["stream"].nunique()))
    return tuple(rows)


def _label(process: str, device: int | None, names: Mapping[int, str]) -> str:
    if device is None:
        return process
    name = f"{device} {names[device]}" if device in names else str(device)
    return name if process == str(device) else f"{name} ({process})"


def _names(properties: Any) -> dict[int, str]:
    """The GPUs' names, as far as the file's ``deviceProperties`` tells."""
    if not isinstance(properties, list):
        return {}
    known = [one for one in properties if isinstance(one, dict)]
    return {
        one["id"]: one["name"] for one in known if isinstance(one.get("id"), int) and isinstance(one.get("name"), str)
    }


def _rank(information: Any) -> int | None:
    rank = information.get("rank") if isinstance(information, dict) else None
    return rank if isinstance(rank, int) and not isinstance(rank, bool) else None


def _steps(spans: pd.DataFrame) -> Steps | None:
    last = spans.drop_duplicates("name", keep="last")
    lengths_s = (last["end"] - last["start"]) / NS_PER_S
    return Steps(count=len(last), median_s=float(lengths_s.median())) if len(last) else None


def _about(kept: Kept) -> list[str]:
    """Say what of a device wasn't recorded, and what was but isn't read."""
    found = set(kept.found)
    notes = []
    if found & {COPY, FILL} and KERNEL not in found:
        notes.append("copies but no kernel on a GPU were recorded: was the profiler stopped before the GPU was done?")
    elif OPERATOR in found and found <= HOST:
        notes.append(
            "nothing on a GPU was recorded: the program ran without one, or activities lacks ProfilerActivity.CUDA"
        )
    unread = [
        f"{name or 'no category'} ({kept.found[name]}, {kept.unread_us[name]:.10g} us)"
        for name in sorted(found - KNOWN)
    ]
    if unread:
        notes.append(f"events that are not read: {some_of(unread, _LISTED)}")
    return notes
