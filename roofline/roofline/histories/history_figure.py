"""Histories as a figure: a panel for each case, its points in order of time, its levels, and the changes between."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise
from typing import TYPE_CHECKING

from roofline.histories.change_points import Change
from roofline.histories.history_table import sentence
from roofline.histories.judged_series import JudgedSeries, name_of
from roofline.histories.series import commits_between
from roofline.plots.layout import draw_around, draw_heading
from roofline.plots.style import DARK, SMALL, handle, new_figure, tidy
from roofline.text.units import counted, minute, percent, scaled, signed

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

MOST_PANELS = 12
_WIDTH, _PANEL, _BETWEEN = 9.0, 1.5, 0.62
"""Inches."""
_POINT, _LEVEL, _SLOWER, _FASTER = "#0072B2", "#000000", "#D55E00", "#009E73"
_ABOVE_EACH_OTHER, _LINE = 3, 10
"""Changes whose texts stand below one another, where they would lie on each other; points of a line."""
_DATE = 10
"""Characters of the day of a time."""


def history_figure(judged: Sequence[JudgedSeries]) -> Figure:
    """Draw the first `MOST_PANELS` of the histories: those with changes stand first.

    :param judged: at least one.
    """
    drawn = judged[:MOST_PANELS]
    height = len(drawn) * (_PANEL + _BETWEEN) - _BETWEEN
    figure = new_figure(_WIDTH, height)
    for index, one in enumerate(drawn):
        bottom = height - index * (_PANEL + _BETWEEN) - _PANEL
        _draw(figure.add_axes((0, bottom / height, 1, _PANEL / height)), one)
    sure = percent(judged[0].settings.confidence)
    lines = [f"step time of each point; shaded: where a change lies, {sure} sure; its size with the likeliest commits"]
    draw_heading(figure, sentence(judged), lines, over=0.4, across=_WIDTH)
    legend = [
        handle("a session, or a set of them", color=_POINT, markersize=4),
        handle("level, with its drift", color=_LEVEL, marker="", linestyle="-"),
        handle("slower", color=_SLOWER, marker="s"),
        handle("faster", color=_FASTER, marker="s"),
    ]
    left_out = len(judged) - len(drawn)
    footer = [f"Not drawn, for want of room: {counted(left_out, 'case')}"] * bool(left_out)
    draw_around(figure.axes[-1], _WIDTH, legend, footer)
    return figure


def _draw(axes: Axes, one: JudgedSeries) -> None:
    from matplotlib.ticker import FuncFormatter, MaxNLocator

    entries, times_s = one.series.entries, one.series.times_s
    tidy(axes)
    axes.set_title(name_of(one), fontsize=9.5, color=DARK, loc="left")
    axes.plot(range(len(times_s)), times_s, "o", color=_POINT, markersize=3.2, alpha=0.8, markeredgewidth=0, zorder=3)
    if one.levels is not None:
        ends = [0, *(change.place for change in one.changes), len(times_s)]
        for first, last in pairwise(ends):
            axes.plot(range(first, last), one.levels.fitted_s[first:last], color=_LEVEL, linewidth=1.4, zorder=4)
    for index, change in enumerate(one.changes):
        _mark(axes, one, change, lines_down=index % _ABOVE_EACH_OTHER)
    axes.margins(y=0.25)
    axes.yaxis.set_major_locator(MaxNLocator(4))
    axes.yaxis.set_major_formatter(FuncFormatter(lambda value, _: scaled(value, "s")))
    axes.xaxis.set_major_locator(MaxNLocator(7, integer=True))

    times = [minute(entry.started_at) for entry in entries]
    days = {time[:_DATE] for time in times}

    def when(value: float, _: object) -> str:
        place = round(value)
        return (times[place][:_DATE] if len(days) > 1 else times[place]) if 0 <= place < len(times) else ""

    axes.xaxis.set_major_formatter(FuncFormatter(when))


def _mark(axes: Axes, one: JudgedSeries, change: Change, lines_down: int) -> None:
    """A change lies between two points: half a point before the first one of its level."""
    color = _SLOWER if change.effect.log_ratio > 0 else _FASTER
    axes.axvspan(change.earliest - 1, change.latest, color=color, alpha=0.18, linewidth=0, zorder=1)
    axes.axvline(change.place - 0.5, color=color, linewidth=1.2, zorder=2)
    before, after = one.series.entries[change.place - 1], one.series.entries[change.place]
    axes.annotate(
        f"{signed(change.effect.ratio - 1)}  {commits_between(before, after)}",
        (change.place - 0.5, 1),
        xycoords=("data", "axes fraction"),
        xytext=(3, -3 - _LINE * lines_down),
        textcoords="offset points",
        va="top",
        fontsize=7.5,
        color=SMALL,
    )
