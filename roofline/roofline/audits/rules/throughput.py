"""The rule on throughput against batch."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Sequence

from roofline.audits.figure import Figure, shown
from roofline.audits.row import Row
from roofline.audits.rule import Contradiction, Known, rule
from roofline.model.flags import CLIFF, FULL_MEMORY_SHARE
from roofline.text.units import percent, significant


@rule("throughput cliff against a smaller batch")
def throughput_cliff(rows: Sequence[Row], known: Known, tolerance: float) -> Iterator[Contradiction | None]:  # noqa: ARG001
    """Less than half the throughput of a smaller batch of the same case, compared with the best of the smaller ones so
    that what comes after the first fall is found too. A larger batch has no more work a sample. The likely cause is
    named where the row tells the memory: past the card's, a driver spills to the host without an error."""
    series: defaultdict[tuple[object, ...], list[tuple[Row, Figure, Figure]]] = defaultdict(list)
    for row in rows:
        if row.rate is not None and row.batch is not None and row.model is not None and row.rate.positive:
            sample = (row.size_pixel, row.length_token)
            key = (row.file, row.model, row.mode, row.precision, row.variant, sample, row.device)
            series[key].append((row, row.rate, row.batch))
    for members in series.values():
        for row, rate, batch in members:
            smaller = [member for member in members if member[2].value < batch.value]
            if not smaller:
                continue
            other, best, size = max(smaller, key=lambda pair: pair[1].value)
            if rate.high >= CLIFF * best.low:
                yield None
                continue
            text = (
                f"{shown(rate)} samples/s at batch {shown(batch)}, but {shown(best)} at batch {shown(size)}"
                f" ({other.place}): {significant(best.value / rate.value)} times less. Cause: {_cause(row)}"
            )
            yield Contradiction(row=row, arithmetic=text)


def _cause(row: Row) -> str:
    reserved, total = row.reserved_byte, row.memory_byte
    if reserved is None or total is None or not total.positive:
        return "undetermined (the memory reserved is not stated)"
    share = reserved.value / total.value
    stated = f"{shown(reserved, 'B')} reserved of {shown(total, 'B')}, {percent(share, 3)}"
    if share <= FULL_MEMORY_SHARE:
        return f"undetermined ({stated})"
    return f"memory spilled to the host ({stated})"
