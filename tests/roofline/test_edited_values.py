"""Whatever number a file carries, every command shows what it can: no traceback, and nothing that is not finite."""

import json
import re
from collections.abc import Iterable, Iterator
from contextlib import suppress
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from roofline.cli import program as cli
from roofline.machine.published import load
from roofline.model.point_groups import cases
from roofline.model.points import Point, points_of
from roofline.plots.image_files import draw
from roofline.plots.layout import figure_of
from roofline.plots.rooflines.levels import Levels
from roofline.plots.rooflines.operation_bars import step_figure
from roofline.plots.style import NoFigure
from roofline.results.reader import read_file
from roofline.schema.record import (
    KEY,
    Device,
    HostCounters,
    KernelTime,
    Latency,
    Memory,
    OutsideTime,
    Process,
    Record,
    Uncovered,
)
from roofline.show.cases.machines_table import machines_table
from roofline.show.cases.point_tables import metrics_table, points_table
from roofline.show.cases.summary_tables import summary_table
from roofline.show.render import render
from roofline.show.step.kernel_tables import kernel_table, kernels_table, reconciliation_table
from roofline.show.step.operation_tables import (
    cases_table,
    kinds_table,
    limits_table,
    operations_table,
    taken_apart,
    worst_table,
)
from roofline.show.tables import Table
from tests.roofline import build
from tests.roofline.kernels import ADD, counters, kernel

_DEVICE = Device(kind="cpu", name="cpu", memory_byte=8 * 10**9, last_level_cache_byte=10**6)
_NOT_FINITE = re.compile(r"(?<![\w.])(nan|inf)(?!\w)", re.IGNORECASE)


def _record() -> Record:
    """One with every part that a number can stand in."""
    operations = (
        build.operation(time_s=0.02, flop=1e10, byte=1e6),
        build.operation(time_s=0.03, flop=0.0, byte=1e8, name="aten::relu", kind="elementwise", shape="16"),
    )
    outside = (OutsideTime(name="copy", calls=2.0, time_s=0.01), OutsideTime(name="fill", calls=1.0, time_s=0.001))
    return build.timed(
        *operations,
        device=_DEVICE,
        timing=build.timing(
            0.1,
            input_wait_s=0.001,
            rounds=replace(
                build.timing().rounds,
                device_s=(0.4,) * 20,
                power_w=(300.0,) * 20,
                temperature_c=(70.0,) * 20,
                device_memory_byte=(10**9,) * 20,
            ),
            latency=Latency(steps=10, median_s=0.1, p95_s=0.11, p99_s=0.12),
        ),
        work=build.work(1e10, 1e6, 1e8, uncovered=(Uncovered(name="aten::fft", calls=1, time_s=0.01),)),
        profile=build.profile(
            operations_s=0.05,
            outside=outside,
            device_busy_s=0.06,
            longest_gap_s=0.01,
            kernels=(
                KernelTime(name="gemm", launches=1.0, time_s=0.05),
                KernelTime(name="add", launches=9.0, time_s=0.01),
            ),
        ),
        counters=counters(
            kernel(),
            kernel(ADD, launches=9),
            dram_read_byte=1e9,
            passes=5,
            flop_passes=5,
            unit_check=1.0,
            context_byte=10**8,
        ),
        memory=Memory(peak_predicted_byte=100, peak_allocated_byte=110, peak_reserved_byte=120),
        process=Process(
            user_s=3.0,
            system_s=1.0,
            max_rss_byte=10**9,
            voluntary_switches=1,
            involuntary_switches=1,
            real_s=4.0,
            throttled_s=0.1,
        ),
        energy_j_per_step=2.0,
        host_counters=HostCounters(status="ok", cycles=4.0, instructions=5.0, cache_references=3.0, cache_misses=1.0),
    )


def _document() -> dict[str, Any]:
    """That record, and one beside it that stays as it is."""
    other = build.record(case=build.case(batch=64), device=_DEVICE)
    return build.document([_record(), other], of=build.session(build.roofs(1e12, 1e10)), on=build.machine())


