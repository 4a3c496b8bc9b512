"""Figures are drawn for every device, name what they leave out, and keep their texts apart. They never fail."""

from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from roofline.machine.published import load
from roofline.model.point_groups import cases
from roofline.model.points import Point, place_all, points_of
from roofline.plots.image_files import draw, draw_machines
from roofline.plots.layout import figure_of
from roofline.plots.rooflines.machine_rooflines import Machines
from roofline.plots.rooflines.roofline import Roofline
from roofline.plots.style import NoFigure, style_for, variant
from roofline.plots.throughput import throughput_figure
from roofline.plots.variability import Variability
from roofline.results.reader import read, read_file
from roofline.schema.record import Case, Flag, Memory, Record, Rounds
from tests.roofline import build
from tests.roofline.plots.figure_texts import overlaps, shown_texts

if TYPE_CHECKING:
    from matplotlib.figure import Figure

_PNG = b"\x89PNG\r\n\x1a\n"


def _points(tmp_path: Path, *records: Record | None, **session: Any) -> tuple[Point, ...]:
    session.setdefault("roofs", build.roofs())
    return build.points(tmp_path / "a.json", records, of=build.session(**session))


def _figure(points: tuple[Point, ...]) -> "Figure":
    return figure_of(Roofline(points, _style(points)), "title")


def _style(points: tuple[Point, ...]) -> Any:
    found: list[Case] = [point.benchmark.record.case for point in points if point.benchmark.record]
    variants = [variant(point.benchmark.record) for point in points if point.benchmark.record]
    return style_for((case.model for case in found), (case.precision for case in found), variants)


def _words(figure: "Figure") -> str:
    return "\n".join(text.get_text() for text in shown_texts(figure))


def _heading(figure: "Figure") -> str:
    """Title and the lines under it, which stand above all axes, as one."""
    top = max(axes.get_position().y1 for axes in figure.axes)
    above = [text for text in figure.texts if text.get_position()[1] > top]
    return " ".join(text.get_text() for text in sorted(above, key=lambda text: -text.get_position()[1]))


def _lines(figure: "Figure") -> list[tuple[list[float], list[float]]]:
    return [
        ([float(x) for x in line.get_xdata()], [float(y) for y in line.get_ydata()])  # type: ignore[union-attr]
        for line in figure.axes[0].lines
    ]


@pytest.mark.parametrize("which", [0, 1], ids=["cpu", "cuda"])
def test_texts_of_the_examples_do_not_overlap(tmp_path: Path, which: int) -> None:
    """No label lies on another."""
    points = cases(points_of(read_file(build.two_machines(tmp_path)[which]), load()))
    figures = [_figure(points), throughput_figure(points, "title", _style(points))]
    for figure in figures:
        assert overlaps(figure) == []


def test_roofs_knees_and_ranges_are_drawn(tmp_path: Path) -> None:
    """The memory roof up to the ceiling, the knee down from their corner, the range from 25 to 100 FLOP/byte."""
    lines = _lines(_figure(_points(tmp_path, build.record())))
    assert any(x == [25, 100] and y == [pytest.approx(1e12)] * 2 for x, y in lines)
    assert any(x == [100, 100] and y[1] == 1e13 for x, y in lines)
    assert any(x[-1] == 100 and y[-1] == 1e13 and y[0] == pytest.approx(1e11 * x[0]) for x, y in lines)


def test_roofs_are_labelled_with_their_values(tmp_path: Path) -> None:
    """Value and knee; a published figure says that it is one."""
    words = _words(_figure(_points(tmp_path, build.record())))
    assert "fp32  10.0 TFLOP/s, knee 100" in words
    assert "DRAM 100 GB/s" in words
    assert "published" not in words
    published = _words(_figure(_points(tmp_path, build.record(device=build.CUDA), roofs=())))
    assert "fp32  19.5 TFLOP/s (published), knee 9.56" in published
    assert "bf16" not in published


def _markers(figure: "Figure") -> list[str]:
    """Of each point how it is filled."""
    return [str(line.get_fillstyle()) for line in figure.axes[0].lines if len(line.get_xdata()) == 1]  # type: ignore[arg-type]


