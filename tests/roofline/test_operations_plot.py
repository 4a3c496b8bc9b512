"""The figure of a step taken apart: areas are time, nothing is left out unsaid, texts keep apart."""

from itertools import combinations
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
from matplotlib.text import Text

from roofline.devices import load
from roofline.operation_tables import taken_apart
from roofline.operations_plot import operations_figure
from roofline.points import points_of
from roofline.record import Device, Operation, Record
from tests.roofline import build

if TYPE_CHECKING:
    from matplotlib.figure import Figure

_DEVICE = Device(kind="cpu", name="cpu", last_level_cache_byte=10**6)


def _operation(time_s: float, **changes: Any) -> Operation:
    return build.operation(**{"flop": 1e10, "byte": 1e8, "working_set_byte": 1e9, "time_s": time_s, **changes})


def _figure(tmp_path: Path, record: Record, roofs: Any = None) -> "Figure":
    session = build.session(build.roofs(1e12, 1e10) if roofs is None else roofs)
    taken, _ = taken_apart(points_of(build.result(tmp_path / "a.json", [record], of=session), load()))
    return operations_figure(taken[0].point, taken[0].step)


def _step() -> Record:
    return build.timed(
        _operation(0.02, kind="convolution"),
        _operation(0.04, kind="matmul", byte=1e7),
        _operation(0.03, kind="normalisation", flop=0),
        _operation(0.00009, kind="rnn", shape="small"),
        device=_DEVICE,
        work=build.work(2e10, 1e9, 4e9),
    )


def _words(figure: "Figure") -> str:
    return "\n".join(text.get_text() for text in figure.findobj(Text))


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
    words = _words(_figure(tmp_path, _step()))
    assert "Operations without matrix products or convolutions, 30 % of the step" in words
    assert "Not drawn: 1 operations of less than 0.10 % each, 0.090 % together." in words
    assert "1 operations, 0.090 % of the step, are faster than their own speed of light" in words


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
    assert "nan" not in _words(figure)


def test_texts_keep_apart_and_inside(tmp_path: Path) -> None:
    """No label lies on another, and none is cut off at the edge."""
    figure = _figure(tmp_path, _step())
    figure.draw_without_rendering()
    shown = [text for text in figure.findobj(Text) if text.get_visible() and text.get_text().strip()]
    labels = [text for text in shown if text.axes is None or text not in figure.axes[0].get_xticklabels()]
    boxes = [(text.get_text(), Text.get_window_extent(text)) for text in labels if text.get_rotation() in (0, 90)]
    inside = [box for _, box in boxes if figure.bbox.overlaps(box)]
    assert len(inside) > 10
    for text, box in boxes:
        if "%" in text or "outside" in text:
            assert figure.bbox.x0 <= box.x0, text
            assert box.x1 <= figure.bbox.x1, text
    named = [(text, box) for text, box in boxes if len(text) > 12]
    assert not [
        (one, other)
        for (one, first), (other, second) in combinations(named, 2)
        if first.padded(-1).overlaps(second.padded(-1))
    ]
