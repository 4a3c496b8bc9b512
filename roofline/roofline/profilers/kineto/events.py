"""Keep the events of a trace: columns of those that are summed up, and counts of the others.

Names of categories are those of Kineto's ``ActivityType``, as torch has written them since 1.13, in small letters.
Times are microseconds.
"""

from __future__ import annotations

import math
from collections import Counter, defaultdict
from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Annotated, Any

import msgspec

from roofline.profilers.kineto.stream import Event

if TYPE_CHECKING:
    import pandas as pd
    from numpy import void
    from numpy.typing import NDArray

KERNEL, COPY, FILL = ON_GPU = ("kernel", "gpu_memcpy", "gpu_memset")
OPERATOR = "cpu_op"
_CALLS = ("cuda_runtime", "cuda_driver")
STEP, LAUNCH, BEGIN_CAPTURE, END_CAPTURE = "step", "launch", "begin capture", "end capture"
"""Not Kineto's categories: a step that the program marked, whatever its category; a call that launches a kernel; those
that begin and end the capture of a graph.
"""

_KINDS = (*ON_GPU, OPERATOR, STEP, LAUNCH, BEGIN_CAPTURE, END_CAPTURE)

HOST = frozenset(
    (
        OPERATOR,
        SPAN := "trace",
        "cpu_instant_event",
        "external_correlation",
        "overhead",
        "python_function",
        "user_annotation",
    )
)
"""What is written without a device, too."""

KNOWN = frozenset(
    (
        *HOST,
        *ON_GPU,
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

_STEP_NAME = "ProfilerStep#"
_PROFILER = "PyTorch Profiler"
"""Name of the one event that is in every trace, of the category `SPAN`: the time in which the profiler recorded."""

_LATEST_US = 2.0**51 / 1e3
"""No event lasts longer, nor is farther from the middle one: 26 days, of which a float holds every nanosecond."""

MOST = 4_000_000
"""Events that may be kept of one file, in 180 MB. Four times as much is needed to sort them."""

_COLUMNS = (
    ("kind", "i1"),
    ("ts", "f8"),
    ("dur", "f8"),
    ("name", "i4"),
    ("owner", "i4"),
    ("stream", "i4"),
    ("byte", "f8"),
    ("correlation", "i8"),
)


class _Arguments(msgspec.Struct):
    device: int | None = None
    stream: int | None = None
    bytes: float | None = None
    correlation: Annotated[int, msgspec.Meta(ge=0, le=2**63 - 1)] | None = None


@dataclass(slots=True)
class Kept:
    """What is kept of the events of a file, and what the numbers in it stand for.

    ``owners`` are processes with a device for what ran on a GPU, else with a thread. ``found`` counts the events of
    each category, ``lost`` those of a kind whose times can't be used. ``unread_us`` is the time of categories that
    aren't read. ``profiled`` says that torch.profiler wrote the file.
    """

    names: dict[str, int] = field(default_factory=dict)
    owners: dict[tuple[str, Any], int] = field(default_factory=dict)
    streams: dict[tuple[int, str], int] = field(default_factory=dict)
    lost: Counter[str] = field(default_factory=Counter)
    found: Counter[str] = field(default_factory=Counter)
    unread_us: defaultdict[str, float] = field(default_factory=lambda: defaultdict(float))
    profiled: bool = False
    _pieces: list[NDArray[void]] = field(default_factory=list)

    def __len__(self) -> int:
        return sum(map(len, self._pieces))

    def add(self, events: Iterable[Event]) -> None:
        """Keep of the events what is summed up, and count the others by category."""
        import numpy as np

        rows = []
        for event in events:
            if event.ph != "X":
                continue
            category = (event.cat or "").lower()
            self.found[category] += 1
            name = "(no name)" if event.name is None else str(event.name)
            kind = _kind(category, name)
            if kind is not None:
                rows += self._row(kind, event, name)
            elif category == SPAN:
                self.profiled |= name.startswith(_PROFILER)
            elif category not in KNOWN:
                self.unread_us[category] += max(_number(event.dur) or 0.0, 0.0)
        self._pieces.append(np.array(rows, [*_COLUMNS]))

    def _row(self, kind: str, event: Event, name: str) -> list[tuple[int | float, ...]]:
        """The values of `_COLUMNS`, or nothing where the times can't be used."""
        ts, dur = _number(event.ts), _number(event.dur)
        if ts is None or dur is None or not 0 <= dur < _LATEST_US:
            self.lost[kind] += 1
            return []
        on_gpu, thread, stream = kind in ON_GPU, str(event.tid), -1
        arguments = _arguments(event) if on_gpu or kind == LAUNCH else _Arguments()
        owner = self.owners.setdefault((str(event.pid), arguments.device if on_gpu else thread), len(self.owners))
        if on_gpu:
            own = (owner, thread if arguments.stream is None else str(arguments.stream))
            stream = self.streams.setdefault(own, len(self.streams))
        number = self.names.setdefault(name, len(self.names))
        byte = math.nan if arguments.bytes is None else arguments.bytes
        return [(_KINDS.index(kind), ts, dur, number, owner, stream, byte, arguments.correlation or 0)]

    def spans(self) -> pd.DataFrame:
        """The events that are near in time to the others, with ``start`` and ``end`` in nanoseconds since the first.

        Those that aren't near are added to the lost ones. ``byte`` is NaN, ``correlation`` 0 where an event has none.
        """
        import numpy as np
        import pandas as pd

        events = pd.DataFrame(np.concatenate(self._pieces or [np.array([], [*_COLUMNS])]))
        # A single event at 0, among others in microseconds since 1970, must not pass for the first.
        middle = float(events["ts"].quantile(0.5, "higher"))
        near = (events["ts"] - middle).abs() < _LATEST_US
        for kind in events["kind"][~near]:
            self.lost[_KINDS[kind]] += 1
        events = events[near]
        start = ((events["ts"] - events["ts"].min()) * 1e3).round().astype("int64")
        return events.assign(start=start, end=start + (events["dur"] * 1e3).round().astype("int64"))


def of_kind(spans: pd.DataFrame, *kinds: str) -> pd.DataFrame:
    """Those of some kinds."""
    chosen: pd.DataFrame = spans[spans["kind"].isin([_KINDS.index(kind) for kind in kinds])]
    return chosen


def _kind(category: str, name: str) -> str | None:
    """As what an event is summed up; None: it isn't."""
    if name.startswith(_STEP_NAME) and category != "gpu_user_annotation":
        return STEP
    if category in ON_GPU or category == OPERATOR:
        return category
    if category in _CALLS:
        # That of a graph launches many kernels or none.
        if "LaunchKernel" in name or "LaunchCooperativeKernel" in name:
            return LAUNCH
        return BEGIN_CAPTURE if "BeginCapture" in name else END_CAPTURE if "EndCapture" in name else None
    return None


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


_ARGUMENTS = msgspec.json.Decoder(_Arguments, strict=False)  # some traces have numbers as text