def test_an_estimate_from_time_alone_is_hollow(tmp_path: Path) -> None:
    """Filled markers have bytes; the legend says what a hollow one is."""
    hollow = _points(tmp_path, build.record(work=build.work(low=float("nan"), high=float("nan"))))
    assert _markers(_figure(hollow)) == ["none"]
    assert "from time alone: no bound" in _words(_figure(hollow))
    counted = _points(tmp_path, build.record())
    assert _markers(_figure(counted)) == ["full"]
    assert "from time alone" not in _words(_figure(counted))


def test_what_cannot_be_drawn_is_listed_below(tmp_path: Path) -> None:
    """Of rows that are no measurement of the device's work: no point, a line each, no exception."""
    nan = float("nan")
    points = _points(
        tmp_path,
        build.record(case=build.case(id="a"), work=build.work(0.0, 1e6, 1e6)),
        build.record(case=build.case(id="b"), work=build.work(1e9, 0.0, 0.0)),
        build.record(case=build.case(id="c"), timing=build.timing(0.0)),
        build.record(case=build.case(id="d"), work=build.work(nan, 1e6, 1e6)),
        build.record(case=build.case(id="e"), work=build.work(nan, nan, nan), timing=build.timing(nan)),
        build.record(case=build.case(id="f"), flags=(Flag(name="wrong_device", evidence="x", invalid=True),)),
        build.record(
            case=build.case(id="g"), memory=Memory(peak_reserved_byte=19 * 10**9, device_total_byte=16 * 10**9)
        ),
    )
    figure = _figure(points)
    assert _markers(figure) == []
    words = _words(figure)
    assert "no case can be placed" in words
    for line in (
        *("a: no FLOPs counted", "b: the bytes counted", "c: invalid: no_step_time"),
        *("d: invalid: impossible_work", "e: invalid: impossible_work"),
        *("f: invalid: wrong_device", "g: device memory full"),
    ):
        assert f"Not drawn: {line}" in words
    assert overlaps(figure) == []


def test_thirty_cases_with_long_names_stay_apart(tmp_path: Path) -> None:
    """In all three figures, with more sessions than one and rounds far away."""
    points = []
    for number in range(3):
        records = []
        for index in range(30):
            step_s = 0.1 * (1 + index)
            wall_s = (step_s, 1.01 * step_s, (1 + index % 7) * step_s)
            rounds = Rounds(steps=1, wall_s=wall_s, disturbed=(None, None, "another program"))
            case = build.case(model=f"a_large_network_of_{index}_long_words", batch=2 ** (index % 9))
            records.append(build.record(case=case, timing=build.timing(step_s, rounds=rounds)))
        session = build.session(build.roofs(), started_at=f"2026-11-2{number}T10:00:00+00:00")
        points += build.points(tmp_path / f"{number}.json", records, of=session)
    style = _style(tuple(points))
    figures = [
        *(figure_of(Roofline(points[:30], style), "title"), throughput_figure(points[:30], "title", style)),
        figure_of(Variability(points), "title"),
    ]
    for figure in figures:
        assert overlaps(figure) == []


def test_a_long_list_is_cut_with_its_number(tmp_path: Path) -> None:
    """A figure is no table."""
    points = _points(tmp_path, *(build.record(work=None, case=build.case(batch=size)) for size in range(1, 21)))
    assert "and 12 more: `roofline points` lists all with the reason" in _words(_figure(points))


@pytest.mark.parametrize(
    "roofs",
    [
        (),
        build.roofs()[:1],
        build.roofs()[1:],
        (build.roof("latency", "launch", 1e-6),),
        (*build.roofs(), *(build.roof("flop", name, 1e13) for name in ("tf32", "bf16", "fp16", "fp64"))),
    ],
    ids=["none", "compute only", "memory only", "latency only", "equal roofs"],
)
def test_whatever_roofs_there_are(tmp_path: Path, roofs: Any) -> None:
    """Missing and equal roofs give a figure with readable labels; no roofs at all are told below."""
    figure = _figure(_points(tmp_path, build.record(), roofs=roofs))
    assert len(_markers(figure)) == 1
    assert overlaps(figure) == []
    assert ("No roofs:" in _words(figure)) is (roofs == ())


