"""What can be read in a figure, and where it stands."""

from __future__ import annotations

from collections.abc import Iterable
from itertools import combinations
from typing import TYPE_CHECKING, Any

from matplotlib.text import Text

if TYPE_CHECKING:
    from matplotlib.figure import Figure


def words(figure: Figure) -> str:
    """Every text, a line each."""
    return "\n".join(text.get_text() for text in figure.findobj(Text))


def shown_texts(figure: Figure) -> list[Any]:
    """All that can be read: without the labels of ticks that lie outside their axis."""
    figure.draw_without_rendering()
    hidden = set()
    for axes in figure.axes:
        for axis, (low, high) in ((axes.xaxis, axes.get_xlim()), (axes.yaxis, axes.get_ylim())):
            ticks = [*axis.get_major_ticks(), *axis.get_minor_ticks()]
            hidden |= {id(tick.label1) for tick in ticks if not low <= tick.get_loc() <= high}
    texts = [text for text in figure.findobj(Text) if text.get_visible() and text.get_text().strip()]
    return [text for text in texts if id(text) not in hidden]


def box_of(text: Any) -> Any:
    return Text.get_window_extent(text)  # an annotation's own would include its arrow


def overlapping(boxes: Iterable[tuple[str, Any]]) -> list[tuple[str, str]]:
    """Pairs of texts that lie on each other by more than a pixel.

    :param boxes: texts, with the box of each on the drawn figure.
    """
    return [
        (one, other)
        for (one, first), (other, second) in combinations(boxes, 2)
        if first.padded(-1).overlaps(second.padded(-1))
    ]


def overlaps(figure: Figure) -> list[tuple[str, str]]:
    """Pairs of texts of a figure that lie on each other."""
    # The box of a slanted text is mostly empty: the labels along the memory roofs are looked at by eye.
    shown = [text for text in shown_texts(figure) if text.get_rotation() in (0, 90)]
    return overlapping((text.get_text(), box_of(text)) for text in shown)
