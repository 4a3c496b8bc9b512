"""What the commands share: their arguments, and reading results."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import replace
from difflib import get_close_matches
from pathlib import Path
from typing import Any

import click

from roofline.cli.parameters import Command
from roofline.files.decoding import ReadError
from roofline.machine.published import DeviceFileError, DeviceTable, load
from roofline.model.points import Point, place_all
from roofline.results.reader import Reading, read
from roofline.results.result import ResultFile
from roofline.results.same_session import told_apart
from roofline.text.printable import printable, say
from roofline.text.units import some_of


class NoData(click.ClickException):
    """There is no usable data: exit code 3. ``ctx`` is the command's, as a usage error of click's has it."""

    exit_code = 3

    def __init__(self, message: str) -> None:
        super().__init__(message)
        self.ctx = click.get_current_context(silent=True)


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


def devices_option(function: Command) -> Command:
    return click.option(
        "--devices",
        "devices",
        type=INPUT,
        metavar="FILE",
        help="TOML file with published roofs of more devices, in the form of the package's devices.toml.",
    )(function)


def read_results(paths: Iterable[Path]) -> tuple[ResultFile, ...]:
    """Read files and folders; what was left out goes to stderr.

    :raises NoData: nothing could be read.
    """
    return read_all(paths).files


def read_all(paths: Iterable[Path]) -> Reading:
    """The same, with what was left out.

    :raises NoData: nothing could be read.
    """
    try:
        reading = read(paths)
    except ReadError as error:
        raise NoData(str(error)) from error
    for reason in reading.skipped:
        say(f"skipped {reason}", err=True)
    for result in reading.files:
        for note in result.notes:
            say(note, err=True)
    return reading


def read_sessions(paths: Iterable[Path]) -> Reading:
    """The same, each session once, in however many files it stands.

    :raises NoData: nothing could be read.
    """
    reading = read_all(paths)
    files, again = told_apart(reading.files)
    for line in again:
        say(f"skipped {line}", err=True)
    return replace(reading, files=tuple(files))


def device_table(extra: Path | None) -> DeviceTable:
    """The published roofs, with the user's own.

    :raises NoData: the user's file can't be read, or is not of the form.
    """
    try:
        return load(extra)
    except DeviceFileError as error:
        raise NoData(printable(f"--devices: {error}")) from error


def read_points(paths: Iterable[Path], devices: Path | None) -> tuple[Point, ...]:
    """Every benchmark of the results, placed and judged."""
    table = device_table(devices)
    return place_all(read_results(paths), table)


def named_case(case: str, points: Sequence[Point], where: str, unreadable: Sequence[Point] = ()) -> list[Point]:
    """The case of this id, else the only one that has it as a part.

    :param where: the results, as a message names them.
    :param unreadable: cases whose record can't be read.
    :raises click.UsageError: none has, or several; or it is empty, and would be a part of all.
    :raises NoData: it is one that can't be read.
    """
    if not case:
        raise click.UsageError("an empty name is no case: give an id or a part of one (is a variable unset?).")
    exact = [point for point in points if point.id == case]
    if exact:
        return exact
    found = [point for point in points if case.lower() in point.id.lower()]
    if len({point.id for point in found}) > 1:
        raise click.UsageError(
            printable(f"{case!r} is part of several cases of {where}: {listed_cases(found)}. Give more of the id.")
        )
    if not found and (lost := [point for point in unreadable if case.lower() in point.id.lower()]):
        raise NoData(printable(f"{lost[0].id} is in {where}, but its record can't be read: {lost[0].benchmark.fault}."))
    if not found:
        close = [point for point in points if _near(case, point)]
        known = f"Near: {listed_cases(close)}" if close else f"There are {listed_cases(points)}"
        raise click.UsageError(printable(f"no case of {where} is or has {case!r}. {known}."))
    return found


def _near(case: str, point: Point) -> bool:
    """Whether it may be a misspelt id, or begins with a misspelt model."""
    model = point.id.partition("-")[0]
    return bool(get_close_matches(case, [point.id], cutoff=0.85) or get_close_matches(case.partition("-")[0], [model]))


def listed_cases(points: Sequence[Point], named: int = 12) -> str:
    """The ids of the first ones, and how many more there are."""
    return some_of(list(dict.fromkeys(point.id for point in points)), named)
