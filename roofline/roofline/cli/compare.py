"""``roofline compare``."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import click

from roofline.cli.baseline_candidate import TwoSides, comparison_of, judging_options, settings_of, show
from roofline.cli.inputs import INPUT, NoData, device_table, devices_option
from roofline.cli.parameters import Output, table_options, verbose_option
from roofline.comparison.gate import nothing_judged
from roofline.comparison.sides.compared_figures import FigureName
from roofline.comparison.sides.session_observations import By
from roofline.comparison.verdict_table import sentence
from roofline.text.printable import printable


@click.command(cls=TwoSides, several="--with")
@click.argument("base", nargs=-1, required=True, type=INPUT)
@click.option("--with", "new", multiple=True, required=True, type=INPUT, metavar="NEW...", help="Files or folders.")
@judging_options
@table_options
@verbose_option
@devices_option
def compare(
    base: tuple[Path, ...],
    new: tuple[Path, ...],
    least_effect: float,
    confidence: float,
    floor: float,
    by: By,
    figure: FigureName,
    learn_from: Sequence[Path],
    output: Output,
    verbose: bool,
    devices: Path | None,
) -> None:
    """Compare the sessions of BASE with those of NEW, case by case: files or folders, several sessions a side.

    A case is slower or faster, of an amount more or less, where that is shown not to be chance and to matter, the same
    where the difference is shown not to matter, else inconclusive. Nothing is gated: `roofline check` does.

    Exit code: 0 cases were compared, 3 nothing could be.
    """
    settings = settings_of(
        least_effect=least_effect, confidence=confidence, floor=floor, by=by, figure=figure, learn_from=learn_from
    )
    comparison = comparison_of(base, new, settings, device_table(devices))
    show(comparison, sentence(comparison), output, verbose=verbose)
    if not comparison.judged:
        raise NoData(printable(nothing_judged(comparison)))
