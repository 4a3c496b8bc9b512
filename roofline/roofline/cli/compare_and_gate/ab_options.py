"""Options, errors and Ctrl-C of ``ab`` and ``selftest``."""

from __future__ import annotations

import signal
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from types import FrameType
from typing import Any

import click

from roofline.ab.measuring_in_turns import Rules
from roofline.ab.process import supported
from roofline.ab.side import CannotMeasure, WrongOptions
from roofline.cli.compare_and_gate.judging_options import confidence_option, least_effect_option
from roofline.cli.console import NoData, WrongUsage
from roofline.cli.parameters import SECONDS, Command, together

TEMPORARY = "roofline-ab-"
"""Begins the name of the folder for trees and logs."""


def rule_options(function: Command) -> Command:
    """``--pairs``, ``--max-time``, ``--least-effect`` and ``--confidence``: passed on together as ``rules``."""
    usual = Rules()
    options = (
        click.option(
            "--pairs",
            type=click.IntRange(min=1),
            metavar="PAIRS",
            default=usual.pairs,
            show_default=True,
            help="Pairs of fresh processes, at most. Each process has an offset of its own.",
        ),
        click.option(
            "--max-time",
            type=SECONDS,
            default=usual.max_time_s,
            show_default=True,
            help="Seconds of turns for each case, both sides and all pairs together.",
        ),
        least_effect_option,
        confidence_option(usual.confidence),
    )

    def made(given: dict[str, Any]) -> Rules:
        return Rules(
            pairs=given.pop("pairs"),
            max_time_s=given.pop("max_time"),
            least=given.pop("least_effect"),
            confidence=given.pop("confidence"),
        )

    return together(function, options, "rules", made)


@contextmanager
def failures() -> Iterator[None]:
    """Turn what may go wrong with two sides into a usage error (2) or a failed comparison (3)."""
    if not supported():
        raise WrongUsage("this command hands pipes to its processes, which Windows has no way for: use WSL.")
    try:
        yield
    except WrongOptions as error:
        raise click.UsageError(str(error)) from error
    except CannotMeasure as error:
        raise NoData(*f"cannot compare. {error}".splitlines()) from error


@contextmanager
def interruptible() -> Iterator[None]:
    """Leave the block at the first Ctrl-C or signal to end; ignore later ones, so that the work trees are removed."""
    if threading.current_thread() is not threading.main_thread():
        yield
        return
    signals = [signal.SIGINT, signal.SIGTERM, *([signal.SIGHUP] if hasattr(signal, "SIGHUP") else [])]

    def leave(_number: int, _frame: FrameType | None) -> None:
        for number in signals:
            signal.signal(number, signal.SIG_IGN)
        raise KeyboardInterrupt

    before = {number: signal.signal(number, leave) for number in signals}
    try:
        yield
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)