def _numbers(value: Any, *path: str | int) -> Iterator[tuple[tuple[str | int, ...], float]]:
    """Paths of the numbers in JSON values; of a list only of its first item."""
    if isinstance(value, int | float) and not isinstance(value, bool):
        yield path, value
    elif isinstance(value, dict):
        for key, item in value.items():
            yield from _numbers(item, *path, key)
    elif isinstance(value, list) and value:
        yield from _numbers(value[0], *path, 0)


def _parts(content: dict[str, Any]) -> dict[str, Any]:
    row = content["benchmarks"][0]
    return {"record": row["extra_info"][KEY], "session": content[KEY], "stats": row["stats"]}


def _edited(path: tuple[str | int, ...], value: float | None) -> dict[str, Any]:
    content = _document()
    part: Any = _parts(content)
    for key in path[:-1]:
        part = part[key]
    part[path[-1]] = value
    return content


_ALL = [(path, value) for path, value in _numbers(_parts(_document())) if path[-1] != "schema"]
_READ = (None, -1.0, 0.0, 1e308)
"""The reader makes null of what is not finite, so one of the three stands for all."""


def _tables(points: tuple[Point, ...]) -> list[Table[Any]]:
    shown = cases(points)
    result = shown[0].result
    taken, _ = taken_apart(shown)
    tables: list[Table[Any]] = [points_table(shown), metrics_table(points), machines_table(points)]
    tables += [summary_table(result, shown), operations_table(taken), kinds_table(taken), cases_table(taken, [])]
    for case in taken:
        tables += [limits_table(case), worst_table(case, 1, by_kind=False), worst_table(case, 15, by_kind=True)]
        of_kernels = (
            kernel_table(case, "profiler", 1),
            kernel_table(case, "counters", 1),
            reconciliation_table(case),
        )
        tables += [kernels_table([case]), *filter(None, of_kernels)]
    return tables


def _holds_only_finite(texts: Iterable[str]) -> None:
    for text in texts:
        assert _NOT_FINITE.search(text) is None, text


@pytest.mark.parametrize("path", [path for path, _ in _ALL], ids=lambda path: ".".join(map(str, path)))
def test_every_table_stands_whatever_one_number_is(tmp_path: Path, path: tuple[str | int, ...]) -> None:
    """Null, below 0, 0, or so large that a sum overflows, in each place where a file has a number."""
    whole = isinstance(dict(_ALL)[path], int)
    for value in _READ:
        number = int(min(value, 2**62)) if whole and value is not None else value
        result = read_file(build.write(tmp_path / "a.json", _edited(path, number)))
        points = points_of(result, load())
        for table in _tables(points):
            json.loads(render(table, "json", 80), parse_constant=pytest.fail)
            _holds_only_finite([render(table, "markdown", 100)])
    # The last, 1e308, in a frame, too: pandas takes long to make one.
    _holds_only_finite([render(points_table(points), "csv", 100)])


@pytest.mark.parametrize(
    "path",
    [path for path, _ in _ALL if "counters" in path],
    ids=lambda path: ".".join(map(str, path)),
)
def test_the_figure_of_levels_stands_whatever_one_number_is(tmp_path: Path, path: tuple[str | int, ...]) -> None:
    """It is drawn of what is left, or there is a reason why not."""
    for value in (-1.0, 1e308):
        number = int(min(value, 2**62)) if isinstance(dict(_ALL)[path], int) else value
        result = read_file(build.write(tmp_path / "a.json", _edited(path, number)))
        point = points_of(result, load())[0]
        with suppress(NoFigure):
            figure_of(Levels(point), "title").draw_without_rendering()


def _case(result: Path, *arguments: str) -> tuple[str, ...]:
    return ("ops", str(result), "resnet50-train-b32", *arguments)


@pytest.mark.parametrize("value", [None, float("nan"), float("inf"), -1.0, 0.0, 1e308])
def test_a_step_without_a_usable_time_is_not_taken_apart(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], value: float | None
) -> None:
    """Not even where the profiler saw something outside: that would be set against a step of no length."""
    path = build.write(tmp_path / "a.json", _edited(("record", "timing", "step_time_s"), value))
    assert cli.main([*_case(path)]) == 3
    out, err = capsys.readouterr()
    assert out == ""
    assert "resnet50-train-b32-fp32: no step time." in err


