"""The roofline of one device as a figure: roofs, knees, and its cases with the range of their intensity."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from roofline.machine.roof_choice import Roofs
from roofline.model.points import Point, runs_of
from roofline.plots.layout import figure_of
from roofline.plots.roofline_axes import Spot, draw_roofs
from roofline.plots.style import DARK, FAINT, PLAIN, Style, handle, variant
from roofline.schema.record import Record, Roof
from roofline.text.units import scaled
from roofline.text.wrapping import cut

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure
    from matplotlib.lines import Line2D

_AXES_HEIGHT = 5.0
"""Inches."""
_LISTED = 8
_LONGEST_NAME = 200
"""Characters of a name below the figure: of a whole one there may be hundreds of lines."""


@dataclass(frozen=True, slots=True)
class _Drawn:
    """A point that can be drawn; every number is finite and above 0."""

    point: Point
    record: Record
    low: float
    high: float
    attained: float


class Roofline:
    """Cases of one device under its roofs, and in ``footer`` what can't be drawn, with the reason.

    :param points: of one device, at least one.
    """

    def __init__(self, points: Sequence[Point], style: Style) -> None:
        self._drawn, left_out = _sorted_out(points)
        self._style = style
        shown = [one.point for one in self._drawn] or list(points)
        self._roofs, whose = _newest_roofs(shown)
        about = (runs_of(shown), whose)
        self.lines = ["bar: range of the intensity, from most to least bytes", *(line for line in about if line)]
        self.footer = _footer(left_out, self._roofs.notices, self._roofs.why_none)
        self.legend = _legend(self._drawn, style)

    def draw(self, axes: Axes) -> None:
        """Draw on ``axes``; no roofs and no points are no error."""
        used = {dtype for one in self._drawn for dtype in _dtypes(one)}
        draw_roofs(axes, self._roofs, [Spot(one.low, one.high, one.attained) for one in self._drawn], used)
        for one in self._drawn:
            _draw_point(axes, one, self._style)
        if not self._drawn:
            axes.text(0.5, 0.5, "no case can be placed", transform=axes.transAxes, ha="center", color=DARK, fontsize=11)


def roofline_figure(points: Sequence[Point], title: str, style: Style) -> Figure:
    """The figure of one device's cases; this never fails.

    :param points: of one device, at least one.
    """
    return figure_of(Roofline(points, style), title, height=_AXES_HEIGHT)


def _sorted_out(points: Sequence[Point]) -> tuple[list[_Drawn], list[tuple[Point, str]]]:
    drawn: list[_Drawn] = []
    left_out: list[tuple[Point, str]] = []
    for point in points:
        place, record = point.placement, point.benchmark.record
        if point.why_not_drawn is not None:
            left_out.append((point, point.why_not_drawn))
        elif record and place.intensity_low and place.intensity_high and place.attained_flop_per_s:
            drawn.append(_Drawn(point, record, place.intensity_low, place.intensity_high, place.attained_flop_per_s))
    return drawn, left_out


def _newest_roofs(points: Sequence[Point]) -> tuple[Roofs, str | None]:
    """Choose the roofs over points of several runs: of each the newest measured, else the published one.

    :returns: the roofs, and whose they are where some points were measured under others.
    """
    order = sorted(points, key=lambda point: point.result.when, reverse=True)
    chosen: dict[tuple[str, str], tuple[Roof, str]] = {}
    for source in ("measured", "spec"):
        for point in order:
            for roof in point.roofs.roofs:
                if roof.source == source:
                    chosen.setdefault((roof.kind, roof.name), (roof, point.result.when))
    roofs = Roofs(
        roofs=tuple(roof for roof, _ in chosen.values()), why_none=None if chosen else order[0].roofs.why_none
    )
    drawn = {key: roof.value for key, (roof, _) in chosen.items()}
    others = [point for point in points if any(drawn[roof.kind, roof.name] != roof.value for roof in point.roofs.roofs)]
    if not others:
        return roofs, None
    runs = sorted({when for roof, when in chosen.values() if roof.source == "measured"})
    dram = [value for point in points if (value := point.roofs.value("byte", "dram")) is not None]
    seen = f" (DRAM {scaled(min(dram), 'B/s')} to {scaled(max(dram), 'B/s')})" if dram and min(dram) < max(dram) else ""
    return roofs, (
        f"Roofs drawn: of each the newest, from the run{'s' if len(runs) > 1 else ''} of {', '.join(runs)}."
        f" {len(others)} of {len(points)} cases were measured under others{seen};"
        " tables hold each against the roofs of its own run."
    )


def _footer(left_out: Sequence[tuple[Point, str]], notices: Sequence[str], why_no_roofs: str | None) -> list[str]:
    lines = [f"No roofs: {why_no_roofs}", *notices] if why_no_roofs else list(notices)
    lines += [f"Not drawn: {cut(point.id, _LONGEST_NAME)}: {reason}" for point, reason in left_out[:_LISTED]]
    if len(left_out) > _LISTED:
        lines.append(f"and {len(left_out) - _LISTED} more: `roofline points` lists all with the reason")
    return lines


def _dtypes(one: _Drawn) -> set[str]:
    work = one.record.work
    return set() if work is None else {dtype for dtype, flop in work.flop_by_dtype.items() if flop > 0}


def _draw_point(axes: Axes, one: _Drawn, style: Style) -> None:
    case, place = one.record.case, one.point.placement
    color = style.color(case.model)
    if one.high > one.low:
        axes.plot([one.low, one.high], [one.attained] * 2, color=color, linewidth=1.3, alpha=0.55, zorder=3)
        axes.plot([one.low, one.high], [one.attained] * 2, "|", color=color, markersize=5, alpha=0.75, zorder=3)
    named = variant(one.record)
    hollow = place.provenance == "time_only"
    axes.plot(
        [math.sqrt(one.low * one.high)],
        [one.attained],
        linestyle="",
        marker=style.marker(case.precision),
        markersize=_size(case.batch),
        fillstyle="none" if hollow else style.fill(named),
        color=color,
        markerfacecoloralt=style.other_half(named),
        # A half that is empty needs an edge to be seen.
        markeredgecolor=color if hollow else "black" if case.mode == "infer" else "white" if named == PLAIN else color,
        markeredgewidth=1.5 if hollow else 1.1 if case.mode == "infer" or named != PLAIN else 0.7,
        zorder=4,
    )


def _size(batch: int) -> float:
    """Points: the area is seen as proportional to the logarithm of the batch, and bounded."""
    return math.sqrt(32 + 14 * min(math.log2(max(batch, 1)), 12))


def _legend(drawn: Sequence[_Drawn], style: Style) -> list[Line2D]:
    cases = [one.record.case for one in drawn]
    handles = style.model_handles(case.model for case in cases)
    handles += style.precision_handles(case.precision for case in cases)
    handles += style.variant_handles((variant(one.record) for one in drawn), lines=False)
    if len({case.mode for case in cases}) > 1:
        edges = (("train", "white"), ("infer", "black"))
        handles += [handle(mode, color=FAINT, markeredgecolor=edge) for mode, edge in edges]
    batches = sorted({case.batch for case in cases})
    if len(batches) > 1:
        ends = (batches[0], batches[-1])
        handles += [handle(f"batch {batch}", color=FAINT, markersize=_size(batch)) for batch in ends]
    if any(one.point.placement.provenance == "time_only" for one in drawn):
        handles.append(handle("from time alone: no bound", markerfacecolor="none", markeredgecolor=DARK))
    return handles
