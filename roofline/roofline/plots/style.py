"""The style of all figures: colours, markers, number labels, labels beside each other, saving.

Colour is the model, from the palette of Okabe and Ito, which colour-blind readers can tell apart; the marker is the
precision; how it is filled is the variant (data source, layout, compiled). All are the same in every figure of one
call.
"""

from __future__ import annotations

import hashlib
import io
import warnings
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

from roofline.files.writing import Write, utf8, write_bytes
from roofline.model.input_pipeline import TEST, has_ready_data
from roofline.model.speed_of_light import compiled
from roofline.schema.record import Record
from roofline.text.printable import printable
from roofline.text.units import scaled, significant
from roofline.text.wrapping import cut

if TYPE_CHECKING:
    from matplotlib.artist import Artist
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
_TINTS = (0.0, 0.45, -0.4)
"""Once the palette is through: lighter (towards white), then darker (towards black)."""

Fill = Literal["full", "left", "right", "top", "bottom"]
_FILLS: tuple[Fill, ...] = ("left", "right", "top", "bottom")
_OTHER_HALVES = ("white", "#B8B8B8", "#3A3A3A")
_LINES: tuple[Any, ...] = ((0, (5, 2)), (0, (1, 1.5)), (0, (5, 1.5, 1, 1.5)), (0, (8, 2)))

DARK = "#333333"
MIDDLE = "#7A7A7A"
"""Of a marker in the legend that stands for any model: distinct from every other half that it may have."""
FAINT = "#B0B0B0"
SMALL = "#666666"
"""Of the lines around a figure."""
DPI = 150
_NAME = 48
"""Characters of a model's name in a legend."""

PLAIN = ""
"""The variant of an eager case on data that lie ready, synthetic or given by the test, in torch's own layout."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Style:
    """Colour by model, marker by precision, fill and line by variant. More models than colours share them in turn."""

    models: tuple[str, ...]
    precisions: tuple[str, ...]
    variants: tuple[str, ...] = (PLAIN,)

    def color(self, model: str) -> str:
        turn, place = divmod(self.models.index(model), len(_PALETTE))
        return _tinted(_PALETTE[place], _TINTS[turn % len(_TINTS)])

    def fill(self, variant: str) -> Fill:
        """The half of a marker that is filled: all of it for the plain variant alone."""
        return "full" if variant == PLAIN else _FILLS[self._others.index(variant) % len(_FILLS)]

    def other_half(self, variant: str) -> str:
        """Colour of the half that isn't filled, which tells variants apart where there are more of them than halves."""
        turn = 0 if variant == PLAIN else self._others.index(variant) // len(_FILLS)
        return _OTHER_HALVES[turn % len(_OTHER_HALVES)]

    def line(self, variant: str) -> Any:
        """A line style."""
        return "-" if variant == PLAIN else _LINES[self._others.index(variant) % len(_LINES)]

    @property
    def _others(self) -> list[str]:
        return [variant for variant in self.variants if variant != PLAIN]

    def marker(self, precision: str) -> str:
        known = _MARKERS.get(precision)
        if known is not None:
            return known
        others = [name for name in self.precisions if name not in _MARKERS]
        return _OTHER_MARKERS[others.index(precision) % len(_OTHER_MARKERS)]

    def handles(
        self, models: Iterable[str], precisions: Iterable[str], variants: Iterable[str] = (), *, lines: bool = False
    ) -> list[Line2D]:
        """Make the legend of those that are drawn; variants stand in it where there are others than the plain one.

        :param lines: with the line of a variant beside its marker.
        """
        wanted = {*models}
        handles = [handle(cut(name, _NAME), color=self.color(name)) for name in self.models if name in wanted]
        wanted = {*precisions}
        for name in (one for one in self.precisions if one in wanted):
            handles.append(handle(name, color=DARK, marker=self.marker(name), markersize=7))
        wanted = {*variants}
        for name in (one for one in self.variants if one in wanted and not wanted <= {PLAIN}):
            look = {"fillstyle": self.fill(name), "markerfacecoloralt": self.other_half(name)}
            line = self.line(name) if lines else ""
            handles.append(handle(name or "ready data", color=MIDDLE, markersize=7, linestyle=line, **look))
        return handles


