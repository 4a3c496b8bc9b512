"""What the commands share: their options, reading results, writing tables, and telling what is wrong."""

from __future__ import annotations

import errno
import io
import os
import secrets
import shutil
import stat
import sys
import textwrap
from collections.abc import Callable, Iterable
from contextlib import suppress
from dataclasses import replace
from pathlib import Path
from typing import Any, Literal, TextIO, TypeVar

import click

from roofline.devices import DeviceFileError, DeviceTable, load
from roofline.points import Point, place_all
from roofline.reader import ReadError, Reading, ResultFile, read, read_file, real_path
from roofline.same_session import told_apart
from roofline.tables import FORMATS, Format, Table, render

Command = TypeVar("Command", bound=Callable[..., Any])

_SUFFIXES: dict[str, Format] = {".csv": "csv", ".json": "json", ".md": "markdown"}
_LEAST_WIDTH = 40


class CannotCompare(click.ClickException):
    """There is no usable data: exit code 3. ``ctx`` is the command's, as a usage error of click's has it."""

    exit_code = 3

    def __init__(self, message: str) -> None:
        super().__init__(message)
        self.ctx = click.get_current_context(silent=True)


def results_argument(function: Command) -> Command:
    """``RESULTS...``: files and folders."""
    kind = click.Path(exists=True, path_type=Path)
    return click.argument("results", nargs=-1, required=True, type=kind)(function)


def result_argument(function: Command) -> Command:
    """``RESULT``: one file."""
    kind = click.Path(exists=True, dir_okay=False, path_type=Path)
    return click.argument("result", type=kind)(function)


def devices_option(function: Command) -> Command:
    return click.option(
        "--devices",
        "devices",
        type=click.Path(exists=True, dir_okay=False, path_type=Path),
        help="TOML file with published roofs of more devices, in the form of the package's devices.toml.",
    )(function)


def table_options(function: Command) -> Command:
    """``--format``, ``-o`` and ``--width``: passed on as ``form``, ``output`` and ``width``."""
    function = click.option(
        "--width",
        is_eager=True,  # what is wrong with another option is told in this width
        type=click.IntRange(min=_LEAST_WIDTH),
        metavar="COLUMNS",
        help="Columns of the terminal. Default: asked of the terminal.",
    )(function)
    function = click.option(
        "-o",
        "--output",
        type=click.Path(dir_okay=False, path_type=Path),
        help="File to write to. Without --format its ending decides: .csv, .json, .md; else a table.",
    )(function)
    return click.option("--format", "form", type=click.Choice(FORMATS), help="Default: table.")(function)


def read_results(paths: Iterable[Path]) -> tuple[ResultFile, ...]:
    """Read files and folders; what was left out goes to stderr.

    :raises CannotCompare: nothing could be read.
    """
    return read_all(paths).files


def read_all(paths: Iterable[Path]) -> Reading:
    """The same, with what was left out.

    :raises CannotCompare: nothing could be read.
    """
    try:
        reading = read(paths)
    except ReadError as error:
        raise CannotCompare(str(error)) from error
    for reason in reading.skipped:
        click.echo(f"skipped {reason}", err=True)
    for result in reading.files:
        _warn(result)
    return reading


def read_sessions(paths: Iterable[Path]) -> Reading:
    """The same, each session once, in however many files it stands.

    :raises CannotCompare: nothing could be read.
    """
    reading = read_all(paths)
    files, again = told_apart(reading.files)
    for line in again:
        click.echo(f"skipped {line}", err=True)
    return replace(reading, files=tuple(files))


def read_one(path: Path) -> ResultFile:
    """Read one file.

    :raises CannotCompare: it can't be read.
    """
    try:
        result = read_file(path)
    except ReadError as error:
        raise CannotCompare(str(error)) from error
    _warn(result)
    return result


def device_table(extra: Path | None) -> DeviceTable:
    """The published roofs, with the user's own.

    :raises click.UsageError: the user's file is not of the form.
    """
    try:
        return load(extra)
    except DeviceFileError as error:
        raise click.UsageError(f"--devices: {error}") from error


def read_points(paths: Iterable[Path], devices: Path | None) -> tuple[Point, ...]:
    """Every benchmark of the results, placed and judged."""
    table = device_table(devices)
    return place_all(read_results(paths), table)


def terminal_width(asked: int | None) -> int:
    return max(_LEAST_WIDTH, asked or shutil.get_terminal_size().columns)


def tell(text: str, width: int | None) -> None:
    """Lines of standard error, broken where they are read by somebody: at a terminal, or where a width was asked for.

    Elsewhere, in a log, each stays one line for whoever searches it. Paths are never broken.
    """
    if width is not None or (sys.stderr is not None and sys.stderr.isatty()):
        columns = terminal_width(width)
        text = "\n".join(part for line in text.split("\n") for part in _broken(line, columns))
    _echo(f"{text}\n", sys.stderr)


