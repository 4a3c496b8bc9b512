"""A trace of torch.profiler (``export_chrome_trace``, ``tensorboard_trace_handler``) read: Kineto's Chrome trace.

What ran on a GPU are the events of three categories, kernels, copies and fills; what ran on the host are operators
(``cpu_op``). Times are microseconds. Names of categories are those of Kineto's ``ActivityType``; until torch 1.12 they
were others (``Kernel``, ``Memcpy``, ``Operator``).
"""

from __future__ import annotations

import gzip
import math
import re
import stat
import zlib
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import msgspec

from roofline.profilers.busy import NS_PER_S, busy
from roofline.profilers.host_operators import operator_rows
from roofline.profilers.timeline import (
    MOST_BYTE,
    OK,
    CopyRow,
    DeviceRow,
    KernelRow,
    Section,
    Steps,
    Timeline,
    copies_first,
    direction,
    kernel_rows,
    with_faults,
)
from roofline.reader import ReadError

if TYPE_CHECKING:
    from numpy import int64
    from numpy.typing import NDArray

_GZIP = b"\x1f\x8b"
_BYTE_ORDER_MARK = b"\xef\xbb\xbf"

_CATEGORIES = {"operator": "cpu_op", "memcpy": "gpu_memcpy", "memset": "gpu_memset", "runtime": "cuda_runtime"}
"""What categories were called until torch 1.12, in small letters, and are now."""

_ON_GPU = ("kernel", "gpu_memcpy", "gpu_memset")
_OPERATOR = "cpu_op"
_STEP = "ProfilerStep#"
_SPAN, _PROFILER = "trace", "PyTorch Profiler"
"""Category and name of the one event that is in every trace: the time in which the profiler recorded."""

_NONSTANDARD = re.compile(rb'(?<!\\)":\s*-?(?:nan|inf(?:inity)?)\b', re.IGNORECASE)
"""A number that C++ printed and JSON doesn't have."""

_WHAT_WE_READ = (
    "Give what torch.profiler exports (prof.export_chrome_trace or torch.profiler.tensorboard_trace_handler), plain or"
    " with gzip."
)
_CUT_OFF = "The program was probably stopped while it wrote it, or the copy is incomplete: export or copy it again."

_LATEST_US = 2.0**51 / 1e3
"""No event lasts longer, nor is farther from the middle one: 26 days, of which a float holds every nanosecond."""


class _Event(msgspec.Struct, gc=False):
    """The fields of an event that are used. ``args`` stays as it is written, for only GPU events need theirs."""

    ph: str = ""
    name: str | float | None = None
    cat: str | None = None
    ts: float | str | None = None
    dur: float | str | None = None
    pid: int | str | float | None = None
    tid: int | str | float | None = None
    args: msgspec.Raw = msgspec.Raw(b"{}")

    @property
    def category(self) -> str:
        small = (self.cat or "").lower()
        return _CATEGORIES.get(small, small)


class _Arguments(msgspec.Struct):
    device: int | None = None
    stream: int | None = None
    bytes: float | None = None


class _File(msgspec.Struct):
    traceEvents: list[_Event] | None = None  # noqa: N815 (the key)
    deviceProperties: Any = None  # noqa: N815
    distributedInfo: Any = None  # noqa: N815
    schemaVersion: Any = None  # noqa: N815


@dataclass(frozen=True, slots=True, kw_only=True)
class _Span:
    """An event of known start and end, in nanoseconds since the first."""

    event: _Event
    start_ns: int
    end_ns: int


