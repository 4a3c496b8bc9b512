"""What a timeline profiler recorded, whichever wrote it."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from roofline.profilers.timeline import (
    Busy,
    DeviceRow,
    Section,
    State,
    Timeline,
    busy,
    direction,
)


@pytest.mark.parametrize(
    ("states", "on_gpu", "whole"),
    [
        ({"kernels": "ok", "memcpy": "ok"}, True, "ok"),
        ({"kernels": "ok", "memcpy": "skipped", "dram": "skipped"}, True, "ok"),
        ({"kernels": "failed", "memcpy": "ok"}, False, "partial"),
        ({"kernels": "skipped", "memcpy": "ok"}, False, "partial"),
        ({"kernels": "ok", "memcpy": "failed"}, True, "partial"),
        ({"kernels": "partial", "memcpy": "ok"}, True, "partial"),
        ({"kernels": "skipped", "memcpy": "skipped"}, False, "skipped"),
        ({"kernels": "skipped", "memcpy": "failed"}, False, "failed"),
        ({"kernels": "skipped", "operators": "ok"}, False, "ok"),
        ({"kernels": "skipped", "memcpy": "ok", "devices": "ok", "operators": "ok"}, True, "partial"),
    ],
)
def test_the_state_of_a_file_is_that_of_its_sections(states: Mapping[str, State], on_gpu: bool, whole: State) -> None:
    """Complete only with what it is read for, and nothing of what was recorded unusable."""
    one = Busy(start_ns=0, end_ns=1, span_s=1e-9, busy_s=1e-9, gaps=0, longest_gap_s=None, median_gap_s=None)
    content = Timeline(
        path=Path("x"),
        layout="nsys_export",
        sections={name: Section(state=state, reason="why") for name, state in states.items()},
        devices=(DeviceRow(device="0", streams=1, events=1, busy=one),) if on_gpu else (),
    )
    assert content.state == whole


@pytest.mark.parametrize(
    ("text", "kind"),
    [
        ("Host-to-Device", "Host-to-Device"),
        ("Unified Host-to-Device", "Unified Host-to-Device"),
        ("[CUDA memcpy HtoD]", "Host-to-Device"),
        ("[CUDA memcpy Device-to-Host]", "Device-to-Host"),
        ("[CUDA Unified Memory memcpy HtoD]", "Unified Host-to-Device"),
        ("Memcpy HtoD (Pageable -> Device)", "Host-to-Device (Pageable -> Device)"),
        ("Memcpy PtoP (Device -> Device)", "Peer-to-Peer (Device -> Device)"),
        ("[CUDA memset]", "memset"),
        ("Memset (Device)", "memset"),
        ("hipMemcpyAsync", "hipMemcpyAsync"),
        ("", ""),
    ],
)
def test_directions_have_one_spelling(text: str, kind: str) -> None:
    """Whichever program and version wrote them; where the memory was stays."""
    assert direction(text) == kind


def of(*intervals: tuple[int, int]) -> Busy | None:
    starts, ends = zip(*intervals, strict=True) if intervals else ((), ())
    return busy(np.array(starts, np.int64), np.array(ends, np.int64))


@given(
    st.lists(
        st.tuples(st.integers(0, 60), st.integers(0, 20)).map(lambda pair: (pair[0], pair[0] + pair[1])), min_size=1
    )
)
def test_the_union_is_what_counting_moments_gives(intervals: list[tuple[int, int]]) -> None:
    """As many nanoseconds as there are moments that at least one interval covers."""
    one = of(*intervals)
    assert one is not None
    covered = {moment for start, end in intervals for moment in range(start, end)}
    assert one.busy_s == pytest.approx(len(covered) * 1e-9)
