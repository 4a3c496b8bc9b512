"""Pairs of cases that differ in one thing: mode, compilation, data, precision."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace

from roofline.model.machines import by_machine
from roofline.model.points import Point
from roofline.model.speed_of_light import compiled
from roofline.model.throughputs import apart_by_margins
from roofline.plots.style import has_ready_data
from roofline.report.page.cells import Data, table_data
from roofline.schema.amounts import usable
from roofline.schema.record import Record
from roofline.show.cases.machines_table import machine_column
from roofline.show.columns import pick
from roofline.show.tables import Column, Table, number, words
from roofline.text.units import significant


@dataclass(frozen=True, slots=True, kw_only=True)
class _Pair:
    what: str
    point: Point
    against: Point

    @property
    def time_ratio(self) -> float | None:
        """Step time over that of the other case."""
        own, other = self.point.step_time_s, self.against.step_time_s
        if own is None or other is None or not usable(own) or not usable(other):
            return None
        return own / other

    @property
    def apart(self) -> str | None:
        """Whether margins tell both step times apart."""
        ratio = self.time_ratio
        return None if ratio is None else "yes" if apart_by_margins(ratio, self.point, self.against) else "no"


_KINDS: dict[str, Callable[[Record], bool]] = {
    "training against inference": lambda record: record.case.mode == "train",
    "compiled against eager": compiled,
    "real against ready data": lambda record: not has_ready_data(record),
    "another precision against fp32": lambda record: record.case.precision != "fp32",
}
"""Each by what the first of a pair is, and the other isn't."""


def _both(name: str, title: str) -> tuple[Column[_Pair], Column[_Pair]]:
    (own,), (other,) = pick(name, of="point"), pick(name, of="against")
    return own, replace(other, name=f"{name}_against", title=title)


_CASE, _AGAINST = _both("case", "against")
_STEP, _OTHER_STEP = _both("step_time_s", "the other's")
_COLUMNS: tuple[Column[_Pair], ...] = (
    words("what"),
    *(_CASE, _AGAINST, _STEP, _OTHER_STEP),
    number("time_ratio", "times as long", show=lambda value: f"{significant(value)}x"),
    words("apart", "apart by margins"),
    *pick("input_share", of="point"),
)


def pairs_data(points: Sequence[Point], number_of: Callable[[Point], int | None]) -> Data | None:
    """A table of the pairs among the cases of one machine; None without any.

    :param points: all rows of its table, in their order.
    :param number_of: that of a point, by which it is opened.
    """
    pairs = [pair for what in _KINDS for pair in _pairs(points, what)]
    if not pairs:
        return None
    return table_data(_COLUMNS, pairs, opens=[number_of(pair.point) for pair in pairs])


def pairs_table(points: Sequence[Point]) -> Table[_Pair]:
    """The pairs of all machines."""
    rows = [pair for own in by_machine(points).values() for what in _KINDS for pair in _pairs(own, what)]
    return Table(title="Pairs", columns=[machine_column(points, of="point"), *_COLUMNS], rows=rows)


def _pairs(points: Sequence[Point], what: str) -> Iterator[_Pair]:
    """Pairs that differ in this alone: several may be held against the same case, and none has a second like it."""
    groups: dict[tuple[object, ...], list[tuple[object, bool, Point]]] = {}
    for point in points:
        record = point.benchmark.record
        if record is None or not point.valid or record.case.mode not in ("train", "infer"):
            continue
        case = record.case
        alike = tuple(of(record) for kind, of in _KINDS.items() if kind != what)
        data = None if what == "real against ready data" else case.data
        precision = None if what == "another precision against fp32" else case.precision
        test, ranks = (str(case.config.get(name)) for name in ("test", "ranks"))
        key = (case.model, case.batch, precision, case.layout, case.sample_unit, data, test, ranks, *alike)
        groups.setdefault(key, []).append(((case.precision, case.data), _KINDS[what](record), point))
    for members in groups.values():
        others = [point for _, first, point in members if not first]
        counts = Counter(kind for kind, first, _ in members if first)
        if len(others) == 1:
            for kind, first, point in members:
                if first and counts[kind] == 1:
                    yield _Pair(what=what, point=point, against=others[0])
