"""``rl.plot`` as a notebook uses it: results in, axes in and out."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import matplotlib as mpl
import pytest
from matplotlib import pyplot
from matplotlib.axes import Axes

import roofline as rl
from roofline.frames import Results
from roofline.schema.record import Flag, Record, Rounds
from tests.roofline import build
from tests.roofline.comparison import sessions
from tests.roofline.kernels import counted, kernel
from tests.roofline.plots.figure_texts import box_of, overlapping, shown_texts, words


@pytest.fixture(autouse=True)
def no_window() -> Iterator[None]:
    """Every figure is closed at the end."""
    with mpl.rc_context({"backend": "agg"}):
        yield
        pyplot.close("all")


@pytest.fixture
def machines(tmp_path: Path) -> Results:
    """A CPU's and a GPU's results."""
    build.two_machines(tmp_path)
    return rl.load(tmp_path)


def _results(tmp_path: Path, *records: Record | None, **session: Any) -> Results:
    session.setdefault("roofs", build.roofs())
    build.result(tmp_path / "a.json", records, of=build.session(**session))
    return rl.load(tmp_path)


def _timed() -> Record:
    """Two operations of 20 and 40 ms of a step of 100 ms."""
    operations = (build.operation(time_s=0.02, kind="convolution"), build.operation(time_s=0.04, shape="2x2"))
    return build.timed(*operations)


PLOTS: dict[str, Callable[..., Axes]] = {
    "roofline": rl.plot.roofline,
    "throughput": rl.plot.throughput,
    "variability": rl.plot.variability,
    "operations": rl.plot.operations,
    "levels": rl.plot.levels,
}


@pytest.mark.parametrize("name", PLOTS)
def test_axes_go_in_and_out(tmp_path: Path, name: str) -> None:
    """Nothing is drawn elsewhere; without axes there is a new figure, which a notebook shows."""
    record = replace(counted(kernel()), operations=_timed().operations, profile=_timed().profile)
    results = _results(tmp_path, record)
    figure, (left, right) = pyplot.subplots(1, 2, layout="constrained")
    assert PLOTS[name](results, ax=right) is right
    assert right.has_data()
    assert not left.has_data()
    assert pyplot.get_fignums() == [figure.number]
    new = PLOTS[name](results)
    assert len(pyplot.get_fignums()) == 2
    assert new.get_figure() is pyplot.gcf()
    assert new.get_title(loc="left")


def test_the_roofline_has_a_machines_cases_under_its_roofs(machines: Results) -> None:
    """The same as the command's: a marker for each case, values at the roofs, colours in the legend."""
    axes = rl.plot.roofline(machines, machine="epyc-2cpu", case="resnet50")
    markers = [line for line in axes.lines if len(line.get_xdata()) == 1]  # type: ignore[arg-type]
    rows = machines.cases[machines.cases["case"].str.contains("resnet50") & (machines.cases["machine"] == "epyc-2cpu")]
    assert len(markers) == len(rows) > 0
    assert sorted(float(one.get_ydata()[0]) for one in markers) == [  # type: ignore[index]
        pytest.approx(value) for value in sorted(rows["attained_flop_per_s"])
    ]
    legend = axes.get_legend()
    assert legend is not None
    assert "resnet50" in [text.get_text() for text in legend.get_texts()]
    assert axes.get_title(loc="left") == "epyc-2cpu · AMD EPYC 7B13"
    assert any(text.get_text().startswith("fp32  121 GFLOP/s") for text in axes.texts)


def test_the_label_of_a_memory_roof_lies_along_it_in_any_shape(tmp_path: Path) -> None:
    """Even where the axes are given another shape later."""
    axes = rl.plot.roofline(_results(tmp_path, build.record()))
    label = next(text for text in axes.texts if text.get_text().startswith("DRAM"))
    for size in ((12, 3), (4, 9)):
        figure = pyplot.gcf()
        figure.set_size_inches(size)
        figure.draw_without_rendering()
        ends = axes.transData.transform([(1.0, 1e11), (10.0, 1e12)])
        across, up = ends[1] - ends[0]
        assert label.get_rotation() == pytest.approx(
            float(mpl.transforms.np.degrees(mpl.transforms.np.arctan2(up, across)))
        )


def test_what_cannot_be_placed_is_said_below_the_axes(tmp_path: Path) -> None:
    """Unless neither legend nor notes are wanted."""
    results = _results(tmp_path, build.record(), build.record(case=build.case(id="bare"), work=None))
    said = [text.get_text() for text in rl.plot.roofline(results).texts]
    assert any(text.startswith("Not drawn: bare: ") for text in said)
    axes = rl.plot.roofline(results, legend=False)
    assert not any("Not drawn" in text.get_text() for text in axes.texts)
    assert axes.get_legend() is None