def read_trace(path: Path) -> Timeline:
    """Read a trace.

    :raises ReadError: it can't be read, is cut off, isn't JSON, or is the trace of another program.
    """
    file = _decoded(path, _content(path))
    if file.traceEvents is None:
        raise ReadError(f"{path}: JSON, but no trace (no list 'traceEvents'). {_WHAT_WE_READ}")
    events = [event for event in file.traceEvents if event.ph == "X"]
    _refuse_others(path, events)
    wanted = [event for event in events if event.category in (*_ON_GPU, _OPERATOR) or _is_step(event)]
    spans, lost = _spans(wanted)
    on_gpu = [span for span in spans if span.event.category in _ON_GPU]
    operators = [span for span in spans if span.event.category == _OPERATOR and not _is_step(span.event)]
    kernels = [span for span in on_gpu if span.event.category == "kernel"]
    moves = [span for span in on_gpu if span.event.category != "kernel"]
    steps = [span for span in spans if _is_step(span.event)]
    has_gpu = any(event.category in _ON_GPU for event in events)
    copies, unsized = _copies(moves)
    return Timeline(
        path=path,
        layout="chrome_trace",
        tool="torch.profiler",
        schema=None if file.schemaVersion is None else str(file.schemaVersion),
        rank=_rank(file.distributedInfo),
        sections={
            "kernels": _section("kernel", kernels, lost),
            "memcpy": with_faults(_section("gpu_memcpy", moves, lost, "gpu_memset"), unsized),
            "devices": _section("kernel", on_gpu, lost, "gpu_memcpy", "gpu_memset"),
            "operators": _section(_OPERATOR, operators, lost),
        },
        kernels=_kernels(kernels),
        copies=copies,
        devices=_devices(on_gpu, file.deviceProperties),
        operators=operator_rows(
            (_text(span.event), f"{span.event.pid}/{span.event.tid}", span.start_ns, span.end_ns) for span in operators
        ),
        steps=_steps(steps),
        notes=_about(has_gpu, kernels, operators),
    )


def _content(path: Path) -> bytes:
    """:raises ReadError: no regular file, which might never end; or it can't be read; or its gzip is damaged."""
    try:
        # Opening a folder says why it couldn't be looked into.
        if not (stat.S_ISREG(mode := path.stat().st_mode) or stat.S_ISDIR(mode)):
            raise ReadError(f"{path}: can't be read (no regular file). {_WHAT_WE_READ}")
        raw = path.read_bytes()
        content = gzip.decompress(raw) if raw.startswith(_GZIP) else raw
    except (EOFError, zlib.error, gzip.BadGzipFile) as error:
        raise ReadError(f"{path}: its gzip ends in the middle or is damaged ({error}). {_CUT_OFF}") from error
    except OSError as error:
        raise ReadError(f"{path}: can't be read ({error.strerror or error}).") from error
    content = content.removeprefix(_BYTE_ORDER_MARK)
    if not content.strip():
        raise ReadError(f"{path}: empty. {_CUT_OFF}")
    return content


def _decoded(path: Path, content: bytes) -> _File:
    """:raises ReadError: cut off, not JSON, or JSON that isn't of the form of a trace."""
    try:
        return _DECODER.decode(content)
    except msgspec.ValidationError as error:
        begin = content.lstrip()[:40].decode("utf-8", "replace").splitlines()[0]
        if not begin.startswith(("{", "[")):
            raise ReadError(
                f"{path}: no trace: it begins with {begin!r}, a trace with '{{'. Tables of ncu are read by roofline"
                f" ncu, those of nsys by roofline nsys. {_WHAT_WE_READ}"
            ) from error
        if begin.startswith("["):
            raise ReadError(
                f"{path}: a list of events, as other programs write it; torch.profiler writes an object with them in"
                f" 'traceEvents'. {_WHAT_WE_READ}"
            ) from error
        raise ReadError(f"{path}: JSON, but not of the form of a trace ({error}). {_WHAT_WE_READ}") from error
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError) as error:
        if (cleaned := _cleaned(content)) is not None:
            return _decoded(path, cleaned)
        place = re.search(r"\(byte (\d+)\)", str(error))
        if "truncated" in str(error) or (place and int(place[1]) >= len(content.rstrip())):
            line = content.count(b"\n") + 1
            raise ReadError(f"{path}:{line}: truncated, the JSON ends in the middle. {_CUT_OFF}") from error
        line = content.count(b"\n", 0, int(place[1])) + 1 if place else 1
        raise ReadError(f"{path}:{line}: not JSON ({error}). {_WHAT_WE_READ}") from error


