"""``roofline selftest``: whether the gate of ``roofline ab`` works on this machine, now."""

from __future__ import annotations

import os
import sys
from pathlib import Path

import click

from roofline.ab.measuring_in_turns import Rules, measure_in_turns
from roofline.ab.selftest_outcome import (
    not_compared,
    selftest_cases,
    selftest_table,
    slowed,
    small_case_arguments,
    unchanged,
)
from roofline.ab.side import check_arguments
from roofline.ab.worktrees import TEMPORARY
from roofline.cli.compare_and_gate.ab import failures, interruptible, rule_options
from roofline.cli.console import NoData, tell
from roofline.cli.output import emit, try_to_write
from roofline.cli.parameters import SHARE, Output, table_options
from roofline.files.writing import private_folder

FAILED = 1


@click.command()
@click.argument("arguments", nargs=-1, type=click.UNPROCESSED, metavar="[-- PYTEST ARGS...]")
@click.option("--slowdown", type=SHARE, default="5%", show_default=True, help="Put into every step of one side.")
@rule_options
@table_options
def selftest(arguments: tuple[str, ...], slowdown: float, rules: Rules, output: Output) -> int:
    """Compare unchanged code with itself, which must pass, and with itself slowed on purpose, which must be found.

    Without pytest arguments two small cases that come with the package are measured. Prints the least slowdown that
    can be detected here.

    Exit codes: 0 passed; 1 a false alarm, or the slowdown was missed; 2 usage; 3 a case could not be measured in both
    trials.
    """
    with failures(), interruptible(), private_folder(TEMPORARY) as folder:
        check_arguments(arguments)
        if output.path is not None:
            try_to_write(output.path)
        where = Path.cwd() if arguments else folder
        arguments = arguments or small_case_arguments(folder)
        sides = unchanged(where, where, sys.executable)
        tell("unchanged code")
        first = measure_in_turns(sides, arguments, rules, folder, os.environ, tell)
        tell(f"slowed by {100 * slowdown:g} %")
        second = measure_in_turns(slowed(sides, slowdown), arguments, rules, folder, os.environ, tell)
    cases = selftest_cases(first, second)
    reasons = tuple(
        f"{case.case}, {which}: {case.outcome}: {case.why}"
        for which, trial in (("unchanged", first), ("slowed", second))
        for case in trial.cases
        if case.why
    )
    emit([selftest_table(cases, slowdown, reasons)], output)
    wrong = [failure for case in cases for failure in case.failures]
    for failure in wrong:
        tell(f"Error: {failure}")
    if wrong:
        return FAILED
    if lost := not_compared(cases):
        raise NoData(f"cannot compare. Not measured in both trials: {', '.join(case.case for case in lost)}.")
    if not any(case.compared for case in cases):
        raise NoData("cannot compare. Every case is skipped.")
    return 0
