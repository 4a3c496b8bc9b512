"""Work out what samples cost: money where a machine has a price by the hour, energy where it was measured."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from roofline.model.point_groups import machine_names
from roofline.model.points import Point
from roofline.schema.amounts import total_of, usable
from roofline.show.columns import pick
from roofline.show.tables import Column, Table, number, words
from roofline.text.units import significant
from roofline.timing.readings import energy_j_per_sample

_S_PER_HOUR = 3600
_MILLION = 1e6


@dataclass(frozen=True, slots=True, kw_only=True)
class Cost:
    """A case on machines of which the price by the hour is known, of all together, or the energy, or both."""

    point: Point
    machine: str
    price_per_hour: float | None
    labels: tuple[str, ...]
    """Of each of the machines."""

    @property
    def price_per_million_samples(self) -> float | None:
        """In the currency of the price."""
        rate = self.point.samples_per_s
        if self.price_per_hour is None or rate is None or not usable(rate):
            return None
        return self.price_per_hour / _S_PER_HOUR / rate * _MILLION

    @property
    def samples_per_joule(self) -> float | None:
        """Of the device's energy, as it was read."""
        record = self.point.benchmark.record
        energy_j = None if record is None else energy_j_per_sample(record)
        return None if energy_j is None or not usable(energy_j) else 1 / energy_j


_COLUMNS: tuple[Column[Cost], ...] = (
    *pick("case", of="point"),
    words("machine", dtype="category"),
    *pick("samples_per_s", "sample_unit", of="point"),
    number("price_per_hour", "price/h", show=significant),
    number("price_per_million_samples", "price of\na million", show=significant),
    number("samples_per_joule", "samples/J", show=significant),
)


def _labels(point: Point) -> tuple[str, ...]:
    """Of each of the machines whose ranks measured the case together."""
    record = point.benchmark.record
    parallel = None if record is None else record.parallel
    if parallel is None or parallel.nodes < 2:
        return (point.result.machine_label,)
    by_node = {**{one.node: one.label for one in parallel.by_rank}, 0: point.result.machine_label}
    return (*by_node.values(), *([] if len(by_node) >= parallel.nodes else ["not known"]))


def costs_table(points: Sequence[Point], prices: Mapping[str, float]) -> Table[Cost]:
    """Every valid case that has a cost, in the order of the points.

    :param prices: by the hour, by the label of a machine.
    """
    names = machine_names(points)
    found = [
        Cost(
            point=point,
            machine=names[point.machine],
            price_per_hour=total_of(map(prices.get, labels)),
            labels=labels,
        )
        for point in points
        if point.valid and (labels := _labels(point))
    ]
    rows = [one for one in found if one.price_per_million_samples is not None or one.samples_per_joule is not None]
    return Table(title="What samples cost", columns=_COLUMNS, rows=rows)
