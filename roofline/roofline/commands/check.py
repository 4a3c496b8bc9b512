"""``roofline check``."""

from __future__ import annotations

from pathlib import Path

import click

from roofline.commands.common import device_table, devices_option, table_options
from roofline.commands.two_sides import PATH, TwoSides, comparison_of, judging_options, show
from roofline.compare.comparison import Settings
from roofline.compare.gate import gate
from roofline.compare.report import sentence
from roofline.compare.sides import By
from roofline.tables import Format


@click.command(cls=TwoSides, several="--baseline")
@click.argument("new", nargs=-1, required=True, type=PATH)
@click.option(
    "--baseline", "base", multiple=True, required=True, type=PATH, metavar="BASE...", help="Files or folders."
)
@judging_options
@click.option("--allow-removed", is_flag=True, help="Cases of the baseline may be missing.")
@click.option("--strict", is_flag=True, help="What is inconclusive doesn't pass.")
@table_options
@devices_option
@click.pass_context
def check(
    context: click.Context,
    new: tuple[Path, ...],
    base: tuple[Path, ...],
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
    """Check the sessions of NEW against a baseline: files or folders, several sessions a side.

    Exit code: 0 passed, 1 a case is slower, 3 not all could be compared: nothing matched, a case was removed or
    renamed, a row is invalid, another machine, a changed workload, no baseline. 1 wins over 3. What is inconclusive
    passes with a warning, unless --strict.
    """
    settings = Settings(least_effect=least_effect, confidence=confidence, floor_s=floor, by=by)
    comparison = comparison_of(base, new, settings, device_table(devices))
    outcome = gate(comparison, allow_removed=allow_removed, strict=strict)
    show(comparison, sentence(comparison, outcome.exit_code), outcome.exit_code, form, output, width)
    for warning in outcome.warnings:
        click.echo(f"Warning: {warning}", err=True)
    for failure in outcome.failures:
        click.echo(f"Error: {failure}", err=True)
    context.exit(outcome.exit_code)
