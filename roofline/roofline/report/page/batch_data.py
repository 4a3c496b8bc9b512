"""Throughput against batch size as plain dicts: places of a chart, the gain of each doubling of the batch, the knee."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise
from operator import attrgetter

from roofline.model.points import Point
from roofline.model.throughputs import NEAR_BEST, apart_by_margins, knee
from roofline.plots.throughput import Measured, measured_of
from roofline.report.page.cells import Data, rounded, table_data
from roofline.show.columns import pick
from roofline.show.machines import by_machine, machine_names, machine_of
from roofline.show.tables import Column, Table, number, words
from roofline.text.units import percent, signed

_CLIFF = "throughput_cliff"
_READ_IT = "Median of the rounds; bars: one standard deviation"
_RING = f"Ring: the knee, the smallest batch with at least {percent(NEAR_BEST)} of the best throughput"


@dataclass(frozen=True, slots=True, kw_only=True)
class _Sized:
    """A case with its batch size, and its row in the machine's table."""

    row: int
    point: Point
    batch: int


@dataclass(frozen=True, slots=True, kw_only=True)
class _Step:
    """Two batch sizes of one curve, next to each other. ``knee`` says where the curve has its knee."""

    before: _Sized
    after: _Sized
    knee: str

    @property
    def ratio(self) -> float:
        """Samples per second of the larger batch over those of the smaller one."""
        return (self.after.point.samples_per_s or 0.0) / (self.before.point.samples_per_s or 1.0)

    @property
    def gain_per_doubling(self) -> float:
        """Relative gain of samples per second if the batch is doubled; as many times as lie between both, alike."""
        return float(self.ratio ** (1 / math.log2(self.after.batch / self.before.batch)) - 1)

    @property
    def apart(self) -> str:
        """Whether margins tell both throughputs apart."""
        return "yes" if apart_by_margins(self.ratio, self.before.point, self.after.point) else "no"

    @property
    def cliff(self) -> str | None:
        """What is known of a fall of the throughput."""
        return next((flag.evidence for flag in self.after.point.flags if flag.name == _CLIFF), None)


(_RATE,) = pick("samples_per_s")
_BEFORE: Column[_Step] = _RATE.of(attrgetter("before.point"))
_COLUMNS: tuple[Column[_Step], ...] = (
    *(column.of(attrgetter("after.point")) for column in pick("case", "model", "mode", "precision")),
    number("from_batch", "batch from", "before.batch", dtype="Int64"),
    number("to_batch", "to", "after.batch", dtype="Int64"),
    Column(name="samples_per_s_before", title="samples/s from", get=_BEFORE.get, show=_RATE.show),
    Column(name="samples_per_s", title="to", get=_RATE.of(attrgetter("after.point")).get, show=_RATE.show),
    number("gain_per_doubling", "gain per doubling", show=signed),
    words("apart", "apart by margins"),
    words("knee", "knee at batch"),
    words("cliff", "cause of a cliff"),
)


def batch_data(points: Sequence[Point], numbers: Sequence[int | None]) -> Data | None:
    """Throughput of the cases of one machine; None where none has any.

    :param points: all rows of its table, in their order.
    :param numbers: those of the points, by which they are opened.
    """
    measured = [(row, one) for row, point in enumerate(points) if (one := measured_of(point)) is not None]
    if not measured:
        return None
    steps, knees = _steps(points, measured)
    return {
        "points": [
            {
                "row": row,
                "batch": one.batch,
                "rate": rounded(one.rate),
                "deviation": rounded(one.deviation),
                **({"knee": True} if row in knees else {}),
            }
            for row, one in measured
        ],
        "notes": [_READ_IT, *([_RING] if knees else [])],
        "scaling": table_data(
            _COLUMNS, steps, opens=[numbers[step.after.row] for step in steps], extra=("model", "mode", "precision")
        ),
    }


def batch_table(points: Sequence[Point]) -> Table[_Step]:
    """The steps of all curves of all machines."""
    names = machine_names(points)
    rows: list[_Step] = []
    for own in by_machine(points).values():
        measured = [(row, one) for row, point in enumerate(own) if (one := measured_of(point)) is not None]
        rows += _steps(own, measured)[0]
    machines: Column[_Step] = words("machine", get=lambda step: names[machine_of(step.after.point)])
    return Table(title="Batch scaling", columns=[machines, *_COLUMNS], rows=rows)


def _steps(points: Sequence[Point], measured: Sequence[tuple[int, Measured]]) -> tuple[list[_Step], set[int]]:
    """The steps of the curves of one machine, and the rows at their knees."""
    steps: list[_Step] = []
    knees: set[int] = set()
    for curve in _curves(points, measured):
        place = knee([one.point for one in curve])
        told = _told(curve, place)
        steps += [_Step(before=before, after=after, knee=told) for before, after in pairwise(curve)]
        if place is not None and curve[place] is not curve[-1]:
            knees.add(curve[place].row)
    return steps, knees


def _told(curve: Sequence[_Sized], place: int | None) -> str:
    """The batch size at the knee: between which it lies where it isn't one that was measured."""
    if place is None:
        return "margins too wide"
    if curve[place] is curve[-1]:
        return f"above {curve[-2].batch}"
    return f"{curve[0].batch} or less" if place == 0 else str(curve[place].batch)


def _curves(points: Sequence[Point], measured: Sequence[tuple[int, Measured]]) -> list[list[_Sized]]:
    """Series of several batch sizes, the smallest first; none with several workloads of one batch size."""
    series: dict[tuple[str, ...], list[_Sized]] = {}
    for row, one in measured:
        key = (one.model, one.mode, one.precision, one.variant, one.unit)
        series.setdefault(key, []).append(_Sized(row=row, point=points[row], batch=one.batch))
    return [
        sorted(curve, key=lambda one: one.batch)
        for curve in series.values()
        if 1 < len({one.batch for one in curve}) == len(curve)
    ]