def test_throughput_is_of_one_mode(tmp_path: Path) -> None:
    """Against batch size; where there are two, one has to be chosen."""
    results = _results(
        tmp_path,
        *(build.record(case=build.case(batch=batch), timing=build.timing(0.1)) for batch in (8, 32)),
        build.record(case=build.case(mode="infer", batch=1)),
    )
    axes = rl.plot.throughput(results, mode="train")
    (bars,) = axes.containers
    assert [int(x) for x in bars[0].get_xdata()] == [8, 32]
    assert [float(y) for y in bars[0].get_ydata()] == [pytest.approx(80), pytest.approx(320)]
    assert axes.get_title(loc="left").endswith("training")
    with pytest.raises(ValueError, match=r"several modes: give mode='train' or 'infer'"):
        rl.plot.throughput(results)
    with pytest.raises(ValueError, match=r"no throughput of mode 'input' here: there is 'train' or 'infer'"):
        rl.plot.throughput(results, mode="input")


def _drawn(axes: Axes, label: str) -> list[tuple[float, float]]:
    """Places of what is drawn under this label, by their height."""
    found = [
        (round(float(x), 6), float(y))
        for line in axes.lines
        if line.get_label() == label
        for x, y in zip(line.get_xdata(), line.get_ydata(), strict=True)  # type: ignore[arg-type]
    ]
    return sorted(found, key=lambda place: place[1])


def _rounds(*steps_s: float, disturbed: tuple[str | None, ...] | None = None, **changes: Any) -> Record:
    """Two steps a round."""
    rounds = Rounds(steps=2, wall_s=tuple(2 * one for one in steps_s), disturbed=disturbed)
    return build.record(timing=build.timing(0.1, rounds=rounds, **changes))


def test_variability_has_every_round_and_repeat_relative_to_the_median(tmp_path: Path) -> None:
    """Rounds in their order from the top; a disturbed one has a marker of its own."""
    record = _rounds(0.1, 0.09, 0.11, disturbed=(None, None, "another program"), repeat_step_time_s=(0.095, 0.1))
    axes = rl.plot.variability(_results(tmp_path, record))
    assert [x for x, _ in _drawn(axes, "_rounds")] == [0, -0.1]
    assert [x for x, _ in _drawn(axes, "_disturbed")] == [0.1]
    assert _drawn(axes, "_disturbed")[0][1] > _drawn(axes, "_rounds")[-1][1]
    assert axes.yaxis_inverted()
    assert sorted(x for x, _ in _drawn(axes, "_repeats")) == [-0.05, 0]
    assert {x for x, _ in _drawn(axes, "_step time")} == {0}
    assert "3 rounds, 1 disturbed" in [text.get_text() for text in axes.texts]
    assert [label.get_text() for label in axes.get_yticklabels()] == ["resnet50-train-b32-fp32"]


def test_variability_has_all_sessions_of_a_case(tmp_path: Path) -> None:
    """Of several cases a row each, with the sessions one after the other; of one case a row for each session."""
    sessions.side(tmp_path, {"resnet50": 0.1, "vgg16": 0.2}, count=3)
    results = rl.load(tmp_path)
    axes = rl.plot.variability(results)
    assert len(axes.get_yticks()) == 2
    assert sum("3 sessions" in text.get_text() for text in axes.texts) == 2
    assert len(_drawn(axes, "_rounds")) + len(_drawn(axes, "_disturbed")) == len(results.rounds)
    one = rl.plot.variability(results, case="vgg16")
    assert len(one.get_yticks()) == 3
    assert one.get_title(loc="left").startswith("vgg16")


def test_variability_stands_machines_beside_each_other(machines: Results) -> None:
    """Of one case; a label names one of them."""
    case = "resnet50-train-b16-fp32"
    labels = [label.get_text() for label in rl.plot.variability(machines, case=case).get_yticklabels()]
    assert labels == ["epyc-2cpu", "a100"]
    (label,) = rl.plot.variability(machines, machine="a100", case=case).get_yticklabels()
    assert label.get_text() == case


def test_variability_keeps_the_end_of_a_long_name(tmp_path: Path) -> None:
    """There stand batch size and precision, by which the cases of a model differ."""
    names = [f"{'long_' * 12}model-train-b{batch}-amp_bf16" for batch in (8, 16)]
    results = _results(tmp_path, *(build.record(case=build.case(id=name)) for name in names))
    labels = [label.get_text() for label in rl.plot.variability(results).get_yticklabels()]
    assert [label[-16:] for label in labels] == ["rain-b8-amp_bf16", "ain-b16-amp_bf16"]
    assert all(label.startswith("long_") and len(label) == 46 for label in labels)