def _cleaned(content: bytes) -> bytes | None:
    """The content with null for numbers that aren't finite and in UTF-8; None where it is so already."""
    cleaned = _NONSTANDARD.sub(b'":null', content).decode("utf-8", "replace").encode()
    return None if cleaned == content else cleaned


def _refuse_others(path: Path, events: Sequence[_Event]) -> None:
    """:raises ReadError: no event of a category that torch.profiler writes."""
    categories = {event.category for event in events}
    if categories & _KINETO:
        return
    if not events:
        raise ReadError(
            f"{path}: a trace without an event that has a duration. Was the profiler stopped before a step, or its"
            f" schedule longer than the run? {_WHAT_WE_READ}"
        )
    if any(event.category == _SPAN and _text(event).startswith(_PROFILER) for event in events):
        raise ReadError(
            f"{path}: of torch.profiler, but nothing was recorded in it. A cycle of its schedule ends after wait +"
            " warmup + active calls of prof.step(), and only the active ones are recorded: run as many steps, and the"
            " work between them, before it is exported."
        )
    found = ", ".join(sorted(category for category in categories if category)[:8]) or "none"
    raise ReadError(
        f"{path}: a Chrome trace, but not of torch.profiler: no event of the categories that it writes (kernel, cpu_op,"
        f" cuda_runtime, ...). Its categories: {found}. {_WHAT_WE_READ}"
    )


_KINETO = {
    *_ON_GPU,
    _OPERATOR,
    "cuda_runtime",
    "cuda_driver",
    "user_annotation",
    "gpu_user_annotation",
    "python_function",
    "cpu_instant_event",
    "privateuse1_runtime",
    "xpu_runtime",
}


