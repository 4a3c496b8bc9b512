"""Throughput against batch size as plain dicts: places of a chart, the gain of each doubling of the batch, the knee."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from itertools import pairwise

from roofline.model.point_groups import apart_by_margins, by_machine
from roofline.model.points import Point
from roofline.plots.throughput import KNEE, Curve, MeasuredThroughput, all_measured, curves
from roofline.report.page.cells import Data, rounded, table_data
from roofline.show.cases.machines_table import machine_column
from roofline.show.columns import pick
from roofline.show.tables import Column, Table, number, words
from roofline.text.units import signed

_CLIFF = "throughput_cliff"
_READ_IT = "Median of the rounds; bars: one standard deviation"
_RING = f"Ring: {KNEE}"


@dataclass(frozen=True, slots=True, kw_only=True)
class _Step:
    """Two batch sizes of one curve, next to each other. ``knee`` says where the curve has its knee."""

    before: MeasuredThroughput
    after: MeasuredThroughput
    knee: str

    @property
    def ratio(self) -> float:
        """Samples per second of the larger batch over those of the smaller one."""
        return (self.after.point.samples_per_s or 0.0) / (self.before.point.samples_per_s or 1.0)

    @property
    def gain_per_doubling(self) -> float:
        """Relative gain of samples per second if the batch is doubled; as many times as lie between both, alike."""
        return float(self.ratio ** (1 / math.log2(self.after.case.batch / self.before.case.batch)) - 1)

    @property
    def apart(self) -> str | None:
        """Tell whether margins leave both throughputs apart."""
        return apart_by_margins(self.ratio, self.before.point, self.after.point)

    @property
    def cliff(self) -> str | None:
        """Give what is known of a fall of the throughput."""
        return next((flag.evidence for flag in self.after.point.flags if flag.name == _CLIFF), None)


(_BEFORE,), (_AFTER,) = (pick("samples_per_s", of=f"{side}.point") for side in ("before", "after"))
_COLUMNS: tuple[Column[_Step], ...] = (
    *pick("case", "model", "mode", "precision", of="after.point"),
    number("from_batch", "batch from", "before.case.batch", dtype="Int64"),
    number("to_batch", "to", "after.case.batch", dtype="Int64"),
    replace(_BEFORE, name="samples_per_s_before", title="samples/s from"),
    replace(_AFTER, title="to"),
    number("gain_per_doubling", "gain per doubling", show=signed),
    words("apart", "apart by margins"),
    words("knee", "knee at batch"),
    words("cliff", "cause of a cliff"),
)


def batch_data(points: Sequence[Point], number_of: Callable[[Point], int | None]) -> Data | None:
    """Throughput of the cases of one machine; None where none has any.

    :param points: all rows of its table, in their order.
    :param number_of: that of a point, by which it is opened.
    """
    measured = all_measured(points)
    if not measured:
        return None
    row_of = {id(point): row for row, point in enumerate(points)}
    found = curves(measured)
    steps, knees = _steps(found), [curve.knee for curve in found if curve.knee is not None]
    return {
        "points": [
            {
                "row": row_of[id(one.point)],
                "batch": one.case.batch,
                "rate": rounded(one.rate),
                "deviation": rounded(one.deviation),
                **({"knee": True} if one in knees else {}),
            }
            for one in measured
        ],
        "notes": [_READ_IT, *([_RING] if knees else [])],
        "scaling": table_data(
            _COLUMNS,
            steps,
            opens=[number_of(step.after.point) for step in steps],
            extra=("model", "mode", "precision"),
        ),
    }


def batch_table(points: Sequence[Point]) -> Table[_Step]:
    """The steps of all curves of all machines."""
    rows = [step for own in by_machine(points).values() for step in _steps(curves(all_measured(own)))]
    columns = [machine_column(points, of="after.point"), *_COLUMNS]
    return Table(title="Batch scaling", columns=columns, rows=rows)


def _steps(found: Sequence[Curve]) -> list[_Step]:
    return [
        _Step(before=before, after=after, knee=_told(curve))
        for curve in found
        for before, after in pairwise(curve.measured)
    ]


def _told(curve: Curve) -> str:
    """The batch size at the knee: between which it lies where it isn't one that was measured."""
    if curve.place is None:
        return "margins too wide"
    if curve.knee is None:
        return f"above {curve.measured[-2].case.batch}"
    return f"{curve.knee.case.batch} or less" if curve.place == 0 else str(curve.knee.case.batch)
