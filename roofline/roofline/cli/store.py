"""``roofline store``: very many results in one place."""

from __future__ import annotations

from pathlib import Path

import click

from roofline.cli.inputs import INPUT, NoData, device_table, devices_option, results_argument
from roofline.cli.output import emit
from roofline.cli.parameters import Output, OutputFolder, table_options
from roofline.files.decoding import ReadError
from roofline.files.places import shown
from roofline.show.export import LacksPyarrow
from roofline.store.adding import NoStoreError
from roofline.store.adding import add as add_files
from roofline.store.asking import WrongQuery, ask
from roofline.store.exporting import NotFree
from roofline.store.exporting import export as export_files
from roofline.text.printable import printable, say
from roofline.text.units import counted, some_of

STORE = click.argument("store", type=INPUT)


@click.group()
def store() -> None:
    """Keep very many results: a Parquet data set by machine and day, which SQL asks, and every command reads."""


@store.command()
@STORE
@results_argument
@devices_option
def add(store: Path, results: tuple[Path, ...], devices: Path | None) -> None:
    """Add RESULTS (files, folders or other stores) to STORE, a folder or a URL of fsspec, which is made if it is new.

    What is in it already is left alone, so that the same command may run again, and several at the same time; a damaged
    table of it is made again. Every command takes STORE where it takes a folder of results. To put the files of many
    small additions together, add the store to a new one.

    Exit code: 0 all is in the store, 3 some of what was named can't be read.
    """
    table = device_table(devices)
    try:
        added = add_files(store, results, table)
    except (NoStoreError, LacksPyarrow) as error:
        raise click.UsageError(printable(str(error))) from error
    except ReadError as error:
        raise NoData(str(error)) from error
    except OSError as error:
        raise click.UsageError(printable(f"{shown(store)}: can't be written ({error.strerror or error}).")) from error
    for line in (*(f"skipped {reason}" for reason in added.skipped), *added.notes):
        say(line, err=True)
    known = f"; {counted(added.known, 'run')} there already" if added.known else ""
    say(f"{shown(store)}: {counted(added.runs, 'run')} with {counted(added.cases, 'case')} added{known}", err=True)
    if added.refused:
        raise NoData(some_of(added.refused))
    if not added.runs and not added.known:
        raise NoData(printable(f"no result to add: {some_of(list(map(shown, results)))}."))


@store.command()
@STORE
@click.argument("sql", metavar="SELECT")
@table_options
@devices_option
def query(store: Path, sql: str, output: Output, devices: Path | None) -> None:
    """Show what a SELECT of SQL gives (DuckDB's).

    Tables: runs; cases, rounds, operations, kernels, roofs, machines and missing, with the columns of the frames of
    `rl.load`. Each has run, fingerprint (of the machine) and day (of the run's start, UTC). "case" is a word of SQL:
    write it in double quotes. Operations, kernels and missing are made when a query first names one of them.
    """
    try:
        emit([ask(store, sql, device_table(devices), _tell)], output)
    except WrongQuery as error:
        raise click.UsageError(str(error)) from error
    except ReadError as error:
        raise NoData(str(error)) from error
    except OSError as error:
        raise click.UsageError(printable(f"{shown(store)}: can't be written ({error.strerror or error}).")) from error


@store.command()
@STORE
@click.argument("folder", type=OutputFolder())
@click.option(
    "--where",
    metavar="CONDITION",
    help="Only runs with a case for which this condition of SQL holds, such as \"model = 'resnet50'\".",
)
def export(store: Path, folder: Path, where: str | None) -> None:
    """Write the files of STORE to FOLDER as they were added, in a folder for each machine. What is there stays."""
    try:
        exported = export_files(store, folder, where, device_table(None), _tell)
    except (WrongQuery, NotFree) as error:
        raise click.UsageError(str(error)) from error
    except ReadError as error:
        raise NoData(str(error)) from error
    except OSError as error:
        raise click.UsageError(printable(f"{folder}: can't be written ({error.strerror or error}).")) from error
    there = f"; {counted(exported.there, 'file')} there already" if exported.there else ""
    say(f"{folder}: {counted(exported.written, 'file')} written{there}", err=True)
    if not exported.written and not exported.there:
        raise NoData(printable(f"{shown(store)}: no run has a case with {where}."))


def _tell(line: str) -> None:
    say(line, err=True)