def test_variability_keeps_long_names_of_machines_apart(tmp_path: Path) -> None:
    """Those that differ in their middle alone begin there, and so do names of cases in the room that is left."""
    machines = [f"frankfurt-node-{number}-of-the-clusters-a100" for number in (1, 2)]
    cases = [build.record(case=build.case(id=f"resnet{depth}-train-b32-fp32-channels_last")) for depth in (18, 50)]
    for machine in machines:
        build.result(tmp_path / f"{machine}.json", cases, on=build.machine(machine))
    labels = [label.get_text() for label in rl.plot.variability(rl.load(tmp_path)).get_yticklabels()]
    assert {label.partition(" · ")[2] for label in labels} == {f"…{number}-of-the-clusters-a100" for number in (1, 2)}
    assert len({*labels}) == 4


def test_ticks_of_variability_say_what_they_are(tmp_path: Path) -> None:
    """Whatever step they have; and few stand on narrow axes."""
    results = _results(tmp_path, _rounds(0.1, 0.083, 0.1, 0.117))
    for width in (3, 8, 16):
        pyplot.figure(figsize=(width, 2))
        axes = rl.plot.variability(results, ax=pyplot.axes(), legend=False)
        pyplot.gcf().draw_without_rendering()
        ticks = [(tick.get_loc(), tick.label1.get_text().replace("−", "-")) for tick in axes.xaxis.get_major_ticks()]  # noqa: RUF001
        assert len(ticks) > 1
        assert all(100 * place == pytest.approx(float(text), abs=1e-6) for place, text in ticks)
        assert overlapping((text.get_text(), box_of(text)) for text in shown_texts(pyplot.gcf())) == []


def test_variability_of_far_away_rounds_keeps_the_near_ones_apart(tmp_path: Path) -> None:
    """Ten times the median, and one percent beside it."""
    axes = rl.plot.variability(_results(tmp_path, _rounds(0.1, 0.101, 1.0)))
    assert axes.get_xscale() == "symlog"
    assert axes.get_xlim()[1] > 9
    places = axes.transAxes.inverted().transform(axes.transData.transform([(0, 0), (0.1, 0)]))
    assert places[1][0] - places[0][0] > 0.15
    assert overlapping((text.get_text(), box_of(text)) for text in shown_texts(pyplot.gcf())) == []


@pytest.mark.parametrize(
    ("rounds_s", "inches", "ticks"),
    [
        ((0.1, 0.082, 0.168), 8, "-20 -10 -5 0 +5 +10 +20 +30 +50"),
        ((0.1, 0.082, 0.168), 3, "-10 -5 0 +5 +10 +50"),
        ((0.1, 0.1, 0.131), 8, "0 +5 +10 +20 +30"),
        ((0.1, 0.001, 100.0), 8, "-100 -30 -10 -5 0 +5 +10 +30 +100 +1000 +10000"),
    ],
)
def test_ticks_of_a_logarithmic_axis(rounds_s: tuple[float, ...], inches: float, ticks: str, tmp_path: Path) -> None:
    """They stand wherever the range reaches, as many as have room; and the title says what the axis is."""
    pyplot.figure(figsize=(inches, 2))
    axes = rl.plot.variability(_results(tmp_path, _rounds(*rounds_s)), ax=pyplot.axes(), legend=False)
    assert " ".join(label.get_text() for label in axes.get_xticklabels()) == ticks
    assert axes.get_xlabel().endswith("(%; logarithmic beyond ±10 %)")
    assert overlapping((text.get_text(), box_of(text)) for text in shown_texts(pyplot.gcf())) == []


def test_variability_of_another_projects_file_and_an_invalid_case(tmp_path: Path) -> None:
    """Its rounds are steps, and nothing marks them; an invalid one is called so."""
    build.write(tmp_path / "other.json", sessions.foreign({"test_a": (0.1, 0.2, 0.1)}))
    build.result(tmp_path / "a.json", [build.record(flags=(Flag(name="x", evidence="x", invalid=True),))])
    axes = rl.plot.variability(rl.load(tmp_path))
    assert [label.get_text() for label in axes.get_yticklabels()] == [
        *("resnet50-train-b32-fp32 · epyc-2cpu", "test_a · host"),
    ]
    assert [text.get_text() for text in axes.texts] == ["20 rounds, invalid", "3 rounds"]
    assert len(_drawn(axes, "_rounds")) == 23


