"""``roofline ab``: two revisions, folders or interpreters, measured in turns; and what ``selftest`` shares with it."""

from __future__ import annotations

import os
import signal
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from types import FrameType
from typing import Any

import click

from roofline.ab import turns_file
from roofline.ab.measuring_in_turns import Rules, measure_in_turns
from roofline.ab.process import supported
from roofline.ab.side import CannotMeasure, WrongOptions, check_arguments, two_sides
from roofline.ab.turns_table import found_in, verdict_table
from roofline.ab.worktrees import TEMPORARY
from roofline.cli.compare_and_gate.judging_options import confidence_option, least_effect_option
from roofline.cli.console import NoData, WrongUsage, tell
from roofline.cli.inputs import INPUT
from roofline.cli.output import emit, try_to_write
from roofline.cli.parameters import OUTPUT_FOLDER, SECONDS, Command, Output, table_options, together
from roofline.comparison.gate import judge
from roofline.files.writing import private_folder


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


@click.command()
@click.argument("arguments", nargs=-1, type=click.UNPROCESSED, metavar="[-- PYTEST ARGS...]")
@click.option("--base", metavar="REV", help="Git revision to compare with.")
@click.option("--new", metavar="REV", help="Git revision to judge. Default: the working tree as it is.")
@click.option("--base-path", type=INPUT, metavar="FOLDER", help="A tree instead of it.")
@click.option("--new-path", type=INPUT, metavar="FOLDER", help="Default: this folder.")
@click.option("--base-python", metavar="PY", help="The base's interpreter (another torch). Default: this one.")
@click.option("--new-python", metavar="PY", help="The new side's interpreter. Default: this one.")
@rule_options
@click.option("--allow-removed", is_flag=True, help="A case that only the base has is no failure.")
@click.option("--strict", is_flag=True, help="An inconclusive case is a failure (exit code 3).")
@click.option("--results", type=OUTPUT_FOLDER, metavar="FOLDER", help="Folder for a JSON of all turns.")
@table_options
def ab(
    arguments: tuple[str, ...],
    rules: Rules,
    allow_removed: bool,
    strict: bool,
    results: Path | None,
    output: Output,
    **given: Any,
) -> int:
    """Measure two sides in turns (A B B A ...) and say which cases are slower, faster or the same.

    Two pytest processes stand ready with the same case and are handed the turn one at a time, so that whatever the
    machine does meets both. Arguments after -- are pytest's. Your tree and index are left as they are.

    Exit codes: 0 pass; 1 a case is slower; 2 usage; 3 can't compare: a side doesn't start, a case is removed, skipped
    by one side, another workload or without proof; or no case could be judged, for the machine is too busy.
    """
    with failures(), interruptible(), private_folder(TEMPORARY) as folder:
        check_arguments(arguments)
        for side in ("base", "new"):
            if (tree := given[f"{side}_path"]) is not None and not tree.is_dir():
                raise NoData(f"--{side}-path: {tree}: no such folder.")
        if output.path is not None:
            try_to_write(output.path)
        if results is not None:
            turns_file.try_to_write(results)
        with two_sides(Path.cwd(), folder, **given) as sides:
            result = measure_in_turns(sides, arguments, rules, folder, os.environ, tell)
    outcome = judge(found_in(result), allow_removed=allow_removed, strict=strict)
    table = verdict_table(result, outcome.exit_code)
    if output.form == "markdown":
        # A summary is read without the log.
        table = replace(table, notes=(*outcome.messages, *table.notes))
    # What was measured is kept before it is shown, and shown though it can't be kept: either may fail.
    with failures():
        try:
            if results is not None:
                tell(f"turns: {turns_file.write(result, results)}")
        finally:
            emit([table], output)
    for line in [*([] if output.path is None else [table.title]), *outcome.messages]:
        tell(line)
    return outcome.exit_code
