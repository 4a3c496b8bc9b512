"""``roofline recover``."""

from __future__ import annotations

from pathlib import Path

import click

from roofline.cli.console import NoData, WrongUsage, say, tell, tell_error
from roofline.cli.inputs import INPUT, read_results
from roofline.files.decoding import ReadError
from roofline.results import journal
from roofline.text.units import counted


@click.command()
@click.argument("path", metavar="JOURNAL", type=INPUT)
@click.pass_context
def recover(context: click.Context, path: Path) -> None:
    """Make the JSON of a run that was killed, from the JOURNAL that it left in its folder of results.

    Of a folder, each journal in it and in those below whose JSON isn't there yet. The JSON says which cases were not
    run. The journal stays; nothing reads it any more once the JSON is there.

    Exit code: 0 made, or every journal of the folder has its JSON; 2 the file that is named is no journal, or its JSON
    is there; 3 nothing in a journal can be used, or the folder has none.
    """
    if not path.is_dir():
        say(str(_made(path)))
        return
    journals = sorted(one for one in path.rglob("*") if journal.is_journal(one) and one.is_file())
    if not journals:
        raise NoData(f"{path}: no journal (*{journal.SUFFIX}) in this folder.")
    pending = [one for one in journals if not journal.is_superseded(one)]
    if not pending:
        tell(f"{path}: nothing to recover. The JSON of {counted(len(journals), 'journal')} is there.")
    code = 0
    for one in pending:
        try:
            say(str(_made(one)))
        except click.ClickException as error:
            tell_error(error)
            code = max(code, error.exit_code)
    context.exit(code)


def _made(file: Path) -> Path:
    """Make the JSON of a journal, and return its path.

    :raises click.ClickException: it can't be made; with the exit code of the command.
    """
    if file.exists() and not journal.is_journal(file):
        raise WrongUsage(f"{file}: no journal. The name of one ends in {journal.SUFFIX}.")
    try:
        for result in read_results([file]).files:
            for note in () if result.session is None else result.session.notes:
                tell(f"{file}: {note}")
        return journal.recover(file)
    except ReadError as error:
        raise NoData.of(error) from error
    except FileExistsError as error:
        raise WrongUsage(f"{error.filename}: {error.strerror}.") from error
    except OSError as error:
        raise NoData(f"{error.filename or file}: can't be written ({error.strerror}).") from error
