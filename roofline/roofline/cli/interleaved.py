"""What ``ab`` and ``selftest`` share: their options, and how what goes wrong with two sides is told."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager

import click

from roofline.ab.cases import NothingInCommon, Rules
from roofline.ab.loaded_code import WrongCode
from roofline.ab.preparing import AskedWrongly, NotPrepared
from roofline.ab.process import ProcessFailed, supported
from roofline.ab.turns_file import TurnsFileError
from roofline.cli import output
from roofline.cli.common import CannotCompare
from roofline.cli.parameters import Command, Confidence, Seconds, Share


def rule_options(function: Command) -> Command:
    """``--pairs``, ``--max-time``, ``--least-effect`` and ``--confidence``: passed on under these names."""
    rules = Rules()
    options: list[Callable[[Command], Command]] = [
        click.option(
            "--pairs",
            type=click.IntRange(min=1),
            metavar="PAIRS",
            default=rules.pairs,
            show_default=True,
            help="Pairs of fresh processes, at most. Each process has an offset of its own.",
        ),
        click.option(
            "--max-time",
            type=Seconds(),
            default=rules.max_time_s,
            show_default=True,
            help="Seconds of turns for each case, both sides and all pairs together.",
        ),
        click.option(
            "--least-effect", type=Share(), default="2%", show_default=True, help="The least difference that matters."
        ),
        click.option(
            "--confidence", type=Confidence(), default="99%", show_default=True, help="How sure to be, over all cases."
        ),
    ]
    for option in reversed(options):
        function = option(function)
    return function


@contextmanager
def failures() -> Iterator[None]:
    """Tell what may go wrong with two sides as the program does: a usage error (2), or no comparison (3)."""
    if not supported():
        raise click.UsageError("this command hands pipes to its processes, which Windows has no way for: use WSL.")
    try:
        yield
    except (AskedWrongly, TurnsFileError) as error:
        raise click.UsageError(str(error)) from error
    except (NotPrepared, ProcessFailed, WrongCode, NothingInCommon) as error:
        raise CannotCompare(f"cannot compare. {error}") from error


def tell(line: str) -> None:
    """How far it has come: beside the table, not in it, and in the width that the command was asked for."""
    context = click.get_current_context(silent=True)
    output.tell(line, None if context is None else context.params.get("width"))
