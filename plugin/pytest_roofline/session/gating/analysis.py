"""Have the analysis package show a run's results, as lines for pytest's terminal: tables, report, and scatter.

The analysis package itself is loaded only where one of these functions is called.
"""

from __future__ import annotations

import traceback
import warnings
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

# Here and not where they are asked for: at a run's end there may be no file left to open.
from click import ClickException

from roofline.files.decoding import ReadError

if TYPE_CHECKING:
    from roofline.show.tables import Table


class AnalysisError(Exception):
    """Results could not be shown or judged: a message about them, or a fault of the analysis with its traceback."""


@contextmanager
def guarded() -> Iterator[None]:
    """Call the analysis. Whatever goes wrong in it hides no result, and is no verdict.

    :raises AnalysisError: something did.
    """
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # a project's tests may make errors of them
        try:
            yield
        except ClickException as error:
            raise AnalysisError(error.format_message()) from error
        except ReadError as error:
            raise AnalysisError(str(error)) from error
        except Exception as error:
            raise AnalysisError("".join(traceback.format_exception(error)).rstrip()) from error


@guarded()
def summary(results: Path, width: int, height: int | None = None) -> list[str]:
    """The tables of ``roofline summary``; where they have more lines than ``height``, its most telling cases.

    :param height: lines of a screen; None for an endless one.
    :raises AnalysisError: they can't be made.
    """
    from roofline.machine.published import load
    from roofline.model.points import points_of
    from roofline.results.reader import read_file
    from roofline.show.cases.summary_tables import run_tables, tables_that_fit

    result = read_file(results)
    points = points_of(result, load(None))
    complete = f"roofline summary {results} --format markdown"
    tables = run_tables(result, points, verbose=False)
    if height is not None:
        tables = tables_that_fit(
            tables, points, height, width, lambda some: len(rendered(some, width, complete=complete))
        )
    return rendered(tables, width, complete=complete)


@guarded()
def report(results: Path, folder: Path, width: int) -> list[str]:
    """Write what ``roofline report`` writes into a folder; its tables, and the paths.

    :raises AnalysisError: it can't be made.
    """
    from roofline.cli.read_results.plot_report import write_report
    from roofline.machine.published import load
    from roofline.model.points import points_of
    from roofline.report.folder import DOCUMENT, report_tables
    from roofline.results.reader import read_file

    result = read_file(results)
    runs = [(result, points_of(result, load(None)))]
    paths = write_report(runs, folder).paths
    shown = rendered(report_tables(runs, verbose=False), width, complete=str(folder / DOCUMENT))
    return [*shown, "", *map(str, paths)]


@guarded()
def scatter(results: Sequence[Path], width: int) -> tuple[list[str], bool]:
    """The table of ``roofline sessions``, and whether it has the cases that were measured.

    :raises AnalysisError: it can't be made.
    """
    from roofline.comparison.sessions_table import scatters_of, sessions_table
    from roofline.machine.published import load
    from roofline.model.point_groups import cases
    from roofline.model.points import place_all
    from roofline.results.reader import read

    points = place_all(read(results).files, load(None))
    scatters, left_out = scatters_of(points)
    return rendered([sessions_table(scatters, left_out, verbose=True)], width), bool(scatters) or not cases(points)


def rendered(tables: Sequence[Table[Any]], width: int, complete: str = "") -> list[str]:
    """Tables as lines. pytest has no option for their width: they name the variable that sets it.

    :param complete: the command or file that has the columns that don't fit.
    """
    from roofline.show.render import render

    wider = "the environment variable COLUMNS={}"
    texts = (render(table, "table", width, complete=complete, wider=wider) for table in tables)
    return "\n".join(texts).rstrip().split("\n")
