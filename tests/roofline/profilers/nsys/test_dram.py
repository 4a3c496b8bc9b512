"""DRAM traffic from the GPU metrics of an nsys export."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import pytest

from roofline.profilers.nsys.export import read_export
from roofline.profilers.timeline import OK, Section
from tests.roofline.profilers import nsys_build as build

KERNELS = "CUPTI_ACTIVITY_KIND_KERNEL"
NAMES = "TARGET_INFO_GPU_METRICS"
SAMPLES = "GPU_METRICS"

BOTH = ("DRAM Read Bandwidth [Throughput %]", "DRAM Write Bandwidth [Throughput %]")


def with_samples(**more: Sequence[Mapping[str, Any]]) -> dict[str, Sequence[Mapping[str, Any]]]:
    """A GPU that works from 1000 to 5000 ns, and reads at 40 % and writes at 10 % of its peak meanwhile."""
    at = {0: (0, 0), 1500: (30, 10), 2500: (50, 10), 6000: (0, 0)}
    return {
        KERNELS: [build.kernel(1000, 5000)],
        "TARGET_INFO_GPU": [build.A100],
        NAMES: build.metrics(BOTH),
        SAMPLES: build.samples(at),
        **more,
    }


def test_rates_are_those_while_there_was_work(tmp_path: Path) -> None:
    """The mean of the samples in the span of its kernels, times the peak that the driver tells."""
    content = read_export(build.write(tmp_path / "a.sqlite", with_samples()))
    (row,) = content.dram
    assert row.device == "0 NVIDIA A100-SXM4-40GB"
    assert (row.samples, row.window_s) == (2, pytest.approx(4e-6))
    assert (row.read_share, row.write_share) == (pytest.approx(0.4), pytest.approx(0.1))
    assert row.read_byte_per_s == pytest.approx(0.4 * 1_555_200_000_000)
    assert row.write_byte_per_s == pytest.approx(0.1 * 1_555_200_000_000)
    assert row.resolution_byte_per_s == pytest.approx(15_552_000_000)
    assert content.sections["dram"] == OK
    assert content.notes == ()


@pytest.mark.parametrize(
    "names",
    [
        ("DRAM Read Bandwidth", "DRAM Write Bandwidth"),
        ("DRAM Read Throughput [Throughput %]", "DRAM Write Throughput [Throughput %]"),
    ],
)
def test_other_spellings_are_read(tmp_path: Path, names: tuple[str, str]) -> None:
    """Early versions named no unit, other chips say throughput."""
    content = read_export(build.write(tmp_path / "a.sqlite", with_samples(**{NAMES: build.metrics(names)})))
    assert content.dram[0].read_share == pytest.approx(0.4)


def test_each_gpu_has_its_own_window_and_peak(tmp_path: Path) -> None:
    """Samples of the second GPU don't go into the first one's mean."""
    rows = with_samples(
        CUPTI_ACTIVITY_KIND_KERNEL=[build.kernel(1000, 5000), build.kernel(5500, 6500, device=1)],
        TARGET_INFO_GPU=[build.A100, {**build.A100, "id": 1, "name": "Tesla T4", "memoryBandwidth": 320_000_000_000}],
        TARGET_INFO_CUDA_DEVICE=[{"gpuId": gpu, "cudaId": gpu, "pid": build.PID} for gpu in (0, 1)],
        TARGET_INFO_GPU_METRICS=[*build.metrics(BOTH), *build.metrics(BOTH, gpu=1)],
        GPU_METRICS=[*build.samples({2000: (40, 10)}), *build.samples({2000: (99, 99), 6000: (80, 20)}, gpu=1)],
    )
    first, second = read_export(build.write(tmp_path / "a.sqlite", rows)).dram
    assert (first.read_share, first.samples) == (pytest.approx(0.4), 1)
    assert (second.device, second.read_share, second.samples) == ("1 Tesla T4", pytest.approx(0.8), 1)
    assert second.read_byte_per_s == pytest.approx(0.8 * 320e9)


def test_a_gpu_whose_work_cant_be_told_apart_has_that_of_all(tmp_path: Path) -> None:
    """Better than the mean over the whole capture, most of which is the program's start."""
    rows = with_samples(TARGET_INFO_GPU=[build.A100, {**build.A100, "id": 1}])
    (row,) = read_export(build.write(tmp_path / "a.sqlite", rows)).dram
    assert (row.read_share, row.window_s) == (pytest.approx(0.4), pytest.approx(4e-6))


