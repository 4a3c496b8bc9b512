"""The roofline of one device as a figure: roofs, knees, and its cases with the range of their intensity."""

from __future__ import annotations

import math
import textwrap
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from roofline.plot_style import DARK, FAINT, Style, new_figure, number_axis, spread, tidy
from roofline.points import Point
from roofline.record import Record, Roof
from roofline.units import scaled, significant

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure
    from matplotlib.lines import Line2D

# Inches.
_WIDTH, _LEFT, _RIGHT, _TOP = 10.5, 1.15, 2.5, 0.75
_AXES_HEIGHT, _UNDER_AXES, _ROW, _LINE = 5.0, 0.75, 0.27, 0.19
_LEGEND_COLUMNS = 5
_CLOSE = 2.0
_LISTED = 8
_LINE_STYLES: dict[str, Any] = {
    "fp64": (0, (1, 1)),
    "fp32": "-",
    "tf32": (0, (6, 2)),
    "bf16": (0, (4, 1.5, 1, 1.5)),
    "fp16": (0, (2, 2)),
}


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
    tidy(axes)
    ceilings = [roof for roof in roofs.roofs if roof.kind == "flop" and _matters(roof, drawn)]
    levels = [roof for name in ("dram", "llc") if (roof := roofs.get("byte", name)) is not None]
    x_low, x_high, y_low, y_high = _limits(drawn, ceilings, levels)
    number_axis(axes, "x", "", x_low, x_high)
    number_axis(axes, "y", "FLOP/s", y_low, y_high)
    axes.set_xlabel("arithmetic intensity (FLOP/byte)", fontsize=10, color=DARK)
    axes.set_ylabel("attained (FLOP/s)", fontsize=10, color=DARK)
    _draw_roofs(axes, ceilings, levels, drawn)
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


def _matters(roof: Roof, drawn: Sequence[_Drawn]) -> bool:
    """Measured, or needed by a case: a published roof nothing here ran in would only be clutter."""
    return roof.source == "measured" or any(roof.name in _dtypes(one) for one in drawn)


def _limits(
    drawn: Sequence[_Drawn], ceilings: Sequence[Roof], levels: Sequence[Roof]
) -> tuple[float, float, float, float]:
    knees = [ceiling.value / level.value for ceiling in ceilings for level in levels]
    across = [*knees, *(one.low for one in drawn), *(one.high for one in drawn)] or [0.1, 100.0]
    x_low, x_high = min(across) / 4, max(across) * 2.5
    up = [ceiling.value for ceiling in ceilings] + [one.attained for one in drawn]
    if not up:
        up = [level.value * x for level in levels for x in (x_low, x_high)] or [1e9, 1e12]
    return x_low, x_high, min(up) / 4, max(up) * 2.2


def _draw_roofs(axes: Axes, ceilings: Sequence[Roof], levels: Sequence[Roof], drawn: Sequence[_Drawn]) -> None:
    x_low, x_high = axes.get_xlim()
    y_low, y_high = axes.get_ylim()
    top = max((ceiling.value for ceiling in ceilings), default=y_high)
    for level in levels:
        start, end = max(x_low, y_low / level.value), min(x_high, top / level.value)
        strong = level.name == "dram"
        axes.plot(
            [start, end],
            [start * level.value, end * level.value],
            color=DARK if strong else "#7A7A7A",
            linewidth=1.6 if strong else 1.2,
            linestyle="-" if strong else (0, (5, 2)),
            zorder=2,
        )
        name = "DRAM" if strong else "last-level cache"
        # Lines this close leave no room for a label between them: the lower one's goes below it.
        below = strong and any(1 < other.value / level.value < _CLOSE for other in levels)
        at = start * (1.6 if below else 1.15)
        axes.annotate(
            f"{name} {scaled(level.value, 'B/s')}{'' if level.source == 'measured' else ' (published)'}",
            (at, at * level.value),
            xytext=(0, -4 if below else 4),
            textcoords="offset points",
            va="top" if below else "baseline",
            rotation=math.degrees(math.atan(_slope(axes))),
            rotation_mode="anchor",
            fontsize=8.5,
            color=DARK if strong else "#7A7A7A",
            zorder=2,
        )
    used = {dtype for one in drawn for dtype in _dtypes(one)}
    dram = next((level.value for level in levels if level.name == "dram"), None)
    for ceiling in ceilings:
        strong = ceiling.name in used or not used
        fastest = max((level.value for level in levels), default=None)
        left = x_low if fastest is None else max(x_low, ceiling.value / fastest)
        color = DARK if strong else FAINT
        axes.plot(
            [left, x_high],
            [ceiling.value] * 2,
            color=color,
            linewidth=1.6 if strong else 1.1,
            linestyle=_LINE_STYLES.get(ceiling.name, "-"),
            zorder=2,
        )
        if dram is not None and strong:
            knee = ceiling.value / dram
            axes.plot([knee, knee], [y_low, ceiling.value], color=FAINT, linewidth=1, linestyle=":", zorder=1)
    _label_ceilings(axes, ceilings, dram, used)


def _slope(axes: Axes) -> float:
    """Rise over run on paper of a line of slope 1 in the logarithms."""
    box = axes.get_position()
    figure_width, figure_height = axes.get_figure(root=True).get_size_inches()  # type: ignore[union-attr]
    x_low, x_high = axes.get_xlim()
    y_low, y_high = axes.get_ylim()
    per_decade_up = box.height * figure_height / math.log10(y_high / y_low)
    return float(per_decade_up / (box.width * figure_width / math.log10(x_high / x_low)))


def _label_ceilings(axes: Axes, ceilings: Sequence[Roof], dram: float | None, used: set[str]) -> None:
    y_low, y_high = axes.get_ylim()
    at = [math.log(ceiling.value / y_low) / math.log(y_high / y_low) for ceiling in ceilings]
    for ceiling, own, label in zip(ceilings, at, spread(at, 0.075, 0.02, 0.99), strict=True):
        color = DARK if ceiling.name in used or not used else "#8A8A8A"
        knee = "" if dram is None else f", knee {significant(ceiling.value / dram)}"
        source = "" if ceiling.source == "measured" else " (published)"
        axes.annotate(
            f"{ceiling.name}  {scaled(ceiling.value, 'FLOP/s')}{source}{knee}",
            (1.0, own),
            xycoords="axes fraction",
            xytext=(1.035, label),
            textcoords="axes fraction",
            va="center",
            fontsize=9,
            color=color,
            annotation_clip=False,
            arrowprops={
                "arrowstyle": "-",
                "color": color,
                "linewidth": 0.7,
                "shrinkA": 2,
                "shrinkB": 0,
                "relpos": (0, 0.5),
            },
        )


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