def _spans(events: Iterable[_Event]) -> tuple[list[_Span], dict[str, int]]:
    """Events with usable times, and the number of others by category."""
    usable: list[tuple[_Event, float, float]] = []
    lost: dict[str, int] = {}
    for event in events:
        ts, dur = event.ts, event.dur
        if isinstance(ts, float) and isinstance(dur, float) and math.isfinite(ts) and 0 <= dur < _LATEST_US:
            usable.append((event, ts, dur))
        else:
            lost[event.category] = lost.get(event.category, 0) + 1
    # A single event at 0, among others in microseconds since 1970, must not pass for the first.
    middle = sorted(ts for _, ts, _ in usable)[len(usable) // 2] if usable else 0.0
    near = [(event, ts, dur) for event, ts, dur in usable if abs(ts - middle) < _LATEST_US]
    for event, ts, _ in usable:
        if abs(ts - middle) >= _LATEST_US:
            lost[event.category] = lost.get(event.category, 0) + 1
    first = min((ts for _, ts, _ in near), default=0.0)
    spans: list[_Span] = []
    for event, ts, dur in near:
        start = round((ts - first) * 1e3)
        spans.append(_Span(event=event, start_ns=start, end_ns=start + round(dur * 1e3)))
    return spans, lost


def _section(category: str, spans: Sequence[_Span], lost: Mapping[str, int], *more: str) -> Section:
    """The state of what was read of some categories."""
    left_out = sum(lost.get(one, 0) for one in (category, *more))
    if left_out:
        reason = (
            f"{left_out} of {left_out + len(spans)} events left out: their start or duration is missing or impossible"
        )
        return Section(state="partial" if spans else "failed", reason=reason)
    if spans:
        return OK
    return Section(state="skipped", reason=f"no event of {' or '.join((category, *more))} was recorded")


def _kernels(spans: Sequence[_Span]) -> tuple[KernelRow, ...]:
    import numpy as np

    known = {name: place for place, name in enumerate(dict.fromkeys(_text(span.event) for span in spans))}
    which = np.array([known[_text(span.event)] for span in spans], np.int64)
    return kernel_rows(list(known), which, _column(span.end_ns - span.start_ns for span in spans))


def _copies(spans: Sequence[_Span]) -> tuple[tuple[CopyRow, ...], list[str]]:
    """A row a direction, and why some have no bytes."""
    groups: dict[str, list[_Span]] = {}
    for span in spans:
        kind = "memset" if span.event.category == "gpu_memset" else direction(_text(span.event))
        groups.setdefault(kind, []).append(span)
    rows = []
    faults = []
    for kind, own in groups.items():
        sizes = [_arguments(span.event).bytes for span in own]
        told = [size for size in sizes if size is not None and 0 <= size <= MOST_BYTE]
        if len(told) < len(own):
            first = next(size for size in sizes if size is None or not 0 <= size <= MOST_BYTE)
            at = own[sizes.index(first)].event
            faults.append(
                f"{kind}: no bytes, for {len(own) - len(told)} of {len(own)} events have no args.bytes from 0 to"
                f" {MOST_BYTE} (the first of them, at ts {at.ts}, has {'none' if first is None else f'{first:.6g}'})"
            )
        rows.append(
            CopyRow(
                kind=kind,
                count=len(own),
                total_s=sum(span.end_ns - span.start_ns for span in own) / NS_PER_S,
                byte=math.fsum(told) if len(told) == len(own) else None,
            )
        )
    return copies_first(rows), faults


def _devices(spans: Sequence[_Span], properties: Any) -> tuple[DeviceRow, ...]:
    """A row a GPU. In a trace of several ranks each has its own process number for a GPU, so that is a part of it."""
    groups: dict[tuple[str, int | None], list[tuple[_Span, str]]] = {}
    for span in spans:
        arguments = _arguments(span.event)
        stream = span.event.tid if arguments.stream is None else arguments.stream
        groups.setdefault((str(span.event.pid), arguments.device), []).append((span, str(stream)))
    rows = []
    names = _names(properties)
    for (process, device), own in sorted(groups.items(), key=lambda pair: (pair[0][1] or 0, pair[0][0])):
        one = busy(_column(span.start_ns for span, _ in own), _column(span.end_ns for span, _ in own))
        assert one is not None
        streams = len({stream for _, stream in own})
        label = _label(process, device, names)
        rows.append(DeviceRow(device=label, streams=streams, events=len(own), busy=one))
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


def _is_step(event: _Event) -> bool:
    """Of the host: on the GPU's rows the same step has another length."""
    return isinstance(event.name, str) and event.name.startswith(_STEP) and event.category != "gpu_user_annotation"


def _steps(spans: Sequence[_Span]) -> Steps | None:
    import numpy as np

    by_name = {_text(span.event): (span.end_ns - span.start_ns) / NS_PER_S for span in spans}
    return Steps(count=len(by_name), median_s=float(np.median([*by_name.values()]))) if by_name else None


def _about(has_gpu: bool, kernels: Sequence[_Span], operators: Sequence[_Span]) -> tuple[str, ...]:
    if has_gpu and not kernels:
        return ("copies but no kernel on a GPU were recorded: was the profiler stopped before the GPU was done?",)
    if not has_gpu and operators:
        return (
            "nothing on a GPU was recorded: the program ran without one, or activities lacks ProfilerActivity.CUDA",
        )
    return ()


def _text(event: _Event) -> str:
    return "(no name)" if event.name is None else str(event.name)


def _arguments(event: _Event) -> _Arguments:
    """As far as they are of the known form; a strange one is no reason to lose the event."""
    try:
        return _ARGUMENTS.decode(event.args)
    except (msgspec.MsgspecError, UnicodeDecodeError):
        return _Arguments()


def _column(values: Iterable[int]) -> NDArray[int64]:
    import numpy as np

    return np.fromiter(values, np.int64)


_DECODER = msgspec.json.Decoder(_File)
_ARGUMENTS = msgspec.json.Decoder(_Arguments)
