"""Steps under torch's profiler, and its events as plain values."""

from __future__ import annotations

from dataclasses import dataclass
from types import SimpleNamespace
from typing import Any

import pytest
import torch

from pytest_roofline.profilers.kineto.recording import Kernel, ProfilerBusyError, Span, read, record
from tests.plugin.measuring.fakes import Lab

CPU = torch.device("cpu")


@dataclass
class Event:
    """An event as kineto hands it out: everything is asked for by a call."""

    _name: str
    start: int
    end: int
    thread: int = 1
    number: int = 0
    link: int = 0
    device: str = "CPU"
    mark: bool = False
    crosses_threads: bool = False

    def name(self) -> str:
        return self._name

    def start_ns(self) -> int:
        return self.start

    def end_ns(self) -> int:
        return self.end

    def duration_ns(self) -> int:
        return self.end - self.start

    def start_thread_id(self) -> int:
        return self.thread

    def correlation_id(self) -> int:
        return self.number

    def linked_correlation_id(self) -> int:
        return self.link

    def device_type(self) -> Any:
        return SimpleNamespace(name=self.device)

    def is_user_annotation(self) -> bool:
        return self.mark

    def is_async(self) -> bool:
        return self.crosses_threads


def step_mark(start: int, end: int) -> Event:
    return Event("roofline:step", start, end, mark=True)


def test_host_events_are_spans_and_device_events_are_kernels() -> None:
    """Calls of the runtime, which are linked to a span, and marks on the device are neither."""
    (taken,) = read(
        [
            step_mark(0, 1000),
            Event("aten::mm", 10, 60, number=7),
            Event("mark of a user", 5, 90, number=6, mark=True),
            Event("cudaLaunchKernel", 20, 30, thread=4711, number=7, link=7),
            Event("gemm", 500, 900, number=7, link=7, device="CUDA"),
            Event("mark of a user", 500, 900, number=6, device="CUDA", mark=True),
            Event("Memcpy HtoD (Pinned -> Device)", 100, 110, number=8, link=7, device="CUDA"),
            Event("spans two threads", 10, 60, number=9, crosses_threads=True),
        ],
        [0.25],
    )
    assert (taken.wall_s, taken.thread) == (0.25, 1)
    assert taken.spans == (Span("aten::mm", 10, 60, 1, 7), Span("mark of a user", 5, 90, 1, 6))
    assert taken.kernels == (Kernel("Memcpy HtoD (Pinned -> Device)", 100, 110, 7), Kernel("gemm", 500, 900, 7))


def test_events_go_to_the_step_in_which_they_start() -> None:
    """On whatever thread; what comes before the first step belongs to none."""
    first, second = read(
        [
            Event("early", 5, 6, number=1),
            step_mark(100, 200),
            step_mark(300, 400),
            Event("a", 100, 120, number=2),
            Event("b", 310, 390, thread=2, number=3),
            Event("early kernel", 5, 6, device="CUDA"),
            Event("kernel", 399, 410, link=3, device="CUDA"),
        ],
        [1.0, 2.0],
    )
    assert ([span.name for span in first.spans], first.kernels, first.wall_s) == (["a"], (), 1.0)
    assert ([span.name for span in second.spans], second.wall_s) == (["b"], 2.0)
    assert [kernel.name for kernel in second.kernels] == ["kernel"]


def test_the_profiler_of_somebody_else_is_left_alone() -> None:
    """To start one beside it would end its recording."""
    with torch.autograd.profiler.profile(use_kineto=True) as theirs:
        torch.ones(2).neg()
        with pytest.raises(ProfilerBusyError, match="another torch profiler is at work"):
            record(lambda: None, CPU, clock=Lab().clock, enough=lambda _: True)
        torch.ones(2).exp()
    assert {"aten::neg", "aten::exp"} <= {event.name for event in theirs.function_events}
