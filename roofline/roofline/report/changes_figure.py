"""A comparison as a figure: the change of each case with its interval, the worst at the top."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import chain
from typing import TYPE_CHECKING

from roofline.comparison.comparison import Comparison
from roofline.comparison.effects.effect import Effect
from roofline.comparison.effects.exact import ExactChange
from roofline.comparison.judged_case import Compared, Outcome
from roofline.comparison.verdict_table import sentence
from roofline.plots.layout import figure_of
from roofline.plots.row_axes import MOST_ROWS, Rows, draw_rows, row_labels
from roofline.plots.style import FAINT, handle
from roofline.text.units import counted, percent, signed_range

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

_ROW, _LEAST_HEIGHT = 0.26, 1.2
"""Inches."""
_STYLE: dict[Outcome, tuple[str, str]] = {
    "slower": ("#D55E00", "v"),
    "more": ("#D55E00", "v"),
    "not comparable": ("#CC79A7", "X"),
    "inconclusive": ("#7A7A7A", "o"),
    "faster": ("#009E73", "^"),
    "less": ("#009E73", "^"),
    "same": ("#0072B2", "s"),
}
"""Colour and marker of a verdict: each of them tells it alone."""


def changes_figure(comparison: Comparison) -> Figure | None:
    """Draw the cases that have an estimate; None where none has."""
    rows = [(case, case.effect) for case in comparison.cases if case.effect is not None]
    if not rows:
        return None
    return figure_of(_Changes(comparison, rows), sentence(comparison))


class _Changes(Rows):
    """The drawing.

    :param rows: the cases that have an estimate, the worst first. Above `MOST_ROWS`, the others are counted.
    """

    def __init__(self, comparison: Comparison, rows: Sequence[tuple[Compared, Effect | ExactChange]]) -> None:
        self._confidence = comparison.settings.confidence
        self._least = comparison.settings.least_effect
        self.rows = rows[:MOST_ROWS]
        self.height = max(_LEAST_HEIGHT, _ROW * len(self.rows))
        self._title = comparison.figure.title
        self._names = comparison.machine_names if len(comparison.machines) > 1 else {}
        self.lines = [
            f"change of the {self._title} with its {percent(self._confidence)} interval; between the lines, by less"
            f" than {percent(self._least)}, it does not matter"
        ]
        without = len(comparison.cases) - len(rows)
        below = len(rows) - len(self.rows)
        self.footer = [f"Not drawn, without an estimate: {counted(without, 'case')}"] * bool(without)
        self.footer += [f"Not drawn, for want of room: {counted(below, 'case')}"] * bool(below)
        drawn = {case.outcome for case, _ in self.rows}
        self.legend = [
            handle(outcome, color=color, marker=marker)
            for outcome, (color, marker) in _STYLE.items()
            if outcome in drawn
        ]

    def draw(self, axes: Axes) -> None:
        """Draw on ``axes``."""
        both = [effect.interval(self._confidence) for _, effect in self.rows]
        ends = [(low - 1, high - 1) for low, high in both]
        for place, ((case, effect), (low, high)) in enumerate(zip(self.rows, ends, strict=True)):
            color, marker = _STYLE[case.outcome]
            axes.plot([low, high], [place, place], color=color, linewidth=1.6, zorder=3)
            axes.plot([effect.ratio - 1], [place], marker, color=color, markersize=6, zorder=4)
        for place_of_line in (-self._least, self._least):
            axes.axvline(place_of_line, color=FAINT, linewidth=1, linestyle="--", zorder=1)
        labels = row_labels([(case.match.id, self._names.get(case.match.machine, "")) for case, _ in self.rows])
        changes = [-self._least, self._least, *chain.from_iterable(ends)]
        draw_rows(axes, labels, [*map(signed_range, ends)], changes, f"change of the {self._title}")
