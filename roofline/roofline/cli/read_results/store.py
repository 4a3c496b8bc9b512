"""``roofline store``: very many results in one place."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import click

from roofline.cli.console import NoData, WrongUsage, tell
from roofline.cli.inputs import INPUT, devices_option, results_argument
from roofline.cli.output import emit, unwritable
from roofline.cli.parameters import OUTPUT_FOLDER, Output, table_options
from roofline.files.places import shown
from roofline.machine.published import DeviceTable, load
from roofline.show.export import LacksPyarrow
from roofline.store.adding import NoStoreError
from roofline.store.adding import add as add_files
from roofline.store.asking import WrongQuery, ask
from roofline.store.exporting import NotFree
from roofline.store.exporting import export as export_files
from roofline.text.units import counted, some_of

STORE = click.argument("store", type=INPUT)


@contextmanager
def _failures(written: Path) -> Iterator[None]:
    """Turn what may go wrong with a store into a usage error.

    :param written: the store or folder that is written to.
    """
    try:
        yield
    except (NoStoreError, LacksPyarrow, NotFree) as error:
        raise WrongUsage(str(error)) from error
    except WrongQuery as error:
        raise click.UsageError(str(error)) from error  # DuckDB's, in lines
    except OSError as error:
        raise unwritable(shown(written), error) from error


@contextmanager
def _progress(doing: str) -> Iterator[Callable[[int, int], None]]:
    """Show at a terminal, on standard error, how many of all files are done, and for how long.

    :returns: what is to be told both numbers.
    """
    from rich.console import Console
    from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn

    columns = (TextColumn(doing), BarColumn(), MofNCompleteColumn(), TextColumn("files"), TimeElapsedColumn())
    shown = sys.stderr is not None and sys.stderr.isatty()
    with Progress(*columns, console=Console(stderr=True), transient=True, disable=not shown) as progress:
        task = progress.add_task("", total=None)
        yield lambda done, all_of_them: progress.update(task, completed=done, total=all_of_them)


@click.group()
def store() -> None:
    """Keep very many results: a Parquet data set by machine and day, which SQL asks, and every command reads."""


@store.command()
@STORE
@results_argument
@devices_option
def add(store: Path, results: tuple[Path, ...], devices: DeviceTable) -> None:
    """Add RESULTS (files, folders or other stores) to STORE, a folder or a URL of fsspec, which is made if it is new.

    What is in it already is left alone, so that the same command may run again, and several at the same time. Every
    command takes STORE where it takes a folder of results. A store that is added to a new one has its files together
    there, and whole tables.

    Exit code: 0 all is in the store, 3 some of what was named can't be read.
    """
    with _failures(store), _progress("adding") as progress:
        added = add_files(store, results, devices, progress)
    for line in (*(f"skipped {reason}" for reason in added.skipped), *added.notes):
        tell(line)
    known = f"; {counted(added.known, 'run')} there already" if added.known else ""
    tell(f"{shown(store)}: {counted(added.runs, 'run')} with {counted(added.cases, 'case')} added{known}")
    if added.refused:
        raise NoData(*some_of(added.refused).splitlines())
    if not added.runs and not added.known:
        raise NoData(f"no result to add: {some_of(list(map(shown, results)))}.")


@store.command()
@STORE
@click.argument("sql", metavar="SELECT")
@table_options
@devices_option
def query(store: Path, sql: str, output: Output, devices: DeviceTable) -> None:
    """Show what a SELECT of SQL gives (DuckDB's).

    Tables: runs; cases, rounds, operations, kernels, roofs, machines and missing, with the columns of the frames of
    `rl.load`. Each has run, fingerprint (of the machine) and day (of the run's start, UTC). "case" is a word of SQL:
    write it in double quotes. Operations, kernels and missing are made when a query first names one of them.
    """
    with _failures(store):
        found = ask(store, sql, devices, tell)
    emit([found], output)


@store.command()
@STORE
@click.argument("folder", type=OUTPUT_FOLDER)
@click.option(
    "--where",
    metavar="CONDITION",
    help="Only runs with a case for which this condition of SQL holds, such as \"model = 'resnet50'\".",
)
def export(store: Path, folder: Path, where: str | None) -> None:
    """Write the files of STORE to FOLDER as they were added, in a folder for each machine. What is there stays."""
    with _failures(folder):
        written, there = export_files(store, folder, where, load(None), tell)
    known = f"; {counted(there, 'file')} there already" if there else ""
    tell(f"{folder}: {counted(written, 'file')} written{known}")
    if not written and not there:
        raise NoData(f"{shown(store)}: no run has a case with {where}.")
