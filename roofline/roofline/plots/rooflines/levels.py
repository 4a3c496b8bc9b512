"""One case as a hierarchical roofline: the same FLOP/s at the intensity that each level of memory sees.

Intensity of a level = FLOP / byte that hardware counters saw pass there (Yang, Kurth, Williams 2020, "Hierarchical
Roofline analysis for GPUs"). The nearer two levels' points lie, the less the cache between them holds back; a point on
its own level's roof is bound by that level.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from roofline.counters.counted_kernels import CountedKernel, counted_kernels, without_flop
from roofline.model.counter_values import counters_of, roof_name
from roofline.model.points import Point
from roofline.plots.layout import figure_of
from roofline.plots.rooflines.roofline_axes import draw_roofs
from roofline.plots.rooflines.roofline_content import Spot
from roofline.plots.style import DARK, FAINT, NoFigure, handle
from roofline.schema.amounts import total_of, usable
from roofline.schema.record import Counters
from roofline.show.step.step_notes import heading, kernel, plain_kernel
from roofline.text.units import counted, percent

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure
    from matplotlib.lines import Line2D

_AXES_HEIGHT = 5.2
"""Inches."""

_WHOLE_AREA = 3000.0
"""Points squared of a circle that stands for all of the kernels' time: areas are proportional to time."""
_LEAST_AREA = 6.0
_LARGEST = 10
"""Kernels that are drawn and named."""
_NAME = 64
_LINES = ("bytes of each level as hardware counters saw them; crosses: the step, at the FLOP/s of the timed step;",)
_KERNELS = "circles: its kernels, at the FLOP/s of their time under the counters, area their share of it"


@dataclass(frozen=True, slots=True)
class _Level:
    name: str
    color: str
    quantity: str


_LEVELS = (
    _Level("L1", "#009E73", "l1_byte"),
    _Level("L2", "#E69F00", "l2_byte"),
    _Level("DRAM", "#0072B2", "dram_byte"),
)


@dataclass(frozen=True, slots=True)
class _Series:
    """The same FLOP/s at each level that is known: pairs of the level and FLOP/byte, at least one."""

    attained: float
    places: tuple[tuple[_Level, float], ...]

    @property
    def spot(self) -> Spot:
        across = [intensity for _, intensity in self.places]
        return Spot(min(across), max(across), self.attained)


@dataclass(frozen=True, slots=True)
class _Kernel:
    """A kernel that is drawn. ``share`` is of all kernels' time."""

    kernel: CountedKernel
    share: float
    series: _Series


class Levels:
    """The step of one case, and its longest kernels, at the intensity of each level; ``footer`` names the kernels.

    :raises NoFigure: it has no hardware counters, or no place under roofs.
    """

    def __init__(self, point: Point) -> None:
        record = point.benchmark.record
        if record is None:
            raise NoFigure("no record of its work")
        if point.why_not_drawn is not None:
            raise NoFigure(point.why_not_drawn)
        if (counters := counters_of(record)) is None:
            status = "none in the record" if record.counters is None else record.counters.status.replace("_", " ")
            raise NoFigure(f"no hardware counters ({status})")
        if (whole := _step(point, counters)) is None:
            raise NoFigure("the counters have no bytes of any level")
        kernels = counted_kernels(record, point.roofs)
        self._point, self._whole, self._drawn = point, whole, _drawable(kernels)
        self._dtypes = _dtypes(point, counters)
        self.lines = [*_LINES, _KERNELS] if self._drawn else [_LINES[0].rstrip(";")]
        self.footer = _footer(point, kernels, self._drawn)
        self.legend = _legend(whole, self._drawn)

    def draw(self, axes: Axes) -> None:
        """Draw on ``axes``."""
        spots = [self._whole.spot, *(one.series.spot for one in self._drawn)]
        draw_roofs(axes, self._point.roofs, spots, self._dtypes)
        _draw_kernels(axes, self._drawn)
        _draw_step(axes, self._whole)


def levels_figure(point: Point) -> Figure:
    """The figure of one case.

    :raises NoFigure: as of `Levels`.
    """
    return figure_of(Levels(point), heading(point), height=_AXES_HEIGHT)


def _step(point: Point, counters: Counters) -> _Series | None:
    place = point.placement
    if place.attained_flop_per_s is None or place.time_s is None:
        return None
    flop = place.attained_flop_per_s * place.time_s
    return _series(place.attained_flop_per_s, flop, [(level, getattr(counters, level.quantity)) for level in _LEVELS])


