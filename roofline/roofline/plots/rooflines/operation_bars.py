"""One step as a figure: what is known of it under the roofs, and below, where its time goes.

Of a step taken apart: its operations, and the time of each kind. Of one that ran fused kernels: the step as one point,
and the time of each kernel.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from roofline.model.operations import Breakdown, TimedOperation, why_untimed
from roofline.model.points import Point
from roofline.plots.layout import beside, draw_around, draw_heading
from roofline.plots.rooflines.roofline import draw_roofs
from roofline.plots.rooflines.roofline_content import Spot, spot_of
from roofline.plots.style import DARK, FAINT, NoFigure, handle, new_figure, tidy
from roofline.schema.amounts import usable
from roofline.schema.record import Profile
from roofline.show.step.operation_tables import lines_seen, seen_outside
from roofline.show.step.step_notes import OUTSIDE, beats_light, kernel, part_of_step
from roofline.show.step.step_notes import heading as title_of
from roofline.text.printable import printable
from roofline.text.units import counted, percent, scaled

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure
    from matplotlib.lines import Line2D

# Inches.
_WIDTH, _LEFT, _LEFT_OF_KERNELS = 8.3, 1.75, 3.3
_AXES_HEIGHT, _BETWEEN, _BAR = 5.0, 0.95, 0.3

_WHOLE_STEP_AREA = 7000.0
"""Points squared of a marker that stands for all of the step's time: areas are proportional to time."""
_LEAST_SHARE = 0.001
"""Operations with less of the step's time are not drawn: together they are said below."""
_SIZES = (0.002, 0.01, 0.05, 0.2, 0.5)
"""Shares of the step whose areas a legend may show."""
_BARS = 14
"""Kernels with a bar of their own."""
_NAME = 38
"""Characters of a kernel's name that there is room for."""

_COLORS = {
    "convolution": "#0072B2",
    "matmul": "#D55E00",
    "attention": "#CC79A7",
    "rnn": "#7F3C8D",
    "normalisation": "#009E73",
    "elementwise": "#E69F00",
    "copy": "#56B4E9",
    "pooling": "#8C564B",
    "reduction": "#999933",
    "softmax": "#882255",
    "optimizer": "#000000",
    "indexing": "#44AA99",
}
_OTHER = "#777777"
_FONT = 9
"""Size of the legend's font in points."""


@dataclass(frozen=True, slots=True)
class _Drawn(Spot):
    """The spot of an operation with arithmetic and enough time. ``share`` is of the step's time."""

    one: TimedOperation
    share: float


@dataclass(frozen=True, slots=True)
class _Bar:
    """Time of a step in seconds, and the part of it that the roofs ask for; None where that isn't known."""

    name: str
    time_s: float
    least_s: float | None
    color: str


@dataclass(frozen=True, slots=True)
class DrawnStep:
    """One step, ready to be drawn: `draw` on the axes of a roofline, `draw_bars` on others.

    ``bars`` stand from the lowest up, and ``left`` is the room for their names in inches.
    """

    point: Point
    drawn: Sequence[_Drawn]
    bars: Sequence[_Bar]
    lines: Sequence[str]
    footer: Sequence[str]
    left: float

    def draw(self, axes: Axes) -> None:
        """Draw its operations and the whole step under the roofs."""
        whole = spot_of(self.point)
        spots = [*self.drawn, *([] if whole is None else [whole])]
        draw_roofs(
            axes, self.point.roofs, spots, {one.one.operation.dtype for one in self.drawn} or _dtypes(self.point)
        )
        for one in self.drawn:
            axes.scatter(
                [one.low],
                [one.attained],
                s=_WHOLE_STEP_AREA * one.share,
                color=_color(one.one.operation.kind),
                alpha=0.7,
                edgecolors="white",
                linewidths=0.5,
                zorder=4,
            )
        if whole is not None:
            axes.plot([whole.low, whole.high], [whole.attained] * 2, "|-", color="black", linewidth=1.3, zorder=5)
            middle = math.sqrt(whole.low * whole.high)
            axes.plot([middle], [whole.attained], "X", color="black", markeredgecolor="white", markersize=10, zorder=6)

    def draw_bars(self, axes: Axes) -> None:
        """Draw where its time goes."""
        tidy(axes)
        times, least = [bar.time_s for bar in self.bars], [bar.least_s or 0.0 for bar in self.bars]
        colors = [bar.color for bar in self.bars]
        places = range(len(self.bars))
        axes.barh(places, times, height=0.72, color=colors, alpha=0.45)
        axes.barh(places, least, height=0.36, color=colors)
        for place, time_s, least_s in zip(places, times, least, strict=True):
            of_light = f", speed of light {percent(least_s / time_s)}" if least_s and time_s > 0 else ""
            axes.annotate(
                f"{scaled(time_s, 's')}{of_light}",
                (max(time_s, least_s, 0.0), place),
                xytext=(4, 0),
                textcoords="offset points",
                va="center",
                fontsize=8.5,
                color=DARK,
            )
        longest = max([*times, *least])
        axes.set_xlim(min(0.0, *times), longest if longest > 0 else 1.0)
        axes.set_ylim(-0.5, len(self.bars) - 0.5)
        axes.set_yticks(list(places), [bar.name for bar in self.bars])
        axes.grid(visible=False, axis="y")
        axes.locator_params(axis="x", nbins=6)
        axes.xaxis.set_major_formatter(lambda value, _: f"{1e3 * value:g}")
        dark = "; dark: speed of light" if any(least) else ""
        axes.set_xlabel(f"time of a step (ms){dark}", fontsize=10, color=DARK)


