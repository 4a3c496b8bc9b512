"""Several machines over each other: their cases under all roofs, and as shares of each machine's own roof."""

from __future__ import annotations

import math
from collections.abc import Collection, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from roofline.machine.roof_choice import Roofs
from roofline.model.points import Point
from roofline.plots.layout import Panel
from roofline.plots.rooflines.roofline_content import (
    Content,
    Placed,
    ceilings_of,
    limits,
    marker_size,
    published_beside,
)
from roofline.plots.style import DARK, NoFigure, number_axis, style_for, tidy
from roofline.text.units import counted

if TYPE_CHECKING:
    from matplotlib.axes import Axes

_MOST_VECTORS = 2000
"""Points of an SVG: as many more take megabytes, and are a picture in it instead."""


class Machines(Panel):
    """The cases of each machine in its colour; of the precisions each has its marker.

    :param by_machine: points by the name of their machine, at least one of each.
    :param by_share: as shares of each machine's own roof.
    :raises NoFigure: fewer than two have a case to draw.
    """

    def __init__(self, by_machine: Mapping[str, Sequence[Point]], *, by_share: bool) -> None:
        self._contents = {name: Content(points) for name, points in by_machine.items()}
        self._published = {
            name: Roofs(roofs=tuple(published_beside(points, self._contents[name].roofs.roofs)))
            for name, points in by_machine.items()
        }
        self._by_share = by_share
        self.placed = {
            name: [one for one in content.placed if not by_share or _shares(one) is not None]
            for name, content in self._contents.items()
        }
        if sum(map(bool, self.placed.values())) < 2:
            raise NoFigure("fewer than two machines have a case to draw")
        placed = [one for of_machine in self.placed.values() for one in of_machine]
        self._style = style_for(by_machine, (one.record.case.precision for one in placed))
        self._as_picture = len(placed) > _MOST_VECTORS
        left_out = sum(map(len, by_machine.values())) - len(placed)
        of_roofs = "; roofs in the colour of their machine, of memory DRAM's alone; dotted: as published"
        self.lines = [f"bar: range from most to least bytes{'' if by_share else of_roofs}"]
        self.footer = [f"Not drawn: {counted(left_out, 'case')} that can't be placed"] * bool(left_out)
        drawn = (name for name, of_machine in self.placed.items() if of_machine)
        self.legend = self._style.handles(drawn, (one.record.case.precision for one in placed))

    def draw(self, axes: Axes) -> None:
        """Draw on ``axes``."""
        tidy(axes)
        axes.set_xlabel("arithmetic intensity (FLOP/byte)", fontsize=10, color=DARK)
        ends = [
            limits(
                content.placed,
                [*ceilings_of(content.roofs, content.used), *ceilings_of(self._published[name], content.used)],
                content.roofs.levels,
            )
            for name, content in self._contents.items()
            if self.placed[name]
        ]
        x_low, x_high = min(end[0] for end in ends), max(end[1] for end in ends)
        number_axis(axes, "x", "", x_low, x_high)
        if self._by_share:
            axes.set_ylabel("share of the machine's own roof (%)", fontsize=10, color=DARK)
            axes.axhline(100, color=DARK, linewidth=1.2, zorder=2)
        else:
            number_axis(axes, "y", "FLOP/s", min(end[2] for end in ends), max(end[3] for end in ends))
            axes.set_ylabel("attained (FLOP/s)", fontsize=10, color=DARK)
            for name, content in self._contents.items():
                for roofs, style in ((content.roofs, "-"), (self._published[name], ":")):
                    _draw_roofs(axes, roofs, content.used, self._style.color(name), style)
        for name, of_machine in self.placed.items():
            self._draw_points(axes, of_machine, self._style.color(name))
        if self._by_share:
            axes.set_ylim(bottom=0)

    def _draw_points(self, axes: Axes, of_machine: Sequence[Placed], color: str) -> None:
        """Those of one look together: a file of thousands of lines by themselves takes megabytes."""
        across = [math.sqrt(one.low * one.high) for one in of_machine]
        bars: dict[str, Any] = {"color": color, "linewidth": 1.2, "alpha": 0.5, "zorder": 3}
        bars["rasterized"] = self._as_picture
        if self._by_share:
            shares = [_shares(one) or (0.0, 0.0) for one in of_machine]
            up = [100 * math.sqrt(low * high) for low, high in shares]
            axes.vlines(across, [100 * low for low, _ in shares], [100 * high for _, high in shares], **bars)
        else:
            up = [one.attained for one in of_machine]
            axes.hlines(up, [one.low for one in of_machine], [one.high for one in of_machine], **bars)
        looks: dict[tuple[str, int, bool], list[int]] = {}
        for index, one in enumerate(of_machine):
            case, hollow = one.record.case, one.point.placement.provenance == "time_only"
            looks.setdefault((case.precision, case.batch, hollow), []).append(index)
        for (precision, batch, hollow), chosen in looks.items():
            axes.plot(
                [across[index] for index in chosen],
                [up[index] for index in chosen],
                linestyle="",
                marker=self._style.marker(precision),
                markersize=marker_size(batch),
                color=color,
                fillstyle="none" if hollow else "full",
                markeredgecolor=color if hollow else "white",
                markeredgewidth=1.5 if hollow else 0.7,
                zorder=4,
                rasterized=self._as_picture,
            )


def _shares(one: Placed) -> tuple[float, float] | None:
    place = one.point.placement
    low, high = place.fraction_low, place.fraction_high
    return (low, high) if low and high else None


def _draw_roofs(axes: Axes, roofs: Roofs, used: Collection[str], color: str, style: str) -> None:
    """The roofs of dtypes that ran, and DRAM's slope below them; without labels, which would lie on each other."""
    x_low, x_high = axes.get_xlim()
    dram = roofs.value("byte", "dram")
    ceilings = [one.value for one in ceilings_of(roofs, used) if one.name in used]
    look: dict[str, Any] = {"color": color, "linestyle": style, "linewidth": 1.2, "alpha": 0.8, "zorder": 2}
    for value in ceilings:
        left = x_low if dram is None else max(x_low, value / dram)
        axes.plot([left, x_high], [value, value], **look)
    if dram is not None:
        right = max(ceilings, default=x_high * dram) / dram
        axes.plot([x_low, right], [x_low * dram, right * dram], **look)