def test_without_any_work_all_samples_count(tmp_path: Path) -> None:
    """An empty capture is an error; the samples are shown for what they are."""
    rows = with_samples(CUPTI_ACTIVITY_KIND_KERNEL=[])
    content = read_export(build.write(tmp_path / "a.sqlite", rows))
    assert content.error == "empty_capture"
    assert [(row.samples, row.read_share, row.window_s) for row in content.dram] == [
        (4, pytest.approx(0.2), pytest.approx(6e-6))
    ]


def test_a_mean_below_half_a_percent_is_told_to_say_little(tmp_path: Path) -> None:
    """Report 004's 0.09 GB/s of an A100 are 0.005 % of its peak: the few samples that weren't rounded to 0."""
    at = {1000 + step: (1 if step == 0 else 0, 0) for step in range(0, 4000, 10)}
    content = read_export(build.write(tmp_path / "a.sqlite", with_samples(GPU_METRICS=build.samples(at))))
    assert content.dram[0].read_share == pytest.approx(0.01 / 400)
    assert [note.partition(":")[0] for note in content.notes] == ["DRAM of GPU 0 NVIDIA A100-SXM4-40GB"]
    assert "Count bytes with ncu" in content.notes[0]


def test_no_metrics_are_skipped_with_the_flag_that_records_them(tmp_path: Path) -> None:
    """No row, and no 0."""
    content = read_export(build.write(tmp_path / "a.sqlite", {KERNELS: [build.kernel(0, 1)]}))
    assert content.dram == ()
    assert content.sections["dram"] == Section(
        state="skipped", reason="no GPU metrics were recorded. Profile with --gpu-metrics-devices=all."
    )
    assert content.state == "ok"


def test_a_chip_without_dram_metrics(tmp_path: Path) -> None:
    """GB10 has clocks and warps, and no DRAM."""
    rows = with_samples(TARGET_INFO_GPU_METRICS=build.metrics(["SMs Active [Throughput %]"]))
    section = read_export(build.write(tmp_path / "a.sqlite", rows)).sections["dram"]
    assert section == Section(
        state="skipped", reason="the GPU metrics recorded have no DRAM rates: some chips have none"
    )


def test_another_unit_is_refused(tmp_path: Path) -> None:
    """Taken for percent it would be a wrong rate."""
    rows = with_samples(TARGET_INFO_GPU_METRICS=build.metrics(["DRAM Read Bandwidth [GB/s]", BOTH[1]]))
    content = read_export(build.write(tmp_path / "a.sqlite", rows))
    assert content.dram == ()
    assert content.sections["dram"] == Section(
        state="failed",
        reason="DRAM Read Bandwidth [GB/s] isn't in percent of the peak, the one unit that this version reads",
    )


@pytest.mark.parametrize("value", [-1, 101, 2**40])
def test_samples_that_are_no_percents_are_refused(tmp_path: Path, value: int) -> None:
    """Averages of what isn't normalised come out as millions."""
    rows = with_samples(GPU_METRICS=build.samples({2000: (40, value)}))
    content = read_export(build.write(tmp_path / "a.sqlite", rows))
    assert content.dram == ()
    assert content.sections["dram"].state == "failed"
    assert content.sections["dram"].reason is not None
    assert "aren't all from 0 to 100" in content.sections["dram"].reason


@pytest.mark.parametrize("peak", [0, 2**63 - 1])
def test_without_a_peak_there_are_shares_only(tmp_path: Path, peak: int) -> None:
    """A rate needs the peak; a guessed one would be another machine's, and 9 EB/s is no GPU's."""
    rows = with_samples(TARGET_INFO_GPU=[{**build.A100, "memoryBandwidth": peak}])
    content = read_export(build.write(tmp_path / "a.sqlite", rows))
    (row,) = content.dram
    assert (row.read_share, row.read_byte_per_s) == (pytest.approx(0.4), None)
    assert content.sections["dram"].state == "partial"


def test_one_direction_alone_is_partial(tmp_path: Path) -> None:
    """The other is null, with the reason."""
    rows = with_samples(TARGET_INFO_GPU_METRICS=build.metrics(BOTH[:1]))
    content = read_export(build.write(tmp_path / "a.sqlite", rows))
    assert (content.dram[0].read_share, content.dram[0].write_share) == (pytest.approx(0.4), None)
    assert content.sections["dram"].reason == "GPU 0 NVIDIA A100-SXM4-40GB: no samples of its DRAM writes"


def test_no_sample_in_the_span_of_the_work(tmp_path: Path) -> None:
    """Metrics that stopped early: no row, and the reason."""
    rows = with_samples(GPU_METRICS=build.samples({0: (1, 1)}))
    content = read_export(build.write(tmp_path / "a.sqlite", rows))
    assert content.dram == ()
    assert content.sections["dram"] == Section(
        state="failed", reason="GPU 0 NVIDIA A100-SXM4-40GB: no sample of its DRAM while it had work"
    )
