"""A case at each level of memory: the same FLOP/s, an intensity a level, kernels with an area of their time."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from roofline.model.points import Point
from roofline.plots.layout import figure_of
from roofline.plots.rooflines.levels import Levels
from roofline.plots.style import NoFigure
from roofline.schema.record import Counters, Flag, Record
from tests.roofline import build
from tests.roofline.conftest import Run
from tests.roofline.kernels import ADD, CONVOLUTION, DEVICE, TENSOR_GEMM, counted, kernel
from tests.roofline.plots.figure_texts import overlaps, words

if TYPE_CHECKING:
    from matplotlib.figure import Figure

_ROOFS = (
    *build.roofs(1e13, 1e12),
    build.roof("flop", "bf16", 1e14),
    build.roof("byte", "llc", 4e12),
)


def _point(tmp_path: Path, record: Record, roofs: Any = _ROOFS) -> Point:
    (point,) = build.points(tmp_path / "a.json", [record], of=build.session(roofs))
    return point


def _figure(point: Point) -> Figure:
    return figure_of(Levels(point), "title")


def _step() -> Record:
    """Kernels of 10, 20 and 5 ms, and one without a FLOP; 6e11 FLOP in 100 ms."""
    return counted(
        kernel(),
        kernel(TENSOR_GEMM, flop_by_pipe={"tensor_bf16": 4e11}, time_s=0.02, dram_byte=5e9),
        kernel(CONVOLUTION, time_s=0.005, l1_byte=None),
        kernel(ADD, flop_by_pipe={}, time_s=0.005),
    )


def _crosses(figure: Figure) -> list[tuple[float, float]]:
    return [
        (float(line.get_xdata()[0]), float(line.get_ydata()[0]))  # type: ignore[index]
        for line in figure.axes[0].lines
        if line.get_marker() == "X"
    ]


@pytest.mark.parametrize(
    ("record", "attained", "intensities"),
    [
        # 6e11 FLOP over 16 and 8 GB; L1 is not known of every kernel, so not of the step.
        (_step(), 6e12, (37.5, 75)),
        (counted(kernel()), 1e12, (10, 25, 100)),
    ],
    ids=["two levels", "three levels"],
)
def test_the_step_stands_at_every_level(
    tmp_path: Path, record: Record, attained: float, intensities: tuple[float, ...]
) -> None:
    """By the timed step, not by the counters' times; from L1 to DRAM it grows by what the caches hold back."""
    figure = _figure(_point(tmp_path, record))
    assert _crosses(figure) == [(pytest.approx(x), pytest.approx(attained)) for x in intensities]


def test_kernels_have_an_area_of_their_time(tmp_path: Path) -> None:
    """20 ms and 10: twice the area, at the FLOP/s of their own time, at each level that is known of them."""
    upper = _figure(_point(tmp_path, _step())).axes[0]
    found = [(tuple(float(x) for x in one.get_offsets()[0]), float(one.get_sizes()[0])) for one in upper.collections]
    places = [place for place, _ in found]
    assert places[:3] == [(pytest.approx(x), pytest.approx(2e13)) for x in (40, 100, 80)]
    assert places[3:6] == [(pytest.approx(x), pytest.approx(1e13)) for x in (10, 25, 100)]
    assert places[6:] == [(pytest.approx(x), pytest.approx(2e13)) for x in (25, 100)]
    assert found[0][1] == pytest.approx(2 * found[3][1]) == pytest.approx(4 * found[6][1])


def test_kernels_are_named_and_what_is_not_drawn_is_said(tmp_path: Path) -> None:
    """With their share, kind and bound; that of L1 no roof is measured."""
    found = words(_figure(_point(tmp_path, _step())))
    assert "1  50 %  gemm (memory: DRAM): cutlass_80_tensorop_bf16_s16816gemm_bf16_256x128_32x3_" in found
    assert "2  25 %  gemm (compute: CUDA cores (fp32)): ampere_sgemm_128x64_tn" in found
    assert "Not drawn: 1 kernel with 12 % of the kernels' time, 1 of them without a FLOP" in found
    assert "The last-level cache's roof is that of L2; of L1 none is measured." in found
    assert "Not drawn" not in words(_figure(_point(tmp_path, counted(kernel()))))


def test_kernels_whose_flops_are_only_a_part_are_not_drawn(tmp_path: Path) -> None:
    """What the CUDA cores did of a product on tensor cores is no point of it."""
    figure = _figure(_point(tmp_path, counted(kernel(), kernel(TENSOR_GEMM))))
    assert len(figure.axes[0].collections) == 3
    found = words(figure)
    assert "Not drawn: 1 kernel with 50 % of the kernels' time" in found
    assert "The FLOPs of 1 of 2 kernels were not read (its name tells of tensor cores" in found


def test_without_roofs_and_without_kernels(tmp_path: Path) -> None:
    """There is a figure all the same, and it says what it lacks."""
    bare = build.record(counters=Counters(status="ok", flop=1e11, dram_byte=1e9))
    found = words(_figure(_point(tmp_path, bare, ())))
    assert "No roof of L1 and L2 is measured." in found
    assert "circles" not in found


def test_texts_keep_apart(tmp_path: Path) -> None:
    """No line of text lies on another, but for the numbers of kernels that lie beside each other."""
    found = overlaps(_figure(_point(tmp_path, _step())))
    assert [pair for pair in found if max(map(len, pair)) > 5] == []


@pytest.mark.parametrize(
    ("record", "why"),
    [
        (build.record(), "no hardware counters (none in the record)"),
        (build.record(counters=Counters(status="permission_denied")), "no hardware counters (permission denied)"),
        (build.record(counters=Counters(status="ok", flop=1e11)), "the counters have no bytes of any level"),
        (counted(kernel(), timing=None), "invalid: no_step_time"),
        (counted(kernel(), flags=(Flag(name="profiled", evidence="nsys", invalid=True),)), "invalid: profiled"),
    ],
    ids=["none", "refused", "no bytes", "no time", "invalid"],
)
def test_what_has_no_figure_says_why(tmp_path: Path, record: Record, why: str) -> None:
    """For the note that stands in its place."""
    with pytest.raises(NoFigure) as caught:
        _figure(_point(tmp_path, record))
    assert str(caught.value) == why


def test_the_command_draws_each_case_that_has_counters(run: Run, tmp_path: Path) -> None:
    """One file a case, and a line for those without."""
    records = [
        counted(kernel()),
        build.record(case=build.case(model="vgg16"), device=DEVICE),
        build.record(case=build.case(mode="roof"), device=DEVICE),
    ]
    path = build.write(tmp_path / "a.json", build.document(records, of=build.session(_ROOFS), on=build.machine()))
    code, out, err = run("plot", path, "--levels", "-o", tmp_path / "figures")
    assert code == 0
    assert out == f"{tmp_path / 'figures' / 'levels-epyc-2cpu-resnet50-train-b32-fp32.png'}\n"
    assert (tmp_path / "figures" / "levels-epyc-2cpu-resnet50-train-b32-fp32.png").read_bytes().startswith(b"\x89PNG")
    assert err == "not drawn, no hardware counters (none in the record): vgg16-train-b32-fp32\n"


def test_no_counters_at_all_is_exit_code_3(run: Run, one: Path) -> None:
    """With how to get them; the many cases without are a line."""
    code, out, err = run("plot", one, "--levels")
    assert (code, out) == (3, "")
    assert " more\nError: nothing to draw: no case has hardware counters. Count with pytest --roofline-ncu.\n" in err
