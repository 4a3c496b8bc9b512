"""What a timeline profiler recorded, whichever wrote it."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from roofline.profilers.timeline import (
    OK,
    Busy,
    CopyRow,
    DeviceRow,
    KernelRow,
    Section,
    State,
    Timeline,
    busy,
    copies_first,
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


def test_kinds_add_up_to_the_kernels() -> None:
    """Names, launches and time of each kind; the longest first."""
    kernels = (
        KernelRow(name="ampere_sgemm_128x64_tn", instances=3, total_s=1.0, avg_s=1 / 3),
        KernelRow(name="ampere_sgemm_32x32_sliced1x4_tn", instances=2, total_s=2.0, avg_s=1.0),
        KernelRow(name="vectorized_elementwise_kernel", instances=5, total_s=4.0, avg_s=0.8),
    )
    content = Timeline(path=Path("x"), layout="nsys_export", sections={"kernels": OK}, kernels=kernels)
    assert [(row.kind, row.kernels, row.instances, row.total_s) for row in content.by_kind()] == [
        ("elementwise", 1, 5, 4.0),
        ("gemm", 2, 5, 3.0),
    ]


@pytest.mark.parametrize(
    ("total_s", "byte", "rate"), [(0.5, 8.0, 16.0), (None, 8.0, None), (0.5, None, None), (0.0, 8.0, None)]
)
def test_a_rate_is_all_bytes_over_all_time(total_s: float | None, byte: float | None, rate: float | None) -> None:
    """None where either is not known, or no time passed."""
    assert CopyRow(kind="a", count=2, total_s=total_s, byte=byte).byte_per_s == rate


def test_copies_stand_by_time_then_bytes() -> None:
    """A summary by size alone has no times."""
    rows = [CopyRow(kind="b", count=1, byte=2.0), CopyRow(kind="a", count=1, byte=3.0), CopyRow(kind="c", count=1)]
    rows.append(CopyRow(kind="d", count=1, total_s=1.0))
    assert [row.kind for row in copies_first(rows)] == ["d", "a", "b", "c"]


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


@pytest.mark.parametrize(
    ("intervals", "span_ns", "busy_ns", "gaps_ns"),
    [
        # The union, in whatever order they come: 0 to 30, 50 to 60 and 100 to 110.
        ([(100, 110), (0, 20), (10, 30), (12, 14), (50, 60)], 110, 50, [20, 40]),
        # The end that counts is the latest so far, not that of the interval before.
        ([(0, 100), (10, 20), (30, 40), (90, 120)], 120, 120, []),
        ([(0, 10), (10, 20)], 20, 20, []),
        ([(5, 5)], 0, 0, []),
    ],
)
def test_intervals_that_overlap_count_once(
    intervals: list[tuple[int, int]], span_ns: int, busy_ns: int, gaps_ns: list[int]
) -> None:
    """Those that touch leave no gap, and a span of no length has no share."""
    one = of(*intervals)
    assert one is not None
    assert (one.start_ns, one.end_ns - one.start_ns) == (min(intervals)[0], span_ns)
    assert (one.span_s, one.busy_s) == pytest.approx((span_ns * 1e-9, busy_ns * 1e-9))
    assert one.share == (pytest.approx(busy_ns / span_ns) if span_ns else None)
    assert one.gaps == len(gaps_ns)
    assert one.longest_gap_s == (pytest.approx(max(gaps_ns) * 1e-9) if gaps_ns else None)
    assert one.median_gap_s == (pytest.approx(sum(gaps_ns) / 2 * 1e-9) if gaps_ns else None)


def test_nothing_is_no_idle_device() -> None:
    """Without an interval there is no span and no share: None, not 0."""
    assert of() is None


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
