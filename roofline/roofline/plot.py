"""Figures for notebooks: results in, matplotlib axes in and out.

Each function takes what `roofline.load` gives, draws on ``ax``, or on a new figure, and returns the axes.
Several sessions of a case on one machine: the newest is drawn, except by `variability`, which shows all.

Legend, labels of roofs and notes stand beside and below the axes. On a figure of your own, ``layout="constrained"``
makes room for them; ``legend=False`` leaves legend and notes out.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Literal, TypeVar

from roofline.frames import Results
from roofline.model.point_groups import cases, machine_names, newest
from roofline.model.points import Point
from roofline.plots.image_files import title_of
from roofline.plots.layout import Panel, draw_around, width_of
from roofline.plots.rooflines.levels import Levels
from roofline.plots.rooflines.operation_bars import bars_height_of, draw_legend, step_of
from roofline.plots.rooflines.roofline import Roofline
from roofline.plots.rooflines.roofline_content import drawable
from roofline.plots.style import DARK, NoFigure, Style, show_as_written, style_of
from roofline.plots.throughput import MODES, Throughput, modes_of
from roofline.plots.variability import Variability
from roofline.schema.record import Mode
from roofline.show.step.step_notes import heading
from roofline.text.units import some_of

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.lines import Line2D

__all__ = ["levels", "operations", "roofline", "throughput", "variability"]

Drawing = TypeVar("Drawing")


def roofline(
    results: Results,
    ax: Axes | None = None,
    *,
    machine: str | None = None,
    case: str | None = None,
    legend: bool = True,
) -> Axes:
    """Draw the cases of one machine under its roofs, each with the range of its intensity.

    :param machine: its label; may be left out where there is one.
    :param case: an id, or a part of several: only those are drawn.
    :param legend: draw legend and notes, such as what couldn't be placed and why.
    :raises ValueError: no such machine or case, or several machines; it names those there are.
    """
    points = _of_one_machine(_chosen(results, machine, case))
    drawn = drawable(points)
    if not drawn:
        raise ValueError(f"no case to draw under roofs: {_listed(points)} measure no model")
    return _drawn(Roofline(drawn, _style(results)), ax, _machine_title(points), legend=legend)


def throughput(
    results: Results,
    ax: Axes | None = None,
    *,
    mode: Mode | None = None,
    machine: str | None = None,
    case: str | None = None,
    legend: bool = True,
) -> Axes:
    """Draw samples per second of one machine against batch size, a line for each model, precision and variant.

    :param mode: ``train`` or ``infer``; may be left out where results have one of them.
    :param machine: its label; may be left out where there is one.
    :param case: an id, or a part of several: only those are drawn.
    :raises ValueError: nothing has a throughput; no such machine, mode or case, or several machines or modes.
    """
    points = _of_one_machine(_chosen(results, machine, case))
    modes = modes_of(points)
    if mode is None and len(modes) > 1:
        raise ValueError(f"results of several modes: give mode={_or(modes)}")
    if mode is not None and mode not in modes:
        raise ValueError(f"no throughput of mode {mode!r} here: there is {_or(modes) or 'none'}")
    if not modes:
        raise ValueError("no throughput to draw: no case has a record with a time")
    panel = Throughput(points, mode or modes[0], _style(results))
    return _drawn(panel, ax, f"{_machine_title(points)}: {MODES[panel.mode]}", legend=legend, height=3.5)


def variability(
    results: Results,
    ax: Axes | None = None,
    *,
    machine: str | None = None,
    case: str | None = None,
    legend: bool = True,
) -> Axes:
    """Draw every round and every repeat of cases relative to the case's median, disturbed rounds marked.

    A row for each case and machine; of a single case, for each session and machine. Rounds of a row stand in their
    order, from top to bottom.

    :param machine: a label; without it, all machines.
    :param case: an id, or a part of several; without it, all cases.
    :raises ValueError: no such machine or case, or no times of rounds.
    """
    points = _chosen(results, machine, case, all_sessions=True)
    panel = Variability(points)
    title = _machine_title(points) if len({point.machine for point in points}) == 1 else ""
    if len({point.id for point in points}) == 1:
        title = f"{points[0].id} · {title}" if title else points[0].id
    return _drawn(panel, ax, title, legend=legend, height=panel.height)


def operations(
    results: Results,
    ax: Axes | None = None,
    *,
    kind: Literal["roofline", "bar"] = "roofline",
    machine: str | None = None,
    case: str | None = None,
    legend: bool = True,
) -> Axes:
    """Draw the step of one case taken apart.

    :param kind: ``roofline``: each operation under the roofs, its area the time; ``bar``: the time of each kind of
        operation, and in it the speed of light. Of a compiled case: the step under the roofs; the time of its kernels.
    :param machine: its label; may be left out where only one has the case.
    :param case: its id, or a part that only one has; may be left out where only one was taken apart.
    :raises ValueError: no such machine or case, several of them, or the case has no times of its operations.
    """
    if kind not in ("roofline", "bar"):
        raise ValueError(f"no kind {kind!r} here: there is 'roofline' or 'bar'")
    point, step = _one_case(_chosen(results, machine, case), "times of its operations", step_of)
    around = 2.0 if legend else 0.8
    if kind == "bar":
        axes = _axes(ax, bars_height_of(step) + around)
        step.draw_bars(axes)
    else:
        axes = _axes(ax, _HEIGHT + around)
        step.draw(axes)
        if legend:
            draw_legend(axes, step, kinds=True)
    return _finished(axes, heading(point), (), step.footer if legend else ())


def levels(
    results: Results,
    ax: Axes | None = None,
    *,
    machine: str | None = None,
    case: str | None = None,
    legend: bool = True,
) -> Axes:
    """Draw one case and its longest kernels at the intensity that L1, L2 and DRAM see, by hardware counters.

    :param machine: its label; may be left out where only one has the case.
    :param case: its id, or a part that only one has; may be left out where only one has counters.
    :param legend: draw the legend, and the numbered kernels' names.
    :raises ValueError: no such machine or case, several of them, or the case has no hardware counters.
    """
    point, panel = _one_case(_chosen(results, machine, case), "hardware counters", Levels)
    return _drawn(panel, ax, heading(point), legend=legend)


_WIDTH, _HEIGHT = 8.0, 4.5
"""Inches."""
_LISTED = 10


def _drawn(panel: Panel, ax: Axes | None, title: str, *, legend: bool, height: float = _HEIGHT) -> Axes:
    around = 0.6 + (0.5 + 0.21 * len(panel.legend) / 3 + 0.19 * len(panel.footer) if legend else 0.0)
    axes = _axes(ax, height + around)
    panel.draw(axes)
    return _finished(axes, title, panel.legend if legend else (), panel.footer if legend else ())


def _axes(ax: Axes | None, height: float) -> Axes:
    """:param height: inches of a new figure."""
    if ax is not None:
        return ax
    # A notebook shows figures of pyplot alone.
    from matplotlib import pyplot

    return pyplot.figure(figsize=(_WIDTH, height), layout="constrained").add_subplot()


def _finished(axes: Axes, title: str, legend: Sequence[Line2D], footer: Sequence[str]) -> Axes:
    axes.set_title(title, fontsize=11, color=DARK, loc="left")
    draw_around(axes, width_of(axes), legend, footer)
    show_as_written(axes)
    return axes


def _style(results: Results) -> Style:
    """The same for all figures of these results."""
    return style_of(point.benchmark.record for point in cases(results.points))


def _chosen(results: Results, machine: str | None, case: str | None, *, all_sessions: bool = False) -> list[Point]:
    """:raises ValueError: there is nothing of this machine or case.
    :raises TypeError: something else than results.
    """
    if not isinstance(results, Results):
        given = type(results).__name__
        raise TypeError(f"{given}: a figure takes what roofline.load('results/') returns, no path and no frame of it.")
    sessions = cases(results.points)
    points = list(sessions if all_sessions else newest(sessions)[0])
    if not points:
        raise ValueError("the results have no cases")
    if machine is not None:
        names = machine_names(points)
        own = [point for point in points if machine in (names[point.machine], point.result.machine_label)]
        if not own:
            raise ValueError(
                f"no machine {machine!r} in the results: there is {some_of(list(names.values()), _LISTED)}"
            )
        points = own
    if case is None:
        return points
    found = [point for point in points if point.id == case] or [
        point for point in points if case.lower() in point.id.lower()
    ]
    if not found:
        raise ValueError(f"no case is or has {case!r}: there is {_listed(points)}")
    return found


def _of_one_machine(points: list[Point]) -> list[Point]:
    names = machine_names(points)
    if len(names) > 1:
        raise ValueError(f"results of several machines: give machine={_or(list(names.values()))}")
    return points


def _one_case(points: list[Point], what: str, make: Callable[[Point], Drawing]) -> tuple[Point, Drawing]:
    """The only case that can be drawn, and its drawing.

    :param what: has to be known of it, for the message.
    :raises ValueError: there are several, or none, with the reason of the first.
    """
    found: list[tuple[Point, Drawing]] = []
    reasons: list[str] = []
    for point in points:
        try:
            found.append((point, make(point)))
        except NoFigure as error:
            reasons.append(f"{point.id}: {error}")
    if not found:
        raise ValueError(f"no {what}: {reasons[0]}")
    known = [point for point, _ in found]
    if len({point.id for point in known}) > 1:
        raise ValueError(f"several cases have {what}: give case=, one of {_listed(known)}")
    _of_one_machine(known)
    return found[0]


def _machine_title(points: Sequence[Point]) -> str:
    ((machine, name),) = list(machine_names(points).items())[:1]
    return title_of(machine, name)


def _listed(points: Sequence[Point]) -> str:
    return some_of(list(dict.fromkeys(point.id for point in points)), _LISTED)


def _or(names: Sequence[str]) -> str:
    return " or ".join(map(repr, names))
