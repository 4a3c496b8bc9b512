"""The roofline of one device as a figure: roofs, knees, and its cases with the range of their intensity."""

from __future__ import annotations

import math
import textwrap
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from roofline.plot_style import DARK, FAINT, Style, new_figure
from roofline.points import Point
from roofline.record import Record
from roofline.roofline_axes import Spot, draw_roofs

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure
    from matplotlib.lines import Line2D

# Inches.
_WIDTH, _LEFT, _RIGHT, _TOP = 10.5, 1.15, 2.5, 0.75
_AXES_HEIGHT, _UNDER_AXES, _ROW, _LINE = 5.0, 0.75, 0.27, 0.19
_LEGEND_COLUMNS = 5
_LISTED = 8


@dataclass(frozen=True, slots=True)
class _Drawn:
    """A point that can be drawn; every number is finite and above 0."""

    point: Point
    record: Record
    low: float
    high: float
    attained: float


def roofline_figure(points: Sequence[Point], title: str, style: Style) -> Figure:
    """The figure of one device's cases. What can't be drawn is listed below it with the reason; this never fails.

    :param points: of one device, at least one.
    """
    drawn, left_out = _sorted_out(points)
    roofs = points[0].roofs
    legend = _legend(drawn, style)
    footer = _footer(left_out, roofs.why_none)
    rows = math.ceil(len(legend) / _LEGEND_COLUMNS)
    below = _UNDER_AXES + rows * _ROW + len(footer) * _LINE + 0.15
    height = _TOP + _AXES_HEIGHT + below
    figure = new_figure(_WIDTH, height)
    axes = figure.add_axes((_LEFT / _WIDTH, below / height, (_WIDTH - _LEFT - _RIGHT) / _WIDTH, _AXES_HEIGHT / height))
    used = {dtype for one in drawn for dtype in _dtypes(one)}
    draw_roofs(axes, roofs, [Spot(one.low, one.high, one.attained) for one in drawn], used)
    for one in drawn:
        _draw_point(axes, one, style)
    if not drawn:
        axes.text(0.5, 0.5, "no case can be placed", transform=axes.transAxes, ha="center", color=DARK, fontsize=11)
    figure.text(_LEFT / _WIDTH, 1 - 0.32 / height, title, fontsize=12.5, fontweight="bold", color=DARK)
    subtitle = "bar: range of the intensity, from most to least bytes; larger marker: larger batch"
    figure.text(_LEFT / _WIDTH, 1 - 0.55 / height, subtitle, fontsize=9, color="#666666")
    if legend:
        figure.legend(
            handles=legend,
            loc="upper left",
            bbox_to_anchor=(_LEFT / _WIDTH, (below - 0.55) / height),
            ncols=_LEGEND_COLUMNS,
            frameon=False,
            fontsize=9,
            borderaxespad=0,
            handletextpad=0.4,
            columnspacing=1.4,
        )
    for index, line in enumerate(reversed(footer)):
        figure.text(_LEFT / _WIDTH, (0.12 + index * _LINE) / height, line, fontsize=8, color="#666666")
    return figure


def _sorted_out(points: Sequence[Point]) -> tuple[list[_Drawn], list[tuple[Point, str]]]:
    drawn: list[_Drawn] = []
    left_out: list[tuple[Point, str]] = []
    for point in points:
        place, record = point.placement, point.benchmark.record
        invalid = next((flag for flag in point.flags if flag.invalid), None)
        if invalid is not None:
            left_out.append((point, f"invalid: {invalid.name}"))
        elif point.bound.kind == "capacity":
            left_out.append((point, "device memory full: its time is not the device's"))
        elif place.why_not is not None:
            left_out.append((point, place.why_not))
        elif record and place.intensity_low and place.intensity_high and place.attained_flop_per_s:
            drawn.append(_Drawn(point, record, place.intensity_low, place.intensity_high, place.attained_flop_per_s))
    return drawn, left_out


def _footer(left_out: Sequence[tuple[Point, str]], why_no_roofs: str | None) -> list[str]:
    lines = [f"No roofs: {why_no_roofs}"] if why_no_roofs else []
    lines += [f"Not drawn: {point.id}: {reason}" for point, reason in left_out[:_LISTED]]
    if len(left_out) > _LISTED:
        lines.append(f"and {len(left_out) - _LISTED} more: `roofline points` lists all with the reason")
    return [part for line in lines for part in textwrap.wrap(line, 135, subsequent_indent="    ")]


def _dtypes(one: _Drawn) -> set[str]:
    work = one.record.work
    return set() if work is None else {dtype for dtype, flop in work.flop_by_dtype.items() if flop > 0}


def _draw_point(axes: Axes, one: _Drawn, style: Style) -> None:
    case, place = one.record.case, one.point.placement
    color = style.color(case.model)
    if one.high > one.low:
        axes.plot([one.low, one.high], [one.attained] * 2, color=color, linewidth=1.3, alpha=0.55, zorder=3)
        axes.plot([one.low, one.high], [one.attained] * 2, "|", color=color, markersize=5, alpha=0.75, zorder=3)
    axes.scatter(
        [math.sqrt(one.low * one.high)],
        [one.attained],
        s=_area(case.batch),
        marker=style.marker(case.precision),
        facecolors="none" if place.provenance == "time_only" else color,
        edgecolors=color if place.provenance == "time_only" else "black" if case.mode == "infer" else "white",
        linewidths=1.5 if place.provenance == "time_only" else 1.1 if case.mode == "infer" else 0.7,
        zorder=4,
    )


def _area(batch: int) -> float:
    """Points squared: seen as proportional to the logarithm of the batch, and bounded."""
    return 32 + 14 * min(math.log2(max(batch, 1)), 12)


def _legend(drawn: Sequence[_Drawn], style: Style) -> list[Line2D]:
    from matplotlib.lines import Line2D

    cases = [one.record.case for one in drawn]
    handles = style.model_handles(case.model for case in cases)
    handles += style.precision_handles(case.precision for case in cases)
    if len({case.mode for case in cases}) > 1:
        for mode, edge in (("train", "white"), ("infer", "black")):
            handles.append(
                Line2D([], [], marker="o", linestyle="", color=FAINT, markeredgecolor=edge, markersize=8, label=mode)
            )
    if any(one.point.placement.provenance == "time_only" for one in drawn):
        handles.append(
            Line2D(
                [],
                [],
                marker="o",
                linestyle="",
                markerfacecolor="none",
                markeredgecolor=DARK,
                markersize=8,
                label="from time alone: no bound",
            )
        )
    return handles
