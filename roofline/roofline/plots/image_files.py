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
from roofline.plots.roofline_content import drawable
from roofline.plots.style import Form, save, slug, style_of
from roofline.plots.throughput import throughput_figure
from roofline.plots.variability import variability_figure
from roofline.show.machines import Machine, by_machine, machine_names, machine_of, roofs_alone
from roofline.text.units import some_of

if TYPE_CHECKING:
    from matplotlib.figure import Figure

PNG: tuple[Form, ...] = ("png",)


class _Drawn:
    """Files written so far, and notes on what was left out."""

    def __init__(self, folder: Path, forms: Sequence[Form] = PNG, write: Write = write_bytes) -> None:
        self._folder = folder
        self._forms = forms
        self._write = write
        self.paths: list[Path] = []
        self.notes: list[str] = []

    def add(self, name: str, figure: Figure | None, why_not: str = "") -> None:
        """Write a figure.

        :param why_not: there is none; empty where nobody has to know.
        """
        if figure is not None:
            self.paths += [save(figure, self._folder / f"{name}.{form}", form, self._write) for form in self._forms]
        elif why_not:
            self.notes.append(why_not)


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
    drawn = _Drawn(folder, forms, write)
    drawn.notes += [f"{note}; variability has all" for note in notes]
    bare = roofs_alone(points)
    for key, name in machine_names([*shown, *bare]).items():
        title, file = title_of(key, name), slug(name)
        own = [point for point in shown if machine_of(point) == key]
        if not own:
            under = [point for point in bare if machine_of(point) == key]
            drawn.add(f"roofline-{file}", roofline_figure(under, title, style))
            continue
        if modelled := drawable(own):
            why_not = f"{name}: no roofline to draw: no case can be placed, and the machine has no roofs"
            drawn.add(f"roofline-{file}", roofline_figure(modelled, title, style), why_not)
        why_not = f"{name}: no throughput to draw: no case has a record with a time"
        drawn.add(f"throughput-{file}", throughput_figure(own, title, style), why_not)
        rounds = [point for point in sessions if machine_of(point) == key]
        why_not = f"{name}: no variability to draw: no case has the times of its rounds"
        drawn.add(f"variability-{file}", variability_figure(rounds, title), why_not)
    return drawn.paths, drawn.notes


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
    drawn = _Drawn(folder, forms, write)
    drawn.add("machines-roofline", machines_figure(of_names))
    drawn.add("machines-share", machines_figure(of_names, by_share=True))
    return drawn.paths


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
    drawn = _Drawn(folder, forms, write)
    for point in shown:
        machine = names[machine_of(point)]
        end = f"{slug(machine)}-{slug(case)}"
        try:
            drawn.add(f"operations-{end}", step_figure(point))
        except ValueError as error:
            drawn.notes.append(f"{machine}: no operations to draw: {error}")
        why_not = why_no_levels(point)
        levels = None if why_not is not None else levels_figure(point)
        drawn.add(f"levels-{end}", levels, f"{machine}: no levels of {case} to draw: {why_not}")
        own = [one for one in sessions if machine_of(one) == machine_of(point)]
        rounds = variability_figure(own, f"{case} · {title_of(machine_of(point), machine)}")
        drawn.add(f"rounds-{end}", rounds, f"{machine}: no rounds of {case} to draw: it has no times of its rounds")
    return drawn.paths, drawn.notes


def title_of(machine: Machine, name: str) -> str:
    """Name the machine above a figure, with its device."""
    return name if not machine.device or machine.device in name else f"{name} · {machine.device}"


def draw_levels(points: Sequence[Point], folder: Path) -> tuple[list[Path], list[str]]:
    """Write for each case that has hardware counters its hierarchical roofline; the paths, and notes on the others.

    :raises OSError: a file can't be written.
    """
    shown, notes = newest(cases(points))
    names = machine_names(shown)
    drawn = _Drawn(folder)
    reasons: dict[str, list[str]] = {}
    for point in shown:
        if point.mode not in ("train", "infer"):
            continue
        why_not = why_no_levels(point)
        if why_not is None:
            drawn.add(f"levels-{slug(names[machine_of(point)])}-{slug(point.id)}", levels_figure(point))
        else:
            reasons.setdefault(why_not, []).append(point.id)
    remarks = [f"not drawn, {why}: {some_of(named, _NAMED)}" for why, named in reasons.items()]
    return drawn.paths, [*notes, *remarks]


_NAMED = 4
"""Cases that one note names."""
