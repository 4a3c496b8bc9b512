"""A trace of torch.profiler (``export_chrome_trace``, ``tensorboard_trace_handler``) read: Kineto's Chrome trace.

What ran on a GPU are the events of three categories, kernels, copies and fills; what ran on the host are operators
(``cpu_op``). Times are microseconds. Names of categories are those of Kineto's ``ActivityType``; until torch 1.12 they
were others (``Kernel``, ``Memcpy``, ``Operator``).
"""

from __future__ import annotations

import math
from array import array
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

import msgspec

from roofline.files.decoding import ReadError
from roofline.profilers.kineto.host_operators import operator_rows
from roofline.profilers.kineto.stream import WHAT_WE_READ, Event, TraceStream
from roofline.profilers.timeline import (
    MOST_BYTE,
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

_CATEGORIES = {"operator": "cpu_op", "memcpy": "gpu_memcpy", "memset": "gpu_memset", "runtime": "cuda_runtime"}
"""What categories were called until torch 1.12, in small letters, and are now."""

_KERNEL, _COPY, _FILL = _ON_GPU = ("kernel", "gpu_memcpy", "gpu_memset")
_OPERATOR = "cpu_op"
_CALLS = ("cuda_runtime", "cuda_driver")
_STEP, _LAUNCH, _CAPTURE = "step", "launch", "capture"
"""Not Kineto's categories: a step that the program marked, whatever its category; a call that launches a kernel; one
that begins or ends the capture of a graph.
"""

_KINDS = (*_ON_GPU, _OPERATOR, _STEP, _LAUNCH, _CAPTURE)

_HOST = frozenset(
    (
        _OPERATOR,
        _SPAN := "trace",
        "cpu_instant_event",
        "external_correlation",
        "overhead",
        "python_function",
        "user_annotation",
    )
)
"""What is written without a device, too."""

_KNOWN = frozenset(
    (
        *_HOST,
        *_ON_GPU,
        *_CALLS,
        "cuda_event",
        "cuda_sync",
        "glow_runtime",
        "gpu_user_annotation",
        "mtia_runtime",
        "privateuse1_driver",
        "privateuse1_runtime",
        "xpu_driver",
        "xpu_runtime",
        "xpu_sync",
    )
)
"""Categories in which no work of a device is missed: those that are summed up, calls, marks, and waiting."""

_KINETO = _KNOWN - {_SPAN, "overhead"}
"""Of these torch.profiler alone writes some."""

_STEP_NAME = "ProfilerStep#"
_PROFILER = "PyTorch Profiler"
"""Name of the one event that is in every trace, of the category `_SPAN`: the time in which the profiler recorded."""

_REPAIRED = (
    "backslashes that nobody had escaped were repaired, as torch.profiler on Windows writes them in paths"
    " (with_stack=True): names may lack or gain a character"
)

_LISTED = 8
"""Categories that a message names."""

_LATEST_US = 2.0**51 / 1e3
"""No event lasts longer, nor is farther from the middle one: 26 days, of which a float holds every nanosecond."""

_MOST_BYTE = 180 * 10**6
"""What may be kept of one file: some four million events. Four times as much is needed to sort them."""

_EVENT_BYTE, _NAME_BYTE = 45, 500
"""What is kept of an event, and of a name beside its characters, for there is a row of it."""


class _Arguments(msgspec.Struct):
    device: int | None = None
    stream: int | None = None
    bytes: float | None = None
    correlation: int | None = None


@dataclass(slots=True)
class _Kept:
    """What is kept of the events of a file that are summed up: columns of n, and what their numbers stand for.

    ``kind`` is a place in `_KINDS`. ``owner`` stands for the process and device of what ran on a GPU, else for the
    process and thread. ``byte`` is NaN and ``correlation`` 0 where an event has none.
    """

    kind: array[int] = field(default_factory=lambda: array("b"))
    ts: array[float] = field(default_factory=lambda: array("d"))
    dur: array[float] = field(default_factory=lambda: array("d"))
    name: array[int] = field(default_factory=lambda: array("i"))
    owner: array[int] = field(default_factory=lambda: array("i"))
    stream: array[int] = field(default_factory=lambda: array("i"))
    byte: array[float] = field(default_factory=lambda: array("d"))
    correlation: array[int] = field(default_factory=lambda: array("q"))
    names: dict[str, int] = field(default_factory=dict)
    owners: dict[tuple[str, Any], int] = field(default_factory=dict)
    streams: dict[tuple[int, str], int] = field(default_factory=dict)
    lost: Counter[str] = field(default_factory=Counter)
    found: Counter[str] = field(default_factory=Counter)
    unread_us: dict[str, float] = field(default_factory=dict)
    profiled: bool = False
    texts_byte: int = 0

    def add(self, events: Iterable[Event]) -> None:
        """Keep of the events what is summed up, and count the others by category."""
        for event in events:
            if event.ph != "X":
                continue
            category = _category(event.cat)
            if category not in self.found:
                self.texts_byte += _NAME_BYTE + 4 * len(category)
            self.found[category] += 1
            name = "(no name)" if event.name is None else str(event.name)
            if name.startswith(_STEP_NAME) and category != "gpu_user_annotation":
                self._keep(_STEP, event, name)
            elif category in _ON_GPU or category == _OPERATOR:
                self._keep(category, event, name)
            elif category in _CALLS:
                # That of a graph launches many kernels or none.
                if "LaunchKernel" in name or "LaunchCooperativeKernel" in name:
                    self._keep(_LAUNCH, event, name)
                elif "BeginCapture" in name or "EndCapture" in name:
                    self._keep(_CAPTURE, event, name)
            elif category == _SPAN:
                self.profiled |= name.startswith(_PROFILER)
            elif category not in _KNOWN and (dur := _number(event.dur)) is not None:
                self.unread_us[category] = self.unread_us.get(category, 0.0) + max(dur, 0.0)

    def _keep(self, kind: str, event: Event, name: str) -> None:
        ts, dur = _number(event.ts), _number(event.dur)
        if ts is None or dur is None or not 0 <= dur < _LATEST_US:
            self.lost[kind] += 1
            return
        if kind in _ON_GPU:
            arguments = _arguments(event)
            owner = self._owner(str(event.pid), arguments.device)
            stream = (owner, str(event.tid if arguments.stream is None else arguments.stream))
            self.stream.append(self.streams.setdefault(stream, len(self.streams)))
            self.byte.append(math.nan if arguments.bytes is None else arguments.bytes)
            self.correlation.append(_correlation(arguments))
        else:
            owner = self._owner(str(event.pid), str(event.tid))
            self.stream.append(-1)
            self.byte.append(math.nan)
            self.correlation.append(_correlation(_arguments(event)) if kind == _LAUNCH else 0)
        self.kind.append(_KINDS.index(kind))
        self.ts.append(ts)
        self.dur.append(dur)
        self.owner.append(owner)
        if name not in self.names:
            self.texts_byte += _NAME_BYTE + 4 * len(name)
        self.name.append(self.names.setdefault(name, len(self.names)))

    def _owner(self, process: str, part: Any) -> int:
        if (process, part) not in self.owners:
            self.texts_byte += _NAME_BYTE + 4 * len(process)
        return self.owners.setdefault((process, part), len(self.owners))

    @property
    def size_byte(self) -> int:
        return len(self.kind) * _EVENT_BYTE + self.texts_byte


def read_trace(path: Path) -> Timeline:
    """Read a trace. It takes less than 1 GB of memory, however long the trace is.

    :raises ReadError: it can't be read, is cut off, isn't JSON, is the trace of another program, or has more events
        than can be kept.
    """
    stream, kept = TraceStream(path), _Kept()
    for events in stream:
        kept.add(events)
        if kept.size_byte > _MOST_BYTE:
            raise ReadError(
                f"{path}: too long: {len(kept.kind)} kernels, copies, launches and operators of {len(kept.names)} names"
                f" take {_MOST_BYTE // 10**6} MB, and there are more. Record fewer steps (schedule(active=...))."
            )
    head = stream.head
    if head.traceEvents is not None:
        kind = type(head.traceEvents).__name__
        raise ReadError(f"{path}: JSON, but not of the form of a trace ('traceEvents' is {kind}). {WHAT_WE_READ}")
    if not stream.has_list:
        raise ReadError(f"{path}: JSON, but no trace (no list 'traceEvents'). {WHAT_WE_READ}")
    _refuse_others(path, kept)
    spans = _spans(kept)
    on_gpu, operators, kernels, moves = (
        _of(spans, *kinds) for kinds in (_ON_GPU, (_OPERATOR,), (_KERNEL,), (_COPY, _FILL))
    )
    names, lost = [*kept.names], kept.lost
    copies, unsized = _copies(moves, names)
    captures = _of(spans, _CAPTURE)
    launched = _Launched.of(
        _of(spans, _LAUNCH), captures, captures["name"].map(lambda own: "EndCapture" in names[own]), kernels
    )
    return Timeline(
        path=path,
        layout="chrome_trace",
        tool="torch.profiler",
        schema=None if head.schemaVersion is None else str(head.schemaVersion),
        rank=_rank(head.distributedInfo),
        sections={
            "kernels": launched.section(_section(kernels, lost, _KERNEL)),
            "memcpy": with_faults(_section(moves, lost, _COPY, _FILL), unsized),
            "devices": _section(on_gpu, lost, *_ON_GPU),
            "operators": _section(operators, lost, _OPERATOR),
        },
        kernels=kernel_rows(names, kernels["name"].to_numpy(), (kernels["end"] - kernels["start"]).to_numpy()),
        copies=copies,
        devices=_devices(on_gpu, [*kept.owners], head.deviceProperties),
        operators=operator_rows(names, *(operators[name].to_numpy() for name in ("name", "owner", "start", "end"))),
        steps=_steps(_of(spans, _STEP)),
        notes=(*_about(kept), *launched.notes(), *([_REPAIRED] if stream.backslashes else [])),
    )


def _refuse_others(path: Path, kept: _Kept) -> None:
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


def _spans(kept: _Kept) -> pd.DataFrame:
    """The events that are near in time to the others: the columns of `_Kept`, with start and end in nanoseconds since
    the first. Those that aren't near are added to the lost ones.
    """
    import numpy as np
    import pandas as pd

    columns = ("kind", "ts", "dur", "name", "owner", "stream", "byte", "correlation")
    arrays: dict[str, array[Any]] = {name: getattr(kept, name) for name in columns}
    events = pd.DataFrame({name: np.frombuffer(values, values.typecode) for name, values in arrays.items()}, copy=False)
    # A single event at 0, among others in microseconds since 1970, must not pass for the first: the upper middle one.
    middle = float(events["ts"].quantile(0.5, "higher"))
    near = (events["ts"] - middle).abs() < _LATEST_US
    for kind in events["kind"][~near]:
        kept.lost[_KINDS[kind]] += 1
    if not near.all():
        events = events[near].copy()
    events["start"] = ((events["ts"] - events["ts"].min()) * 1e3).round().astype("int64")
    events["end"] = events["start"] + (events["dur"] * 1e3).round().astype("int64")
    return events


def _of(spans: pd.DataFrame, *kinds: str) -> pd.DataFrame:
    """Those of some kinds."""
    chosen: pd.DataFrame = spans[spans["kind"].isin([_KINDS.index(kind) for kind in kinds])]
    return chosen


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


@dataclass(frozen=True, slots=True, kw_only=True)
class _Launched:
    """What the calls that launch kernels tell of them: ``lost`` of ``calls`` have no kernel, and of ``known`` kernels
    whose call is in the file ``early`` begin before it.
    """

    calls: int
    lost: int
    known: int
    early: int

    @classmethod
    def of(cls, calls: pd.DataFrame, captures: pd.DataFrame, ends: pd.Series[bool], kernels: pd.DataFrame) -> _Launched:
        """Join calls and kernels by correlation. What is called while a graph is captured launches nothing.

        Traces of several ranks may use a number several times: only numbers of one call tell whose kernel began early.

        :param ends: of the calls that begin or end a capture, which end one.
        """
        import numpy as np

        ends = ends.astype(bool)
        begun, ended = captures["start"][~ends].sort_values(), captures["start"][ends].sort_values()
        captured = np.searchsorted(begun, calls["start"]) > np.searchsorted(ended, calls["start"])
        calls = calls[~captured & (calls["correlation"] != 0)]
        single = calls.drop_duplicates("correlation", keep=False)
        known = kernels.merge(single, on="correlation", suffixes=("", "_call"))
        numbers = calls["correlation"].drop_duplicates()
        return cls(
            calls=len(numbers),
            lost=int((~numbers.isin(kernels["correlation"])).sum()),
            known=len(known),
            early=int((known["start"] < known["start_call"]).sum()),
        )

    def section(self, section: Section) -> Section:
        """That of the kernels, which isn't whole where a launch has none."""
        if not self.lost:
            return section
        reason = f"{self.lost} of {self.calls} launches have no kernel"
        if section.state == "skipped":
            return Section(state="failed", reason=f"{reason}: none was recorded")
        return with_faults(section, [reason])

    def notes(self) -> list[str]:
        if not self.early:
            return []
        return [f"{self.early} of {self.known} kernels begin before their launch (clocks): host and GPU don't compare"]


def _copies(spans: pd.DataFrame, names: Sequence[str]) -> tuple[tuple[CopyRow, ...], list[str]]:
    """A row a direction, and why some have no bytes."""
    fills = spans["kind"] == _KINDS.index(_FILL)
    kinds = spans["name"].map(lambda own: direction(names[own])).where(~fills, "memset")
    rows, faults = [], []
    for kind, own in spans.groupby(kinds, sort=False):
        usable = own["byte"].between(0, MOST_BYTE)
        if not usable.all():
            first = own[~usable].iloc[0]
            shown = "none" if math.isnan(first["byte"]) else f"{first['byte']:.6g}"
            faults.append(
                f"{kind}: no bytes, for {(~usable).sum()} of {len(own)} events have no args.bytes from 0 to"
                f" {MOST_BYTE} (the first of them, at ts {first['ts']}, has {shown})"
            )
        total_s = int((own["end"] - own["start"]).sum()) / NS_PER_S
        byte = math.fsum(own["byte"]) if usable.all() else None
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
        rows.append(device_row(_label(process, device, names), own, _of(own, _KERNEL), own["stream"].nunique()))
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


def _about(kept: _Kept) -> list[str]:
    """Say what of a device wasn't recorded, and what was but isn't read."""
    found = set(kept.found)
    notes = []
    if found & {_COPY, _FILL} and _KERNEL not in found:
        notes.append("copies but no kernel on a GPU were recorded: was the profiler stopped before the GPU was done?")
    elif _OPERATOR in found and found <= _HOST:
        notes.append(
            "nothing on a GPU was recorded: the program ran without one, or activities lacks ProfilerActivity.CUDA"
        )
    unread = [
        f"{name or 'no category'} ({kept.found[name]}, {kept.unread_us.get(name, 0.0):.10g} us)"
        for name in sorted(found - _KNOWN)
    ]
    if unread:
        notes.append(f"events that are not read: {some_of(unread, _LISTED)}")
    return notes


def _category(text: str | None) -> str:
    """The name of today, in small letters."""
    small = (text or "").lower()
    return _CATEGORIES.get(small, small)


def _number(value: float | str | None) -> float | None:
    """A time, which some traces have as text; None: it is none."""
    if isinstance(value, str):
        try:
            value = float(value)
        except ValueError:
            return None
    return value if value is not None and math.isfinite(value) else None


def _arguments(event: Event) -> _Arguments:
    """As far as they are of the known form; a strange one is no reason to lose the event."""
    try:
        return _ARGUMENTS.decode(event.args)
    except (msgspec.MsgspecError, UnicodeDecodeError):
        return _Arguments()


def _correlation(arguments: _Arguments) -> int:
    """0: none, or none that CUPTI counts to."""
    number = arguments.correlation
    return number if number is not None and 0 < number < 2**63 else 0


_ARGUMENTS = msgspec.json.Decoder(_Arguments, strict=False)  # some traces have numbers as text
