"""What the commands share that read a timeline profiler's file."""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any, TypeVar

import click

from roofline.commands.common import CannotCompare, chosen_format, emit, emit_text
from roofline.profilers.captured_text import printable
from roofline.profilers.timeline import Timeline
from roofline.profilers.timeline_report import about, document, rows_table, tables
from roofline.reader import ReadError
from roofline.tables import Format, render

Command = TypeVar("Command", bound=Callable[..., Any])

_WHAT_IS_MISSING = {"empty_capture": "no kernel in it"}
"""In words, what an error that a reader of JSON gets by name means."""

_NOT_ESCAPED = re.compile("[\x7f-\x9f]")
"""Control characters that JSON doesn't escape by itself; a terminal may obey them."""


def file_argument(function: Command) -> Command:
    """``FILE``: one file, passed on as ``file``."""
    return click.argument("file", type=click.Path(exists=True, dir_okay=False, path_type=Path))(function)


def top_option(function: Command) -> Command:
    """``--top``: passed on as ``top``."""
    return click.option(
        "--top",
        type=click.IntRange(min=1),
        default=15,
        show_default=True,
        help="Kernels, or operators, to show; the others stand in one row, so that the columns add up. CSV and JSON"
        " have all.",
    )(function)


def show(
    file: Path,
    read: Callable[[Path], Timeline],
    top: int,
    form: Format | None,
    output: Path | None,
    width: int | None,
) -> None:
    """Read a file and show what is in it. JSON is shown even where the file turns out to be of no use.

    :raises CannotCompare: it can't be read, has no part that can be used, or lacks what it is read for.
    """
    if output is not None and output.exists() and output.samefile(file):
        raise click.UsageError(f"-o {output} is FILE itself, which it would replace. Name another file.")
    try:
        timeline = read(file)
    except ReadError as error:
        raise CannotCompare(_lines(str(error))) from error
    useless = timeline.error is not None or timeline.state in ("skipped", "failed")
    chosen = chosen_format(form, output)
    if chosen == "json":
        text = json.dumps(document(timeline), indent=2, allow_nan=False, ensure_ascii=False)
        escaped = _NOT_ESCAPED.sub(lambda match: f"\\u{ord(match[0]):04x}", text)
        emit_text(f"{escaped}\n", output)
    elif chosen == "csv" and not useless:
        emit_text(_lines(render(rows_table(timeline), "csv", 0)), output)
    elif chosen != "csv" and (made := tables(timeline, top)):
        emit(made, form, output, width, complete="--format json")
    if useless:
        name = f" {timeline.error}: {_WHAT_IS_MISSING[timeline.error]}." if timeline.error else " nothing to show."
        raise CannotCompare("\n  ".join([_lines(f"{file}:{name}"), *about(timeline)]))
    if chosen in ("csv", "json"):
        for note in about(timeline):
            click.echo(_lines(f"{file}: {note}"), err=True)


def _lines(text: str) -> str:
    """Every line of a text, as a terminal may show it."""
    return "\n".join(map(printable, text.split("\n")))
