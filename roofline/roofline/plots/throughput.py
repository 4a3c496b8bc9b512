"""Throughput against batch size of one device as a figure: a line per model, precision and variant."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from roofline.model.point_flags import settings_but_batch
from roofline.model.point_groups import NEAR_BEST, knee, runs_of
from roofline.model.points import Point
from roofline.plots.layout import Panel, beside, draw_heading, moved
from roofline.plots.style import DARK, PLAIN, NoFigure, Style, new_figure, number_axis, tidy, variant
from roofline.schema.record import Case, Mode
from roofline.show.tables import grouped
from roofline.text.units import percent, significant

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure
    from matplotlib.lines import Line2D

# Inches.
_BETWEEN, _PANEL, _AXES_HEIGHT = 0.75, 4.6, 2.95
_LEGEND_ROWS = 15
_SIDE_STEP, _MOST_BESIDE = 0.07, 0.32
MODES: dict[Mode, str] = {"train": "training", "infer": "inference"}


@dataclass(frozen=True, slots=True, eq=False)
class MeasuredThroughput:
    """A case's samples per second, and one standard deviation."""

    point: Point
    case: Case
    variant: str
    rate: float
    deviation: float


@dataclass(frozen=True, slots=True)
class Curve:
    """Throughputs that differ in their batch size alone: of several sizes, the smallest first.

    ``place`` is that of the knee (see `roofline.model.point_groups.knee`).
    """

    measured: tuple[MeasuredThroughput, ...]
    place: int | None

    @property
    def knee(self) -> MeasuredThroughput | None:
        """At the knee; None where margins leave it open, and where the largest batch still gains."""
        one = None if self.place is None else self.measured[self.place]
        return None if one is self.measured[-1] else one


class Throughput(Panel):
    """Throughput of one device's cases of one mode. Error bars are one standard deviation.

    :param points: of one device; those without a throughput, and those of other modes, aren't drawn.
        At least one has one (see `modes_of`).
    """

    def __init__(self, points: Sequence[Point], mode: Mode, style: Style) -> None:
        self.measured = [one for one in all_measured(points) if one.case.mode == mode]
        self.mode, self._style = mode, style
        self.knees = [curve.knee for curve in curves(self.measured) if curve.knee is not None]
        self.lines = _how_to_read([self])
        self.legend = _legend(self.measured, style)

    def draw(self, axes: Axes) -> None:
        """Draw on ``axes``."""
        _draw(axes, self.measured, self.knees, self._style)
        axes.set_title(MODES[self.mode], fontsize=10.5, color=DARK, loc="left")
        units = {one.case.sample_unit for one in self.measured}
        axes.set_ylabel(f"{units.pop() if len(units) == 1 else 'sample'}s/s", fontsize=10, color=DARK)


_READ_IT = "median of the rounds, bars: one standard deviation; what stands around a tick is of that batch size"
KNEE = f"the knee, the smallest batch with at least {percent(NEAR_BEST)} of the best throughput"
_RING: dict[str, Any] = {"markersize": 13, "fillstyle": "none", "markeredgewidth": 1.2, "label": "_knee"}


def _how_to_read(panels: Sequence[Throughput]) -> list[str]:
    ring = [f"ring: {KNEE}"] if any(panel.knees for panel in panels) else []
    runs = runs_of(one.point for panel in panels for one in panel.measured)
    return [_READ_IT, *ring, *filter(None, [runs])]


def modes_of(points: Sequence[Point]) -> list[Mode]:
    """List the modes of which a case has a throughput. A loader alone is no case: it has no throughput of a model."""
    found = {one.case.mode for one in all_measured(points)}
    return [mode for mode in MODES if mode in found]


def throughput_figure(points: Sequence[Point], title: str, style: Style) -> Figure:
    """The figure of one device's cases, a panel for each mode.

    :param points: of one device.
    :raises NoFigure: no case has a throughput.
    """
    panels = [Throughput(points, mode, style) for mode in modes_of(points)]
    if not panels:
        raise NoFigure("no case has a record with a time")
    width = len(panels) * (_PANEL + _BETWEEN) - _BETWEEN
    figure = new_figure(width, _AXES_HEIGHT)
    for index, panel in enumerate(panels):
        axes = figure.add_axes((index * (_PANEL + _BETWEEN) / width, 0, _PANEL / width, 1))
        panel.draw(axes)
        if index > 0 and axes.get_ylabel() == figure.axes[0].get_ylabel():
            axes.set_ylabel("")
    draw_heading(figure, title, _how_to_read(panels), over=0.4, across=width + 2)
    handles = _legend([one for panel in panels for one in panel.measured], style)
    columns = math.ceil(len(handles) / _LEGEND_ROWS)
    axes.legend(handles=handles, ncols=columns, fontsize=9, **beside(axes, (1, 1), (0.2, 0.15)))
    return figure