def test_variability_of_very_many_cases_has_those_that_vary_most(tmp_path: Path) -> None:
    """And says how many it leaves out."""
    quiet = [replace(_rounds(0.1, 0.1), case=build.case(id=f"quiet{index}")) for index in range(65)]
    loud = replace(_rounds(0.1, 0.12), case=build.case(id="varies"))
    axes = rl.plot.variability(_results(tmp_path, *quiet, loud))
    labels = [label.get_text() for label in axes.get_yticklabels()]
    assert len(labels) == 60
    assert labels[-1] == "varies"
    assert "Not drawn: 6 cases that vary less" in words(axes.figure)  # type: ignore[arg-type]


@pytest.mark.parametrize("draw", PLOTS.values(), ids=PLOTS)
def test_what_is_no_results_is_refused(tmp_path: Path, draw: Callable[..., Axes]) -> None:
    """As a path, or one of their frames."""
    results = _results(tmp_path, build.record())
    for given, kind in ((str(tmp_path), "str"), (results.cases, "DataFrame")):
        with pytest.raises(TypeError, match=rf"^{kind}: a figure takes what roofline\.load\('results/'\) returns"):
            draw(given)


def test_operations_under_the_roofs_or_as_bars(tmp_path: Path) -> None:
    """40 ms have twice the area of 20; the longest bar is at the top."""
    results = _results(tmp_path, _timed(), build.record(case=build.case(model="vgg16")))
    axes = rl.plot.operations(results)
    sizes = [float(one.get_sizes()[0]) for one in axes.collections]  # type: ignore[attr-defined]
    assert sizes[0] == pytest.approx(2 * sizes[1])
    legend = axes.get_legend()
    assert legend is not None
    assert {"convolution", "matmul"} <= {text.get_text() for text in legend.get_texts()}
    bars = rl.plot.operations(results, kind="bar", case="resnet50")
    assert [label.get_text() for label in bars.get_yticklabels()][-1] == "matmul"
    with pytest.raises(ValueError, match="no kind 'pie' here: there is 'roofline' or 'bar'"):
        rl.plot.operations(results, kind="pie")  # type: ignore[arg-type]


def test_levels_names_the_kernels_that_it_numbers(tmp_path: Path) -> None:
    """Below the axes."""
    axes = rl.plot.levels(_results(tmp_path, counted(kernel()), build.record(case=build.case(model="vgg16"))))
    assert any(text.get_text().startswith("1  100 %  gemm") for text in axes.texts)


@pytest.mark.parametrize(
    ("name", "arguments", "message"),
    [
        ("roofline", {}, r"several machines: give machine='a100' or 'epyc-2cpu'"),
        ("throughput", {"machine": "h100"}, r"no machine 'h100' in the results: there is a100, epyc-2cpu"),
        ("variability", {"case": "bert"}, r"no case is or has 'bert': there is resnet18-train-b16-fp32"),
        ("operations", {}, r"no times of its operations: resnet18-train-b16-fp32: "),
        ("levels", {"case": "vgg16", "machine": "a100"}, r"no hardware counters: vgg16-train-b16-fp32: no hardware"),
    ],
)
def test_errors_name_what_there_is(machines: Results, name: str, arguments: dict[str, str], message: str) -> None:
    """Several machines, none of this name, no such case, or nothing of the kind in it."""
    with pytest.raises(ValueError, match=message):
        PLOTS[name](machines, **arguments)


def test_one_of_several_cases_has_to_be_chosen(tmp_path: Path) -> None:
    """Where more than one could be drawn."""
    results = _results(tmp_path, _timed(), replace(_timed(), case=build.case(model="vgg16")))
    with pytest.raises(ValueError, match=r"give case=, one of resnet50-train-b32-fp32, vgg16-train-b32-fp32"):
        rl.plot.operations(results)
    assert rl.plot.operations(results, case="vgg").get_title(loc="left").startswith("vgg16-train-b32-fp32")


@pytest.mark.parametrize("name", ["roofline", "throughput", "variability"])
def test_texts_keep_apart(machines: Results, name: str) -> None:
    """On a figure of its own, whose layout makes room for what stands around the axes."""
    arguments = {"mode": "train"} if name == "throughput" else {}
    figure = PLOTS[name](machines, machine="a100", **arguments).figure
    figure.draw_without_rendering()
    shown = [(text.get_text(), box_of(text)) for text in shown_texts(figure) if text.get_rotation() in (0, 90)]
    assert len(shown) > 3
    assert overlapping(shown) == []
    for text, box in shown:
        assert figure.bbox.x0 <= box.x0, text
        assert box.x1 <= figure.bbox.x1, text
