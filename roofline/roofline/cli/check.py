"""``roofline check``."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import click

from roofline.cli.common import INPUT, CannotCompare, device_table, devices_option
from roofline.cli.expectations import BESIDE_THE_TESTS, checked
from roofline.cli.output import chosen_format, emit, emit_text, tell
from roofline.cli.parameters import table_options, verbose_option
from roofline.cli.two_sides import TwoSides, comparison_of, judging_options, show, unsaid
from roofline.comparison.comparison import Settings
from roofline.comparison.gate import Gate, gate
from roofline.comparison.runs import changed_roofs
from roofline.comparison.sides import By
from roofline.comparison.verdict_table import sentence
from roofline.expectations.bounds_table import findings_table
from roofline.expectations.gate import expected_gate
from roofline.show.tables import Format, Table, render
from roofline.text.json_text import json_text
from roofline.text.printable import printable


@click.command(cls=TwoSides, several="--baseline", optional="--expect")
@click.argument("new", nargs=-1, required=True, type=INPUT)
@click.option(
    "--baseline", "base", multiple=True, type=INPUT, metavar="BASE...", help="Files or folders to compare with."
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
@verbose_option
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
    verbose: bool,
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
    in_full = verbose or chosen_format(form, output) == "json"
    expected: Table[Any] | None = None
    held = Gate(exit_code=0)
    if expect is not None:
        found = checked(new, expect, devices)
        held = expected_gate(found, strict=strict, in_full=in_full)
        expected = findings_table(found, passed=held.exit_code == 0, in_full=in_full)
    if not base:
        assert expected is not None
        _show_expected(expected, held, form, output, width)
        context.exit(held.exit_code)
    settings = Settings(least_effect=least_effect, confidence=confidence, floor_s=floor, by=by)
    try:
        comparison = comparison_of(base, new, settings, device_table(devices))
    except CannotCompare as error:
        if expected is None:
            raise
        # What is not as expected is so without a baseline, too.
        alone = _both(held, Gate(exit_code=error.exit_code, failures=(error.message,), strict=strict))
        _show_expected(expected, alone, form, output, width)
        context.exit(alone.exit_code)
    compared = gate(comparison, allow_removed=allow_removed, strict=strict, in_full=in_full)
    title = sentence(comparison, compared.exit_code)
    if held.exit_code:
        said = "Not as expected" if held.exit_code == 1 else "Not passed: not all that is expected could be judged"
        title = f"{said}. Against the baseline: {title}"
    apart = changed_roofs(comparison.base_runs, comparison.new_runs) if held.exit_code else []
    if apart:
        told = (
            f"the machine's own roofs differ between the sides ({'; '.join(apart)}): what is not as expected may be so"
            " by the roofs alone"
        )
        held = replace(held, warnings=(*held.warnings, told))
    outcome = _both(compared, held)
    show(
        comparison,
        title,
        outcome.exit_code,
        form,
        output,
        width,
        verbose=verbose,
        expected=expected,
        gate=outcome,
    )
    _tell(outcome, width)
    context.exit(outcome.exit_code)


def _both(one: Gate, other: Gate) -> Gate:
    """The first, with what stands in the other one's way, too. What both tell is told once."""
    codes = (one.exit_code, other.exit_code)
    return replace(
        one,
        exit_code=1 if 1 in codes else max(codes),
        failures=tuple(dict.fromkeys((*one.failures, *other.failures))),
        warnings=tuple(dict.fromkeys((*one.warnings, *other.warnings))),
    )


def _show_expected(
    expected: Table[Any], outcome: Gate, form: Format | None, output: Path | None, width: int | None
) -> None:
    """Print or write what came of the expected bounds alone; in JSON with the outcome, as beside a comparison."""
    if chosen_format(form, output) == "json":
        judged = {name: getattr(outcome, name) for name in ("exit_code", "failures", "warnings", "strict")}
        emit_text(json_text({"title": expected.title, **judged, **json.loads(render(expected, "json", 0))}), output)
    else:
        emit([unsaid(expected, outcome, output)], form, output, width)
    _tell(outcome, width)


def _tell(outcome: Gate, width: int | None) -> None:
    for warning in outcome.warnings:
        tell(printable(f"Warning: {warning}"), width)
    for failure in outcome.failures:
        tell(printable(f"Error: {failure}"), width)
