"""Draw all figures of a set of points into files."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from roofline.files.writing import Write, write_bytes
from roofline.model.points import Point, cases, newest
from roofline.plots.levels import levels_figure, why_no_levels
from roofline.plots.machine_rooflines import machines_figure
from roofline.plots.operation_bars import step_figure
from roofline.plots.roofline import roofline_figure
from roofline.plots.style import Form, save, slug, style_of
from roofline.plots.throughput import throughput_figure
from roofline.plots.variability import variability_figure
from roofline.show.machines import Machine, by_machine, machine_names, machine_of, roofs_alone
from roofline.text.units import some_of

if TYPE_CHECKING:
    from matplotlib.figure import Figure

PNG: tuple[Form, ...] = ("png",)


def draw(
    points: Sequence[Point], folder: Path, forms: Sequence[Form] = PNG, write: Write = write_bytes
) -> tuple[list[Path], list[str]]:
    """Write roofline, throughput and variability of each device; the paths, and notes on what was left out. Of a device
    without cases the roofs are drawn.

    :raises OSError: a file can't be written.
    """
    sessions = cases(points)
    shown, notes = newest(sessions)
    style = style_of(point.benchmark.record for point in shown)
    paths: list[Path] = []
    remarks = [f"{note}; variability has all" for note in notes]
    bare = roofs_alone(points)
    for key, name in machine_names([*shown, *bare]).items():
        own = [point for point in shown if machine_of(point) == key]
        if not own:
            under = [point for point in bare if machine_of(point) == key]
            figure = roofline_figure(under, title_of(key, name), style)
            if figure is not None:
                paths += _saved(figure, folder, f"roofline-{slug(name)}", forms, write)
            continue
        drawable = [point for point in own if point.mode in ("train", "infer") or point.benchmark.record is None]
        title = title_of(key, name)
        figure = roofline_figure(drawable, title, style) if drawable else None
        if figure is not None:
            paths += _saved(figure, folder, f"roofline-{slug(name)}", forms, write)
        elif drawable:
            remarks.append(f"{name}: no roofline to draw: no case can be placed, and the machine has no roofs")
        figure = throughput_figure(own, title, style)
        if figure is None:
            remarks.append(f"{name}: no throughput to draw: no case has a record with a time")
        else:
            paths += _saved(figure, folder, f"throughput-{slug(name)}", forms, write)
        figure = variability_figure([point for point in sessions if machine_of(point) == key], title)
        if figure is None:
            remarks.append(f"{name}: no variability to draw: no case has the times of its rounds")
        else:
            paths += _saved(figure, folder, f"variability-{slug(name)}", forms, write)
    return paths, remarks


def draw_machines(
    points: Sequence[Point], folder: Path, forms: Sequence[Form] = PNG, write: Write = write_bytes
) -> list[Path]:
    """Write several machines over each other, and as shares of each machine's own roof; the paths.

    :raises OSError: a file can't be written.
    """
    shown, _ = newest(cases(points))
    names = machine_names(shown)
    models = by_machine(point for point in shown if point.mode in ("train", "infer"))
    of_names = {names[machine]: own for machine, own in models.items()}
    paths: list[Path] = []
    for name, by_share in (("machines-roofline", False), ("machines-share", True)):
        figure = machines_figure(of_names, by_share=by_share)
        if figure is not None:
            paths += _saved(figure, folder, name, forms, write)
    return paths


def draw_case(
    case: str, points: Sequence[Point], folder: Path, forms: Sequence[Form] = PNG, write: Write = write_bytes
) -> tuple[list[Path], list[str]]:
    """Write of one case, for each device that ran it: its step taken apart, its levels where they were counted, and its
    rounds, of all sessions; the paths, and notes on what was left out.

    :param case: its id.
    :raises OSError: a file can't be written.
    """
    sessions = [point for point in cases(points) if point.id == case]
    shown, _ = newest(sessions)
    names = machine_names(shown)
    paths: list[Path] = []
    remarks: list[str] = []
    for point in shown:
        machine = names[machine_of(point)]
        try:
            paths += _saved(step_figure(point), folder, _name("operations", machine, point), forms, write)
        except ValueError as error:
            remarks.append(f"{machine}: no operations to draw: {error}")
        if (why_not := why_no_levels(point)) is None:
            paths += _saved(levels_figure(point), folder, _name("levels", machine, point), forms, write)
        else:
            remarks.append(f"{machine}: no levels of {case} to draw: {why_not}")
        own = [one for one in sessions if machine_of(one) == machine_of(point)]
        rounds = variability_figure(own, f"{case} · {title_of(machine_of(point), machine)}")
        if rounds is None:
            remarks.append(f"{machine}: no rounds of {case} to draw: it has no times of its rounds")
        else:
            paths += _saved(rounds, folder, _name("rounds", machine, point), forms, write)
    return paths, remarks


def _name(kind: str, machine: str, point: Point) -> str:
    return f"{kind}-{slug(machine)}-{slug(point.id)}"


def _saved(figure: Figure, folder: Path, name: str, forms: Sequence[Form], write: Write = write_bytes) -> list[Path]:
    return [save(figure, folder / f"{name}.{form}", form, write) for form in forms]


def title_of(machine: Machine, name: str) -> str:
    """Name the machine above a figure, with its device."""
    return name if not machine.device or machine.device in name else f"{name} · {machine.device}"


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
            paths += _saved(
                levels_figure(point), folder, _name("levels", names[machine_of(point)], point), PNG, write_bytes
            )
        else:
            reasons.setdefault(why_not, []).append(point.id)
    remarks = [f"not drawn, {why}: {some_of(named, _NAMED)}" for why, named in reasons.items()]
    return paths, [*notes, *remarks]


_NAMED = 4
"""Cases that one note names."""
