"""What all figures share: colours, markers, number labels, legends that stand beside each other, saving.

Colour is the model, from the palette of Okabe and Ito, which colour-blind readers can tell apart; the marker is the
precision. Both are the same in every figure of one call.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from roofline.units import scaled, significant

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure
    from matplotlib.lines import Line2D

_PALETTE = (
    "#0072B2",
    "#D55E00",
    "#009E73",
    "#CC79A7",
    "#E69F00",
    "#56B4E9",
    "#000000",
    "#7F3C8D",
    "#8C564B",
    "#999933",
)
_MARKERS = {
    "fp32": "o",
    "tf32": "s",
    "torch_default": "D",
    "amp_bf16": "^",
    "amp_fp16": "v",
    "bf16": "<",
    "fp16": ">",
}
_OTHER_MARKERS = ("P", "X", "*", "p", "h")

DARK = "#333333"
FAINT = "#B0B0B0"
DPI = 150


@dataclass(frozen=True, slots=True, kw_only=True)
class Style:
    """Colour by model, marker by precision. More models than colours share them in turn."""

    models: tuple[str, ...]
    precisions: tuple[str, ...]

    def color(self, model: str) -> str:
        return _PALETTE[self.models.index(model) % len(_PALETTE)]

    def marker(self, precision: str) -> str:
        known = _MARKERS.get(precision)
        if known is not None:
            return known
        others = [name for name in self.precisions if name not in _MARKERS]
        return _OTHER_MARKERS[others.index(precision) % len(_OTHER_MARKERS)]

    def model_handles(self, models: Iterable[str]) -> list[Line2D]:
        from matplotlib.lines import Line2D

        wanted = set(models)
        return [
            Line2D([], [], color=self.color(model), marker="o", linestyle="", markersize=8, label=model)
            for model in self.models
            if model in wanted
        ]

    def precision_handles(self, precisions: Iterable[str]) -> list[Line2D]:
        from matplotlib.lines import Line2D

        wanted = set(precisions)
        return [
            Line2D([], [], color=DARK, marker=self.marker(name), linestyle="", markersize=7, label=name)
            for name in self.precisions
            if name in wanted
        ]


def style_for(models: Iterable[str], precisions: Iterable[str]) -> Style:
    """One style for all figures of a call: pass everything that will be drawn."""
    order = list(_MARKERS)
    ranked = sorted(set(precisions), key=lambda name: (order.index(name) if name in order else len(order), name))
    return Style(models=tuple(sorted(set(models))), precisions=tuple(ranked))


def new_figure(width: float, height: float) -> Figure:
    """A figure of inches, without pyplot: no global state, no display needed."""
    from matplotlib.figure import Figure

    return Figure(figsize=(width, height), dpi=DPI)


def save(figure: Figure, path: Path) -> Path:
    """Write a PNG.

    :raises OSError: the file can't be written.
    """
    path.parent.mkdir(parents=True, exist_ok=True)
    figure.savefig(path, format="png", dpi=DPI)
    return path


def number_axis(axes: Axes, which: str, unit: str, low: float, high: float) -> None:
    """A logarithmic axis from ``low`` to ``high`` whose ticks read like ``10 GFLOP/s``, or ``10`` without a unit."""
    from matplotlib.ticker import FuncFormatter, LogLocator, NullFormatter

    if which == "x":
        axes.set_xscale("log")
        axes.set_xlim(low, high)
    else:
        axes.set_yscale("log")
        axes.set_ylim(low, high)
    axis = axes.xaxis if which == "x" else axes.yaxis
    # Fewer than two decades have fewer than two powers of ten: show 2 and 5 as well.
    axis.set_major_locator(LogLocator(base=10, subs=(1, 2, 5) if high / low < 100 else (1,)))
    axis.set_major_formatter(FuncFormatter(lambda value, _: scaled(value, unit, 1) if unit else significant(value, 1)))
    axis.set_minor_formatter(NullFormatter())


def tidy(axes: Axes) -> None:
    """No box around, a faint grid behind."""
    axes.spines[["top", "right"]].set_visible(False)
    axes.grid(which="major", color="#E4E4E4", linewidth=0.8)
    axes.set_axisbelow(True)
    axes.tick_params(labelsize=9, colors=DARK)


def spread(wanted: Sequence[float], gap: float, low: float = 0.0, high: float = 1.0) -> list[float]:
    """Positions near the wanted ones, in their order, at least ``gap`` apart, inside ``low`` to ``high`` if they fit.

    >>> spread([0.5, 0.5], 0.1)
    [0.45, 0.55]
    """
    order = sorted(range(len(wanted)), key=lambda index: wanted[index])
    groups: list[list[float]] = []  # [centre wanted, number of labels]
    for index in order:
        groups.append([wanted[index], 1.0])
        while len(groups) > 1 and _top(groups[-2], gap) + gap > _bottom(groups[-1], gap) + 1e-12:
            (first, count), (second, more) = groups[-2], groups[-1]
            groups[-2:] = [[(first * count + second * more) / (count + more), count + more]]
    placed = [0.0] * len(wanted)
    taken = iter(order)
    for group in groups:
        extent = (group[1] - 1) * gap
        bottom = min(max(_bottom(group, gap), low), max(low, high - extent))
        for step in range(int(group[1])):
            placed[next(taken)] = bottom + step * gap
    return placed


def _bottom(group: Sequence[float], gap: float) -> float:
    return group[0] - (group[1] - 1) * gap / 2


def _top(group: Sequence[float], gap: float) -> float:
    return group[0] + (group[1] - 1) * gap / 2


def slug(label: str) -> str:
    """A label as part of a file name."""
    return "".join(char if char.isalnum() or char in "-_." else "-" for char in label).strip("-.") or "machine"
