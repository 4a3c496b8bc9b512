"""The commands that write files: `plot` and `report`."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path

import click

from roofline.cli.console import NoData, WrongUsage, say, tell
from roofline.cli.inputs import INPUT, devices_option, named_case, read_points, read_results, results_argument
from roofline.cli.output import emit, unwritable, write_free
from roofline.cli.parameters import OUTPUT_FOLDER, STDOUT, Command, Number, TwoSidesCommand, width_option
from roofline.comparison.comparison import compare_paths
from roofline.comparison.comparison_settings import Settings
from roofline.machine.published import DeviceTable
from roofline.model.point_groups import cases, newest
from roofline.model.points import place_all, points_of
from roofline.report import folder as folders
from roofline.report.folder import DOCUMENT, NOTHING_MORE, Extras, Run, Written, few_machines, report_tables
from roofline.report.own_files import NotWritten
from roofline.results.reader import read_file
from roofline.text.units import some_of


def _folder_option(default: str, what: str) -> Callable[[Command], Command]:
    return click.option(
        "-o", "--output", "folder", type=OUTPUT_FOLDER, default=Path(default), show_default=True, help=what
    )


@click.command()
@results_argument
@_folder_option("figures", "Folder for the PNG files.")
@click.option(
    "--levels",
    is_flag=True,
    help="Instead, each case that has hardware counters at its intensity of L1, L2 and DRAM, with its kernels.",
)
@devices_option
def plot(results: tuple[Path, ...], folder: Path, levels: bool, devices: DeviceTable) -> None:
    """Draw for each machine of RESULTS (files or folders) its roofline, its throughput against batch size, and how far
    rounds and sessions of a case differ.
    """
    points = read_points(results, devices)
    # matplotlib takes half a second to load.
    from roofline.plots.image_files import draw, draw_levels

    try:
        paths, notes = (draw_levels if levels else draw)(points, folder)
    except OSError as error:
        raise unwritable(folder, error) from error
    for note in notes:
        tell(note)
    if levels and not paths:
        raise NoData("nothing to draw: no case has hardware counters. Count with pytest --roofline-ncu.")
    if not paths:
        raise NoData("nothing to draw: no case can be placed or has the times of its rounds, and there are no roofs.")
    for path in paths:
        say(str(path))


_PRICE = Number("price", 0)


def _prices(ctx: click.Context, param: click.Parameter, values: tuple[str, ...]) -> dict[str, float]:
    """Read prices by the hour; a label may have ``=`` in it.

    :raises click.BadParameter: one is no label and number, or a label has two.
    """
    found: dict[str, float] = {}
    for value in values:
        label, _, price = value.rpartition("=")
        if not label:
            raise click.BadParameter(f"{value!r} is no LABEL=PER_HOUR, such as a100=3.67.", ctx, param)
        if label in found:
            raise click.BadParameter(f"{label!r} has two prices.", ctx, param)
        found[label] = _PRICE.convert(price, param, ctx)
    return found


@click.command(cls=TwoSidesCommand, several=("--baseline",))
@results_argument
@_folder_option("report", "Folder for everything.")
@click.option(
    "--baseline",
    "base",
    multiple=True,
    type=INPUT,
    metavar="BASE...",
    help="Also compare RESULTS with these files or folders: comment.md for a pull request, and verdicts.csv. `roofline"
    " check` gates, and takes other settings.",
)
@click.option(
    "--case",
    "named",
    multiple=True,
    metavar="ID",
    help="Also draw this case by itself: its operations and levels where they were timed or counted, and its rounds. "
    "An id, or a part that only one has; may be given several times.",
)
@click.option(
    "--dashboards",
    is_flag=True,
    help="Also write the step times for github-action-benchmark (customSmallerIsBetter) and in the Bencher Metric "
    "Format, a JSON file each for each machine.",
)
@click.option(
    "--price",
    "prices",
    multiple=True,
    callback=_prices,
    metavar="LABEL=PER_HOUR",
    help="Price of a machine by the hour, by its label, in any currency: costs.csv and the page have what a million "
    "samples cost. May be given several times.",
)
@width_option
@devices_option
def report(
    results: tuple[Path, ...],
    base: tuple[Path, ...],
    folder: Path,
    named: tuple[str, ...],
    dashboards: bool,
    prices: dict[str, float],
    devices: DeviceTable,
) -> None:
    """Show the newest runs of RESULTS (files or folders); write a page for a browser, figures and tables to one folder.

    Written: index.html, which opens from disk and needs page/ beside it; report.md, which has the sections of a written
    report with an analysis of each machine; figures of each machine as PNG and SVG (roofline, throughput, variability),
    and of several over each other; CSVs (roofline_points, metrics; attention, batch_scaling, pairs, operations,
    kernels, roofs, machines and costs where there are some); every pandas frame as Parquet in frames/, if pyarrow is
    installed; env.md. The paths are printed at the end.
    """
    files = read_results(results).files
    runs = [(result, points_of(result, devices)) for result in files]
    shown = cases(point for _, points in runs for point in points)
    ids = dict.fromkeys(named_case(one, shown, ", ".join(map(str, results)))[0].id for one in named)
    labels = list(dict.fromkeys(point.result.machine_label for point in shown))
    for label in prices:
        if label not in labels:
            raise WrongUsage(f"--price: no machine {label!r} in the results: there is {some_of(labels, 10)}.")
    comparison = compare_paths(base, results, Settings(), devices) if base else None
    before = [] if comparison is None else [read_file(Path(run.file)) for run in comparison.base_runs]
    extras = Extras(
        case_ids=tuple(ids),
        dashboards=dashboards,
        comparison=comparison,
        baseline=place_all(before, devices),
        prices=prices,
    )
    written = write_report(runs, folder, extras)
    for note in written.notes:
        tell(note)
    if few_machines(runs):
        latest = {point.result.path for point in newest([point for _, points in runs for point in points])[0]}
        shown_runs = [run for run in runs if run[0].path in latest]
        emit(report_tables(shown_runs, verbose=False), STDOUT, complete=str(folder / DOCUMENT))
        say("")
    for path in written.paths:
        say(str(path))


def write_report(runs: Sequence[Run], folder: Path, extras: Extras = NOTHING_MORE) -> Written:
    """Write the report's files as `roofline.report.folder.write_report` does.

    :raises click.UsageError: a file can't be written, or is a result.
    """
    try:
        return folders.write_report(runs, folder, write_free, extras)
    except NotWritten as error:
        raise WrongUsage(str(error)) from error
