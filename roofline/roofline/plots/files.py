"""Which figures a set of points gives, and their files."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from roofline.model.points import Point, cases, newest
from roofline.plots.levels import levels_figure, why_no_levels
from roofline.plots.roofline import roofline_figure
from roofline.plots.style import save, slug, style_for
from roofline.plots.throughput import throughput_figure
from roofline.plots.variants import variant
from roofline.show.machines import machine_names, machine_of
from roofline.text.units import some_of


def draw(points: Sequence[Point], folder: Path) -> tuple[list[Path], list[str]]:
    """Write a roofline and a throughput figure for each device; the paths, and notes on what was left out.

    :raises OSError: a file can't be written.
    """
    shown, notes = newest(cases(points))
    records = [point.benchmark.record for point in shown if point.benchmark.record is not None]
    style = style_for(
        (record.case.model for record in records),
        (record.case.precision for record in records),
        map(variant, records),
    )
    names = machine_names(shown)
    paths: list[Path] = []
    remarks = list(notes)
    for key, name in names.items():
        own = [point for point in shown if machine_of(point) == key]
        drawable = [point for point in own if point.mode in ("train", "infer") or point.benchmark.record is None]
        title = name if not key.device or key.device in name else f"{name} · {key.device}"
        if drawable:
            paths.append(save(roofline_figure(drawable, title, style), folder / f"roofline-{slug(name)}.png"))
        figure = throughput_figure(own, title, style)
        if figure is None:
            remarks.append(f"{name}: no throughput to draw: no case has a record with a time")
        else:
            paths.append(save(figure, folder / f"throughput-{slug(name)}.png"))
    return paths, remarks


def draw_levels(points: Sequence[Point], folder: Path) -> tuple[list[Path], list[str]]:
    """Write for each case that has hardware counters its hierarchical roofline; the paths, and notes on the others.

    :raises OSError: a file can't be written.
    """
    shown, notes = newest(cases(points))
    names = machine_names(shown)
    paths: list[Path] = []
    reasons: dict[str, list[str]] = {}
    for point in shown:
        if point.mode not in ("train", "infer"):
            continue
        why_not = why_no_levels(point)
        if why_not is None:
            name = f"levels-{slug(names[machine_of(point)])}-{slug(point.id)}.png"
            paths.append(save(levels_figure(point), folder / name))
        else:
            reasons.setdefault(why_not, []).append(point.id)
    remarks = [f"not drawn, {why}: {some_of(named, _NAMED)}" for why, named in reasons.items()]
    return paths, [*notes, *remarks]


_NAMED = 4
"""Cases that one note names."""