def tell_error(error: click.ClickException) -> None:
    """What click says of an error, as `tell` does, in the width that its command was asked for."""
    said = io.StringIO()
    error.show(said)
    context = error.ctx if isinstance(error, click.UsageError | CannotCompare) else None
    width = None if context is None else context.params.get("width")
    # An option that click hadn't come to holds a mark of its own.
    tell(said.getvalue().removesuffix("\n"), width if isinstance(width, int) else None)


def _broken(line: str, columns: int) -> list[str]:
    """A line in parts that fit; they hang below the first."""
    if len(line) <= columns:
        return [line]
    indent = " " * (len(line) - len(line.lstrip(" ")) + 2)
    return textwrap.wrap(line, columns, subsequent_indent=indent, break_long_words=False, break_on_hyphens=False)


def chosen_format(form: Format | None, output: Path | None) -> Format:
    """What was asked for, else what the ending of the file says, else a table."""
    return form or (_SUFFIXES.get(output.suffix.lower(), "table") if output is not None else "table")


def emit(
    tables: Iterable[Table[Any]],
    form: Format | None,
    output: Path | None,
    width: int | None,
    *,
    complete: str = "--format csv",
) -> None:
    """Print the tables, or write them to ``output``.

    :param complete: what has the columns that don't fit.
    :raises click.UsageError: the file can't be written, or standard output is closed.
    """
    form = chosen_format(form, output)
    color = output is None and form == "table" and sys.stdout is not None and sys.stdout.isatty()
    emit_text(
        "\n".join(render(table, form, terminal_width(width), color=color, complete=complete) for table in tables),
        output,
    )


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
        click.echo(f"wrote {output}", err=True)


def _echo(text: str, stream: TextIO | None) -> None:
    """Show it. Where the reader (head, less) has seen enough, the command goes on: its exit code is the verdict."""
    try:
        click.echo(text, stream, nl=False)
    except BrokenPipeError:
        assert stream is not None
        os.dup2(os.open(os.devnull, os.O_WRONLY), stream.fileno())


def write_text(path: Path, text: str) -> None:
    """Write a file, whole or not at all: where the disk is full, what stood there stays.

    A pipe or a device, such as ``/dev/stdout``, is written to as it is; through a link its target is written.

    :raises click.UsageError: the file can't be written.
    """
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        target = real_path(path)
        # A link that leads to itself has no target; opening it says so.
        if target.is_symlink() or (path.exists() and not target.is_file()):
            _write(path, "w", text)
        else:
            _replace(target, text)
    except OSError as error:
        raise click.UsageError(f"{path}: can't be written ({error.strerror or error}).") from error


_FOLDER_REFUSES = frozenset({errno.EACCES, errno.EPERM, errno.EROFS, errno.EBUSY})
"""A folder that takes no new file, or a file that is mounted by itself, as containers do, and can't be replaced."""


def _replace(target: Path, text: str) -> None:
    """Put a new regular file in the place of an old one, with its mode and, where that is allowed, its owner."""
    old = target.stat() if target.exists() else None
    if old is not None:
        target.open("ab").close()  # a file that may not be written may not be replaced, either
    part = target.with_name(f".roofline-{secrets.token_hex(8)}")
    try:
        _write(part, "x", text)
        if old is not None:
            new = part.stat()
            if (old.st_uid, old.st_gid) != (new.st_uid, new.st_gid):
                with suppress(PermissionError):
                    os.chown(part, old.st_uid, old.st_gid)
            part.chmod(stat.S_IMODE(old.st_mode))
        part.replace(target)
    except OSError as error:
        if old is None or error.errno not in _FOLDER_REFUSES:
            raise
        _write(target, "w", text)
    finally:
        with suppress(PermissionError):  # of a folder in which it couldn't be made
            part.unlink(missing_ok=True)


def _write(path: Path, mode: Literal["w", "x"], text: str) -> None:
    # A name in a result may hold half a surrogate pair, which UTF-8 has no bytes for.
    with path.open(mode, encoding="utf-8", errors="backslashreplace") as file:
        file.write(text)


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
        raise click.UsageError(f"{path}: can't be written ({error.strerror or error}).") from error


def _warn(result: ResultFile) -> None:
    for fault in result.faults:
        click.echo(f"record not read, only its times are used: {fault}", err=True)
    if not result.nonfinite:
        return
    shown = ", ".join(result.nonfinite[:5])
    more = f" and {len(result.nonfinite) - 5} more" if len(result.nonfinite) > 5 else ""
    click.echo(f"{result.path}: not finite, taken as missing: {shown}{more}", err=True)
