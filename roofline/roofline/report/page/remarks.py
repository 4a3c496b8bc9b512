"""What a reader should look at first: wrong rows, cases without a number, doubtful roofs, flags and wide margins."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass

from roofline.comparison.comparison import Comparison
from roofline.model.points import Point
from roofline.show.machines import Machine, machine_of
from roofline.text.units import counted, percent, signed

_MOST = 30
"""Rows of one kind that are listed."""
_WIDEST = 5
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


def remarks(
    points: Sequence[Point], names: Mapping[Machine, str], comparison: Comparison | None = None
) -> list[Remark]:
    """List what needs attention, the worst first.

    :param points: the cases that are shown.
    :param names: of their machines.
    :param comparison: of them with a baseline.
    """
    without_number = list(_without_number(points))
    kinds = (
        _invalid(points, names),
        () if comparison is None else _slower(points, names, comparison),
        (one for one in without_number if one.what != _SKIPPED),
        _doubtful_roofs(points, names),
        _flagged(points, names),
        _widest(points, names),
        (one for one in without_number if one.what == _SKIPPED),
    )
    found: list[Remark] = []
    for kind in map(list, kinds):
        found += kind[:_MOST]
        if len(kind) > _MOST:
            rest = len(kind) - _MOST
            found.append(Remark(what=kind[0].what, case="", machine="", evidence=f"and {rest} more like these"))
    return found


def _invalid(points: Iterable[Point], names: Mapping[Machine, str]) -> Iterator[Remark]:
    """Rows that a flag makes invalid, failed proofs first."""
    rows = [(point, flag) for point in points for flag in point.flags if flag.invalid]
    for point, flag in sorted(rows, key=lambda row: not row[1].name.endswith(_DISPROVED)):
        failed = flag.name.endswith(_DISPROVED)
        what = f"failed proof: {flag.name.removesuffix(_DISPROVED)}" if failed else f"invalid: {flag.name}"
        yield _remark(point, names, what, flag.evidence)


def _slower(points: Iterable[Point], names: Mapping[Machine, str], comparison: Comparison) -> Iterator[Remark]:
    """Cases that take longer than in the baseline, the worst first."""
    shown = {(point.id, point.result.machine_label): point for point in points}
    for case in comparison.of("slower"):
        label = case.match.machine.label
        point = shown.get((case.match.id, label))
        machine = label if point is None else names[machine_of(point)]
        yield Remark(
            what=f"slower: {signed(case.change or 0.0)}",
            case=case.match.id,
            machine=machine,
            evidence=case.why,
            point=point,
        )


def _without_number(points: Iterable[Point]) -> Iterator[Remark]:
    """Cases that were selected and have no number, and runs that did not end."""
    for result in {point.result.path: point.result for point in points}.values():
        session = result.session
        if session is None:
            continue
        label = result.machine_label
        if session.why_incomplete is not None:
            yield Remark(what="incomplete run", case="", machine=label, evidence=session.why_incomplete)
        for case in session.not_measured:
            what = case.outcome.replace("_", " ")
            yield Remark(what=what, case=case.id, machine=label, evidence=case.reason)


def _doubtful_roofs(points: Iterable[Point], names: Mapping[Machine, str]) -> Iterator[Remark]:
    found = {(names[machine_of(point)], notice): None for point in points for notice in point.roofs.notices}
    for machine, notice in found:
        yield Remark(what="doubtful roofs", case="", machine=machine, evidence=notice)


def _flagged(points: Iterable[Point], names: Mapping[Machine, str]) -> Iterator[Remark]:
    """Flags that leave a row valid: a row for each name, that on most cases first, with the first case's evidence."""
    flagged: dict[str, list[tuple[Point, str]]] = {}
    for point in points:
        for flag in point.flags:
            if not flag.invalid and (flag.name != "margin" or point.margin is None):  # `_widest` shows the others
                flagged.setdefault(flag.name, []).append((point, flag.evidence))
    for name, rows in sorted(flagged.items(), key=lambda item: -len(item[1])):
        point, evidence = rows[0]
        yield _remark(point, names, f"{name}: {counted(len(rows), 'case')}", evidence)


def _widest(points: Iterable[Point], names: Mapping[Machine, str]) -> Iterator[Remark]:
    """The widest margins among those that are wider than was asked for."""
    rows: list[tuple[float, float, Point]] = []
    for point in points:
        timing = None if point.benchmark.record is None else point.benchmark.record.timing
        if timing is None or timing.margin is None or timing.margin_target is None:
            continue
        if timing.margin > timing.margin_target:
            rows.append((timing.margin, timing.margin_target, point))
    for margin, target, point in sorted(rows, key=lambda row: -row[0])[:_WIDEST]:
        yield _remark(point, names, f"margin ±{percent(margin)}", f"±{percent(target)} was asked for")


def _remark(point: Point, names: Mapping[Machine, str], what: str, evidence: str) -> Remark:
    return Remark(what=what, case=point.id, machine=names[machine_of(point)], evidence=evidence, point=point)
