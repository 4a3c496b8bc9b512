"""Shows what commands have made, or writes it to a file."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterable
from pathlib import Path
from typing import Any, TextIO

import click

from roofline.cli.console import WrongUsage, echo, tell, terminal_width
from roofline.cli.inputs import INPUT
from roofline.cli.parameters import Output
from roofline.files import writing
from roofline.show.export import LacksPyarrow, as_parquet, frame_of
from roofline.show.render import render
from roofline.show.tables import Table


def emit(tables: Iterable[Table[Any]], output: Output, *, complete: str | None = None) -> None:
    """Print the tables, or write them to a file; what stands below them goes to stderr where a program reads them.

    :param complete: what has the columns of all the tables that don't fit. Default: CSV of one table, and Markdown of
        several, which a CSV doesn't hold.
    :raises click.UsageError: the file can't be written.
    """
    tables = list(tables)
    if output.form == "parquet":
        assert output.path is not None
        try:
            write_bytes(output.path, as_parquet(frame_of(tables[0])))
        except LacksPyarrow as error:
            raise WrongUsage(str(error)) from error
        tell(f"wrote {output.path}")
    else:
        complete = complete or ("--format csv" if len(tables) == 1 else "--format markdown")
        color = output.path is None and output.form == "table" and _has_bold_letters(sys.stdout)
        width = terminal_width()
        texts = [render(table, output.form, width, color=color, complete=complete) for table in tables]
        emit_text("\n".join(texts), output.path)
    if output.is_data:
        for table in tables:
            for note in table.notes:
                tell(note)


def _has_bold_letters(stream: TextIO | None) -> bool:
    return stream is not None and stream.isatty() and os.environ.get("TERM", "").lower() not in ("dumb", "unknown")


def emit_text(text: str, output: Path | None) -> None:
    """Print a text, or write it to ``output``.

    :raises click.UsageError: the file can't be written.
    """
    if output is not None:
        write_text(output, text)
    else:
        echo(text, sys.stdout)


def write_text(path: Path, text: str) -> None:
    """Write a text as `write_bytes` does."""
    write_bytes(path, writing.utf8(text))


def write_bytes(path: Path, data: bytes) -> None:
    """Write a file as `write_free` does, and say so.

    :raises click.UsageError: the file can't be written, is one of those that the running command reads, or is a result.
    """
    try:
        write_free(path, data)
    except OSError as error:
        raise unwritable(path, error) from error
    tell(f"wrote {path}")


def write_free(path: Path, data: bytes) -> None:
    """Write a file as `roofline.files.writing.write_bytes` does, but over nothing that was measured.

    :raises click.UsageError: it is one of the files that the running command reads, or is a result.
    :raises OSError: it can't be written.
    """
    if (context := click.get_current_context(silent=True)) is not None:
        given = [context.params.get(one.name or "") for one in context.command.params if one.type is INPUT]
        paths = [one for some in given for one in (some if isinstance(some, tuple) else (some,))]
        refuse_overwriting(path, [one for one in paths if isinstance(one, Path)])
    if _is_result(path):
        raise WrongUsage(f"-o {path} is a result, which it would overwrite. Name another.")
    writing.write_bytes(path, data)


def _is_result(path: Path) -> bool:
    """Tell whether a run wrote this file: with its folder given, nobody named it, and nothing brings it back."""
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
        raise WrongUsage(f"-o {path} is one of the files to read, which it would overwrite. Name another.")


def try_to_write(path: Path) -> None:
    """Try whether a file can be written, for who would know it before a long measurement. It is left as it is.

    :raises click.UsageError: it can't be.
    """
    there = path.exists()
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        path.open("ab").close()
        if not there:
            path.unlink()
    except OSError as error:
        raise unwritable(path, error) from error


def unwritable(path: Path | str, error: OSError) -> click.UsageError:
    """Make the error of a file or folder that can't be written."""
    return WrongUsage(f"{path}: can't be written ({error.strerror or error}).")
