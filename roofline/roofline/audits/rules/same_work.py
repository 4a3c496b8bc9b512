"""Rules on rows of the same work on different devices."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Sequence

from roofline.audits.row import Number, StatedRow, agree, difference, shown
from roofline.audits.rule import Contradiction, Known, rule

_TELLING = 5e-4
"""Half a unit of the last digit, relative: from four printed digits on two measured values don't agree by chance."""

_MEASURED: tuple[tuple[str, str, Callable[[StatedRow], Number | None]], ...] = (
    ("attained", "FLOP/s", lambda row: row.attained_flop_per_s),
    ("throughput", "samples/s", lambda row: row.samples_per_s),
    ("step time", "s", lambda row: row.step_time_s),
)


@rule("equal values in rows of different devices")
def pooled(rows: Sequence[StatedRow], known: Known, tolerance: float) -> Iterator[Contradiction | None]:
    """Two devices don't give the same value to the last digit: rows of both were averaged into one, or a row was
    copied. Compared are attained FLOP/s, throughput and step time of rows of the same work, where four digits or more
    are printed."""
    for group in _same_work(rows):
        if len({row.device for row in group}) < 2:
            continue
        for row in group:
            compared = _compared(row, group)
            found = [(value, twins) for value, twins in compared if twins]
            if not found:
                if compared:
                    yield None
                continue
            others = tuple(dict.fromkeys(twin for _, twins in found for twin in twins))
            places = ", ".join(f"{twin.place} ({twin.device})" for twin in others)
            values = " and ".join(value for value, _ in found)
            yield Contradiction(row=row, arithmetic=f"{values} as in {places}, on {row.device} here", others=others)


@rule("as fast on the accelerator as on the CPU", tolerance=0.03)
def same_as_cpu(rows: Sequence[StatedRow], known: Known, tolerance: float) -> Iterator[Contradiction | None]:
    """The same work takes the same time on a CPU and on an accelerator: the row ran on the wrong device, or neither
    device sets the pace (loader, host). Rows are the same work where all but the device is equal, names included. Not
    said where the device was proven while it was measured."""
    for group in _same_work(rows):
        slow = [row for row in group if row.device_kind == "cpu"]
        fast = [row for row in group if row.device_kind == "accelerator"]
        for row in fast:
            pairs = [
                (twin, speeds)
                for twin in slow
                if not (row.device_proven and twin.device_proven) and (speeds := _speeds(row, twin)) is not None
            ]
            if not pairs:
                continue
            equal = next(((twin, speeds) for twin, speeds in pairs if agree(speeds[0], speeds[1], tolerance)), None)
            if equal is None:
                yield None
                continue
            twin, (own, other, unit) = equal
            text = f"{_value(own, unit)} on {row.device}, {_value(other, unit)} on {twin.device} ({twin.place})"
            yield Contradiction(row=row, arithmetic=f"{text}: {difference(own, other)}")


def _same_work(rows: Iterable[StatedRow]) -> Iterator[list[StatedRow]]:
    groups: defaultdict[tuple[str, ...], list[StatedRow]] = defaultdict(list)
    for row in rows:
        if row.device is not None:
            groups[row.work].append(row)
    return iter(groups.values())


def _compared(row: StatedRow, group: Iterable[StatedRow]) -> list[tuple[str, list[StatedRow]]]:
    """Each value of enough digits that rows of other devices have, too, and the rows that have the same."""
    found = []
    for what, unit, get in _MEASURED:
        figure = get(row)
        others = [(other, own) for other in group if other.device != row.device and (own := get(other)) is not None]
        if figure is not None and others and _telling(figure):
            twins = [other for other, own in others if own.value == figure.value]
            found.append((f"{what} {_value(figure, unit)}", twins))
    return found


def _telling(figure: Number) -> bool:
    return figure.positive and figure.high - figure.value <= _TELLING * figure.value


def _speeds(row: StatedRow, twin: StatedRow) -> tuple[Number, Number, str] | None:
    """The first measured value that both rows have, and its unit."""
    for _, unit, get in (*_MEASURED[1:], ("mean", "s", lambda row: row.mean_s)):
        own, other = get(row), get(twin)
        if own is not None and other is not None and own.positive and other.positive:
            return own, other, unit
    return None


def _value(figure: Number, unit: str) -> str:
    return f"{shown(figure)} {unit}" if unit == "samples/s" else shown(figure, unit)
