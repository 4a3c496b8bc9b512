"""Everything that a report writes, file by file."""

from __future__ import annotations

import sys
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import chain
from pathlib import Path
from typing import Any

from roofline.comparison.comparison import Comparison
from roofline.comparison.comparison_lines import found_in
from roofline.comparison.gate import judge
from roofline.files.writing import Write, utf8
from roofline.frames import Results
from roofline.model.point_groups import cases, newest
from roofline.model.points import Point
from roofline.plots.style import Form, save
from roofline.report.changes_figure import changes_figure
from roofline.report.comment import comment
from roofline.report.costs import Cost, costs_table
from roofline.report.dashboards import dashboard_files
from roofline.report.data_files import csv_tables, parquet_files
from roofline.report.document.sections import document
from roofline.report.own_files import OwnFiles
from roofline.report.page.page_files import BESIDE, LacksPageLibraries, write_page
from roofline.results.result import ResultFile
from roofline.show.cases.machines_table import machines_table
from roofline.show.cases.summary_tables import run_tables
from roofline.show.environment import environment
from roofline.show.export import LacksPyarrow, csv_of
from roofline.show.tables import Table
from roofline.text.units import counted, some_of

Run = tuple[ResultFile, tuple[Point, ...]]
"""A result file, and its benchmarks placed."""

DOCUMENT = "report.md"

FORMS: tuple[Form, ...] = ("png", "svg")

MOST_DRAWN = 10
"""Machines with figures of their own and with tables on a terminal: each takes 3 MB, 4 s and a screen, and nobody looks
at more of them one by one.
"""

MOST_ROWS = 5000
"""Rows of a CSV: what is longer is opened by programs alone, and as Parquet it takes a tenth of the room."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Written:
    """The files of a report, and what could not be made of the results, a line each."""

    paths: tuple[Path, ...]
    notes: tuple[str, ...]


def report_tables(runs: Sequence[Run], *, verbose: bool) -> list[Table[Any]]:
    """Cases and roofs of each run; and the machines side by side, where there are several."""
    tables = [table for result, points in runs if points for table in run_tables(result, points, verbose=verbose)]
    points = [point for _, of_run in runs for point in of_run]
    if len({point.machine for point in cases(points)}) > 1:
        tables.append(machines_table(points, verbose=verbose))
    return tables


def few_machines(runs: Sequence[Run]) -> bool:
    """Tell whether the machines are few enough to be looked at one by one."""
    return len({point.machine for _, points in runs for point in cases(points)}) <= MOST_DRAWN


@dataclass(frozen=True, slots=True, kw_only=True)
class Extras:
    """What a report has beside the files that every report has.

    ``case_ids``: cases that get figures of their own. ``dashboards``: JSON for dashboards. ``comparison``: of these
    results with a baseline. ``baseline``: the results of the baseline. ``prices``: of machines by the hour, by
    their labels.
    """

    case_ids: tuple[str, ...] = ()
    dashboards: bool = False
    comparison: Comparison | None = None
    baseline: Sequence[Point] = ()
    prices: Mapping[str, float] = field(default_factory=dict)


NOTHING_MORE = Extras()


def write_report(runs: Sequence[Run], folder: Path, write: Write, extras: Extras = NOTHING_MORE) -> Written:
    """Write the files of these runs, and remove those that an earlier report left in the folder.

    :raises NotWritten: a file can't be written, or would replace one that no report wrote.
    """
    own = OwnFiles(folder, write)
    notes = _made(runs, folder, own, extras)
    removed = own.write_all()
    if removed:
        listed = some_of(removed, _NAMED)
        notes.append(f"removed {counted(len(removed), 'file')} of an earlier report in {folder}: {listed}")
    shown = [path for path in own.paths if folder / BESIDE not in path.parents]
    return Written(paths=tuple(shown), notes=tuple(notes))


_NAMED = 5
"""Files that one note names."""


def _made(runs: Sequence[Run], folder: Path, own: OwnFiles, extras: Extras) -> list[str]:
    """Make the files, and say what could not be made."""
    # matplotlib takes half a second to load.
    from roofline.plots.image_files import draw, draw_case, draw_machines

    points = tuple(point for _, of_run in runs for point in of_run)
    notes: list[str] = []
    try:
        write_page(points, folder, extras.comparison, extras.prices, own.add, extras.baseline)
    except LacksPageLibraries as error:
        notes.append(f"no page: {error}")
    if few_machines(runs):
        notes += draw(points, folder, FORMS, own.add)[1]
    else:
        notes.append(
            f"no figures of each, and no tables here, of more than {MOST_DRAWN} machines: the page has all, and a"
            " report of the files of a few has theirs"
        )
    draw_machines(points, folder, FORMS, own.add)
    if extras.comparison is not None and (figure := changes_figure(extras.comparison)) is not None:
        for form in FORMS:
            save(figure, folder / f"changes.{form}", form, own.add)
    for case in extras.case_ids:
        notes += draw_case(case, points, folder, FORMS, own.add)[1]
    costs = costs_table(newest(cases(points))[0], extras.prices)
    notes += _without_costs(costs, extras.prices)
    most = MOST_ROWS
    try:
        for name, data in parquet_files(Results(points)):
            own.add(folder / name, data)
    except LacksPyarrow as error:
        notes.append(f"no Parquet files: {error}")
        most = sys.maxsize
    tables = [(f"{name}.csv", table) for name, table in csv_tables(points, costs, extras.comparison)]
    if long := [name for name, table in tables if len(table.rows) > most]:
        notes.append(f"no {', '.join(long)}, of more than {most} rows each: frames/ has their figures as Parquet")
    pictures = [path.name for path in own.paths if path.suffix == ".png"]
    short = ((name, csv_of(table)) for name, table in tables if len(table.rows) <= most)
    for name, content in chain(short, _texts(runs, points, pictures, extras)):
        own.add(folder / name, utf8(content))
    return notes


def _without_costs(costs: Table[Cost], prices: Iterable[str]) -> Iterator[str]:
    """Say of a price why nothing came of it."""
    priced = {label for row in costs.rows if row.price_per_million_samples is not None for label in row.labels}
    for label in prices:
        if label not in priced:
            yield (
                f"--price {label}: no costs: no valid case on it has a record with its samples per second, or another"
                " machine of the case has no price"
            )


def _texts(
    runs: Sequence[Run], points: Sequence[Point], pictures: Sequence[str], extras: Extras
) -> Iterator[tuple[str, str]]:
    yield "env.md", "\n".join(environment(result) for result, _ in runs)
    against = ""
    if extras.comparison is not None:
        judged = judge(found_in(extras.comparison, verbose=False))
        against = comment(extras.comparison, judged)
        yield "comment.md", against
    tables = report_tables(runs, verbose=few_machines(runs))
    yield DOCUMENT, document(points, tables, pictures, against, extras.comparison)
    if extras.dashboards:
        yield from dashboard_files(points)