def _legend(measured: Sequence[MeasuredThroughput], style: Style) -> list[Line2D]:
    cases = [one.case for one in measured]
    variants = (one.variant for one in measured)
    return style.handles((one.model for one in cases), (one.precision for one in cases), variants, lines=True)


def all_measured(points: Sequence[Point]) -> list[MeasuredThroughput]:
    """Those of the cases that have a throughput."""
    found = []
    for point in points:
        record, rate = point.benchmark.record, point.samples_per_s
        if record is not None and rate is not None and point.valid and record.case.batch >= 1:
            found.append(MeasuredThroughput(point, record.case, variant(record), rate, rate * (point.spread or 0.0)))
    return found


def curves(measured: Sequence[MeasuredThroughput]) -> list[Curve]:
    """Throughputs of one machine as curves; a series of which more differs than the batch size is none."""

    def series_of(one: MeasuredThroughput) -> tuple[str, ...]:
        return one.case.model, one.case.mode, one.case.precision, one.variant, one.case.sample_unit

    found = []
    for of in grouped(measured, series_of).values():
        if len(of) > 1 and _differ_in_batch_alone(of):
            in_order = sorted(of, key=lambda one: one.case.batch)
            found.append(Curve(tuple(in_order), knee([one.point for one in in_order])))
    return found


def _differ_in_batch_alone(of: Sequence[MeasuredThroughput]) -> bool:
    return len({one.case.batch for one in of}) == len(of) and len({settings_but_batch(one.case) for one in of}) == 1


def _draw(
    axes: Axes, measured: Sequence[MeasuredThroughput], knees: Sequence[MeasuredThroughput], style: Style
) -> None:
    tidy(axes)
    rates = [one.rate for one in measured]
    batches = sorted({one.case.batch for one in measured})
    axes.set_xscale("log", base=2)
    axes.set_xticks(batches, [str(batch) for batch in batches])
    axes.minorticks_off()
    axes.set_xlim(batches[0] / 1.4, batches[-1] * 1.4)
    if max(rates) / min(rates) > 8:
        number_axis(axes, "y", "", min(rates) / 1.8, max(rates) * 1.8)
    else:
        axes.set_ylim(0, max(one.rate + one.deviation for one in measured) * 1.1)
        axes.yaxis.set_major_formatter(lambda value, _: significant(value, 2) if value % 1 else f"{value:.0f}")
    axes.set_xlabel("batch size", fontsize=10, color=DARK)
    in_order = sorted(measured, key=lambda one: one.case.batch)
    series = grouped(in_order, lambda one: (one.case.model, one.case.precision, one.variant))
    step = min(_SIDE_STEP, _MOST_BESIDE / max(1, len(series) - 1))
    for index, (model, precision, named) in enumerate(sorted(series)):
        line = series[model, precision, named]
        aside = (index - (len(series) - 1) / 2) * step
        # Beside each other, else one hides the other's bar.
        transform = moved(axes, axes.transData, aside, 0)
        axes.errorbar(
            [one.case.batch for one in line],
            [one.rate for one in line],
            yerr=[one.deviation or math.nan for one in line],  # a spread that isn't known is no spread of 0
            color=style.color(model),
            marker=style.marker(precision),
            markersize=6.5,
            fillstyle=style.fill(named),
            markerfacecoloralt=style.other_half(named),
            markeredgecolor="white" if named == PLAIN else style.color(model),
            markeredgewidth=0.6 if named == PLAIN else 1.0,
            linewidth=1.4,
            linestyle=style.line(named) if _differ_in_batch_alone(line) else "",
            elinewidth=1.2,
            capsize=3,
            transform=transform,
        )
        rings = [one for one in line if one in knees]
        if rings:
            across, up = [one.case.batch for one in rings], [one.rate for one in rings]
            axes.plot(across, up, "o", markeredgecolor=style.color(model), transform=transform, **_RING)
