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
    DramRow,
    KernelRow,
    Section,
    State,
    Timeline,
    busy,
    copies_first,
    direction,
    kernel_rows,
)


def timeline(sections: Mapping[str, Section], *kernels: KernelRow, on_gpu: bool = False) -> Timeline:
    one = Busy(start_ns=0, end_ns=1, span_s=1e-9, busy_s=1e-9, gaps=0, longest_gap_s=None, median_gap_s=None)
    devices = (DeviceRow(device="0", streams=1, events=1, busy=one),) if on_gpu else ()
    return Timeline(path=Path("x"), layout="nsys_export", sections=sections, kernels=kernels, devices=devices)


def test_kernels_are_summed_by_name() -> None:
    """Instances, total, average, median, least and most, longest total first."""
    durations = np.array([4000, 1000, 2000, 9000, 3000], np.int64)
    rows = kernel_rows(["a", "b"], np.array([0, 0, 0, 1, 0]), durations)
    assert [row.name for row in rows] == ["a", "b"]
    a = rows[0]
    assert a.instances == 4
    assert (a.total_s, a.avg_s, a.med_s) == (pytest.approx(10e-6), pytest.approx(2.5e-6), pytest.approx(2.5e-6))
    assert (a.min_s, a.max_s) == (pytest.approx(1e-6), pytest.approx(4e-6))
    assert rows[1] == KernelRow(name="b", instances=1, total_s=9e-6, avg_s=9e-6, med_s=9e-6, min_s=9e-6, max_s=9e-6)


def test_no_launch_is_no_row() -> None:
    """And then there is no GPU time: null, not 0."""
    assert kernel_rows([], np.empty(0, np.int64), np.empty(0, np.int64)) == ()
    assert timeline({}).gpu_time_s is None


def test_kinds_add_up_to_the_kernels() -> None:
    """Names, launches and time of each kind; the longest first."""
    content = timeline(
        {"kernels": OK},
        KernelRow(name="ampere_sgemm_128x64_tn", instances=3, total_s=1.0, avg_s=1 / 3),
        KernelRow(name="ampere_sgemm_32x32_sliced1x4_tn", instances=2, total_s=2.0, avg_s=1.0),
        KernelRow(name="vectorized_elementwise_kernel", instances=5, total_s=4.0, avg_s=0.8),
    )
    kinds = content.by_kind()
    assert [(row.kind, row.kernels, row.instances, row.total_s) for row in kinds] == [
        ("elementwise", 1, 5, 4.0),
        ("gemm", 2, 5, 3.0),
    ]
    assert content.gpu_time_s == 7.0


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
def test_the_state_of_a_file_is_that_of_its_sections(states: dict[str, State], on_gpu: bool, whole: State) -> None:
    """Complete only with what it is read for, and nothing of what was recorded unusable."""
    sections = {name: OK if state == "ok" else Section(state=state, reason="why") for name, state in states.items()}
    assert timeline(sections, on_gpu=on_gpu).state == whole


def test_a_rate_is_all_bytes_over_all_time() -> None:
    """None where either is not known, or no time passed."""
    assert CopyRow(kind="a", count=2, total_s=0.5, byte=8.0).byte_per_s == 16.0
    assert CopyRow(kind="a", count=2, total_s=None, byte=8.0).byte_per_s is None
    assert CopyRow(kind="a", count=2, total_s=0.5, byte=None).byte_per_s is None
    assert CopyRow(kind="a", count=2, total_s=0.0, byte=8.0).byte_per_s is None


def test_copies_stand_by_time_then_bytes() -> None:
    """A summary by size alone has no times."""
    rows = [CopyRow(kind="b", count=1, byte=2.0), CopyRow(kind="a", count=1, byte=3.0), CopyRow(kind="c", count=1)]
    assert [row.kind for row in copies_first(rows)] == ["a", "b", "c"]


def test_dram_rates_are_shares_of_the_peak() -> None:
    """Without a peak there is none."""
    row = DramRow(device="0", samples=3, window_s=1.0, read_share=0.5, write_share=None, peak_byte_per_s=2e12)
    assert (row.read_byte_per_s, row.write_byte_per_s, row.resolution_byte_per_s) == (1e12, None, 2e10)
    row = DramRow(device="0", samples=3, window_s=1.0, read_share=0.5, write_share=0.5, peak_byte_per_s=None)
    assert (row.read_byte_per_s, row.write_byte_per_s, row.resolution_byte_per_s) == (None, None, None)


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


def test_nothing_is_no_idle_device() -> None:
    """Without an interval there is no span and no share: None, not 0."""
    assert of() is None


def test_intervals_that_overlap_count_once() -> None:
    """The union, in whatever order they come: 0 to 30, 50 to 60 and 100 to 110 of 110 ns."""
    one = of((100, 110), (0, 20), (10, 30), (12, 14), (50, 60))
    assert one is not None
    assert (one.start_ns, one.end_ns) == (0, 110)
    assert one.span_s == pytest.approx(110e-9)
    assert one.busy_s == pytest.approx(50e-9)
    assert one.share == pytest.approx(50 / 110)
    assert one.gaps == 2
    assert one.longest_gap_s == pytest.approx(40e-9)
    assert one.median_gap_s == pytest.approx(30e-9)


def test_a_long_interval_covers_what_starts_in_it() -> None:
    """The end that counts is the latest so far, not that of the interval before."""
    one = of((0, 100), (10, 20), (30, 40), (90, 120))
    assert one is not None
    assert (one.gaps, one.longest_gap_s, one.median_gap_s, one.share) == (0, None, None, 1.0)


def test_intervals_that_touch_leave_no_gap() -> None:
    """The next one starts when the last one ends."""
    one = of((0, 10), (10, 20))
    assert one is not None
    assert one.gaps == 0


def test_a_span_of_no_length_has_no_share() -> None:
    """A single event of no duration."""
    one = of((5, 5))
    assert one is not None
    assert one.share is None


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