def step_of(point: Point) -> DrawnStep:
    """The step of one case: of its operations; where these have no times of their own, of what the profiler saw.

    :raises NoFigure: neither is known, with the reason.
    """
    if point.step is not None:
        return _of_operations(point, point.step)
    if (seen := seen_outside(point)) is not None:
        return _of_kernels(point, *seen)
    record = point.benchmark.record
    raise NoFigure("no record of its work" if record is None else why_untimed(record) or "not timed")


def step_figure(point: Point) -> Figure:
    """The figure of one case.

    Above: each operation that has FLOPs at FLOP / byte (as if every call read its inputs from memory and wrote its
    results there) and FLOP / time, with an area proportional to its time. Below: the time of each kind of operation,
    those without FLOPs included, and in it the least that the roofs allow.

    Of a case whose operations have no times of their own, such as a compiled one: above, the whole step, for of a fused
    kernel neither FLOPs nor bytes are known; below, the time of what the profiler saw, longest first, and what of the
    timed step it did not see.

    :raises NoFigure: neither is known, with the reason.
    """
    step = step_of(point)
    bars_height = bars_height_of(step)
    height = _AXES_HEIGHT + _BETWEEN + bars_height
    figure = new_figure(_WIDTH - step.left, height)
    upper = figure.add_axes((0, 1 - _AXES_HEIGHT / height, 1, _AXES_HEIGHT / height))
    step.draw(upper)
    draw_legend(upper, step)
    lower = figure.add_axes((0, 0, 1, bars_height / height))
    step.draw_bars(lower)
    left = 0.25 - step.left
    draw_heading(figure, title_of(point), step.lines, left=left)
    draw_around(lower, _WIDTH + 2, (), step.footer, left=left)
    return figure


def bars_height_of(step: DrawnStep) -> float:
    """Inches of the axes that its bars take."""
    return len(step.bars) * _BAR


def _of_operations(point: Point, step: Breakdown) -> DrawnStep:
    drawn = sorted(_drawable(step), key=lambda one: -one.share)
    groups = sorted(step.by_kind(), key=lambda group: group.time_s)
    bars = [
        _Bar(OUTSIDE, step.outside_s, None, FAINT),
        *(_Bar(group.name, group.time_s, group.least_s, _color(group.name)) for group in groups),
    ]
    lines = ["each operation of the step; area: its time. Colours are those of the kinds below"]
    return DrawnStep(point, drawn, bars, lines, _footer(step, drawn), _LEFT)


