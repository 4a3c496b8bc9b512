"""Axes of a roofline: the machine's roofs and knees, scaled so that every point to be drawn on them has room."""

from __future__ import annotations

import math
from collections.abc import Collection, Sequence
from typing import TYPE_CHECKING, Any

from roofline.machine.roof_choice import Roofs
from roofline.plots.layout import moved
from roofline.plots.rooflines.roofline_content import Spot, ceiling_label, ceilings_of, level_label, limits
from roofline.plots.style import DARK, FAINT, number_axis, spread, tidy
from roofline.schema.session import Roof

if TYPE_CHECKING:
    from matplotlib.axes import Axes

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
