"""``roofline check``."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import click

from roofline.commands.common import CannotCompare, device_table, devices_option
from roofline.commands.expectations import BESIDE_THE_TESTS, checked
from roofline.commands.output import chosen_format, emit, table_options, tell
from roofline.commands.two_sides import PATH, TwoSides, comparison_of, judging_options, show
from roofline.compare.comparison import Settings
from roofline.compare.gate import gate
from roofline.compare.report import sentence
from roofline.compare.seen import By
from roofline.expectations.table import findings_table
from roofline.printable import printable
from roofline.tables import Format


@click.command(cls=TwoSides, several="--baseline", optional="--expect")
@click.argument("new", nargs=-1, required=True, type=PATH)
@click.option(
    "--baseline", "base", multiple=True, type=PATH, metavar="BASE...", help="Files or folders to compare with."
)
@click.option(
    "--expect",
    is_flag=False,
    flag_value=BESIDE_THE_TESTS,
    metavar="[FILE]",
    help="Hold NEW against expected bounds: those of its tests' markers, and of FILE, by default the"
    " expected_bounds.toml beside the tests.",
)
@judging_options
@click.option("--allow-removed", is_flag=True, help="Cases of the baseline may be missing.")
@click.option(
    "--strict",
    is_flag=True,
    help="What is inconclusive, lacks sessions, may be of another run, or is expected of an unknown device, doesn't"
    " pass.",
)
@table_options
@devices_option
@click.pass_context
def check(
    context: click.Context,
    new: tuple[Path, ...],
    base: tuple[Path, ...],
    expect: str | None,
    least_effect: float,
    confidence: float,
    floor: float,
    by: By,
    allow_removed: bool,
    strict: bool,
    form: Format | None,
    output: Path | None,
    width: int | None,
    devices: Path | None,
) -> None:
    """Check the sessions of NEW against a baseline: files or folders, several sessions a side; or against expected
    bounds; or both.

    Exit code: 0 passed, 1 a case is slower or not as expected, 3 not all could be compared: nothing matched, a case was
    removed or renamed, a row is invalid or a case missing in half or more of the sessions of NEW, a file can't be read,
    another machine, a changed workload, no baseline; or an expectation could not be judged. 1 wins over 3. What is
    inconclusive passes with a warning, and so does a case that fewer sessions lack, unless --strict.
    """
    if not base and expect is None:
        raise click.UsageError("nothing to check against: give --baseline BASE, --expect, or both.")
    if base and expect is not None and chosen_format(form, output) == "csv":
        raise click.UsageError(
            "--baseline and --expect give two tables, and CSV is one: check them one after the other, or use --format"
            " json."
        )
    found = None if expect is None else checked(new, expect, devices)
    expected = None if found is None else findings_table(found)
    code = 0 if found is None else found.strict_exit_code if strict else found.exit_code
    for told in () if found is None else found.unknown_devices:
        tell(printable(f"{'Error' if strict else 'Warning'}: {told}"), width)
    if not base:
        assert expected is not None
        emit([expected], form, output, width)
        context.exit(code)
    settings = Settings(least_effect=least_effect, confidence=confidence, floor_s=floor, by=by)
    try:
        comparison = comparison_of(base, new, settings, device_table(devices))
    except CannotCompare as error:
        if expected is None:
            raise
        # What is not as expected is so without a baseline, too.
        emit([expected], form, output, width)
        tell(f"Error: {error.message}", width)
        context.exit(_worse(code, error.exit_code))
    outcome = gate(comparison, allow_removed=allow_removed, strict=strict)
    worst = _worse(outcome.exit_code, code)
    title = sentence(comparison, outcome.exit_code)
    if expected is not None and code:
        outcome = replace(outcome, failures=(*outcome.failures, expected.title))
        title = f"{'Not as expected' if code == 1 else 'Not all could be judged'}. Against the baseline: {title}"
    show(comparison, title, worst, form, output, width, expected, outcome)
    for warning in outcome.warnings:
        tell(printable(f"Warning: {warning}"), width)
    for failure in outcome.failures:
        tell(printable(f"Error: {failure}"), width)
    context.exit(worst)


def _worse(*codes: int) -> int:
    return 1 if 1 in codes else max(codes)
