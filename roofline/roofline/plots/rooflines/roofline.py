"""Draw a roofline: roofs and knees on the axes of any, and the cases of one device with the range of their intensity.

The axes are scaled so that every point to be drawn on them has room.
"""

from __future__ import annotations

import math
from collections.abc import Collection, Sequence
from typing import TYPE_CHECKING, Any

from roofline.machine.roof_choice import Roofs
from roofline.model.points import Point
from roofline.plots.layout import Panel, moved
from roofline.plots.rooflines.roofline_content import (
    Content,
    Placed,
    Spot,
    ceiling_label,
    ceilings_of,
    level_label,
    limits,
    marker_size,
)
from roofline.plots.style import DARK, FAINT, PLAIN, NoFigure, Style, handle, number_axis, spread, tidy, variant
from roofline.schema.session import Roof

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.lines import Line2D

_CLOSE = 2.0
LINE_STYLES: dict[str, Any] = {
    "fp64": (0, (1, 1)),
    "fp32": "-",
    "tf32": (0, (6, 2)),
    "bf16": (0, (4, 1.5, 1, 1.5)),
    "fp16": (0, (2, 2)),
}


def draw_roofs(axes: Axes, roofs: Roofs, spots: Sequence[Spot], used: Collection[str]) -> None:
    """Make ``axes`` those of a roofline, with labels, and draw what there is of roofs. No roofs are no error.

    :param spots: what will be drawn there.
    :param used: the dtypes of the points: their ceilings are drawn strong, and a published ceiling is drawn only here.
    """
    tidy(axes)
    ceilings = ceilings_of(roofs, used)
    levels = roofs.levels
    x_low, x_high, y_low, y_high = limits(spots, ceilings, levels)
    number_axis(axes, "x", "", x_low, x_high)
    number_axis(axes, "y", "FLOP/s", y_low, y_high)
    axes.set_xlabel("arithmetic intensity (FLOP/byte)", fontsize=10, color=DARK)
    axes.set_ylabel("attained (FLOP/s)", fontsize=10, color=DARK)
    _draw_lines(axes, ceilings, levels, used)


def _draw_lines(axes: Axes, ceilings: Sequence[Roof], levels: Sequence[Roof], used: Collection[str]) -> None:
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
        # Lines this close leave no room for a label between them: the lower one's goes below it.
        below = strong and any(1 < other.value / level.value < _CLOSE for other in levels)
        at = start * (1.6 if below else 1.15)
        axes.text(
            math.log10(at),
            math.log10(at * level.value),
            level_label(level),
            # Places are logarithms there.
            transform=moved(axes, axes.transLimits + axes.transAxes, 0, (-4 if below else 4) / 72),
            va="top" if below else "baseline",
            # A roof rises by one decade a decade, whatever shape the axes are given later.
            rotation=45,
            transform_rotates_text=True,
            rotation_mode="anchor",
            fontsize=8.5,
            color=DARK if strong else "#7A7A7A",
            zorder=2,
        )
    dram = next((level for level in levels if level.name == "dram"), None)
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
            linestyle=LINE_STYLES.get(ceiling.name, "-"),
            zorder=2,
        )
        if dram is not None and strong:
            knee = ceiling.value / dram.value
            axes.plot([knee, knee], [y_low, ceiling.value], color=FAINT, linewidth=1, linestyle=":", zorder=1)
    _label_ceilings(axes, ceilings, dram, used)


def _label_ceilings(axes: Axes, ceilings: Sequence[Roof], dram: Roof | None, used: Collection[str]) -> None:
    y_low, y_high = axes.get_ylim()
    at = [math.log(ceiling.value / y_low) / math.log(y_high / y_low) for ceiling in ceilings]
    for ceiling, own, label in zip(ceilings, at, spread(at, 0.075, 0.02, 0.99), strict=True):
        color = DARK if ceiling.name in used or not used else "#8A8A8A"
        axes.annotate(
            ceiling_label(ceiling, dram),
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
