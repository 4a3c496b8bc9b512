"""What ``ab`` and ``selftest`` share: their options, and how what goes wrong with two sides is told."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

import click

from roofline.commands.common import CannotCompare, Command
from roofline.interleaving.preparing import AskedWrongly, NotPrepared
from roofline.interleaving.process import ProcessFailed, supported
from roofline.interleaving.provenance import WrongCode
from roofline.interleaving.trial import NothingInCommon, Rules
from roofline.interleaving.turns_file import TurnsFileError

if TYPE_CHECKING:
    FloatType = click.ParamType[float]
else:
    FloatType = click.ParamType


class Seconds(FloatType):
    """A time above 0 s that ends."""

    name = "seconds"

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> float:
        try:
            seconds = float(value)
        except ValueError:
            seconds = math.nan
        if not (math.isfinite(seconds) and seconds > 0):
            self.fail(f"{value!r} is no time: use a finite number of seconds above 0, such as 60", param, ctx)
        return seconds


class Share(FloatType):
    """A share, as ``2%`` or ``0.02``: above 0 and below 1."""

    name = "share"

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> float:
        if isinstance(value, float):
            return value
        text = str(value).strip()
        try:
            number = float(text[:-1]) / 100 if text.endswith("%") else float(text)
        except ValueError:
            number = 0.0
        if not 0 < number < 1:
            self.fail(f"{value!r} is no share: use a number above 0 and below 1, such as 2% or 0.02", param, ctx)
        return number


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
            "--confidence", type=Share(), default="99%", show_default=True, help="How sure to be, over all cases."
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
    """How far it has come: beside the table, not in it."""
    click.echo(line, err=True)
