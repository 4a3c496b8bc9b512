"""The comparison with a baseline as plain dicts, and which cases of the page it speaks of."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence

from roofline.comparison.comparison import Comparison
from roofline.comparison.judged_case import Compared
from roofline.comparison.observations.observed_machine import identity_of
from roofline.comparison.verdict_table import display, sentence, table
from roofline.model.points import Point
from roofline.report.page.cells import Data, table_data
from roofline.show.render import one_line, shown
from roofline.text.units import in_document


def verdicts_data(comparison: Comparison, opens: Sequence[int | None]) -> Data:
    """Every case against the baseline, the worst first.

    :param opens: the number by which each is opened.
    """
    verdicts = table(comparison, sentence(comparison), verbose=False)
    made = table_data(verdicts.displayed(), verdicts.rows, opens=opens)
    return {"title": verdicts.title, "table": made, "notes": [in_document(note) for note in verdicts.notes]}


def points_of_cases(comparison: Comparison, points: Sequence[Point]) -> list[Point | None]:
    """Find the point of each compared case, in their order; None of one that the page doesn't have."""
    parts = {id(point.result): identity_of(point.result).parts for point in points}
    found = {(point.id, point.benchmark.fullname, parts[id(point.result)]): point for point in points}
    return [found.get((case.match.id, case.match.test, case.match.machine.parts)) for case in comparison.cases]


def with_baseline(
    comparison: Comparison, points: Sequence[Point], baseline: Sequence[Point]
) -> Iterator[tuple[Point | None, list[Point]]]:
    """The point of each compared case, as `points_of_cases` has it, and those of its sessions in the baseline.

    :param baseline: all results of the baseline.
    """
    rows = {(point.id, point.benchmark.fullname, str(point.result.path)): point for point in baseline}
    for case, point in zip(comparison.cases, points_of_cases(comparison, points), strict=True):
        keys = ((case.match.id, case.match.test, session.run.file) for session in case.match.base)
        yield point, [rows[key] for key in keys if key in rows]


def figures_of(comparison: Comparison) -> Callable[[Compared], str]:
    """Make what says which figures a verdict rests on: the interval of the change, and what both sides took."""
    columns = [one for one in display(comparison) if one.name == "interval" or one.name.startswith(("base_", "new_"))]
    return lambda case: ", ".join(f"{one_line(column.title)} {shown(column, case)}" for column in columns)
