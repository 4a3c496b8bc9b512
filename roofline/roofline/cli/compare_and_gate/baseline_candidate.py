"""What `compare` and `check` share: two sets of files on one command line, and the options to judge them by."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import fields
from typing import Any, get_args

import click

from roofline.cli.console import WrongUsage
from roofline.cli.inputs import INPUT
from roofline.cli.parameters import CONFIDENCE_SHARE, SHARE, Command, Number, together
from roofline.comparison.effects.verdict import CONFIDENCE, LEAST_EFFECT
from roofline.comparison.settings import Settings
from roofline.comparison.sides.compared_figures import FigureName
from roofline.comparison.sides.session_observations import By


class TwoSides(click.Command):
    """A command whose arguments are the files of one side, and whose options take those of the other.

    ``NEW… --baseline BASE…``: such an option takes all paths that follow it, the first behind a space or an equals
    sign. Where no path comes before it, it takes one, and the rest are the arguments. It may be given several times.
    """

    def __init__(self, *arguments: Any, several: Sequence[str], optional: str | None = None, **options: Any) -> None:
        """:param several: names of the options that take several paths.
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
        taking = ""
        rest = list(reversed(args))
        while rest:
            word = rest.pop()
            if word == "--":
                return [*spread, word, *reversed(rest)]
            if word.startswith("-") and word != "-":
                spread.append(word)
                name = word.partition("=")[0]
                taking = name if name in self._several and paths > 0 else ""
                if rest and word in with_value and not (word == self._optional and rest[-1].startswith("-")):
                    spread.append(rest.pop())
            elif taking:
                spread += [taking, word]
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


def confidence_option(
    default: float = CONFIDENCE,
    help: str = "How sure to be: of the cases called slower or faster, this share is so and not by chance.",
) -> Callable[[Command], Command]:
    """``--confidence``: passed on by this name."""
    return click.option(
        "--confidence",
        type=CONFIDENCE_SHARE,
        default=f"{default:.0%}",
        show_default=True,
        metavar="SHARE",
        help=help,
    )


def judging_options(function: Command) -> Command:
    """Options to judge by, ``--least-effect`` to ``--figure``: passed on together as ``settings``."""
    options = (
        least_effect_option,
        confidence_option(),
        click.option(
            "--floor",
            "floor_s",
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
            metavar="RESULTS...",
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
    return together(function, options, "settings", settings_of)


def settings_of(given: dict[str, Any]) -> Settings:
    """Take the settings out of what a command was given.

    :raises click.UsageError: two of them exclude each other.
    """
    try:
        return Settings(**{one.name: given.pop(one.name) for one in fields(Settings)})
    except ValueError as error:
        raise WrongUsage(str(error)) from error