def variant(record: Record) -> str:
    """In words what differs from `PLAIN`: layout, data, compiled, ranks; or the input pipeline's test."""
    case = record.case
    data = "" if has_ready_data(record) else case.data
    if case.config.get("test") == TEST:
        data = f"input test: {data or 'ready'}"
    layout = "" if case.layout == "contiguous" else case.layout or "mixed layouts"
    ranks = "" if record.parallel is None else f"{record.parallel.ranks} ranks, {record.parallel.strategy or 'apart'}"
    return ", ".join(part for part in (layout, data, "compiled" if compiled(record) else "", ranks) if part)


def style_for(models: Iterable[str], precisions: Iterable[str], variants: Iterable[str] = (PLAIN,)) -> Style:
    """One style for all figures of a call: pass everything that will be drawn."""
    order = list(_MARKERS)
    ranked = sorted(set(precisions), key=lambda name: (order.index(name) if name in order else len(order), name))
    return Style(
        models=tuple(sorted(set(models))), precisions=tuple(ranked), variants=tuple(sorted({PLAIN, *variants}))
    )


def style_of(records: Iterable[Record | None]) -> Style:
    """The style of records' cases."""
    known = [record for record in records if record is not None]
    return style_for(
        (record.case.model for record in known), (record.case.precision for record in known), map(variant, known)
    )


def _tinted(color: str, tint: float) -> str:
    """A colour (``#rrggbb``) by the share ``tint`` nearer to white, or to black where it is negative."""
    towards = 255 if tint > 0 else 0
    parts = (int(color[start : start + 2], 16) for start in (1, 3, 5))
    return "#" + "".join(f"{round(part + abs(tint) * (towards - part)):02X}" for part in parts)


def handle(label: str, **style: Any) -> Line2D:
    """Make a line of a legend: a round marker without a line, unless ``style`` says otherwise."""
    from matplotlib.lines import Line2D

    return Line2D([], [], label=label, **{"marker": "o", "linestyle": "", "markersize": 8, **style})


def new_figure(width: float, height: float) -> Figure:
    """A figure of inches, without pyplot: no global state, no display needed."""
    from matplotlib.figure import Figure

    return Figure(figsize=(width, height), dpi=DPI)


class NoFigure(ValueError):
    """There is nothing to draw; the message says why."""


Form = Literal["png", "svg"]
"""Of a figure's file."""


def save(figure: Figure, path: Path, form: Form = "png", write: Write = write_bytes) -> Path:
    """Write a file that is the same whenever it is made of the same figure.

    :raises OSError: the file can't be written.
    """
    from matplotlib import rc_context

    show_as_written(figure)
    made = io.BytesIO()
    with warnings.catch_warnings(), rc_context({"svg.hashsalt": "roofline"}):
        warnings.filterwarnings("ignore", "Glyph .* missing from")  # a box stands for it
        metadata = {"Date": None} if form == "svg" else None
        figure.savefig(made, format=form, dpi=DPI, bbox_inches="tight", pad_inches=0.15, metadata=metadata)
    write(path, made.getvalue())
    return path


def show_as_written(artist: Artist) -> None:
    """Make all texts in ``artist`` show what they say: a name may hold dollar signs, and is no formula."""
    from matplotlib.text import Text

    for text in artist.findobj(Text):
        assert isinstance(text, Text)
        if "$" in text.get_text():
            text.set_parse_math(False)
        text.set_text("\n".join(map(printable, text.get_text().split("\n"))))


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

    >>> spread([0.5, 0.5], 0.25)
    [0.5, 0.75]
    """
    order = sorted(range(len(wanted)), key=wanted.__getitem__)
    placed = list(wanted)
    least, most = low, high
    for index in order:
        placed[index] = max(placed[index], least)
        least = placed[index] + gap
    for index in reversed(order):
        placed[index] = min(placed[index], most)
        most = placed[index] - gap
    return placed


def slug(label: str) -> str:
    """A label as part of a file name: two of them fit into one. One that can't stand as it is, or is long, ends in a
    digest, which tells it apart.
    """
    text = "".join(char if char.isalnum() or char in "-_." else "-" for char in label).strip("-.")
    if text and text == label and len(text.encode()) <= _LONGEST_SLUG:
        return text
    begin = text.encode()[: _LONGEST_SLUG - 9].decode(errors="ignore").strip("-.") or "machine"
    return f"{begin}-{hashlib.sha256(utf8(label)).hexdigest()[:8]}"


_LONGEST_SLUG = 100
"""Bytes: a name has 255 on every usual file system."""
