"""Options that several commands have, and their types: a number in a range, a file or a folder to write."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import wraps
from pathlib import Path
from typing import Any, TypeVar, cast

import click

from roofline.cli.console import LEAST_WIDTH, WIDTH
from roofline.comparison.effects.verdict import LEAST_CONFIDENCE, MOST_CONFIDENCE
from roofline.show.tables import FORMATS, Format
from roofline.text.printable import printable

Command = TypeVar("Command", bound=Callable[..., Any])


class Number(click.FloatRange):
    """A finite number in a range of click's; of a range that ends, also as a percentage: ``2%`` for ``0.02``."""

    def __init__(
        self, name: str, least: float, most: float | None = None, *, min_open: bool = False, max_open: bool = False
    ) -> None:
        super().__init__(least, most, min_open=min_open, max_open=max_open)
        self.name = name

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> float:
        text = str(value).strip()
        percentage = self.max is not None and text.endswith("%")
        try:
            number = float(text.removesuffix("%") if percentage else text) / (100 if percentage else 1)
        except ValueError:
            number = math.nan
        # Not a number lies in any range of click's.
        if not math.isfinite(number):
            self.fail(f"{value!r} is not a valid number{', such as 2% or 0.02' if self.max is not None else ''}.")
        if self.max is not None and not percentage and 1 < number <= 100:
            self.fail(f"{value!r} means {100 * number:g} %. Write {text}% or {number / 100:g}.")
        return super().convert(number, param, ctx)


SHARE = Number("share", 0, 1, min_open=True, max_open=True)
CONFIDENCE_SHARE = Number("share", LEAST_CONFIDENCE, MOST_CONFIDENCE)
SECONDS = Number("seconds", 0, min_open=True)

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
    """How a command was asked to show its tables: with ``--format`` and ``-o``.

    ``path`` is None for standard output; ``figure`` is the file of a figure that was asked for beside the table.
    """

    form: Format = "table"
    path: Path | None = None
    figure: Path | None = None

    @property
    def is_data(self) -> bool:
        """Tell whether a program is to read it: every row, column and digit."""
        return self.form == "json" or self.is_one_table

    @property
    def is_one_table(self) -> bool:
        """Tell whether all its rows have the same columns."""
        return self.form in ("csv", "parquet")


STDOUT = Output()
"""A table for the terminal."""


class TwoSidesCommand(click.Command):
    """A command whose arguments are the files of one side, and whose options take those of the other.

    ``NEW… --baseline BASE…``: such an option takes all paths that follow it, the first behind a space or an equals
    sign. Where no path comes before it, it takes one, and the rest are the arguments. It may be given several times.
    """

    def __init__(self, *arguments: Any, several: Sequence[str], optional: str | None = None, **options: Any) -> None:
        """:param several: names of the options that take several paths.
        :param optional: name of an option whose value may be left out.
        """
        super().__init__(*arguments, **options)
        self._several = several
        self._optional = optional

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        return super().parse_args(ctx, self._spread(args))

    def _spread(self, args: Sequence[str]) -> list[str]:
        """With the option's name before each of its values, as click reads it."""
        with_value = {
            name
            for parameter in self.params
            if isinstance(parameter, click.Option) and not parameter.is_flag
            for name in parameter.opts
        }
        spread: list[str] = []
        paths = 0
        taking = ""
        rest = list(reversed(args))
        while rest:
            word = rest.pop()
            if word == "--":
                return [*spread, word, *reversed(rest)]
            if word.startswith("-") and word != "-":
                spread.append(word)
                name = word.partition("=")[0]
                taking = name if name in self._several and paths > 0 else ""
                if rest and word in with_value and not (word == self._optional and rest[-1].startswith("-")):
                    spread.append(rest.pop())
            elif taking:
                spread += [taking, word]
            else:
                spread.append(word)
                paths += 1
        return spread


class OutputFile(click.Path):
    """A file to write, with one of ``endings``; or without any, such as ``/dev/stdout``.

    Where ``--format`` was given, which has to be eager and passed on as ``form``, the ending may be any.
    """

    def __init__(self, *endings: str) -> None:
        super().__init__(dir_okay=False, path_type=Path)
        self._endings = endings

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> Any:
        path: Any = super().convert(value, param, ctx)
        # An option that wasn't given holds a mark of click's own.
        has_format = ctx is not None and isinstance(ctx.params.get("form"), str)
        if path.suffix and path.suffix.lower() not in self._endings and not has_format:
            known = ", ".join(filter(None, self._endings))
            self.fail(printable(f"{path}: {path.suffix} is no known ending. Use {known}."), param, ctx)
        return path


OUTPUT_FOLDER = click.Path(file_okay=False, path_type=Path)


def _keep_width(context: click.Context, _: click.Parameter, width: int | None) -> None:
    context.meta[WIDTH] = width


def width_option(function: Command) -> Command:
    """``--width``: heeded by whatever is shown or told."""
    return click.option(
        "--width",
        expose_value=False,
        callback=_keep_width,
        is_eager=True,  # what is wrong with another option is shown in this width
        type=click.IntRange(min=LEAST_WIDTH),
        metavar="COLUMNS",
        help="Columns of the terminal. Default: asked of the terminal.",
    )(function)


def together(
    function: Command, options: Sequence[Callable[[Command], Command]], name: str, make: Callable[[dict[str, Any]], Any]
) -> Command:
    """Give a command options whose values are passed on as one.

    :param name: of the one.
    :param make: takes the values out of all that was given, and makes one of them.
    """

    @wraps(function)
    def with_one(*arguments: Any, **given: Any) -> Any:
        made = make(given)
        return function(*arguments, **given, **{name: made})

    command = cast("Command", with_one)
    for option in reversed(options):
        command = option(command)
    return command


def table_options(function: Command, figures: tuple[str, ...] = ()) -> Command:
    """``--format`` and ``-o``, passed on together as ``output``, an `Output`; and ``--width``.

    :param figures: endings of a figure that is drawn while the table is shown.
    """
    form_option = click.option(
        "--format",
        "form",
        is_eager=True,  # whether the ending of -o has to decide
        type=click.Choice(FORMATS),
        help="Default: table.",
    )
    file_option = click.option(
        "-o",
        "--output",
        type=OutputFile(*FORM_BY_ENDING, *figures),
        help="File to write to. Without --format its ending decides: .csv, .json, .parquet, .md, or .txt for a table"
        + (f"; {' or '.join(figures)} for a figure beside it." if figures else "."),
    )

    def made(given: dict[str, Any]) -> Output:
        form, file = given.pop("form"), given.pop("output")
        ending = "" if file is None else file.suffix.lower()
        path, figure = (None, file) if ending in figures else (file, None)
        return Output(form=form or FORM_BY_ENDING.get(ending, "table"), path=path, figure=figure)

    return together(function, (form_option, file_option, width_option), "output", made)


def verbose_option(function: Command) -> Command:
    """``-v``: passed on as ``verbose``."""
    return click.option("-v", "--verbose", is_flag=True, help="Show in full what notes below the table only count.")(
        function
    )
