"""The figure of a step taken apart: areas are time, nothing is left out unsaid, texts keep apart."""

from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from roofline.plots.rooflines.operation_bars import step_figure
from roofline.schema.record import Device, Operation, OutsideTime, Record
from tests.roofline import build
from tests.roofline.plots.figure_texts import overlaps, words

if TYPE_CHECKING:
    from matplotlib.figure import Figure

_DEVICE = Device(kind="cpu", name="cpu", last_level_cache_byte=10**6)


def _operation(time_s: float, **changes: Any) -> Operation:
    return build.operation(**{"flop": 1e10, "byte": 1e8, "working_set_byte": 1e9, "time_s": time_s, **changes})


def _figure(tmp_path: Path, record: Record, roofs: Any = None) -> "Figure":
    session = build.session(build.roofs(1e12, 1e10) if roofs is None else roofs)
    (point,) = build.points(tmp_path / "a.json", [record], of=session)
    return step_figure(point)


def _step() -> Record:
    return build.timed(
        _operation(0.02, kind="convolution"),
        _operation(0.04, kind="matmul", byte=1e7),
        _operation(0.03, kind="normalisation", flop=0),
        _operation(0.00009, kind="rnn", shape="small"),
        device=_DEVICE,
        work=build.work(2e10, 1e9, 4e9),
    )


def test_operations_stand_at_their_intensity_with_an_area_of_their_time(tmp_path: Path) -> None:
    """40 and 20 ms: areas 2 : 1, at 1000 and 100 FLOP/byte, 0.25 and 0.5 TFLOP/s. No FLOPs, no point."""
    upper = _figure(tmp_path, _step()).axes[0]
    found = [(tuple(float(x) for x in one.get_offsets()[0]), float(one.get_sizes()[0])) for one in upper.collections]
    assert [place for place, _ in found] == [(1000, pytest.approx(2.5e11)), (100, pytest.approx(5e11))]
    assert found[0][1] == pytest.approx(2 * found[1][1])


def test_the_whole_step_is_there_with_its_range(tmp_path: Path) -> None:
    """2e10 FLOP, 1e9 to 4e9 B: 5 to 20 FLOP/byte, at 0.2 TFLOP/s."""
    upper = _figure(tmp_path, _step()).axes[0]
    lines = [([float(x) for x in line.get_xdata()], [float(y) for y in line.get_ydata()]) for line in upper.lines]
    assert ([5.0, 20.0], [pytest.approx(2e11)] * 2) in lines


def test_every_kind_has_its_bar_and_in_it_the_speed_of_light(tmp_path: Path) -> None:
    """Shortest below, what is outside of operations at the foot; 10 ms of arithmetic, 10 ms of traffic."""
    lower = _figure(tmp_path, _step()).axes[1]
    assert [label.get_text() for label in lower.get_yticklabels()] == [
        "outside of operations",
        "rnn",
        "convolution",
        "normalisation",
        "matmul",
    ]
    times, least = ([patch.get_width() for patch in bars] for bars in lower.containers)
    assert times == [pytest.approx(value) for value in (0.00991, 0.00009, 0.02, 0.03, 0.04)]
    assert least == [pytest.approx(value) for value in (0, 0.01, 0.01, 0.01, 0.01)]


def test_what_is_not_drawn_is_said(tmp_path: Path) -> None:
    """30 % without FLOPs; one of 0.09 %; which is faster than its speed of light."""
    found = words(_figure(tmp_path, _step()))
    assert "Operations without matrix products or convolutions, 30 % of the step" in found
    assert "Not drawn: 1 operation of less than 0.10 % each, together 0.090 % of the step." in found
    assert "Faster than their own speed of light: 1 operation with 0.090 % of the step." in found