def _of_kernels(point: Point, profile: Profile, step_s: float) -> DrawnStep:
    """:param step_s: the timed step, above 0."""
    seen = lines_seen(profile, _BARS)
    names = [kernel(printable(one.name), _NAME) for one in seen]
    bars = [
        _Bar(name, one.time_s, None, _COLORS["convolution"] if place < _BARS else _OTHER)
        for place, (name, one) in enumerate(zip(names, seen, strict=True))
    ]
    unseen_s = step_s - sum(one.time_s for one in seen)
    bars.append(_Bar("not seen by the profiler", unseen_s, None, FAINT))
    what = "kernels" if profile.source == "kernels" else "operators on the host, each without what it calls"
    lines = [f"the step as one point; below the time of its {what}"]
    footer = ["No points for these: what one of them computes and moves is not known."]
    if unseen_s < 0:
        footer.append("Not seen: negative, for the profiler's times add up to more than the timed step.")
    return DrawnStep(point, (), bars[::-1], lines, footer, _LEFT_OF_KERNELS)


def _dtypes(point: Point) -> set[str]:
    """In which the step computes."""
    record = point.benchmark.record
    return set() if record is None or record.work is None else record.work.dtypes


def _drawable(step: Breakdown) -> list[_Drawn]:
    drawn = []
    for one in step.operations:
        # Areas are drawn even of a step that has no shares: an area above the whole step's would cover the others.
        operation, share = one.operation, one.time_s / max(step.step_s, step.operations_s)
        if share < _LEAST_SHARE or not usable(operation.flop) or not usable(operation.byte) or not usable(one.time_s):
            continue
        intensity = operation.flop / operation.byte
        drawn.append(_Drawn(intensity, intensity, operation.flop / one.time_s, one, share))
    return drawn


def _footer(step: Breakdown, drawn: Sequence[_Drawn]) -> list[str]:
    without = sum(one.time_s for one in step.operations if not one.operation.flop)
    shown = {id(one.one) for one in drawn}
    small = [one for one in step.operations if one.operation.flop and id(one) not in shown]
    lines = [
        f"Operations without matrix products or convolutions, {part_of_step(step, without)}, have no"
        " FLOPs and stand in the bars only."
    ]
    if small:
        all_s = sum(one.time_s for one in small)
        lines.append(
            f"Not drawn: {counted(len(small), 'operation')} of less than {percent(_LEAST_SHARE)} each, together"
            f" {part_of_step(step, all_s)}."
        )
    if step.too_fast:
        lines.append(f"{beats_light(step)}.")
    return lines


def _color(kind: str) -> str:
    return _COLORS.get(kind, _OTHER)


def _sizes(drawn: Sequence[_Drawn]) -> list[float]:
    """Shares for the legend, smallest first."""
    largest = max((one.share for one in drawn), default=0.0)
    return [share for share in _SIZES if share <= largest][-3:]


def _legend(drawn: Sequence[_Drawn], whole: Spot | None) -> list[Line2D]:
    """The whole step, and what an area stands for."""
    sizes = [
        handle(f"{percent(share)} of the step", color=FAINT, markersize=math.sqrt(_WHOLE_STEP_AREA * share))
        for share in _sizes(drawn)
    ]
    if whole is None:
        return sizes
    look = {"marker": "X", "linestyle": "-", "color": "black", "markeredgecolor": "white", "markersize": 10}
    return [handle("whole step", **look), *sizes]


def draw_legend(axes: Axes, step: DrawnStep, *, kinds: bool = False) -> None:
    """Draw the legend of the roofline to the right of its axes.

    :param kinds: name the kinds of operations as well: where no bars of the same colours stand below.
    """
    names = dict.fromkeys(one.one.operation.kind for one in step.drawn) if kinds else ()
    named = [handle(name, color=_color(name)) for name in names]
    # A legend doesn't heed the size of its markers. Its distances are in units of the font's size.
    across = [math.sqrt(_WHOLE_STEP_AREA * share) for share in _sizes(step.drawn)]
    largest = max([*across, 10.0])
    between = max(18.0, sum(across[-2:]) / 2 - _FONT + 4)
    axes.legend(
        handles=[*named, *_legend(step.drawn, spot_of(step.point))],
        fontsize=_FONT,
        labelspacing=between / _FONT,
        handletextpad=max(2.0, largest / 2 / _FONT),
        **{
            **beside(axes, (1, 0), (0.35, 0), "lower left"),
            "borderaxespad": max(1.0, largest / 2 / _FONT - 1),
        },
    )