def _series(attained: float, flop: float, levels: Sequence[tuple[_Level, float | None]]) -> _Series | None:
    if not usable(attained) or not usable(flop):
        return None
    places = tuple((level, flop / byte) for level, byte in levels if byte is not None and usable(byte))
    return _Series(attained, places) if places else None


def _drawable(kernels: Sequence[CountedKernel]) -> list[_Kernel]:
    """The longest of the kernels that have FLOPs, bytes and a time."""
    whole_s = total_of(one.time_s or 0.0 for one in kernels) or 0.0
    found = []
    for one in kernels:
        if one.flop_per_s is None or one.flop is None or one.time_s is None:
            continue
        series = _series(one.flop_per_s, one.flop, [(level, one.byte[level.quantity]) for level in _LEVELS])
        if series is not None:
            found.append(_Kernel(one, one.time_s / whole_s, series))
    return sorted(found, key=lambda one: -one.share)[:_LARGEST]


def _dtypes(point: Point, counters: Counters) -> set[str]:
    """Types that the step computed in: as the counters have it, else as it was counted."""
    pipes = {roof_name(pipe) for pipe, flop in (counters.flop_by_pipe or {}).items() if flop > 0}
    record = point.benchmark.record
    counted = set() if record is None or record.work is None else record.work.dtypes
    return {pipe for pipe in pipes if pipe is not None} or counted


def _draw_step(axes: Axes, whole: _Series) -> None:
    across = [intensity for _, intensity in whole.places]
    axes.plot(across, [whole.attained] * len(across), color="black", linewidth=1.2, zorder=5)
    for level, intensity in whole.places:
        axes.plot(
            [intensity],
            [whole.attained],
            linestyle="",
            marker="X",
            markersize=12,
            color=level.color,
            markeredgecolor="black",
            markeredgewidth=0.9,
            zorder=7,
        )


def _draw_kernels(axes: Axes, drawn: Sequence[_Kernel]) -> None:
    for number, one in enumerate(drawn, 1):
        attained, places = one.series.attained, one.series.places
        across = [intensity for _, intensity in places]
        axes.plot(across, [attained] * len(across), color=FAINT, linewidth=0.8, zorder=3)
        for level, intensity in places:
            axes.scatter(
                [intensity],
                [attained],
                s=max(_LEAST_AREA, _WHOLE_AREA * one.share),
                color=level.color,
                alpha=0.55,
                edgecolors="white",
                linewidths=0.5,
                zorder=4,
            )
        # The last level's point is the rightmost as a rule: the number stands beside it, clear of its own circle.
        radius = math.sqrt(max(_LEAST_AREA, _WHOLE_AREA * one.share)) / 2
        axes.annotate(
            str(number),
            (max(across), attained),
            xytext=(radius + 3, 0),
            textcoords="offset points",
            va="center",
            fontsize=8,
            color=DARK,
            zorder=6,
        )


def _legend(whole: _Series, drawn: Sequence[_Kernel]) -> list[Line2D]:
    handles = [handle(level.name, color=level.color) for level, _ in whole.places]
    handles.append(handle("the step", marker="X", linestyle="-", color="black", markersize=9))
    if drawn:
        share = 0.1
        size = math.sqrt(_WHOLE_AREA * share)
        handles.append(handle(f"{percent(share)} of the kernels' time", color=FAINT, markersize=size))
    return handles


def _footer(point: Point, kernels: Sequence[CountedKernel], drawn: Sequence[_Kernel]) -> list[str]:
    lines = [
        f"{number}  {percent(one.share)}  {one.kernel.kind} ({one.kernel.limit}: {one.kernel.why}):"
        f" {kernel(plain_kernel(one.kernel.name), _NAME)}"
        for number, one in enumerate(drawn, 1)
    ]
    shown = {id(one.kernel) for one in drawn}
    others = [one for one in kernels if id(one) not in shown]
    if others and drawn:
        without = sum(1 for one in others if one.flop == 0)
        share = percent(max(0.0, 1 - sum(one.share for one in drawn)))
        told = f"Not drawn: {counted(len(others), 'kernel')} with {share} of the kernels' time"
        lines.append(f"{told}, {without} of them without a FLOP" if without else told)
    unread = without_flop(kernels)
    if unread is not None:
        lines.append(f"{unread[0].upper()}{unread[1:]}: they have no circle.")
    if point.roofs.get("byte", "llc") is None:
        lines.append("No roof of L1 and L2 is measured.")
    else:
        lines.append("The last-level cache's roof is that of L2; of L1 none is measured.")
    return [*lines, *point.roofs.notices]
