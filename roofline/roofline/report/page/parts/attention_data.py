"""Find what a reader should look at first: wrong rows, cases without a number, doubtful roofs, flags, wide margins."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass

from roofline.comparison.comparison import Comparison
from roofline.model.point_groups import cases, machine_names, newest, roofs_alone
from roofline.model.points import MachineKey, Point
from roofline.report.page.parts.verdicts_data import figures_of, points_of_cases
from roofline.show.tables import Column, Table, words
from roofline.text.units import counted, percent, signed, some_of

_MOST, _FEWER = 30, 5
"""Rows of one kind that are listed; of those that make no number wrong."""
_DISPROVED = "_disproved"
_SKIPPED = "skipped"
"""Nobody expects a number of these."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Remark:
    """One thing to look at. ``point`` is the case that shows it, None where there is none to open."""

    what: str
    case: str
    machine: str
    evidence: str
    point: Point | None = None


_COLUMNS: tuple[Column[Remark], ...] = (
    words("what"),
    words("case", get=lambda one: one.case or None),
    words("machine", get=lambda one: one.machine or None),
    words("evidence", get=lambda one: one.evidence or None),
)


def attention_table(points: Sequence[Point], comparison: Comparison | None = None) -> Table[Remark]:
    """List what needs attention, the worst first.

    :param points: of all results.
    :param comparison: of them with a baseline.
    """
    bare = roofs_alone(points)
    points = newest(cases(points))[0]
    names = machine_names([*points, *bare])
    without_number = list(_without_number([*points, *bare]))
    kinds = (
        (_invalid(points, names), _MOST),
        (_compared(points, names, comparison, ("slower",)), _MOST),
        (_compared(points, names, comparison, ("removed", "not comparable", "invalid")), _FEWER),
        ((one for one in without_number if one.what != _SKIPPED), _MOST),
        (_doubtful_roofs([*points, *bare], names), _FEWER),
        (_flagged(points, names), _MOST),
        (_widest(points, names), _FEWER),
        ((one for one in without_number if one.what == _SKIPPED), _FEWER),
    )
    found: list[Remark] = []
    for of_kind, most in kinds:
        kind = list(of_kind)
        found += kind[:most]
        found += [_others(kind[most:])] if len(kind) > most else []
    return Table(title="Needs attention", columns=_COLUMNS, rows=found)


def _others(rest: Sequence[Remark]) -> Remark:
    """A row for those that are not listed: how many, of which cases, and where."""
    cases, machines = _named(one.case for one in rest), _named(one.machine for one in rest)
    return Remark(what=f"{len(rest)} more like these", case="", machine=machines, evidence=cases)


def _named(texts: Iterable[str]) -> str:
    return some_of(list(dict.fromkeys(filter(None, texts))))


def _invalid(points: Iterable[Point], names: Mapping[MachineKey, str]) -> Iterator[Remark]:
    """Rows that a flag makes invalid, failed proofs first."""
    rows = [(point, flag) for point in points for flag in point.flags if flag.invalid]
    for point, flag in sorted(rows, key=lambda row: not row[1].name.endswith(_DISPROVED)):
        failed = flag.name.endswith(_DISPROVED)
        what = f"failed proof: {flag.name.removesuffix(_DISPROVED)}" if failed else f"invalid: {flag.name}"
        yield _remark(point, names, what, flag.evidence)


def _compared(
    points: Sequence[Point],
    names: Mapping[MachineKey, str],
    comparison: Comparison | None,
    outcomes: Collection[str],
) -> Iterator[Remark]:
    """Cases whose comparison with the baseline came to one of the outcomes, the worst first."""
    if comparison is None:
        return
    figures, machines = figures_of(comparison), comparison.machine_names
    for case, point in zip(comparison.cases, points_of_cases(comparison, points), strict=True):
        if case.outcome in outcomes:
            slower = case.outcome == "slower"
            what = f"slower: {signed(case.change or 0.0)}" if slower else f"against the baseline: {case.outcome}"
            evidence = "; ".join(filter(None, (figures(case) if slower else "", case.why)))
            machine = machines[case.match.machine] if point is None else names[point.machine]
            yield Remark(what=what, case=case.match.id, machine=machine, evidence=evidence, point=point)


def _without_number(points: Iterable[Point]) -> Iterator[Remark]:
    """Cases that were selected and have no number, and runs that did not end."""
    for result in {point.result.path: point.result for point in points}.values():
        session = result.session
        if session is None:
            continue
        label = result.machine_label
        if session.why_incomplete is not None:
            why = f"{result.run_name}: {session.why_incomplete}"
            yield Remark(what="incomplete run", case="", machine=label, evidence=why)
        for case in session.not_measured:
            what = case.outcome.replace("_", " ")
            yield Remark(what=what, case=case.id, machine=label, evidence=case.reason)


def _doubtful_roofs(points: Iterable[Point], names: Mapping[MachineKey, str]) -> Iterator[Remark]:
    found = {
        (names[point.machine], point.result.run_name, notice): None
        for point in points
        for notice in point.roofs.notices
    }
    for machine, run, notice in found:
        yield Remark(what="doubtful roofs", case="", machine=machine, evidence=f"{run}: {notice}")


def _flagged(points: Iterable[Point], names: Mapping[MachineKey, str]) -> Iterator[Remark]:
    """Flags that leave a row valid: a row for each name, that on most cases first, with the first case's evidence."""
    flagged: dict[str, list[tuple[Point, str]]] = {}
    for point in points:
        for flag in point.flags:
            if not flag.invalid and (flag.name != "margin" or point.margin is None):  # `_widest` shows the others
                flagged.setdefault(flag.name, []).append((point, flag.evidence))
    for name, rows in sorted(flagged.items(), key=lambda item: -len(item[1])):
        point, evidence = rows[0]
        machines = _named(names[one.machine] for one, _ in rows)
        what = f"{name}: {counted(len(rows), 'case')}"
        yield Remark(what=what, case=point.id, machine=machines, evidence=evidence, point=point)


def _widest(points: Iterable[Point], names: Mapping[MachineKey, str]) -> Iterator[Remark]:
    """The margins that are wider than was asked for, the widest first."""
    rows: list[tuple[float, float, Point]] = []
    for point in points:
        timing = None if point.benchmark.record is None else point.benchmark.record.timing
        if timing is None or timing.margin is None or timing.margin_target is None:
            continue
        if timing.margin > timing.margin_target:
            rows.append((timing.margin, timing.margin_target, point))
    for margin, target, point in sorted(rows, key=lambda row: -row[0]):
        yield _remark(point, names, f"margin ±{percent(margin)}", f"±{percent(target)} was asked for")


def _remark(point: Point, names: Mapping[MachineKey, str], what: str, evidence: str) -> Remark:
    return Remark(what=what, case=point.id, machine=names[point.machine], evidence=evidence, point=point)