@pytest.mark.parametrize("name", ["time_s", "flop", "byte", "working_set_byte"])
def test_an_operation_with_a_number_that_cannot_be_is_refused_by_name(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], name: str
) -> None:
    """1e308 would make every sum and every axis infinite; neither tables nor a figure are made of it."""
    path = build.write(tmp_path / "a.json", _edited(("record", "operations", 0, name), 1e308))
    assert cli.main([*_case(path, "--plot", str(tmp_path / "x.png"))]) == 3
    out, err = capsys.readouterr()
    assert out == ""
    assert f"{name} of aten::mm 1024x1024x1024 is 1e+308: neither 0 nor an amount of a real step." in err
    assert not (tmp_path / "x.png").exists()


@pytest.mark.parametrize("name", ["time_s", "calls"])
@pytest.mark.parametrize("value", [None, -1.0, 1e308])
def test_what_the_profiler_saw_outside_is_left_out_with_a_note_where_its_numbers_are_unusable(
    tmp_path: Path, name: str, value: float | None
) -> None:
    """The other line stays, with the sum over it alone."""
    result = read_file(build.write(tmp_path / "a.json", _edited(("record", "profile", "outside", 0, name), value)))
    (case,), _ = taken_apart(points_of(result, load())[:1])
    notes = limits_table(case).notes
    assert "Seen by the profiler in no counted operation: 1.00 ms: fill (1 x, 1.00 ms)" in notes
    assert "Left out of what the profiler saw: 1 line whose time or calls are no usable number" in notes


@pytest.mark.parametrize("name", ["step_s", "operations_s"])
@pytest.mark.parametrize("value", [None, -1.0, 1e308])
def test_a_profile_without_usable_totals_is_set_against_nothing(tmp_path: Path, name: str, value: float | None) -> None:
    """It has no say in whether the profiler's times agree with the step's."""
    result = read_file(build.write(tmp_path / "a.json", _edited(("record", "profile", name), value)))
    (case,), _ = taken_apart(points_of(result, load())[:1])
    assert limits_table(case).notes[-1].startswith("The profile's own totals are no usable numbers")


@pytest.mark.parametrize("value", [None, -1.0, 1e308])
def test_a_wait_that_is_no_usable_number_bounds_nothing(tmp_path: Path, value: float | None) -> None:
    """Nothing is said of waiting for data, neither by the bound nor below the table of operations."""
    result = read_file(build.write(tmp_path / "a.json", _edited(("record", "timing", "input_wait_s"), value)))
    point = points_of(result, load())[0]
    (case,), _ = taken_apart([point])
    assert point.bound.kind != "input"
    assert not [note for note in limits_table(case).notes if "waiting for the next batch" in note]


@pytest.mark.parametrize("value", [1e29, 1e-29])
def test_the_figure_stands_with_the_largest_and_the_least_time_that_count(tmp_path: Path, value: float) -> None:
    """As far from the step as the numbers go that are calculated with."""
    result = read_file(build.write(tmp_path / "a.json", _edited(("record", "operations", 0, "time_s"), value)))
    step_figure(points_of(result, load())[0]).draw_without_rendering()


@pytest.mark.parametrize("value", [-1, 0])
@pytest.mark.parametrize("name", ["batch", "samples_per_step"])
def test_a_case_without_a_real_number_of_samples_is_not_drawn(tmp_path: Path, name: str, value: int) -> None:
    """It has no throughput, and no place on an axis of batch sizes; the case beside it has both."""
    result = read_file(build.write(tmp_path / "a.json", _edited(("record", "case", name), value)))
    paths, _ = draw(points_of(result, load()), tmp_path)
    assert [path.name for path in paths] == [
        f"{kind}-epyc-2cpu.png" for kind in ("roofline", "throughput", "variability")
    ]


@pytest.mark.parametrize("value", [-1.0, 1e308])
def test_a_deviation_that_is_no_usable_number_has_no_bar(tmp_path: Path, value: float) -> None:
    """Neither a negative bar nor an axis without an end."""
    result = read_file(build.write(tmp_path / "a.json", _edited(("record", "timing", "step_time_sd_s"), value)))
    points = points_of(result, load())
    assert points[0].spread is None
    assert len(draw(points, tmp_path)[0]) == 3
