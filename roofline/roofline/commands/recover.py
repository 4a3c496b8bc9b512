"""``roofline recover``."""

from __future__ import annotations

from pathlib import Path

import click

from roofline import journal
from roofline.commands.common import INPUT, CannotCompare, read_results
from roofline.printable import printable


@click.command()
@click.argument("file", metavar="JOURNAL", type=INPUT)
def recover(file: Path) -> None:
    """Make the JSON of a run that was killed, from the JOURNAL that it left in its folder of results.

    The JSON says which cases were not run. The journal stays; nothing reads it any more once the JSON is there.

    Exit code: 0 made, 2 the file is no journal or its JSON is there, 3 nothing in it can be used.
    """
    if not journal.is_journal(file):
        raise click.UsageError(printable(f"{file}: no journal. The name of one ends in {journal.SUFFIX}."))
    read_results([file])
    try:
        made = journal.recover(file)
    except FileExistsError as error:
        raise click.UsageError(printable(f"{error.filename}: {error.strerror}.")) from error
    except OSError as error:
        raise CannotCompare(printable(f"{error.filename or file}: can't be written ({error.strerror}).")) from error
    click.echo(printable(str(made)))
