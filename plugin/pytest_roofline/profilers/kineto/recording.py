"""Steps recorded by torch's profiler: kernels, labels of operations, and the threads that they ran in."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, TypeVar

from torch.autograd.profiler import record_function

from pytest_roofline.counting.dispatch import LeafMode, leaf_name, may_work
from pytest_roofline.counting.flop.matrix_operations import MATRIX_OPERATIONS
from roofline.text.units import some_of

if TYPE_CHECKING:
    import torch


def followed(recording: Recording) -> Recording:
    """The same without the spans of threads that nobody follows."""
    own = _followed_threads(recording)
    return replace(recording, spans=tuple(span for span in recording.spans if span.thread in own))


def escaped(recordings: Sequence[Recording]) -> str | None:
    """Say why what is followed is not all of the step, where its threads say so.

    These are matrix products, convolutions and the like that every one of the steps has in a thread that nobody
    follows. What runs meanwhile has them in some steps only, or none.

    :param recordings: of one step after the other, each of all threads.
    """
    hidden: list[set[str]] = []
    for one in recordings:
        own = _followed_threads(one)
        hidden.append({span.name for span in one.spans if span.thread not in own and span.name in MATRIX_OPERATIONS})
    if not hidden or not (names := sorted(set.intersection(*hidden))):
        return None
    return f"{some_of(names)} ran in another thread in every step: what other threads run can't be seen"


def _followed_threads(recording: Recording) -> set[int]:
    """The one that takes the step, and those to which torch hands its modes on: they have labels."""
    return {recording.thread, *(span.thread for span in recording.spans if span.name.startswith(LABEL))}


LABEL = "roofline#"
"""Begins the name of every label. The number of the operation follows, or nothing for those that do no work."""


class LabelMode(LeafMode):
    """Puts a label around every operation, numbered as they are counted. ``names`` are those that have a number."""

    def __init__(self) -> None:
        super().__init__()
        self.names: list[str] = []

    def leaf(self, func: Any, args: tuple[Any, ...], kwargs: Mapping[str, Any]) -> Any:
        label = LABEL
        if may_work(func):
            label += str(len(self.names))
            self.names.append(leaf_name(func))
        with record_function(label):
            return func(*args, **kwargs)


@dataclass(frozen=True, slots=True)
class Span:
    """One call of an operator on the host, or a stretch that somebody marked. Those of one thread are nested.

    ``id`` is the number by which kernels name the span they were launched from.
    """

    name: str
    start_ns: int
    end_ns: int
    thread: int
    id: int

    @property
    def duration_ns(self) -> int:
        return self.end_ns - self.start_ns


@dataclass(frozen=True, slots=True)
class Kernel:
    """One kernel, copy or fill on the device. ``launched_by`` is the innermost span around its launch; 0: none."""

    name: str
    start_ns: int
    end_ns: int
    launched_by: int

    @property
    def duration_ns(self) -> int:
        return self.end_ns - self.start_ns


@dataclass(frozen=True, slots=True, kw_only=True)
class Recording:
    """One step under the profiler.

    ``thread`` is the one that took it. ``kernels`` are in the order in which they started; a CPU has none.
    """

    wall_s: float
    thread: int
    spans: tuple[Span, ...]
    kernels: tuple[Kernel, ...]
    messages: tuple[Kernel, ...] = ()
    """Of gloo between ranks, from when each was handed over."""


Call = TypeVar("Call", Span, Kernel)


class ProfilerBusyError(RuntimeError):
    """Another profiler of torch's is at work; to start one would end the other's recording."""


_STEP = "roofline:step"
"""Marks each step in the trace."""

_MESSAGE = "gloo:"
"""Begins the name of every message that gloo carries."""


def record(
    step: Callable[[], object],
    device: torch.device,
    *,
    clock: Callable[[], float],
    enough: Callable[[Sequence[float]], bool],
    all_threads: bool = False,
) -> list[Recording]:
    """Take steps under torch's profiler, at least one.

    :param clock: seconds; read when a step starts and when all it launched has ended.
    :param enough: tells from the seconds of each step so far whether to stop.
    :param all_threads: see every thread of the process, not only this one and those that torch itself hands work to.
    :raises ProfilerBusyError: the profiler is in use.
    :raises RuntimeError: it can't be started.
    :raises Exception: whatever ``step`` raises.
    """
    import torch

    if torch._C._autograd._profiler_enabled():
        raise ProfilerBusyError("another torch profiler is at work")
    walls: list[float] = []

    def wait() -> None:
        if device.type != "cpu":
            torch.accelerator.synchronize(device)

    wait()
    # Not `torch.profiler.profile`: it is made for cycles of many steps, and warns that one cycle forgets another.
    with torch.autograd.profiler.profile(
        use_kineto=True,
        use_device="cuda" if device.type == "cuda" else None,
        experimental_config=torch._C._profiler._ExperimentalConfig(profile_all_threads=all_threads),
    ) as profiler:
        while not walls or not enough(walls):
            with torch.autograd.profiler.record_function(_STEP):
                start = clock()
                step()
                wait()
                walls.append(clock() - start)
    assert profiler.kineto_results is not None
    return read(profiler.kineto_results.events(), walls)


def read(events: Iterable[Any], walls: Sequence[float]) -> list[Recording]:
    """Kineto's events as spans and kernels, step by step.

    On the host there are calls of the device's runtime too (``cudaLaunchKernel``). Their link to the span that made
    them shows which they are. They are left out: kernels carry the same link. On the device there are the stretches
    that somebody marked on the host, over the kernels launched in them: no work either.
    """
    marks: list[tuple[int, int, int]] = []
    spans: list[Span] = []
    kernels: list[Kernel] = []
    messages: list[Kernel] = []
    for event in events:
        name, link = event.name(), event.linked_correlation_id()
        if event.device_type().name != "CPU":
            if not event.is_user_annotation():
                kernels.append(Kernel(name, event.start_ns(), event.end_ns(), link))
        elif name == _STEP:
            marks.append((event.start_ns(), event.end_ns(), event.start_thread_id()))
        elif name.startswith(_MESSAGE):
            messages.append(Kernel(name, event.start_ns(), event.end_ns(), 0))
        elif not link and not event.is_async():
            spans.append(Span(name, event.start_ns(), event.end_ns(), event.start_thread_id(), event.correlation_id()))
    marks.sort()
    kernels.sort(key=lambda kernel: kernel.start_ns)
    parts = zip(
        walls,
        marks,
        _by_step(spans, marks, late=False),
        _by_step(kernels, marks, late=True),
        _by_step(messages, marks, late=False),
        strict=True,
    )
    return [
        Recording(
            wall_s=wall_s,
            thread=thread,
            spans=tuple(own_spans),
            kernels=tuple(own_kernels),
            messages=tuple(own_messages),
        )
        for wall_s, (_, _, thread), own_spans, own_kernels, own_messages in parts
    ]


def _by_step(calls: Iterable[Call], marks: Sequence[tuple[int, int, int]], *, late: bool) -> list[list[Call]]:
    """Find the step that each call began in.

    :param marks: start, end and thread of each step, in their order.
    :param late: take what began after a step's end as the step's, too. On the host it is none of any step: there, ranks
        tell each other between steps whether there are to be more.
    """
    starts = [start for start, _, _ in marks]
    found: list[list[Call]] = [[] for _ in marks]
    for call in calls:
        step = bisect_right(starts, call.start_ns) - 1
        if step >= 0 and (late or call.start_ns < marks[step][1]):
            found[step].append(call)
    return found
