"""Throughput against batch size of one device as a figure: a line per model, precision and variant."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from roofline.plot_style import DARK, Style, new_figure, number_axis, tidy
from roofline.points import Point
from roofline.record import Mode
from roofline.units import significant

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure
    from matplotlib.lines import Line2D

# Inches.
_LEFT, _BETWEEN, _PANEL, _RIGHT, _HEIGHT = 0.95, 0.75, 4.6, 2.1, 4.7
_LEGEND_ROWS = 15
_MODES: dict[Mode, str] = {"train": "training", "infer": "inference"}
_VARIANT_LINES: tuple[Any, ...] = ("-", (0, (5, 2)), (0, (1, 1.5)), (0, (5, 1.5, 1, 1.5)))


@dataclass(frozen=True, slots=True)
class _Measured:
    model: str
    mode: Mode
    precision: str
    variant: str
    batch: int
    rate: float
    deviation: float


def throughput_figure(points: Sequence[Point], title: str, style: Style) -> Figure | None:
    """The figure of one device's cases, or None where no case has a throughput. Error bars are one standard deviation.

    :param points: of one device.
    """
    measured = [found for point in points if (found := _measured(point)) is not None]
    # A loader alone is no case: it has no throughput of a model.
    measured = [one for one in measured if one.mode in _MODES]
    modes = [mode for mode in _MODES if any(one.mode == mode for one in measured)]
    if not modes:
        return None
    variants = sorted({one.variant for one in measured})
    handles = style.model_handles(one.model for one in measured)
    handles += style.precision_handles(one.precision for one in measured)
    handles += _variant_handles(variants)
    legend_columns = math.ceil(len(handles) / _LEGEND_ROWS)
    right = legend_columns * _RIGHT
    width = _LEFT + len(modes) * _PANEL + (len(modes) - 1) * _BETWEEN + right
    figure = new_figure(width, _HEIGHT)
    for index, mode in enumerate(modes):
        left = (_LEFT + index * (_PANEL + _BETWEEN)) / width
        axes = figure.add_axes((left, 0.75 / _HEIGHT, _PANEL / width, (_HEIGHT - 1.75) / _HEIGHT))
        _panel(axes, [one for one in measured if one.mode == mode], variants, style)
        axes.set_title(_MODES[mode], fontsize=10.5, color=DARK, loc="left")
        if index == 0:
            axes.set_ylabel("samples/s", fontsize=10, color=DARK)
    figure.text(_LEFT / width, 1 - 0.35 / _HEIGHT, title, fontsize=12.5, fontweight="bold", color=DARK)
    subtitle = "mean of the rounds, bars: one standard deviation"
    figure.text(_LEFT / width, 1 - 0.57 / _HEIGHT, subtitle, fontsize=9, color="#666666")
    figure.legend(
        handles=handles,
        ncols=legend_columns,
        loc="upper left",
        bbox_to_anchor=((width - right + 0.2) / width, (_HEIGHT - 0.85) / _HEIGHT),
        frameon=False,
        fontsize=9,
        borderaxespad=0,
    )
    return figure


def _measured(point: Point) -> _Measured | None:
    record, rate = point.benchmark.record, point.samples_per_s
    if record is None or rate is None or not point.valid:
        return None
    case = record.case
    variant = ", ".join(part for part in (case.layout, case.data) if part not in ("contiguous", "synthetic"))
    deviation = rate * (point.spread or 0.0)
    return _Measured(case.model, case.mode, case.precision, variant, case.batch, rate, deviation)


def _panel(axes: Axes, measured: Sequence[_Measured], variants: Sequence[str], style: Style) -> None:
    tidy(axes)
    rates = [one.rate for one in measured]
    batches = sorted({one.batch for one in measured})
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
    series = sorted({(one.model, one.precision, one.variant) for one in measured})
    for model, precision, variant in series:
        line = sorted(
            (one for one in measured if (one.model, one.precision, one.variant) == (model, precision, variant)),
            key=lambda one: one.batch,
        )
        axes.errorbar(
            [one.batch for one in line],
            [one.rate for one in line],
            yerr=[one.deviation for one in line],
            color=style.color(model),
            marker=style.marker(precision),
            markersize=6,
            markeredgecolor="white",
            markeredgewidth=0.6,
            linewidth=1.4,
            linestyle=_VARIANT_LINES[variants.index(variant) % len(_VARIANT_LINES)],
            capsize=2.5,
        )


def _variant_handles(variants: Sequence[str]) -> list[Line2D]:
    from matplotlib.lines import Line2D

    if len(variants) < 2:
        return []
    return [
        Line2D(
            [],
            [],
            color=DARK,
            linestyle=_VARIANT_LINES[index % len(_VARIANT_LINES)],
            label=variant or "contiguous, synthetic",
        )
        for index, variant in enumerate(variants)
    ]
