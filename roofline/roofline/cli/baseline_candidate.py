"""What `compare` and `check` share: two sets of files on one command line, and how to judge them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any, get_args

import click

from roofline.cli.inputs import INPUT, NoData
from roofline.cli.output import emit
from roofline.cli.parameters import CONFIDENCE_SHARE, SHARE, Command, Number, Output
from roofline.comparison.comparison import Comparison, compare_paths
from roofline.comparison.effects.verdict import CONFIDENCE, LEAST_EFFECT
from roofline.comparison.gate import Gate
from roofline.comparison.judged_case import Settings
from roofline.comparison.sides.compared_figures import FigureName
from roofline.comparison.sides.session_observations import By
from roofline.comparison.verdict_table import table
from roofline.files.decoding import ReadError
from roofline.machine.published import DeviceTable
from roofline.show.tables import Table


class TwoSides(click.Command):
    """A command whose arguments are the files of one side, and whose option takes those of the other.

    ``NEW… --baseline BASE…``: the option takes all paths that follow it, the first behind a space or an equals sign.
    Where no path comes before it, it takes one, and the rest are the arguments. It may be given several times.
    """

    def __init__(self, *arguments: Any, several: str, optional: str | None = None, **options: Any) -> None:
        """:param several: name of the option, ``--baseline``.
        :param optional: name of an option whose value may be left out.
        """
        super().__init__(*arguments, **options)
        self._several = several
        self._optional = optional

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        return super().parse_args(ctx, self._spread(args))

    def _spread(self, args: Sequence[str]) -> list[str]:
        """With the option's name before each of its values, as click reads it."""
        with_value = {
            name
            for parameter in self.params
            if isinstance(parameter, click.Option) and not parameter.is_flag
            for name in parameter.opts
        }
        spread: list[str] = []
        paths = 0
        taking = False
        rest = list(reversed(args))
        while rest:
            word = rest.pop()
            if word == "--":
                return [*spread, word, *reversed(rest)]
            if word.startswith("-") and word != "-":
                spread.append(word)
                taking = word.partition("=")[0] == self._several and paths > 0
                if rest and word in with_value and not (word == self._optional and rest[-1].startswith("-")):
                    spread.append(rest.pop())
            elif taking:
                spread += [self._several, word]
            else:
                spread.append(word)
                paths += 1
        return spread


def least_effect_option(function: Command) -> Command:
    """``--least-effect``: passed on by this name."""
    return click.option(
        "--least-effect",
        type=SHARE,
        default=f"{LEAST_EFFECT:.0%}",
        show_default=True,
        metavar="SHARE",
        help="The least difference that matters.",
    )(function)


def judging_options(function: Command) -> Command:
    """Options to judge by, ``--least-effect`` to ``--figure``: passed on by these names."""
    options = (
        least_effect_option,
        click.option(
            "--confidence",
            type=CONFIDENCE_SHARE,
            default=f"{CONFIDENCE:.0%}",
            show_default=True,
            metavar="SHARE",
            help="How sure to be: of the cases called slower or faster, this share is so and not by chance.",
        ),
        click.option(
            "--floor",
            type=Number("seconds", 0),
            default="0",
            show_default=True,
            metavar="SECONDS",
            help="Differences of a time below this never matter.",
        ),
        click.option(
            "--by",
            type=click.Choice(get_args(By)),
            default="time",
            show_default=True,
            help="roof: compare fractions of each machine's own measured roofs, across machines, instead of times.",
        ),
        click.option(
            "--learn-from",
            multiple=True,
            type=INPUT,
            metavar="RESULTS",
            help="Learn how far sessions of this machine scatter from its earlier ones, files, folders or a store,"
            " instead of assuming it.",
        ),
        click.option(
            "--figure",
            type=click.Choice(get_args(FigureName)),
            default="step_time",
            show_default=True,
            help="What is compared. Memory and FLOP are held exactly: any change counts by its size alone.",
        ),
    )
    for option in reversed(options):
        function = option(function)
    return function


def settings_of(
    *, least_effect: float, confidence: float, floor: float, by: By, figure: FigureName, learn_from: Sequence[Path]
) -> Settings:
    """The settings that the options make.

    :raises click.UsageError: two of them exclude each other.
    """
    try:
        return Settings(
            least_effect=least_effect,
            confidence=confidence,
            floor_s=floor,
            by=by,
            figure=figure,
            learn_from=tuple(learn_from),
        )
    except ValueError as error:
        raise click.UsageError(str(error)) from error


def comparison_of(base: Sequence[Path], new: Sequence[Path], settings: Settings, devices: DeviceTable) -> Comparison:
    """As `roofline.comparison.comparison.compare_paths`.

    :raises NoData: a side that isn't there, can't be read, or is of several machines where it may not be.
    """
    try:
        return compare_paths(base, new, settings, devices)
    except ReadError as error:
        raise NoData(str(error)) from error


def show(
    comparison: Comparison,
    title: str,
    output: Output,
    *,
    verbose: bool,
    expected: Table[Any] | None = None,
    gate: Gate | None = None,
) -> None:
    """Print the comparison, or write it to ``output``.

    :param expected: a table that goes with it.
    :param gate: what a check came to, which it says on stderr; None where nothing is gated.
    """
    tables: list[Table[Any]] = [table(comparison, title, in_full=verbose)]
    tables += [] if expected is None else [expected]
    if output.form == "markdown":
        # A summary is read without the log: what the gate says stands above the other notes.
        tables = [unsaid(one, gate, Output()) for one in tables]
        said = () if gate is None else gate.messages
        emit([replace(tables[0], notes=[*said, *tables[0].notes]), *tables[1:]], output)
    else:
        emit([unsaid(one, gate, output) for one in tables], output)


def unsaid(table: Table[Any], gate: Gate | None, output: Output) -> Table[Any]:
    """Without the notes that the gate says on stderr, which stands beside it; in a file all of them stand."""
    if gate is None or (output.path is not None and not output.is_data):
        return table
    return replace(table, notes=[note for note in table.notes if note not in gate.lines])