@pytest.mark.parametrize(
    "record",
    [
        build.timed(_operation(0.12), device=_DEVICE),
        build.timed(_operation(0.0), device=_DEVICE),
        build.timed(_operation(0.01, flop=0, byte=0.0), device=_DEVICE, work=build.work(0.0, 0.0, 0.0)),
    ],
    ids=["more than the step", "no time", "no work"],
)
@pytest.mark.parametrize("roofs", [(), build.roofs(1e12, 1e10)], ids=["no roofs", "roofs"])
def test_it_never_fails(tmp_path: Path, record: Record, roofs: Any) -> None:
    """Whatever was measured: there is a figure, and no number in it is not finite."""
    figure = _figure(tmp_path, record, roofs)
    figure.draw_without_rendering()
    assert "nan" not in words(figure)


def test_texts_keep_apart(tmp_path: Path) -> None:
    """No label lies on another."""
    assert overlaps(_figure(tmp_path, _step())) == []


def _legend(figure: "Figure") -> list[str]:
    legend = figure.axes[0].get_legend()
    assert legend is not None
    return [text.get_text() for text in legend.get_texts()]


@pytest.mark.parametrize(
    ("time_s", "sizes"),
    [
        (0.0035, ["0.20 % of the step"]),
        (0.049, ["0.20 % of the step", "1.0 % of the step"]),
        (0.06, ["5.0 % of the step", "20 % of the step", "50 % of the step"]),
        (0.0, []),
    ],
)
def test_the_legends_sizes_are_of_what_is_drawn(tmp_path: Path, time_s: float, sizes: list[str]) -> None:
    """None is larger than the largest operation."""
    step_s = 1.0 if time_s < 0.05 else 0.1
    record = build.timed(_operation(time_s), device=_DEVICE, timing=build.timing(step_s))
    assert [line for line in _legend(_figure(tmp_path, record)) if "step" in line and "whole" not in line] == sizes


def _kernels_figure(tmp_path: Path, *times_s: float) -> "Figure":
    kernels = tuple(
        OutsideTime(name=f"kernel {number} {'x' * 80}", calls=1.0, time_s=time_s)
        for number, time_s in enumerate(times_s)
    )
    record = build.record(
        case=build.case(config={"compile": True}),
        operations=(build.operation(),),
        profile=build.profile(source="kernels", operations_s=0.0, outside=kernels),
        work=build.work(2e10, 1e9, 4e9),
        timing=build.timing(0.1),
    )
    session = build.session(build.roofs(1e12, 1e10))
    (point,) = build.points(tmp_path / "a.json", [record], of=session)
    return step_figure(point)


def test_a_compiled_step_is_one_point_and_the_times_of_its_kernels(tmp_path: Path) -> None:
    """Longest at the top, what is left of the timed step at the foot, and no speed of light, for none is known."""
    figure = _kernels_figure(tmp_path, 0.06, 0.03)
    figure.draw_without_rendering()
    upper, lower = figure.axes
    assert not upper.collections
    assert [float(line.get_xdata()[-1]) for line in upper.lines if list(line.get_ydata()) == [2e11] * 2] == [20.0]
    names = [label.get_text() for label in lower.get_yticklabels()]
    assert [name[:8] for name in names] == ["not seen", "kernel 1", "kernel 0"]
    assert [patch.get_width() for patch in lower.containers[0]] == [pytest.approx(one) for one in (0.01, 0.03, 0.06)]
    assert "speed of light" not in lower.get_xlabel()
    assert "No points for these: what one of them computes and moves is not known." in words(figure)


def test_many_kernels_share_a_bar_and_too_much_time_is_said(tmp_path: Path) -> None:
    """Twenty of 6 ms in a step of 100 ms: six of them together, and 20 ms more than the step."""
    figure = _kernels_figure(tmp_path, *[0.006] * 20)
    lower = figure.axes[1]
    assert [label.get_text() for label in lower.get_yticklabels()][:2] == [
        "not seen by the profiler",
        "6 other kernels",
    ]
    assert [patch.get_width() for patch in lower.containers[0]][:2] == [pytest.approx(-0.02), pytest.approx(0.036)]
    assert "Not seen: negative" in words(figure)
