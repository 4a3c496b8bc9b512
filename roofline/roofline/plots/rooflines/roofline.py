"""The roofline of one device as a figure: roofs, knees, and its cases with the range of their intensity."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import TYPE_CHECKING

from roofline.model.points import Point
from roofline.plots.layout import Panel
from roofline.plots.rooflines.roofline_axes import draw_roofs
from roofline.plots.rooflines.roofline_content import Content, Placed, marker_size
from roofline.plots.style import DARK, FAINT, PLAIN, NoFigure, Style, handle, variant

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.lines import Line2D


class Roofline(Panel):
    """Cases of one device under its roofs, and in ``footer`` what can't be drawn, with the reason.

    :param points: of one device, at least one.
    :raises NoFigure: there is neither a case to place nor a roof.
    """

    def __init__(self, points: Sequence[Point], style: Style) -> None:
        self.content = Content(points)
        if not self.content.placed and not self.content.roofs.roofs:
            raise NoFigure("no case can be placed, and the machine has no roofs")
        self._style = style
        self.lines, self.footer = self.content.lines, self.content.footer
        self.legend = _legend(self.content.placed, style)

    def draw(self, axes: Axes) -> None:
        """Draw on ``axes``."""
        content = self.content
        draw_roofs(axes, content.roofs, content.placed, content.used)
        for one in content.placed:
            _draw_point(axes, one, self._style)
        if not content.placed:
            axes.text(
                0.97, 0.05, "no case can be placed", transform=axes.transAxes, ha="right", color=DARK, fontsize=11
            )


def _draw_point(axes: Axes, one: Placed, style: Style) -> None:
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
        markersize=marker_size(case.batch),
        fillstyle="none" if hollow else style.fill(named),
        color=color,
        markerfacecoloralt=style.other_half(named),
        # A half that is empty needs an edge to be seen.
        markeredgecolor=color if hollow else "black" if case.mode == "infer" else "white" if named == PLAIN else color,
        markeredgewidth=1.5 if hollow else 1.1 if case.mode == "infer" or named != PLAIN else 0.7,
        zorder=4,
    )


def _legend(drawn: Sequence[Placed], style: Style) -> list[Line2D]:
    cases = [one.record.case for one in drawn]
    handles = style.handles(
        (case.model for case in cases), (case.precision for case in cases), (variant(one.record) for one in drawn)
    )
    if len({case.mode for case in cases}) > 1:
        edges = (("train", "white"), ("infer", "black"))
        handles += [handle(mode, color=FAINT, markeredgecolor=edge) for mode, edge in edges]
    batches = sorted({case.batch for case in cases})
    if len(batches) > 1:
        ends = (batches[0], batches[-1])
        handles += [handle(f"batch {batch}", color=FAINT, markersize=marker_size(batch)) for batch in ends]
    if any(one.point.placement.provenance == "time_only" for one in drawn):
        handles.append(handle("from time alone: no bound", markerfacecolor="none", markeredgecolor=DARK))
    return handles
