"""Draw all figures of a set of points into files."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

from roofline.files.writing import Write, write_bytes
from roofline.model.point_groups import by_machine, cases, machine_names, newest, roofs_alone
from roofline.model.points import MachineKey, Point
from roofline.plots.layout import Panel, figure_of
from roofline.plots.rooflines.levels import Levels
from roofline.plots.rooflines.machine_rooflines import Machines
from roofline.plots.rooflines.operation_bars import step_figure
from roofline.plots.rooflines.roofline import Roofline
from roofline.plots.rooflines.roofline_content import drawable
from roofline.plots.style import Form, NoFigure, save, slug, style_of
from roofline.plots.throughput import throughput_figure
from roofline.plots.variability import Variability
from roofline.show.step.step_notes import heading
from roofline.text.units import some_of

if TYPE_CHECKING:
    from matplotlib.figure import Figure

PNG: tuple[Form, ...] = ("png",)


class _Figures:
    """Files written so far, and notes on what was left out."""

    def __init__(self, folder: Path, forms: Sequence[Form] = PNG, write: Write = write_bytes) -> None:
        self._folder = folder
        self._forms = forms
        self._write = write
        self.paths: list[Path] = []
        self.notes: list[str] = []

    def add(self, name: str, title: str, make: Callable[[], Panel | Figure], otherwise: str) -> None:
        """Write a figure.

        :param make: makes it or its panel, or raises a NoFigure that says why there is none.
        :param otherwise: begins the note where there is none.
        """
        try:
            made = make()
            figure = figure_of(made, title) if isinstance(made, Panel) else made
        except NoFigure as error:
            self.notes.append(f"{otherwise}: {error}")
        else:
            self.paths += [save(figure, self._folder / f"{name}.{form}", form, self._write) for form in self._forms]


def draw(
    points: Sequence[Point], folder: Path, forms: Sequence[Form] = PNG, write: Write = write_bytes
) -> tuple[list[Path], list[str]]:
    """Write roofline, throughput and variability of each device; the paths, and notes on what was left out. Of a device
    without cases the roofs are drawn.

    :raises OSError: a file can't be written.
    """
    sessions, bare = by_machine(cases(points)), by_machine(roofs_alone(points))
    shown, notes = newest(cases(points))
    style = style_of(point.benchmark.record for point in shown)
    figures = _Figures(folder, forms, write)
    figures.notes += [f"{note}; variability has all" for note in notes]
    newest_of = by_machine(shown)
    for key, name in machine_names([*shown, *roofs_alone(points)]).items():
        title, file, own = title_of(key, name), slug(name), newest_of.get(key, [])
        if under := drawable(own) if own else bare[key]:
            figures.add(f"roofline-{file}", title, partial(Roofline, under, style), f"{name}: no roofline to draw")
        if own:
            throughput = partial(throughput_figure, own, title, style)
            figures.add(f"throughput-{file}", title, throughput, f"{name}: no throughput to draw")
            variability = partial(Variability, sessions[key])
            figures.add(f"variability-{file}", title, variability, f"{name}: no variability to draw")
    return figures.paths, figures.notes


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
    figures = _Figures(folder, forms, write)
    if len(of_names) > 1:
        kinds = (("roofline", "Machines over each other"), ("share", "Machines by the share of their own roofs"))
        for name, title in kinds:
            machines = partial(Machines, of_names, by_share=name == "share")
            figures.add(f"machines-{name}", title, machines, "no machines to draw")
    return figures.paths


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
    figures = _Figures(folder, forms, write)
    for point in shown:
        machine = names[point.machine]
        end = f"{slug(machine)}-{slug(case)}"
        of_step, of_machine = heading(point), f"{case} · {title_of(point.machine, machine)}"
        figures.add(f"operations-{end}", of_step, partial(step_figure, point), f"{machine}: no operations to draw")
        figures.add(f"levels-{end}", of_step, partial(Levels, point), f"{machine}: no levels to draw")
        rounds = partial(Variability, by_machine(sessions)[point.machine])
        figures.add(f"rounds-{end}", of_machine, rounds, f"{machine}: no rounds of {case} to draw")
    return figures.paths, figures.notes


def title_of(machine: MachineKey, name: str) -> str:
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
        try:
            figure = figure_of(Levels(point), heading(point))
        except NoFigure as error:
            reasons.setdefault(str(error), []).append(point.id)
        else:
            name = f"levels-{slug(names[point.machine])}-{slug(point.id)}.png"
            paths.append(save(figure, folder / name))
    remarks = [f"not drawn, {why}: {some_of(named, _NAMED)}" for why, named in reasons.items()]
    return paths, [*notes, *remarks]


_NAMED = 4
"""Cases that one note names."""
