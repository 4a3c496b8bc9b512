"""Print what commands say beside their tables: lines on standard error, and errors with their exit codes."""

from __future__ import annotations

import io
import os
import shutil
import sys
from typing import TextIO

import click

from roofline.files.decoding import ReadError
from roofline.text.printable import printable
from roofline.text.wrapping import wrapped

LEAST_WIDTH = 40
"""Columns of a terminal, at the least."""

WIDTH = "roofline.width"
"""Where a command's context keeps the ``--width`` it was asked for."""


class WrongUsage(click.UsageError):
    """A usage error, exit code 2. In its message, which is one line, what a terminal would obey is escaped."""

    def __init__(self, message: str) -> None:
        super().__init__(printable(message))


class NoData(click.ClickException):
    """There is no usable data, exit code 3. ``ctx`` is the command's, as a usage error of click's has it.

    :param lines: in which what a terminal would obey is escaped.
    """

    exit_code = 3

    def __init__(self, *lines: str) -> None:
        super().__init__("\n".join(map(printable, lines)))
        self.ctx = click.get_current_context(silent=True)

    @classmethod
    def of(cls, error: ReadError) -> NoData:
        """Make it of data that can't be read."""
        return cls(*str(error).splitlines())


def terminal_width() -> int:
    """Columns of the terminal: as the running command was asked to assume, else as the terminal says."""
    return _asked(click.get_current_context(silent=True)) or max(LEAST_WIDTH, shutil.get_terminal_size().columns)


def say(line: str) -> None:
    """Say a line on standard output."""
    echo(f"{printable(line)}\n", sys.stdout)


def tell(line: str) -> None:
    """Say a line on standard error, broken where it is read by somebody: at a terminal, or where a width was asked for.

    Elsewhere, in a log, it stays one line for whoever searches it. Paths are never broken. What a terminal would obey
    is escaped.
    """
    _say(printable(line), click.get_current_context(silent=True))


def tell_error(error: click.ClickException) -> None:
    """Say what click says of an error, in the width that its command was asked for."""
    said = io.StringIO()
    error.show(said)
    lines = said.getvalue().removesuffix("\n").split("\n")
    _say("\n".join(map(printable, lines)), getattr(error, "ctx", None))


def _asked(context: click.Context | None) -> int | None:
    return None if context is None else context.meta.get(WIDTH)


def _say(text: str, context: click.Context | None) -> None:
    asked = _asked(context)
    if asked is not None or (sys.stderr is not None and sys.stderr.isatty()):
        columns = asked or max(LEAST_WIDTH, shutil.get_terminal_size().columns)
        text = "\n".join(part for line in text.split("\n") for part in _broken(line, columns))
    echo(f"{text}\n", sys.stderr)


def _broken(line: str, columns: int) -> list[str]:
    """A line in parts that fit; they hang below the first. A path stays whole, so that it can be copied."""
    from rich.cells import cell_len

    if cell_len(line) <= columns:
        return [line]
    indent = " " * (len(line) - len(line.lstrip(" ")))
    return wrapped(line, columns, indent=indent, break_words=False)


def echo(text: str, stream: TextIO | None) -> None:
    """Show a text. Where the reader (head, less) has seen enough, the command goes on: its exit code is the verdict."""
    try:
        click.echo(text, stream, nl=False, err=stream is sys.stderr)
    except BrokenPipeError:
        assert stream is not None
        os.dup2(os.open(os.devnull, os.O_WRONLY), stream.fileno())
