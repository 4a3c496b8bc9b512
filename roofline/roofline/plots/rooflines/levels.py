"""One case as a hierarchical roofline: the same FLOP/s at the intensity that each level of memory sees.

Intensity of a level = FLOP / byte that hardware counters saw pass there (Yang, Kurth, Williams 2020, "Hierarchical
Roofline analysis for GPUs"). The nearer two levels' points lie, the less the cache between them holds back; a point on
its own level's roof is bound by that level.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from roofline.counters.counted_kernels import CountedKernel, counted_kernels, without_flop
from roofline.model.counter_values import counters_of, roof_name
from roofline.model.points import Point
from roofline.plots.layout import Panel
from roofline.plots.rooflines.roofline import draw_roofs
from roofline.plots.rooflines.roofline_content import Spot
from roofline.plots.style import DARK, FAINT, NoFigure, handle
from roofline.schema.amounts import total_of, usable
from roofline.schema.record import Counters
from roofline.show.step.step_notes import kernel, plain_kernel
from roofline.text.units import counted, percent

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.lines import Line2D

_WHOLE_AREA = 3000.0
"""Points squared of a circle that stands for all of the kernels' time: areas are proportional to time."""
_LEAST_AREA = 6.0
_LARGEST = 10
"""Kernels that are drawn and named."""
_NAME = 64
_STEP = "bytes of each level as hardware counters saw them; crosses: the step, at the FLOP/s of the timed step"
_KERNELS = "circles: its kernels, at the FLOP/s of their time under the counters, area their share of it"


_LEVELS = {"l1_byte": ("L1", "#009E73"), "l2_byte": ("L2", "#E69F00"), "dram_byte": ("DRAM", "#0072B2")}
"""Name and colour of each level, by its counter, in the order from the nearest."""


@dataclass(frozen=True, slots=True, kw_only=True)
class _Series(Spot):
    """The same FLOP/s at each level that is known: ``places`` has its FLOP/byte. ``share`` is of all kernels' time."""

    places: Mapping[str, float]
    share: float = 1.0


class Levels(Panel):
    """The step of one case, and its longest kernels, at the intensity of each level; ``footer`` names the kernels.

    :raises NoFigure: it has no hardware counters, or no place under roofs.
    """

    height = 5.2

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
        drawn = _drawable(kernels)
        self._point, self._whole, self._drawn = point, whole, [series for _, series in drawn]
        self._dtypes = _dtypes(point, counters)
        self.lines = [f"{_STEP};", _KERNELS] if drawn else [_STEP]
        self.footer = _footer(point, kernels, drawn)
        self.legend = _legend(whole, kernels=bool(drawn))

    def draw(self, axes: Axes) -> None:
        """Draw on ``axes``."""
        draw_roofs(axes, self._point.roofs, [self._whole, *self._drawn], self._dtypes)
        _draw_kernels(axes, self._drawn)
        _draw_step(axes, self._whole)


def _step(point: Point, counters: Counters) -> _Series | None:
    attained, time_s = point.placement.attained_flop_per_s, point.placement.time_s
    if attained is None or time_s is None:
        return None
    return _series(attained, attained * time_s, {level: getattr(counters, level) for level in _LEVELS})


def _series(attained: float, flop: float, byte: Mapping[str, float | None], share: float = 1.0) -> _Series | None:
    if not usable(attained) or not usable(flop):
        return None
    places = {level: flop / passed for level in _LEVELS if (passed := byte[level]) is not None and usable(passed)}
    if not places:
        return None
    across = places.values()
    return _Series(low=min(across), high=max(across), attained=attained, places=places, share=share)