def test_throughput_lines(tmp_path: Path) -> None:
    """One line per model, precision and variant, over the batch sizes; training and inference in panels."""
    points = _points(
        tmp_path,
        *(build.record(case=build.case(batch=batch), timing=build.timing(batch / 100)) for batch in (8, 32)),
        build.record(case=build.case(batch=8, layout="channels_last"), timing=build.timing(0.04)),
        build.record(case=build.case(batch=1, mode="infer"), timing=build.timing(0.01)),
        build.record(case=build.case(batch=64), flags=(Flag(name="x", evidence="x", invalid=True),)),
    )
    figure = throughput_figure(points, "title", _style(points))
    assert [axes.get_title(loc="left") for axes in figure.axes] == ["training", "inference"]
    drawn = [
        ([int(x) for x in bars[0].get_xdata()], [float(y) for y in bars[0].get_ydata()])
        for bars in figure.axes[0].containers
    ]
    assert drawn == [([8, 32], [pytest.approx(100)] * 2), ([8], [pytest.approx(200)])]
    assert "channels_last" in _words(figure)
    assert "median of the rounds, bars: one standard deviation" in _heading(figure)


@pytest.mark.parametrize(
    ("units", "label"), [(("row", "row"), "rows/s"), (("row", "image"), "samples/s")], ids=["one unit", "two units"]
)
def test_throughput_is_told_in_the_unit_of_its_cases(tmp_path: Path, units: tuple[str, ...], label: str) -> None:
    """Of cases of several units it is samples. A second panel of another unit says so."""
    cases = [build.case(batch=8 * number, sample_unit=unit) for number, unit in enumerate(units, 1)]
    cases += [build.case(mode="infer", sample_unit="token")]
    points = _points(tmp_path, *(build.record(case=case) for case in cases))
    figure = throughput_figure(points, "title", _style(points))
    assert [axes.get_ylabel() for axes in figure.axes] == [label, "tokens/s"]


def test_a_ring_is_around_the_knee(tmp_path: Path) -> None:
    """Of a curve that has one, with a line that says what it is; where the largest batch still gains there is none."""
    points = _points(
        tmp_path,
        *(
            build.record(case=build.case(model=model, batch=batch), timing=build.timing(batch / rate, margin=0.001))
            for model, rates in (("knee", (10.0, 20.0, 20.1)), ("rising", (10.0, 20.0, 40.0)))
            for batch, rate in zip((1, 2, 4), rates, strict=True)
        ),
    )
    figure = throughput_figure(points, "title", _style(points))
    rings = [line.get_xydata().tolist() for line in figure.axes[0].lines if line.get_label() == "_knee"]
    assert rings == [[[2.0, pytest.approx(20.0)]]]
    assert "ring: the knee, the smallest batch with at least 90 % of the best" in _heading(figure)
    rising = throughput_figure(points[3:], "title", _style(points))
    assert rising is not None
    assert "ring" not in _heading(rising)


def test_two_workloads_of_one_batch_size_have_no_line_between_them(tmp_path: Path) -> None:
    """They are no course over the batch size."""
    records = [
        build.record(case=build.case(batch=batch, workload_hash=digest), timing=build.timing(step_s))
        for batch, digest, step_s in ((8, "a", 0.1), (8, "b", 0.2), (16, "a", 0.2))
    ]
    for drawn, line in ((records[:2], "None"), (records, "None"), (records[::2], "-")):
        points = _points(tmp_path, *drawn)
        figure = throughput_figure(points, "title", _style(points))
        assert figure.axes[0].containers[0][0].get_linestyle() == line


def test_points_of_one_batch_size_stand_beside_each_other(tmp_path: Path) -> None:
    """None hides another, and each is nearer to its own tick than to the next batch size."""
    models = ("a", "b", "c", "d", "e", "f")
    points = _points(
        tmp_path,
        *(build.record(case=build.case(model=model, batch=size)) for model in models for size in (1, 2, 4)),
    )
    figure = throughput_figure(points, "title", _style(points))
    figure.draw_without_rendering()
    axes = figure.axes[0]
    ticks = [float(axes.transData.transform((size, 1.0))[0]) for size in (1, 2, 4)]
    seen = [bars[0].get_transform().transform(bars[0].get_xydata())[:, 0] for bars in axes.containers]
    for tick, next_tick, places in zip(
        ticks[1:], [ticks[2], ticks[1]], [[x[1] for x in seen], [x[2] for x in seen]], strict=True
    ):
        assert len(set(places)) == len(models)
        assert all(abs(place - tick) < abs(place - next_tick) for place in places)


