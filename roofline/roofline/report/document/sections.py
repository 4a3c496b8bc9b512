"""report.md: the results as the sections of a written report, filled from the data."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from roofline.comparison.comparison import Comparison
from roofline.model.point_groups import by_machine, cases, days_of, machine_names, newest, roofs_alone
from roofline.model.points import MachineKey, Point
from roofline.report.document import document_tables
from roofline.report.document.conclusions import sentences
from roofline.report.page.parts.attention_data import attention_table
from roofline.report.page.parts.batch_data import batch_table
from roofline.show.cases.machines_table import machines_table
from roofline.show.cases.pairs_table import pairs_table
from roofline.show.cases.roof_tables import roofs_table
from roofline.show.render import render
from roofline.show.step.operation_tables import cases_table, taken_apart
from roofline.show.tables import Table, grouped, plain_value
from roofline.text.printable import markdown_text
from roofline.text.units import counted, some_of

_MOST_ROWS = 1000
"""Rows of a table, or of all tables of one kind: a reader of more takes the page or a spreadsheet."""


def document(
    points: Sequence[Point],
    runs: Sequence[Table[Any]],
    figures: Sequence[str],
    against: str = "",
    comparison: Comparison | None = None,
) -> str:
    """Markdown of all results.

    :param points: of all results.
    :param runs: the tables of each run, for the appendix.
    :param figures: names of the PNG files beside it.
    :param against: Markdown of the comparison with a baseline.
    :param comparison: the same.
    """
    measured = cases(points)
    shown, left_out = newest(measured)
    names = machine_names(shown)
    if not measured:
        found = (render(table, "markdown", 0).strip("\n") for table in runs)
        pictures = _pictures(("roofline",), figures)
        parts = ["# No case was measured", "The results have nothing but roofs.", *pictures, *found]
        return "\n\n".join(parts) + "\n"
    of_names = {names[machine]: own for machine, own in by_machine(shown).items()}
    parts = [
        _title(shown, list(of_names)),
        _some(attention_table(points, comparison), ""),
        *_design(shown, measured, left_out),
        *_complexity(shown),
        *_measurement(shown, figures),
        *_roofline(of_names, figures),
        *_bare(points, shown),
        *_analysis(shown, names, of_names, figures),
        *(("### Against the baseline", *_pictures(("changes",), figures), against) if against else ()),
        *_reproducibility(measured),
        "## Appendix A: every case",
        _shown(document_tables.measurements(measured)),
        "## Appendix B: every run",
        *(render(_first_rows(table, len(of_names)), "markdown", 0) for table in runs),
    ]
    return "\n\n".join(part.strip("\n") for part in parts if part) + "\n"


def _first_rows(table: Table[Any], parts: int = 1) -> Table[Any]:
    """As many rows as a document holds.

    :param parts: tables of this kind, which share them.
    """
    most = max(1, _MOST_ROWS // parts)
    if len(table.rows) <= most:
        return table
    more = f"{counted(len(table.rows) - most, 'more row')}: index.html and the files of tables have all"
    return replace(table, rows=table.rows[:most], notes=[*table.notes, more])


def _shown(table: Table[Any], parts: int = 1) -> str:
    """The first rows, without the columns in which none of them has a value."""
    table = _first_rows(table, parts)
    known = [column for column in table.displayed() if any(plain_value(column, row) is not None for row in table.rows)]
    return render(replace(table, display=known or table.displayed()), "markdown", 0)


def _some(table: Table[Any], otherwise: str) -> str:
    return _shown(table) if table.rows else otherwise


def _pictures(kinds: Sequence[str], figures: Sequence[str]) -> Iterator[str]:
    """A name is safe where it stands, see `roofline.plots.style.slug`."""
    for name in figures:
        if Path(name).stem.partition("-")[0] in kinds:
            yield f"![{markdown_text(Path(name).stem)}]({name})"


def _title(points: Sequence[Point], machines: Sequence[str]) -> str:
    days = days_of(points)
    where = markdown_text(some_of(machines)) + (f", {days}" if days else "")
    return (
        f"# {counted(len({point.id for point in points}), 'case')} on {counted(len(machines), 'machine')}\n\n"
        f"Measured on {where}.{_findings(points)} All that is said here is from the results; objective,"
        " hypothesis and sources are the author's."
    )


def _findings(points: Sequence[Point]) -> str:
    """Say in a sentence what bounds how many of the cases that ran a model; empty where no case did."""
    models = [point for point in points if point.mode in ("train", "infer")]
    counts = Counter(_standing(point) for point in models)
    shown = ", ".join(f"{count} {what}" for what, count in counts.most_common())
    return f" Of {counted(len(models), 'measurement')} of a model: {shown}." if models else ""


def _standing(point: Point) -> str:
    if not point.valid:
        return "invalid"
    return "undetermined" if point.bound.kind == "undetermined" else f"bound by {point.bound.kind}"


def _design(shown: Sequence[Point], measured: Sequence[Point], left_out: Sequence[str]) -> Iterator[str]:
    yield "## 1 Experiment design"
    yield _shown(document_tables.environments(measured))
    matrix = document_tables.matrix(shown)
    yield _some(matrix, "No case has a record of what was run: the files are plain pytest-benchmark results.")
    yield from (f"- {markdown_text(note)}" for note in left_out)


def _complexity(shown: Sequence[Point]) -> Iterator[str]:
    yield "## 2 Complexity"
    yield (
        "Work of one step, counted from its operations: 1 MAC is 2 FLOP; least and most byte bound the memory traffic"
        " of the step, and so its intensity."
    )
    yield _some(document_tables.complexity(shown), "Not known: no case has a record of its work.")


def _measurement(shown: Sequence[Point], figures: Sequence[str]) -> Iterator[str]:
    yield "## 3 Measurement"
    yield (
        "The step time is the median of the rounds that nothing disturbed, the margin the half width of its confidence"
        " interval; real, user and sys are from warm-up to the last timed step."
    )
    yield _shown(document_tables.timings(shown))
    yield from _pictures(("throughput", "variability", "rounds"), figures)
    yield _some(batch_table(shown), "")
    yield _some(pairs_table(shown), "")
    taken = taken_apart(shown)[0]
    if taken:
        yield _shown(cases_table(taken, ()))
    yield from _pictures(("operations",), figures)


def _roofline(of_names: dict[str, list[Point]], figures: Sequence[str]) -> Iterator[str]:
    yield "## 4 Roofline"
    yield (
        "Attained FLOP/s against FLOP/byte, under the roofs of the machine. Right of a knee arithmetic limits a case,"
        " left of it memory; a range that straddles it decides nothing."
    )
    yield from _pictures(("roofline", "levels"), figures)
    for name, own in of_names.items():
        yield f"### {markdown_text(name)}"
        yield _shown(document_tables.placements(own), len(of_names))
        for of_roofs in grouped(own, lambda point: point.roofs.roofs).values():
            roofs = replace(roofs_table(of_roofs), title=f"Roofs, {of_roofs[0].result.run_name}")
            yield _some(roofs, f"No roofs: {markdown_text(of_roofs[0].roofs.why_none or '')}.")


def _bare(points: Sequence[Point], shown: Sequence[Point]) -> Iterator[str]:
    """The roofs of machines without cases."""
    alone = roofs_alone(points)
    names = machine_names([*shown, *alone])
    for machine, own in by_machine(alone).items():
        yield f"### {markdown_text(names[machine])}"
        yield "No case was measured here."
        yield _shown(replace(roofs_table(own), title=f"Roofs, {own[0].result.run_name}"))


def _analysis(
    shown: Sequence[Point],
    names: dict[MachineKey, str],
    of_names: dict[str, list[Point]],
    figures: Sequence[str],
) -> Iterator[str]:
    yield "## 5 Analysis"
    for name, own in of_names.items():
        yield f"### {markdown_text(name)}"
        found = [f"- **{heading}.** {markdown_text(text)}" for heading, text in sentences(own)]
        yield "\n".join(found) or "Nothing can be concluded: no case has a valid record of its work."
    if len(names) > 1:
        yield "### Across machines"
        yield from _pictures(("machines",), figures)
        yield _some(machines_table(shown, verbose=True), "No workload was measured on more than one machine.")


def _reproducibility(measured: Sequence[Point]) -> Iterator[str]:
    yield "## 6 Reproducibility"
    yield "Versions, threads, limits and what each run noted stand in [env.md](env.md)."
    yield _shown(document_tables.commands(measured))
