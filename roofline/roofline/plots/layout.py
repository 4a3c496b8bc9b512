"""Lay out what stands around axes: title, legend and notes; on a figure for a file, and on axes that somebody gives.

A file is written as large as all that stands in it (`roofline.plots.style.save`), so nothing here makes room.
"""

from __future__ import annotations

import textwrap
from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING, Any

from roofline.plots.style import DARK, SMALL, new_figure

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure
    from matplotlib.lines import Line2D
    from matplotlib.transforms import Transform

# Inches.
_ACROSS, _LINE = 9.35, 0.19
_UNDER_AXES, _OVER_FOOTER, _LEGEND_ROW, _LEGEND_CHARACTER, _LEGEND_MARKER = 0.55, 0.25, 0.21, 0.078, 0.45
_MOST_COLUMNS = 5
_CHARACTERS_AN_INCH = 13.4
"""Of the lines around a figure."""


class Panel:
    """A drawing on one axes.

    ``lines`` stand under the title and say how to read it, ``footer`` below it what is left out and doubtful. Lines
    are wrapped where they are shown. ``width`` and ``height`` are of the axes in a file, and ``left`` is where the
    title begins beside their left edge, in inches.
    """

    lines: Sequence[str] = ()
    footer: Sequence[str] = ()
    legend: Sequence[Line2D] = ()
    width = 6.85
    height = 5.0
    left = 0.0

    def draw(self, axes: Axes) -> None:
        """Draw on ``axes``."""
        raise NotImplementedError


def figure_of(panel: Panel, title: str) -> Figure:
    """A figure of one panel."""
    figure = new_figure(panel.width, panel.height)
    axes = figure.add_axes((0, 0, 1, 1))
    panel.draw(axes)
    draw_heading(figure, title, panel.lines, left=panel.left)
    draw_around(axes, _ACROSS + panel.left, panel.legend, panel.footer)
    return figure


def draw_heading(
    figure: Figure, title: str, lines: Sequence[str], *, left: float = 0.0, over: float = 0.15, across: float = _ACROSS
) -> None:
    """Draw the title and the lines under it above the figure's axes, so many inches over them."""
    width, height = figure.get_size_inches()
    wrapped = _wrapped(lines, across)
    for number, line in enumerate(reversed(wrapped)):
        figure.text(left / width, 1 + (over + number * _LINE) / height, line, fontsize=9, color=SMALL)
    top = 1 + (over + len(wrapped) * _LINE + 0.04) / height
    figure.text(left / width, top, title, fontsize=12.5, fontweight="bold", color=DARK)


def draw_around(
    axes: Axes, across: float, legend: Sequence[Line2D], footer: Sequence[str], *, left: float = 0.0
) -> None:
    """Draw legend and footer below the axes.

    :param across: inches that they may take.
    :param left: inches from the left edge of the axes, where they begin.
    """
    columns = max(1, min(_MOST_COLUMNS, int(across / column_width(legend))))
    if legend:
        axes.legend(
            handles=list(legend),
            ncols=columns,
            fontsize=9,
            handletextpad=0.4,
            columnspacing=1.4,
            **beside(axes, (0, 0), (left, -_UNDER_AXES)),
        )
    top = _UNDER_AXES + -(-len(legend) // columns) * _LEGEND_ROW + _OVER_FOOTER
    for index, line in enumerate(_wrapped(footer, across, "    ")):
        axes.annotate(
            line,
            (0, 0),
            xycoords="axes fraction",
            xytext=(72 * left, -72 * (top + index * _LINE)),
            textcoords="offset points",
            va="top",
            fontsize=8,
            color=SMALL,
            annotation_clip=False,
        )


def beside(axes: Axes, corner: tuple[float, float], offset: tuple[float, float], loc: str = "upper left") -> Any:
    """Place a legend ``offset`` inches from a corner of the axes."""
    return {
        "loc": loc,
        "bbox_to_anchor": corner,
        "bbox_transform": moved(axes, axes.transAxes, *offset),
        "frameon": False,
        "borderaxespad": 0,
    }


def moved(axes: Axes, transform: Transform, across: float, up: float) -> Transform:
    """Move places on the axes by inches, whatever becomes of their size."""
    from matplotlib.transforms import ScaledTranslation

    figure = axes.get_figure(root=True)
    assert figure is not None
    return transform + ScaledTranslation(across, up, figure.dpi_scale_trans)


def width_of(axes: Axes) -> float:
    """Of the axes, in inches."""
    figure = axes.get_figure(root=True)
    assert figure is not None
    return float(axes.get_window_extent().width / figure.dpi)


def column_width(legend: Sequence[Line2D]) -> float:
    """Inches that a column of a legend takes at most: as much as its longest label."""
    longest = max((len(str(handle.get_label())) for handle in legend), default=0)
    return _LEGEND_MARKER + longest * _LEGEND_CHARACTER


def _wrapped(lines: Iterable[str], across: float, indent: str = "") -> list[str]:
    """Lines that take so many inches at most."""
    room = max(20, int(_CHARACTERS_AN_INCH * across))
    return [part for line in lines for part in textwrap.wrap(line, room, subsequent_indent=indent)]
