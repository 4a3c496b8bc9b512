"""Throughput against batch size as plain dicts: places of a chart, and the gain of each doubling of the batch."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise
from operator import attrgetter

from roofline.model.points import Point
from roofline.plots.throughput import Measured, measured_of
from roofline.report.page.cells import Data, rounded, table_data
from roofline.show.columns import pick
from roofline.show.tables import Column, number, words
from roofline.text.units import signed

_CLIFF = "throughput_cliff"


@dataclass(frozen=True, slots=True, kw_only=True)
class _Step:
    """Two batch sizes of one series, next to each other. ``row`` is that of the larger one's point."""

    row: int
    before: Point
    after: Point
    from_batch: int
    to_batch: int

    @property
    def gain_per_doubling(self) -> float | None:
        """Relative gain of samples per second if the batch is doubled; as many times as lie between both, alike."""
        first, last = self.before.samples_per_s, self.after.samples_per_s
        if not first or not last:
            return None
        return float((last / first) ** (1 / math.log2(self.to_batch / self.from_batch)) - 1)

    @property
    def cliff(self) -> str | None:
        """What is known of a fall of the throughput."""
        return next((flag.evidence for flag in self.after.flags if flag.name == _CLIFF), None)


(_RATE,) = pick("samples_per_s")
_BEFORE: Column[_Step] = _RATE.of(attrgetter("before"))
_COLUMNS: tuple[Column[_Step], ...] = (
    *(column.of(attrgetter("after")) for column in pick("case", "model", "mode", "precision")),
    number("from_batch", "batch from"),
    number("to_batch", "to"),
    Column(name="samples_per_s_before", title="samples/s from", get=_BEFORE.get, show=_RATE.show),
    Column(name="samples_per_s", title="to", get=_RATE.of(attrgetter("after")).get, show=_RATE.show),
    number("gain_per_doubling", "gain per doubling", show=signed),
    words("cliff", "cause of a cliff"),
)


def batch_data(points: Sequence[Point], numbers: Sequence[int]) -> Data | None:
    """Throughput of the cases of one machine; None where none has any.

    :param points: all rows of its table, in their order.
    :param numbers: those of the points, by which they are opened.
    """
    measured = [(row, one) for row, point in enumerate(points) if (one := measured_of(point)) is not None]
    if not measured:
        return None
    steps = _steps(points, measured)
    return {
        "points": [
            {"row": row, "batch": one.batch, "rate": rounded(one.rate), "deviation": rounded(one.deviation)}
            for row, one in measured
        ],
        "scaling": table_data(_COLUMNS, steps, opens=[numbers[step.row] for step in steps]),
    }


def _steps(points: Sequence[Point], measured: Sequence[tuple[int, Measured]]) -> list[_Step]:
    """Neighbours in each series; none in one that has several workloads of one batch size."""
    series: dict[tuple[str, ...], list[tuple[int, Measured]]] = {}
    for row, one in measured:
        series.setdefault((one.model, one.mode, one.precision, one.variant, one.unit), []).append((row, one))
    steps: list[_Step] = []
    for members in series.values():
        members.sort(key=lambda member: member[1].batch)
        if len({one.batch for _, one in members}) < len(members):
            continue
        steps += [
            _Step(row=row, before=points[before], after=points[row], from_batch=smaller.batch, to_batch=larger.batch)
            for (before, smaller), (row, larger) in pairwise(members)
        ]
    return steps
