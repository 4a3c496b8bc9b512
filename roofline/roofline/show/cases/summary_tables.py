"""The summary of a run: a row a case, what is said against its numbers, and as much of it as a screen has room for."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from operator import attrgetter
from typing import Any

from roofline.model import input_pipeline
from roofline.model.bounds import NEAR_KNEE, STRADDLES
from roofline.model.point_groups import cases
from roofline.model.points import Point
from roofline.results.result import ResultFile
from roofline.show.cases.point_tables import run_heading, standing_columns
from roofline.show.cases.roof_tables import roofs_table
from roofline.show.columns import parameters_of, pick
from roofline.show.tables import Table, grouped, words
from roofline.text.units import counted, scaled, some_of
from roofline.text.wrapping import cut


@dataclass(frozen=True, slots=True, kw_only=True)
class _Annotated:
    """A point and the numbers of the notes below the table that speak of it."""

    point: Point
    notes: tuple[int, ...]
    block: str = ""


def run_tables(result: ResultFile, points: Sequence[Point], *, verbose: bool) -> list[Table[Any]]:
    """A run's cases, and the roofs in use; of a run without cases the roofs that it measured."""
    shown = cases(points)
    return [summary_table(result, shown, verbose=verbose), roofs_table(shown or points)]


def summary_table(result: ResultFile, points: Sequence[Point], *, verbose: bool = False) -> Table[_Annotated]:
    """A row a case of one run, with notes: what is said against a number, and why a bound is not determined.

    :param verbose: with the evidence of each case. Else a note is a line, and what is invalid has its first evidence.
    """
    texts: dict[str, list[tuple[str, str]]] = {}
    rows = []
    for point in points:
        for heading, evidence in _remarks(point):
            texts.setdefault(heading, []).extend([(point.id, evidence)] if evidence else [])
        numbers = [list(texts).index(heading) + 1 for heading, _ in _remarks(point)]
        rows.append(_Annotated(point=point, notes=tuple(numbers)))
    columns = [
        column.of(attrgetter("point")) for column in (*pick("case"), *parameters_of(points), *standing_columns(points))
    ]
    numbered = words("notes", "flags", lambda row: sorted(row.notes), lambda numbers: ",".join(map(str, numbers)))
    notes = []
    for index, heading in enumerate(texts, 1):
        with_it = sum(index in row.notes for row in rows)
        notes += _note(index, heading, texts[heading], None if verbose else with_it)
    notes += [f"input: {line}" for line in input_pipeline.lines(result, verbose=verbose)]
    notes += _not_measured(result, verbose=verbose)
    if not verbose and any(texts.values()):
        notes.append(f"{_EVIDENCE}: roofline summary {result.path} -v")
    return Table(title=run_heading(result), columns=[*columns, numbered], rows=rows, notes=notes)


def _remarks(point: Point) -> list[tuple[str, str | None]]:
    """Headings, equal for what can stand under one number, and the evidence of this case."""
    remarks: list[tuple[str, str | None]] = [
        (f"{flag.name}{_INVALID if flag.invalid else ''}", flag.evidence) for flag in point.flags
    ]
    timing = None if point.benchmark.record is None else point.benchmark.record.timing
    if timing is not None and timing.compile_s is not None:
        remarks.append(("compiled", f"{scaled(timing.compile_s, 's')} before its first step was done"))
    bound = point.bound
    if bound.kind == "undetermined" and not any(flag.evidence in bound.evidence for flag in point.flags):
        # Range and knee stand in the tables already.
        known = bound.why in (STRADDLES, NEAR_KNEE) or point.mode == "input"
        remarks.append((f"undetermined: {bound.why}", None if known else bound.evidence))
    if point.sol.time_s is None and point.roofs.roofs and point.mode in ("train", "infer"):
        remarks.append((f"no speed of light: {point.sol.why_none}", None))
    return remarks


