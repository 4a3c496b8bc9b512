"""Read what commands are given: their arguments and options, and results."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import replace
from difflib import get_close_matches
from pathlib import Path
from typing import Any

import click

from roofline.cli.console import NoData, WrongUsage, tell
from roofline.cli.parameters import Command
from roofline.machine.published import DeviceFileError, DeviceTable, load
from roofline.model.points import Point, place_all
from roofline.results.reader import ReadResults, read
from roofline.results.same_session import told_apart
from roofline.text.units import some_of


class _Input(click.Path):
    """A path that has a name: an empty one, as of an unset variable, would be the current folder."""

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> Any:
        if not value:
            self.fail("an empty name is no path: give a file or a folder (is a variable unset?).", param, ctx)
        return super().convert(value, param, ctx)


INPUT = _Input(readable=False, path_type=Path)
"""Data to read. Not checked by click: data that isn't there can't be compared, and is no wrong usage (exit code 3)."""


def results_argument(function: Command) -> Command:
    """``RESULTS...``: files and folders."""
    return click.argument("results", nargs=-1, required=True, type=INPUT)(function)


def _loaded(_context: click.Context, _parameter: click.Parameter, extra: Path | None) -> DeviceTable:
    try:
        return load(extra)
    except DeviceFileError as error:
        raise NoData(f"--devices: {error}") from error


def devices_option(function: Command) -> Command:
    """``--devices``: passed on as ``devices``, the published roofs with the user's own."""
    return click.option(
        "--devices",
        "devices",
        type=INPUT,
        callback=_loaded,
        metavar="FILE",
        help="TOML file with published roofs of more devices, in the form of the package's devices.toml.",
    )(function)


def read_results(paths: Iterable[Path]) -> ReadResults:
    """Read files and folders; what was left out goes to stderr.

    :raises roofline.files.decoding.ReadError: nothing could be read.
    """
    reading = read(paths)
    for reason in reading.skipped:
        tell(f"skipped {reason}")
    for result in reading.files:
        for note in result.notes:
            tell(note)
    return reading


def read_sessions(paths: Iterable[Path]) -> ReadResults:
    """The same, each session once, in however many files it stands."""
    reading = read_results(paths)
    files, again = told_apart(reading.files)
    for line in again:
        tell(f"skipped {line}")
    return replace(reading, files=tuple(files))


def read_points(paths: Iterable[Path], devices: DeviceTable) -> tuple[Point, ...]:
    """Every benchmark of the results, placed and judged."""
    return place_all(read_results(paths).files, devices)


def named_case(case: str, points: Sequence[Point], where: str, unreadable: Sequence[Point] = ()) -> list[Point]:
    """The case of this id, else the only one that has it as a part.

    :param where: the results, as a message names them.
    :param unreadable: cases whose record can't be read.
    :raises click.UsageError: none has, or several.
    :raises NoData: it is one that can't be read.
    """
    exact = [point for point in points if point.id == case]
    if exact:
        return exact
    found = [point for point in points if case.lower() in point.id.lower()]
    if len({point.id for point in found}) > 1:
        raise WrongUsage(f"{case!r} is part of several cases of {where}: {listed_cases(found)}. Give more of the id.")
    if not found and (lost := [point for point in unreadable if case.lower() in point.id.lower()]):
        raise NoData(f"{lost[0].id} is in {where}, but its record can't be read: {lost[0].benchmark.fault}.")
    if not found:
        close = [point for point in points if _near(case, point)]
        known = f"Near: {listed_cases(close)}" if close else f"There are {listed_cases(points)}"
        raise WrongUsage(f"no case of {where} is or has {case!r}. {known}.")
    return found


def _near(case: str, point: Point) -> bool:
    """Tell whether it may be a misspelt id, or begins with a misspelt model."""
    model = point.id.partition("-")[0]
    return bool(get_close_matches(case, [point.id], cutoff=0.85) or get_close_matches(case.partition("-")[0], [model]))


def listed_cases(points: Sequence[Point], named: int = 12) -> str:
    """The ids of the first ones, and how many more there are."""
    return some_of(list(dict.fromkeys(point.id for point in points)), named)
