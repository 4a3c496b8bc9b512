"""Options that several commands have, and their types: a share, a confidence, a time, a file or a folder to write."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from functools import wraps
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar, cast

import click

from roofline.comparison.verdict import LEAST_CONFIDENCE, MOST_CONFIDENCE
from roofline.show.tables import FORMATS, Format
from roofline.text.printable import printable

if TYPE_CHECKING:
    FloatType = click.ParamType[float]
else:
    FloatType = click.ParamType


Command = TypeVar("Command", bound=Callable[..., Any])

LEAST_WIDTH = 40
"""Columns of a terminal, at the least."""


class Share(FloatType):
    """A share, as ``2%`` or ``0.02``: above 0 and below 1."""

    name = "share"
    _allowed = "share above 0 and below 1"
    _example = 0.02

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> float:
        if isinstance(value, float):
            return value
        text = str(value).strip()
        try:
            number = float(text.removesuffix("%"))
        except ValueError:
            number = math.nan
        share = number / 100 if text.endswith("%") else number
        if not self._allows(share):
            # Whoever writes 99 may mean 99%.
            meant = share / 100 if self._allows(share / 100) and not text.endswith("%") else self._example
            self.fail(f"{value!r} is no {self._allowed}. Write {100 * meant:g}% or {meant:g}.", param, ctx)
        return share

    def _allows(self, share: float) -> bool:
        return 0 < share < 1


class Confidence(Share):
    """How sure to be: a share of at least `LEAST_CONFIDENCE` and at most `MOST_CONFIDENCE`."""

    name = "confidence"
    _allowed = f"confidence from {100 * LEAST_CONFIDENCE:g}% to {100 * MOST_CONFIDENCE:g}%"
    _example = 0.99

    def _allows(self, share: float) -> bool:
        return LEAST_CONFIDENCE <= share <= MOST_CONFIDENCE


class Seconds(FloatType):
    """A time that ends: above 0 s, or with ``zero`` from 0 s on."""

    name = "seconds"

    def __init__(self, *, zero: bool = False) -> None:
        self._zero = zero

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> float:
        try:
            seconds = float(value)
        except ValueError:
            seconds = math.nan
        if not (math.isfinite(seconds) and (seconds > 0 or (self._zero and seconds == 0))):
            allowed = "of 0 seconds or more. Write 10e-6 for 10 µs." if self._zero else "above 0 seconds. Write 60."
            self.fail(f"{value!r} is no time {allowed}", param, ctx)
        return seconds


FORM_BY_ENDING: dict[str, Format] = {
    "": "table",
    ".txt": "table",
    ".csv": "csv",
    ".json": "json",
    ".parquet": "parquet",
    ".md": "markdown",
}
"""In which form a table is written to a file."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Output:
    """How a command was asked to show its tables: with ``--format``, ``-o`` and ``--width``.

    ``path`` is None for standard output; ``width`` is None where the terminal is to be asked.
    """

    form: Format = "table"
    path: Path | None = None
    width: int | None = None

    @property
    def is_data(self) -> bool:
        """Whether a program is to read it: every row, column and digit."""
        return self.form == "json" or self.is_one_table

    @property
    def is_one_table(self) -> bool:
        """Whether it has no place for a second table, nor for anything beside the rows."""
        return self.form in ("csv", "parquet")


_ENDINGS_OF_FILES = {*FORM_BY_ENDING, ".html", ".pdf", ".png", ".svg", ".toml", ".xls", ".xlsx"} - {""}
"""What somebody has in mind who wants a table or a figure in a file."""


class _Output(click.Path):
    """A file or folder to write. ``-`` is standard output elsewhere, and would here be a file of that name."""

    def __init__(self, *, folder: bool = False) -> None:
        super().__init__(dir_okay=folder, file_okay=not folder, path_type=Path)

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> Any:
        if not str(value):
            self.fail("an empty name is no path: name what is to be written (is a variable unset?).", param, ctx)
        if str(value) == "-":
            self.fail(self._refusal(), param, ctx)
        return super().convert(value, param, ctx)

    def _refusal(self) -> str:
        if not self.file_okay:
            return "'-' is no folder: several files are written. Name a folder, or ./- for one of that name."
        return "'-' is no file: without -o it is shown. Leave -o out, or write ./- for a file of that name."


class OutputFile(_Output):
    """A file to write, with one of ``endings``; or without any, such as ``/dev/stdout``.

    :param or_else: what to give instead, as the end of a sentence.
    """

    def __init__(self, *endings: str, or_else: str = "") -> None:
        super().__init__()
        self._endings = endings
        self._or_else = or_else

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> Any:
        path: Any = super().convert(value, param, ctx)
        if path.suffix and path.suffix.lower() not in self._endings:
            raise click.UsageError(f"{unknown_ending(path, self._endings)}{self._or_else}.", ctx)
        return path


class TableFile(OutputFile):
    """A file to write a table to: its ending says the form, where ``--format`` doesn't.

    The option ``--format`` has to be eager, and passed on as ``form``.
    """

    def __init__(self) -> None:
        super().__init__(*FORM_BY_ENDING, or_else=", or give --format")

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> Any:
        # An option that wasn't given holds a mark of click's own.
        if ctx is not None and isinstance(ctx.params.get("form"), str):
            return _Output.convert(self, value, param, ctx)
        return super().convert(value, param, ctx)


class OutputFolder(_Output):
    """A folder to write into. One that isn't there yet has no name of a file, such as ``x.csv``."""

    def __init__(self) -> None:
        super().__init__(folder=True)

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> Any:
        path: Any = super().convert(value, param, ctx)
        if path.suffix.lower() in _ENDINGS_OF_FILES and not path.exists():
            option = "" if param is None else f"{param.opts[0]} "
            instead = f"Name a folder, such as {path.with_suffix('')}, or make this one first."
            raise click.UsageError(printable(f"{option}{path}: it is to be a folder. {instead}"), ctx)
        return path


def unknown_ending(path: Path, known: Iterable[str]) -> str:
    return printable(f"{path}: {path.suffix} is no known ending. Use {', '.join(filter(None, known))}")


def width_option(function: Command) -> Command:
    """``--width``: passed on as ``width``."""
    return click.option(
        "--width",
        is_eager=True,  # what is wrong with another option is told in this width
        type=click.IntRange(min=LEAST_WIDTH),
        metavar="COLUMNS",
        help="Columns of the terminal. Default: asked of the terminal.",
    )(function)


def format_option(function: Command) -> Command:
    """``--format``: passed on as ``form``."""
    return click.option(
        "--format",
        "form",
        is_eager=True,  # whether the ending of -o has to decide
        type=click.Choice(FORMATS),
        help="Default: table.",
    )(function)


def table_options(function: Command) -> Command:
    """``--format``, ``-o`` and ``--width``: passed on together as ``output``, an `Output`."""

    @wraps(function)
    def with_output(*arguments: Any, form: Format | None, output: Path | None, width: int | None, **others: Any) -> Any:
        form = form or FORM_BY_ENDING["" if output is None else output.suffix.lower()]
        return function(*arguments, output=Output(form=form, path=output, width=width), **others)

    option = click.option(
        "-o",
        "--output",
        type=TableFile(),
        help="File to write to. Without --format its ending decides: .csv, .json, .parquet, .md, or .txt for a table.",
    )
    return format_option(option(width_option(cast("Command", with_output))))


def verbose_option(function: Command) -> Command:
    """``-v``: passed on as ``verbose``."""
    return click.option("-v", "--verbose", is_flag=True, help="Show the notes below the table in full.")(function)