def _note(index: int, heading: str, lines: Sequence[tuple[str, str]], count: int | None) -> list[str]:
    """The heading and the evidence of each case; evidence that is the same for several stands there once.

    :param count: say only how many cases these are.
    """
    if count is not None:
        first = f", first {': '.join(lines[0])}" if lines and heading.endswith(_INVALID) else ""
        return [f"[{index}] {heading}: {counted(count, 'case')}{first}"]
    cases: dict[str, list[str]] = {}
    for case, evidence in lines:
        cases.setdefault(evidence, []).append(case)
    return [f"[{index}] {heading}", *(f"    {', '.join(named)}: {evidence}" for evidence, named in cases.items())]


_INVALID = " (invalid)"
_EVIDENCE = "Evidence of each case"


def _not_measured(result: ResultFile, *, verbose: bool) -> list[str]:
    """:param verbose: a line a case. Else a line for all that are of one outcome, which of a single case says why."""
    cases = () if result.session is None else result.session.not_measured
    lines: list[str] = []
    for outcome, of in grouped(cases, lambda case: case.outcome).items():
        if verbose or len(of) == 1:
            lines += [f"{case.id}: {case.why}" for case in of]
        else:
            lines.append(f"{outcome.replace('_', ' ')}: {len(of)} cases ({some_of([case.id for case in of], 2)})")
    return lines


_LEAST_ROWS = 3
"""Of a run's cases, shown on a screen that has too few lines."""

_NOTE_INDENT = 4
"""Columns that a note below a table can't use."""


def tables_that_fit(
    tables: Sequence[Table[Any]], points: Sequence[Point], height: int, width: int, lines_of: Callable[..., int]
) -> list[Table[Any]]:
    """The tables of a run; where they have more lines than a screen, its telling cases with notes of a line each.

    :param tables: as `run_tables` makes them, of these points.
    :param height: lines of the screen.
    :param width: columns of the screen.
    :param lines_of: how many lines tables take.
    """
    of_cases, of_roofs = tables
    shown, fitted = cases(points), [*tables]
    # What a case's fractions are made of makes room for its name.
    columns = [one for one in of_cases.columns if one.name not in ("attained_flop_per_s", "intensity")]
    notes = [*of_roofs.notes, *(note for note in of_cases.notes if not note.startswith(_EVIDENCE))]
    most = len(of_cases.rows)
    while lines_of(fitted) > height and most > _LEAST_ROWS:
        # How many lines its name takes differs from row to row.
        most = min(most - 1, height)
        chosen = [replace(of_cases.rows[place], block=block) for block, place in telling(shown, most)]
        all_of_them = f"{len(chosen)} of {len(shown)} cases. All: roofline summary {shown[0].result.path} -v"
        fitted = [
            replace(
                of_cases,
                columns=columns,
                rows=chosen,
                section=attrgetter("block"),
                notes=[*(cut(note, width - _NOTE_INDENT) for note in notes), all_of_them],
            )
        ]
    return fitted


def telling(points: Sequence[Point], most: int) -> list[tuple[str, int]]:
    """Choose at most ``most`` points: the heading of the block that each stands in, and its place among them all.

    First those that are invalid and, in a third of the rows with these, those whose margin was not reached. Then as
    many that are nearest to their roofs as are furthest from them, or have no place under them.
    """
    ranked = sorted(range(len(points)), key=lambda place: -(points[place].placement.fraction_high or 0.0))
    invalid = [place for place in ranked if not points[place].valid]
    missed = [place for place in ranked if points[place].valid and _misses_margin(points[place])]
    first = [*invalid, *missed[: max(0, math.ceil(most / 3) - len(invalid))]][:most]
    rest = [place for place in ranked if place not in first]
    left = min(most - len(first), len(rest))
    far = left // 2
    blocks = {
        "Need attention": first,
        "Nearest to their roofs": rest[: left - far],
        "Furthest from them, or not placed": rest[len(rest) - far :][::-1],
    }
    return [(block, place) for block, of_block in blocks.items() for place in of_block]


def _misses_margin(point: Point) -> bool:
    return any(flag.name == "margin" for flag in point.flags)
