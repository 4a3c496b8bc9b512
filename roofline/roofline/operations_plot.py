"""One step taken apart as a figure: its operations under the roofs, and below, the time of each kind of operation."""

from __future__ import annotations

import math
import textwrap
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from roofline.operation_notes import OUTSIDE, heading
from roofline.operations import Breakdown, TimedOperation
from roofline.plot_style import DARK, FAINT, new_figure, tidy
from roofline.points import Point
from roofline.roofline_axes import Spot, draw_roofs
from roofline.roofs import usable
from roofline.units import percent, scaled

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure
    from matplotlib.lines import Line2D

# Inches.
_WIDTH, _LEFT, _RIGHT, _TOP = 10.8, 1.75, 2.5, 0.75
_AXES_HEIGHT, _BETWEEN, _BAR, _UNDER, _LINE = 5.0, 0.95, 0.3, 0.55, 0.19

_WHOLE_STEP_AREA = 7000.0
"""Points squared of a marker that stands for all of the step's time: areas are proportional to time."""
_LEAST_SHARE = 0.001
"""Operations with less of the step's time are not drawn: together they are said below."""
_AREAS = (0.01, 0.05, 0.1)

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


@dataclass(frozen=True, slots=True)
class _Drawn:
    """An operation with arithmetic and enough time; every number is finite and above 0."""

    one: TimedOperation
    intensity: float
    attained: float
    share: float


def operations_figure(point: Point, step: Breakdown) -> Figure:
    """The figure of one case.

    Above: each operation that has FLOPs at FLOP / byte (as if every call read its inputs from memory and wrote its
    results there) and FLOP / time, with an area proportional to its time. Below: the time of each kind of operation,
    those without FLOPs included, and in it the least that the roofs allow.
    """
    drawn = sorted(_drawable(step), key=lambda one: -one.share)
    whole = _whole(point)
    kinds = sorted(step.by_kind(), key=lambda group: group.time_s)
    footer = _footer(step, drawn)
    bars = (len(kinds) + 1) * _BAR
    below = _UNDER + len(footer) * _LINE + 0.15
    height = _TOP + _AXES_HEIGHT + _BETWEEN + bars + below
    figure = new_figure(_WIDTH, height)
    left, across = _LEFT / _WIDTH, (_WIDTH - _LEFT - _RIGHT) / _WIDTH
    upper = figure.add_axes((left, (below + bars + _BETWEEN) / height, across, _AXES_HEIGHT / height))
    spots = [Spot(one.intensity, one.intensity, one.attained) for one in drawn] + ([whole] if whole else [])
    draw_roofs(upper, point.roofs, spots, {one.one.operation.dtype for one in drawn})
    _draw_operations(upper, drawn, whole)
    lower = figure.add_axes((left, below / height, across, bars / height))
    _draw_kinds(lower, step)
    figure.text(0.25 / _WIDTH, 1 - 0.32 / height, heading(point), fontsize=12.5, fontweight="bold", color=DARK)
    subtitle = "each operation of the step; area: its time. Colours are those of the kinds below"
    figure.text(0.25 / _WIDTH, 1 - 0.55 / height, subtitle, fontsize=9, color="#666666")
    figure.legend(
        handles=_legend(whole is not None),
        loc="lower left",
        bbox_to_anchor=((_WIDTH - _RIGHT + 0.35) / _WIDTH, (below + bars + _BETWEEN) / height),
        frameon=False,
        fontsize=9,
        borderaxespad=1.0,
        labelspacing=1.9,
        handletextpad=2.0,
    )
    for index, line in enumerate(reversed(footer)):
        figure.text(0.25 / _WIDTH, (0.12 + index * _LINE) / height, line, fontsize=8, color="#666666")
    return figure


def _drawable(step: Breakdown) -> list[_Drawn]:
    drawn = []
    for one in step.operations:
        operation, share = one.operation, one.time_s / step.step_s
        if share < _LEAST_SHARE or not usable(operation.flop) or not usable(operation.byte) or not usable(one.time_s):
            continue
        drawn.append(_Drawn(one, operation.flop / operation.byte, operation.flop / one.time_s, share))
    return drawn


def _whole(point: Point) -> Spot | None:
    place = point.placement
    if not place.intensity_low or not place.intensity_high or not place.attained_flop_per_s:
        return None
    return Spot(place.intensity_low, place.intensity_high, place.attained_flop_per_s)


def _draw_operations(axes: Axes, drawn: Sequence[_Drawn], whole: Spot | None) -> None:
    for one in drawn:
        axes.scatter(
            [one.intensity],
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


def _draw_kinds(axes: Axes, step: Breakdown) -> None:
    tidy(axes)
    groups = sorted(step.by_kind(), key=lambda group: group.time_s)
    names = [OUTSIDE, *(group.name for group in groups)]
    times = [step.outside_s, *(group.time_s for group in groups)]
    least = [0.0, *(group.least_s or 0.0 for group in groups)]
    colors = [FAINT, *(_color(group.name) for group in groups)]
    places = range(len(names))
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
    axes.set_ylim(-0.5, len(names) - 0.5)
    axes.set_yticks(list(places), names)
    axes.grid(visible=False, axis="y")
    axes.locator_params(axis="x", nbins=6)
    axes.xaxis.set_major_formatter(lambda value, _: f"{1e3 * value:g}")
    axes.set_xlabel("time of a step (ms); dark: speed of light", fontsize=10, color=DARK)


def _footer(step: Breakdown, drawn: Sequence[_Drawn]) -> list[str]:
    without = sum(one.time_s for one in step.operations if not one.operation.flop)
    shown = {id(one.one) for one in drawn}
    small = [one for one in step.operations if one.operation.flop and id(one) not in shown]
    lines = [
        f"Operations without matrix products or convolutions, {percent(step.share(without))} of the step, have no"
        " FLOPs and stand below only."
    ]
    if small:
        share = percent(step.share(sum(one.time_s for one in small)))
        lines.append(f"Not drawn: {len(small)} operations of less than {percent(_LEAST_SHARE)} each, {share} together.")
    if step.too_fast:
        share = percent(step.share(sum(one.time_s for one in step.too_fast)))
        lines.append(
            f"{len(step.too_fast)} operations, {share} of the step, are faster than their own speed of light: there a"
            " roof or a count is wrong, or a nearer cache held the data."
        )
    return [part for line in lines for part in textwrap.wrap(line, 140, subsequent_indent="    ")]


def _color(kind: str) -> str:
    return _COLORS.get(kind, _OTHER)


def _legend(whole: bool) -> list[Line2D]:
    from matplotlib.lines import Line2D

    handles = [
        Line2D(
            [],
            [],
            marker="o",
            linestyle="",
            color=FAINT,
            markersize=math.sqrt(_WHOLE_STEP_AREA * share),
            label=f"{percent(share)} of the step",
        )
        for share in _AREAS
    ]
    if whole:
        step = Line2D(
            [], [], marker="X", linestyle="-", color="black", markeredgecolor="white", markersize=10, label="whole step"
        )
        handles.insert(0, step)
    return handles
