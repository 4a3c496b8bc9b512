"""One axes and what belongs around it: title, legend and notes; for a file, and on axes that somebody gives."""

from __future__ import annotations

import math
import textwrap
from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING, Any, Protocol

from roofline.plots.style import DARK, SMALL, new_figure

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure
    from matplotlib.lines import Line2D

# Inches.
_WIDTH, _LEFT, _OVER_FOOTER, _UNDER_FOOTER, _LINE = 10.5, 1.15, 0.25, 0.15, 0.19
_UNDER_AXES, _LEGEND_ROW, _LEGEND_CHARACTER, _LEGEND_MARKER = 0.55, 0.21, 0.078, 0.45
_MOST_COLUMNS = 5
_CHARACTERS_AN_INCH = 14.4
"""Of a line in the footer."""
_HEADING_CHARACTERS_AN_INCH = 13.4


class Panel(Protocol):
    """What is drawn on one axes.

    ``lines`` stand under the title and say how to read it, ``footer`` below it what is left out and doubtful. Lines
    are wrapped where they are shown.
    """

    @property
    def lines(self) -> Sequence[str]: ...

    @property
    def footer(self) -> Sequence[str]: ...

    @property
    def legend(self) -> Sequence[Line2D]: ...

    def draw(self, axes: Axes) -> None: ...


def figure_of(panel: Panel, title: str, *, height: float, left: float = _LEFT, right: float = 2.5) -> Figure:
    """A figure of one panel.

    :param height: of the axes, in inches, as are ``left`` and ``right``, the room for labels beside them.
    """
    edge = min(left, _LEFT)
    lines = wrapped_heading(panel.lines, _WIDTH - edge)
    footer = wrapped_footer(panel.footer, _WIDTH - left)
    rows = _rows(panel.legend, _WIDTH - left)
    over = heading_height(lines)
    below = _UNDER_AXES + rows * _LEGEND_ROW + _OVER_FOOTER + len(footer) * _LINE + _UNDER_FOOTER
    whole = over + height + below
    figure = new_figure(_WIDTH, whole)
    axes = figure.add_axes((left / _WIDTH, below / whole, (_WIDTH - left - right) / _WIDTH, height / whole))
    panel.draw(axes)
    heading(figure, edge, title, lines)
    draw_around(axes, _WIDTH - left, panel.legend, panel.footer)
    return figure


def draw_around(axes: Axes, across: float, legend: Sequence[Line2D], footer: Sequence[str]) -> None:
    """Draw legend and footer below the axes.

    :param across: inches that they may take from the left edge of the axes.
    """
    if legend:
        axes.legend(
            handles=list(legend),
            ncols=_columns(legend, across),
            fontsize=9,
            handletextpad=0.4,
            columnspacing=1.4,
            **beside(axes, (0, 0), (0, -_UNDER_AXES)),
        )
    top = _UNDER_AXES + _rows(legend, across) * _LEGEND_ROW + _OVER_FOOTER
    for index, line in enumerate(wrapped_footer(footer, across)):
        axes.annotate(
            line,
            (0, 0),
            xycoords="axes fraction",
            xytext=(0, -72 * (top + index * _LINE)),
            textcoords="offset points",
            va="top",
            fontsize=8,
            color=SMALL,
            annotation_clip=False,
        )


def beside(axes: Axes, corner: tuple[float, float], offset: tuple[float, float], loc: str = "upper left") -> Any:
    """Where a legend stands: ``offset`` inches from a corner of the axes, whatever becomes of their size."""
    from matplotlib.transforms import ScaledTranslation

    figure = axes.get_figure(root=True)
    assert figure is not None
    return {
        "loc": loc,
        "bbox_to_anchor": corner,
        "bbox_transform": axes.transAxes + ScaledTranslation(*offset, figure.dpi_scale_trans),
        "frameon": False,
        "borderaxespad": 0,
    }


def width_of(axes: Axes) -> float:
    """Of the axes, in inches."""
    figure = axes.get_figure(root=True)
    assert figure is not None
    return float(axes.get_window_extent().width / figure.dpi)


def heading(figure: Figure, left: float, title: str, lines: Sequence[str]) -> None:
    """The title and the lines under it, which take `heading_height` inches from the top. ``left`` is in inches."""
    width, height = figure.get_size_inches()
    figure.text(left / width, 1 - 0.33 / height, title, fontsize=12.5, fontweight="bold", color=DARK)
    for number, line in enumerate(lines):
        figure.text(left / width, 1 - (0.56 + number * _LINE) / height, line, fontsize=9, color=SMALL)


def heading_height(lines: Sequence[str]) -> float:
    """Inches from the top of the figure to below a `heading` of these lines."""
    return 0.56 + len(lines) * _LINE


def wrapped_heading(lines: Iterable[str], across: float) -> list[str]:
    """Lines for a `heading` with so many inches of room."""
    return [part for line in lines for part in textwrap.wrap(line, int(_HEADING_CHARACTERS_AN_INCH * across))]


def wrapped_footer(lines: Iterable[str], across: float) -> list[str]:
    """Small lines for a footer with so many inches of room."""
    room = max(20, int(_CHARACTERS_AN_INCH * across))
    return [part for line in lines for part in textwrap.wrap(line, room, subsequent_indent="    ")]


def _rows(legend: Sequence[Line2D], across: float) -> int:
    return math.ceil(len(legend) / _columns(legend, across))


def _columns(legend: Sequence[Line2D], across: float) -> int:
    return max(1, min(_MOST_COLUMNS, int(across / column_width(legend))))


def column_width(legend: Sequence[Line2D]) -> float:
    """Inches that a column of a legend takes at most: as much as its longest label."""
    longest = max((len(str(handle.get_label())) for handle in legend), default=0)
    return _LEGEND_MARKER + longest * _LEGEND_CHARACTER
