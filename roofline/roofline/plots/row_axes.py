"""Axes with a row for each case, the first at the top, and relative differences across."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from os.path import commonprefix
from typing import TYPE_CHECKING

from roofline.plots.layout import Panel, width_of
from roofline.plots.style import DARK, FAINT, tidy
from roofline.show.tables import grouped
from roofline.text.printable import printable
from roofline.text.units import percent
from roofline.text.wrapping import cut

if TYPE_CHECKING:
    from matplotlib.axes import Axes

MOST_ROWS = 60
_NAME, _LAST = 46, 18
"""Characters of a name that there is room for, and those of its end that are kept: batch size and precision, by which
the cases of a model differ, stand last."""
_LINEAR = 0.3
"""Up to differences of this the axis is linear; beyond, it is logarithmic above `_KNEE`."""
_KNEE = 0.1
_TICKS = (*(0.1, 1.0, 10.0, 100.0), *(0.05, 0.5, 5.0, 50.0), *(0.2, 2.0, 20.0), *(0.3, 3.0, 30.0))
"""Beyond `_LINEAR`: those first that stay where there is no room for all."""
_CHARACTER = 0.105
"""Inches that a character of a tick's label takes, with its part of the gap to the next label."""


class Rows(Panel):
    """A drawing with rows, whose names stand left of the axes."""

    width, left = 4.3, -2.35


def row_labels(rows: Sequence[tuple[str, str]]) -> list[str]:
    """Label rows in the room left of them.

    :param rows: the name of each, and its machine: empty where all are of one.
    """
    rows = [(printable(name), printable(machine)) for name, machine in rows]
    machines = _cut_apart({machine for _, machine in rows}, _NAME // 2)
    ends = {machine: f" · {short}" if machine else "" for machine, short in machines.items()}
    names = _cut_apart({name for name, _ in rows}, _NAME - max(map(len, ends.values()), default=0))
    return [names[name] + ends[machine] for name, machine in rows]


def _cut_apart(texts: Collection[str], width: int) -> dict[str, str]:
    """Cut texts to ``width`` columns. Those that would look alike are cut before their first difference instead."""
    last = min(_LAST, width - 4)  # where the room is small, a text still begins with its first letters
    alike = grouped(texts, lambda text: cut(text, width, last))
    found = {}
    for short, several in alike.items():
        if len(several) == 1:
            found[several[0]] = short
        else:
            begin = len(commonprefix(several))  # noqa: RUF071 (letters are meant)
            rest = {text: f"…{text[begin:]}" for text in several}
            again = _cut_apart(rest.values(), width)
            found |= {text: again[end] for text, end in rest.items()}
    return found


def draw_rows(axes: Axes, labels: Sequence[str], remarks: Sequence[str], changes: Sequence[float], title: str) -> None:
    """Make ``axes`` those of rows.

    :param labels: of the rows.
    :param remarks: a text on the right of each row.
    :param changes: what the axis has room for.
    :param title: of the axis of changes, which is in percent.
    """
    tidy(axes)
    axes.grid(visible=False, axis="y")
    for place, remark in enumerate(remarks):
        axes.annotate(
            remark,
            (1, place),
            xycoords=("axes fraction", "data"),
            xytext=(6, 0),
            textcoords="offset points",
            va="center",
            fontsize=8,
            color=DARK,
            annotation_clip=False,
        )
    axes.axvline(0, color=FAINT, linewidth=1, zorder=1)
    axes.set_ylim(len(labels) - 0.4, -0.6)
    axes.set_yticks(range(len(labels)), labels, fontsize=8.5)
    remark = _percent_axis(axes, changes)
    axes.set_xlabel(f"{title} (%{remark})", fontsize=10, color=DARK)


def _percent_axis(axes: Axes, changes: Sequence[float]) -> str:
    """Make the axis linear where changes are small, logarithmic on both sides of 0 where one is large.

    :returns: what its title says of that.
    """
    low, high = min(0.0, *changes), max(0.0, *changes)
    linear = max(high, -low) <= _LINEAR
    if linear:
        pad = 0.04 * (high - low) or 0.01
        axes.set_xlim(low - pad, high + pad)
    else:
        axes.set_xscale("symlog", linthresh=_KNEE)
        axes.set_xlim(1.15 * low - 0.01, 1.15 * high + 0.01)
        axes.set_xticks(_spaced_ticks(axes))
        axes.minorticks_off()
    # A scale brings a formatter of its own.
    axes.xaxis.set_major_formatter(lambda value, _: _tick_label(value))
    return "" if linear else f"; logarithmic beyond ±{percent(_KNEE)}"


def _spaced_ticks(axes: Axes) -> list[float]:
    """Choose the ticks inside the limits whose labels have room beside each other."""
    low, high = axes.get_xlim()
    across = axes.transData + axes.transAxes.inverted()
    kept: list[tuple[float, float, float]] = []
    for tick in (0.0, *(sign * one for one in _TICKS for sign in (1, -1))):
        place = float(across.transform((tick, 0))[0]) * width_of(axes)
        half = _CHARACTER * len(_tick_label(tick)) / 2
        if low <= tick <= high and all(abs(place - other) >= half + its for _, other, its in kept):
            kept.append((tick, place, half))
    return sorted(tick for tick, _, _ in kept)


def _tick_label(value: float) -> str:
    return "0" if abs(value) < 1e-9 else f"{round(100 * value, 3):+.10g}"
