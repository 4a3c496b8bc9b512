"""The table of `roofline pairs`: cases of one machine that differ in one thing, such as compilation or precision."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace

from roofline.model.input_pipeline import fewer_threads, has_ready_data
from roofline.model.point_groups import apart_by_margins, by_machine
from roofline.model.points import Point
from roofline.model.speed_of_light import compiled
from roofline.schema.amounts import usable
from roofline.schema.record import Record
from roofline.show.cases.machines_table import machine_column
from roofline.show.columns import pick
from roofline.show.tables import Column, Table, number, words
from roofline.text.units import significant, some_of


@dataclass(frozen=True, slots=True, kw_only=True)
class Pair:
    """A case and the one it is held against; ``what`` differs."""

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
        return None if ratio is None else apart_by_margins(ratio, self.point, self.against)


@dataclass(frozen=True, slots=True, kw_only=True)
class _Kind:
    """A thing in which two cases may differ: what the first is and the other isn't.

    :param fields: of the case, which say it.
    :param settings: keys of the case's ``config`` that follow from it.
    """

    is_first: Callable[[Record], bool]
    fields: tuple[str, ...] = ()
    settings: tuple[str, ...] = ()


_KINDS: dict[str, _Kind] = {
    "training against inference": _Kind(
        is_first=lambda record: record.case.mode == "train", fields=("mode",), settings=("optimizer",)
    ),
    "compiled against eager": _Kind(is_first=compiled, settings=("compile",)),
    "channels last against contiguous": _Kind(
        is_first=lambda record: record.case.layout == "channels_last", fields=("layout",)
    ),
    "real against ready data": _Kind(
        is_first=lambda record: not has_ready_data(record),
        fields=("data",),
        settings=("data", "augment", "loader", "threads"),
    ),
    "another precision against fp32": _Kind(
        is_first=lambda record: record.case.precision != "fp32", fields=("precision",)
    ),
}

_SAME = ("model", "mode", "batch", "precision", "layout", "sample_unit", "data")


def _both(name: str, title: str) -> tuple[Column[Pair], Column[Pair]]:
    (own,), (other,) = pick(name, of="point"), pick(name, of="against")
    return own, replace(other, name=f"{name}_against", title=title)


def _named(point: Point) -> str:
    """The case, and that it is compiled, where its name doesn't say so: a test has one name for both."""
    record = point.benchmark.record
    return f"{point.id} compiled" if record is not None and compiled(record) and "compile" not in point.id else point.id


_CASE, _AGAINST = _both("case", "against")
_SHOWN_CASE: Column[Pair] = words("case", get=lambda pair: _named(pair.point))
_SHOWN_AGAINST: Column[Pair] = words("case_against", "against", get=lambda pair: _named(pair.against))
_STEP, _OTHER_STEP = _both("step_time_s", "the other's")
_THREADS, _OTHER_THREADS = _both("threads", "the other's threads")
_TIMES: tuple[Column[Pair], ...] = (
    _STEP,
    _OTHER_STEP,
    number("time_ratio", "times as long", show=lambda value: f"{significant(value)}x"),
    words("apart", "apart by margins"),
    *pick("input_share", of="point"),
)
_WHAT: Column[Pair] = words("what")
_COLUMNS = (_WHAT, _CASE, _AGAINST, *_TIMES, _THREADS, _OTHER_THREADS)
PAIR_COLUMNS = (_WHAT, _SHOWN_CASE, _SHOWN_AGAINST, *_TIMES, _THREADS, _OTHER_THREADS)
"""For readers: names that two cases share are told apart."""


def pairs_table(points: Sequence[Point]) -> Table[Pair]:
    """Make the table of the pairs of all machines.

    :param points: one of each case of a machine, such as the newest.
    """
    rows = [pair for own in by_machine(points).values() for pair in pairs_of(own)]
    machine = machine_column(points, of="point")
    return Table(
        title="Cases that differ in one thing",
        columns=[machine, *_COLUMNS],
        rows=rows,
        display=[_SHOWN_CASE, *_TIMES, replace(_SHOWN_AGAINST, drop=3)],
        section=lambda pair: f"{machine.get(pair)}: {pair.what}",
        section_title="pair",
        notes=[*_fewer_threads(rows), *_disturbed(rows)],
    )


def _fewer_threads(pairs: Sequence[Pair]) -> list[str]:
    """A note on pairs of a case that leaves threads to its loader's workers."""
    found: dict[str, list[str]] = {}
    for pair in pairs:
        record = pair.point.benchmark.record
        fewer = None if record is None else fewer_threads(record, _OTHER_THREADS.get(pair))
        if fewer is not None:
            found.setdefault(fewer, []).append(_named(pair.point))
    return [f"{fewer.capitalize()}: {some_of(names)}" for fewer, names in found.items()]


def _disturbed(pairs: Sequence[Pair]) -> list[str]:
    """A note on pairs that say nothing, for other programs took part."""
    found = [
        pair
        for pair in pairs
        if any(flag.name == "mostly_disturbed" for flag in (*pair.point.flags, *pair.against.flags))
    ]
    if not found:
        return []
    of = "all" if len(found) == len(pairs) else f"{len(found)} of {len(pairs)}"
    names = "" if of == "all" else f" ({some_of([_named(pair.point) for pair in found])})"
    return [f"Other programs disturbed most rounds of {of} pairs{names}: measure again before concluding anything"]


def pairs_of(points: Sequence[Point]) -> list[Pair]:
    """Find the pairs among the cases of one machine, kind by kind.

    Several may be held against the same case. None of a pair has a second like it.
    """
    return [pair for what in _KINDS for pair in _pairs(points, what)]


def _pairs(points: Sequence[Point], what: str) -> Iterator[Pair]:
    kind = _KINDS[what]
    groups: dict[tuple[object, ...], list[tuple[object, bool, Point]]] = {}
    for point in points:
        record = point.benchmark.record
        if record is None or not point.valid or record.case.mode not in ("train", "infer"):
            continue
        case = record.case
        alike = (getattr(case, name) for name in _SAME if name not in kind.fields)
        # Another seed is the same work.
        settings = {name: value for name, value in case.config.items() if name not in ("seed", *kind.settings)}
        key = (*alike, json.dumps(settings, sort_keys=True), what != "compiled against eager" and compiled(record))
        groups.setdefault(key, []).append(((case.precision, case.data), kind.is_first(record), point))
    for members in groups.values():
        others = [point for _, first, point in members if not first]
        counts = Counter(kind for kind, first, _ in members if first)
        if len(others) == 1:
            for kind_of, first, point in members:
                if first and counts[kind_of] == 1:
                    yield Pair(what=what, point=point, against=others[0])
