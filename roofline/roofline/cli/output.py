"""What the commands share: how they are asked for tables, show them or write them, and tell what is wrong."""

from __future__ import annotations

import io
import os
import shutil
import sys
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any, TextIO

import click

from roofline.cli.inputs import INPUT, NoData
from roofline.cli.parameters import LEAST_WIDTH, Output
from roofline.files import writing
from roofline.show.export import LacksPyarrow, parquet_of
from roofline.show.render import render
from roofline.show.tables import Table
from roofline.text.printable import printable, printable_lines, say
from roofline.text.wrapping import wrapped


def terminal_width(asked: int | None) -> int:
    return max(LEAST_WIDTH, asked or shutil.get_terminal_size().columns)


def tell(text: str, width: int | None) -> None:
    """Lines of standard error, broken where they are read by somebody: at a terminal, or where a width was asked for.

    Elsewhere, in a log, each stays one line for whoever searches it. Paths are never broken. What a terminal would obey
    is escaped.
    """
    text = printable_lines(text)
    if width is not None or (sys.stderr is not None and sys.stderr.isatty()):
        columns = terminal_width(width)
        text = "\n".join(part for line in text.split("\n") for part in _broken(line, columns))
    _echo(f"{text}\n", sys.stderr)


def tell_error(error: click.ClickException) -> None:
    """What click says of an error, as `tell` does, in the width that its command was asked for."""
    said = io.StringIO()
    error.show(said)
    context = error.ctx if isinstance(error, click.UsageError | NoData) else None
    width = None if context is None else context.params.get("width")
    # An option that click hadn't come to holds a mark of its own.
    tell(said.getvalue().removesuffix("\n"), width if isinstance(width, int) else None)


def _broken(line: str, columns: int) -> list[str]:
    """A line in parts that fit; they hang below the first. A path stays whole, so that it can be copied."""
    from rich.cells import cell_len

    if cell_len(line) <= columns:
        return [line]
    indent = " " * (len(line) - len(line.lstrip(" ")))
    return wrapped(line, columns, indent=indent, break_words=False)


def emit(tables: Iterable[Table[Any]], output: Output, *, complete: str | None = None) -> None:
    """Print the tables, or write them to a file; what stands below them goes to stderr where a program reads them.

    :param complete: what has the columns of all the tables that don't fit. Default: CSV of one table, and Markdown of
        several, which a CSV doesn't hold.
    :raises click.UsageError: the file can't be written, or standard output is closed.
    """
    tables = list(tables)
    if output.is_data:
        _emit_data(tables, output)
        return
    complete = complete or ("--format csv" if len(tables) == 1 else "--format markdown")
    color = output.path is None and output.form == "table" and _has_bold_letters(sys.stdout)
    width = terminal_width(output.width)
    texts = [render(table, output.form, width, color=color, complete=complete) for table in tables]
    emit_text("\n".join(texts), output.path)


def _emit_data(tables: Sequence[Table[Any]], output: Output) -> None:
    """Print or write tables for a program."""
    if output.form == "parquet":
        assert output.path is not None
        try:
            content = parquet_of(tables[0])
        except LacksPyarrow as error:
            raise click.UsageError(str(error)) from error
        write_bytes(output.path, content)
        say(f"wrote {output.path}", err=True)
    else:
        emit_text("\n".join(render(table, output.form, 0) for table in tables), output.path)
    for table in tables:
        for note in table.notes:
            tell(printable(note), output.width)


def _has_bold_letters(stream: TextIO | None) -> bool:
    return stream is not None and stream.isatty() and os.environ.get("TERM", "").lower() not in ("dumb", "unknown")


def emit_text(text: str, output: Path | None) -> None:
    """Print a text, or write it to ``output``.

    :raises click.UsageError: the file can't be written, or standard output is closed.
    """
    if output is None and sys.stdout is None:
        raise click.UsageError("Standard output is closed: nothing can be shown. Write to a file with -o FILE.")
    if output is None:
        _echo(text, sys.stdout)
    else:
        write_text(output, text)
        say(f"wrote {output}", err=True)


def _echo(text: str, stream: TextIO | None) -> None:
    """Show it. Where the reader (head, less) has seen enough, the command goes on: its exit code is the verdict."""
    try:
        click.echo(text, stream, nl=False, err=stream is sys.stderr)
    except BrokenPipeError:
        assert stream is not None
        os.dup2(os.open(os.devnull, os.O_WRONLY), stream.fileno())


def write_text(path: Path, text: str) -> None:
    """Write a text as `write_bytes` does."""
    write_bytes(path, text.encode("utf-8", "backslashreplace"))


def write_bytes(path: Path, data: bytes) -> None:
    """Write a file as `write_free` does.

    :raises click.UsageError: the file can't be written, is one of those that the running command reads, or is a result.
    """
    try:
        write_free(path, data)
    except OSError as error:
        raise _unwritable(path, error) from error


def write_free(path: Path, data: bytes) -> None:
    """Write a file as `roofline.files.writing.write_bytes` does, but over nothing that was measured.

    :raises click.UsageError: it is one of the files that the running command reads, or is a result.
    :raises OSError: it can't be written.
    """
    if (context := click.get_current_context(silent=True)) is not None:
        given = [context.params.get(one.name or "") for one in context.command.params if one.type is INPUT]
        refuse_overwriting(
            path, [one for some in given for one in (some if isinstance(some, tuple) else (some,)) if one]
        )
    if _is_result(path):
        raise click.UsageError(printable(f"-o {path} is a result, which it would overwrite. Name another."))
    writing.write_bytes(path, data)


def _is_result(path: Path) -> bool:
    """Whether a run wrote this file: with its folder given, nobody named it, and nothing brings it back."""
    if not path.is_file() or path.suffix.lower() != ".json":
        return False
    from roofline.files.decoding import ReadError
    from roofline.results.reader import read

    try:
        read([path])
    except ReadError:
        return False
    return True


def refuse_overwriting(path: Path, inputs: Iterable[Path]) -> None:
    """:raises click.UsageError: the file to write is one of those to read."""
    if path.is_file() and any(os.path.exists(one) and path.samefile(one) for one in inputs):
        raise click.UsageError(
            printable(f"-o {path} is one of the files to read, which it would overwrite. Name another.")
        )


def try_to_write(path: Path) -> None:
    """Whether a file can be written, for who would know it before a long measurement. It is left as it is.

    :raises click.UsageError: it can't be.
    """
    there = path.exists()
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        path.open("ab").close()
        if not there:
            path.unlink()
    except OSError as error:
        raise _unwritable(path, error) from error


def _unwritable(path: Path, error: OSError) -> click.UsageError:
    return click.UsageError(printable(f"{path}: can't be written ({error.strerror or error})."))