def _drawable(kernels: Sequence[CountedKernel]) -> list[tuple[CountedKernel, _Series]]:
    """The longest of the kernels that have FLOPs, bytes and a time."""
    whole_s = total_of(one.time_s or 0.0 for one in kernels) or 0.0
    found = []
    for one in kernels:
        if one.flop_per_s is not None and one.flop is not None and one.time_s is not None:
            series = _series(one.flop_per_s, one.flop, one.byte, one.time_s / whole_s)
            found += [] if series is None else [(one, series)]
    return sorted(found, key=lambda pair: -pair[1].share)[:_LARGEST]


def _dtypes(point: Point, counters: Counters) -> set[str]:
    """Types that the step computed in: as the counters have it, else as it was counted."""
    pipes = {roof_name(pipe) for pipe, flop in (counters.flop_by_pipe or {}).items() if flop > 0}
    record = point.benchmark.record
    counted = set() if record is None or record.work is None else record.work.dtypes
    return {pipe for pipe in pipes if pipe is not None} or counted


def _draw_step(axes: Axes, whole: _Series) -> None:
    axes.plot([whole.low, whole.high], [whole.attained] * 2, color="black", linewidth=1.2, zorder=5)
    for level, intensity in whole.places.items():
        axes.plot(
            [intensity],
            [whole.attained],
            linestyle="",
            marker="X",
            markersize=12,
            color=_LEVELS[level][1],
            markeredgecolor="black",
            markeredgewidth=0.9,
            zorder=7,
        )


def _draw_kernels(axes: Axes, drawn: Sequence[_Series]) -> None:
    for number, one in enumerate(drawn, 1):
        area = max(_LEAST_AREA, _WHOLE_AREA * one.share)
        axes.plot([one.low, one.high], [one.attained] * 2, color=FAINT, linewidth=0.8, zorder=3)
        for level, intensity in one.places.items():
            axes.scatter(
                [intensity],
                [one.attained],
                s=area,
                color=_LEVELS[level][1],
                alpha=0.55,
                edgecolors="white",
                linewidths=0.5,
                zorder=4,
            )
        # The last level's point is the rightmost as a rule: the number stands beside it, clear of its own circle.
        axes.annotate(
            str(number),
            (one.high, one.attained),
            xytext=(math.sqrt(area) / 2 + 3, 0),
            textcoords="offset points",
            va="center",
            fontsize=8,
            color=DARK,
            zorder=6,
        )


def _legend(whole: _Series, *, kernels: bool) -> list[Line2D]:
    handles = [handle(_LEVELS[level][0], color=_LEVELS[level][1]) for level in whole.places]
    handles.append(handle("the step", marker="X", linestyle="-", color="black", markersize=9))
    if kernels:
        share = 0.1
        size = math.sqrt(_WHOLE_AREA * share)
        handles.append(handle(f"{percent(share)} of the kernels' time", color=FAINT, markersize=size))
    return handles


def _footer(
    point: Point, kernels: Sequence[CountedKernel], drawn: Sequence[tuple[CountedKernel, _Series]]
) -> list[str]:
    lines = [
        f"{number}  {percent(series.share)}  {one.kind} ({one.limit}: {one.why}):"
        f" {kernel(plain_kernel(one.name), _NAME)}"
        for number, (one, series) in enumerate(drawn, 1)
    ]
    shown = {id(one) for one, _ in drawn}
    others = [one for one in kernels if id(one) not in shown]
    if others and drawn:
        without = sum(1 for one in others if one.flop == 0)
        share = percent(max(0.0, 1 - sum(series.share for _, series in drawn)))
        text = f"Not drawn: {counted(len(others), 'kernel')} with {share} of the kernels' time"
        lines.append(f"{text}, {without} of them without a FLOP" if without else text)
    unread = without_flop(kernels)
    if unread is not None:
        lines.append(f"{unread[0].upper()}{unread[1:]}: they have no circle.")
    if point.roofs.get("byte", "llc") is None:
        lines.append("No roof of L1 and L2 is measured.")
    else:
        lines.append("The last-level cache's roof is that of L2; of L1 none is measured.")
    return [*lines, *point.roofs.notices]
