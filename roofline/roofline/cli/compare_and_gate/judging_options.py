"""The options by which two sides, or a history, are judged."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import fields
from typing import Any, get_args

import click

from roofline.cli.console import WrongUsage
from roofline.cli.inputs import INPUT
from roofline.cli.parameters import CONFIDENCE_SHARE, SHARE, Command, Number, together
from roofline.comparison.comparison_settings import Settings
from roofline.comparison.effects.verdict import CONFIDENCE, LEAST_EFFECT
from roofline.comparison.sides.compared_figures import FigureName
from roofline.comparison.sides.session_results import By


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