def test_sources_of_data_look_different_in_both_figures(tmp_path: Path) -> None:
    """Ready, fake and real images of one case: filled otherwise, named in the legend, never one line."""
    cases = [build.case(id=data, data=data) for data in ("synthetic", "fake", "sample")]
    cases.append(build.case(id="ready", config={"test": "input_pipeline"}))
    points = _points(tmp_path, *(build.record(case=case) for case in cases))
    figures = [_figure(points), throughput_figure(points, "title", _style(points))]
    for figure in figures:
        for named in ("ready data", "fake", "sample", "input test: ready"):
            assert named in _words(figure).splitlines()
    assert len(set(_markers(figures[0]))) == 4
    assert len(figures[1].axes[0].containers) == 4


def test_a_slow_cache_is_no_ceiling(tmp_path: Path) -> None:
    """Below DRAM's roof it is not drawn, and the figure says why."""
    points = _points(tmp_path, build.record(), roofs=(*build.roofs(), build.roof("byte", "llc", 5e10)))
    words = _words(_figure(points))
    assert "last-level cache 50" not in words
    assert "llc (50.0 GB/s, less than dram's 100 GB/s)" in words


def test_it_is_said_whose_roofs_are_drawn(tmp_path: Path) -> None:
    """Of several runs of a machine of each roof the newest; points keep the fractions of their own run."""
    runs = []
    for number, roofs in enumerate(((*build.roofs(), build.roof("flop", "bf16", 2e13)), build.roofs(dram=5e10))):
        session = build.session(roofs, started_at=f"2026-11-2{number}T10:00:00+00:00")
        item = build.record(case=build.case(batch=8 * (number + 1)))
        runs += build.points(tmp_path / f"{number}.json", [item], of=session)
    figure = _figure(tuple(runs))
    assert "DRAM 50.0 GB/s" in _words(figure).splitlines()
    assert "bf16  20.0 TFLOP/s, knee 400" in _words(figure)
    assert _heading(figure) == (
        "title bar: range of the intensity, from most to least bytes"
        " Cases of 2 runs: 1 of 2026-11-21T10:00:00+00:00, 1 of 2026-11-20T10:00:00+00:00."
        " Roofs drawn: of each the newest."
        " 1 of 2 cases were measured under others;"
        " tables hold each against the roofs of its own run."
    )
    assert [point.roofs.value("byte", "dram") for point in runs] == [1e11, 5e10]
    alone = _heading(_figure(tuple(runs[:1])))
    assert alone == "title bar: range of the intensity, from most to least bytes"


def test_machines_are_drawn_over_each_other(tmp_path: Path) -> None:
    """Under the roofs of all, published ones dotted, and by their shares of their own; not of one machine."""
    build.two_machines(tmp_path / "results")
    points = place_all(read([tmp_path / "results"]).files, load())
    assert [path.name for path in draw_machines(points, tmp_path)] == ["machines-roofline.png", "machines-share.png"]
    one, other = (points_of_one[:3] for points_of_one in (points[:9], points[-9:]))
    figure = figure_of(Machines({"a": one, "b": other}, by_share=False), "title")
    (axes,) = figure.axes
    legend = axes.get_legend()
    assert legend is not None
    assert [text.get_text() for text in legend.get_texts()][:2] == ["a", "b"]
    assert sum(line.get_linestyle() == ":" for line in axes.lines) == 2
    assert overlaps(figure) == []
    with pytest.raises(NoFigure):
        Machines({"a": one}, by_share=False)
    assert draw_machines(_points(tmp_path, build.record()), tmp_path) == []


def test_draw_has_the_roofs_of_a_machine_without_cases(tmp_path: Path) -> None:
    """They are all that there is to draw."""
    roof = build.record(case=build.case(id="roof-fp32", mode="roof"), work=None)
    assert draw(_points(tmp_path, roof), tmp_path) == ([tmp_path / "roofline-epyc-2cpu.png"], [])


def test_draw_says_what_has_no_throughput(tmp_path: Path) -> None:
    """A file of another project has nothing but times."""
    paths, notes = draw(_points(tmp_path, None), tmp_path)
    assert paths == []
    assert notes == [
        "epyc-2cpu: no roofline to draw: no case can be placed, and the machine has no roofs",
        "epyc-2cpu: no throughput to draw: no case has a record with a time",
        "epyc-2cpu: no variability to draw: no case has the times of its rounds",
    ]
