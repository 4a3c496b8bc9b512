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


def overlapping(boxes: Iterable[tuple[str, Any]]) -> list[tuple[str, str]]:
    """Pairs of texts that lie on each other by more than a pixel.

    :param boxes: texts, with the box of each on the drawn figure.
    """
    return [
        (one, other)
        for (one, first), (other, second) in combinations(boxes, 2)
        if first.padded(-1).overlaps(second.padded(-1))
    ]
