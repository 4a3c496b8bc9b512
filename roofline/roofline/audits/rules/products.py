"""Rules on figures whose product is another figure of the same row, such as throughput x latency = batch size."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from roofline.audits.row import Number, StatedRow, agree, difference, exact, shown
from roofline.audits.rule import Contradiction, Known, rule


@rule("rate x time is not the work", tolerance=0.03)
def rate_times_time(rows: Sequence[StatedRow], known: Known, tolerance: float) -> Iterator[Contradiction | None]:
    """FLOP/s x time of a step must be the FLOP of a step, steps/s x time of a step must be 1, and steps x time of a
    step the time of all. Else at least one of the three figures is of something else."""
    for row in rows:
        products = [product for product in (_flop(row), _steps_per_s(row), _total(row)) if product is not None]
        if not products:
            continue
        wrong = [text for found, expected, text in products if not agree(found, expected, tolerance)]
        yield Contradiction(row=row, arithmetic="; ".join(wrong)) if wrong else None


@rule("throughput x latency is not the batch", tolerance=0.03)
def throughput_times_latency(
    rows: Sequence[StatedRow], known: Known, tolerance: float
) -> Iterator[Contradiction | None]:
    """Samples/s x time of a step must be the samples of a step (with steps one after the other). Else the two were not
    measured in the same run, or the batch or a unit is wrong."""
    for row in rows:
        rate, time, batch = row.samples_per_s, row.time_s, row.batch
        if rate is None or time is None or batch is None or not batch.positive:
            continue
        found = rate * time
        if agree(found, batch, tolerance):
            yield None
        else:
            text = f"{shown(rate)} samples/s x {shown(time, 's')} = {shown(found)}, but the batch is {shown(batch)}"
            yield Contradiction(row=row, arithmetic=f"{text} ({difference(found, batch)})")


@rule("a count that is not 2 FLOP a multiply-add", tolerance=0.03)
def flop_of_mac(rows: Sequence[StatedRow], known: Known, tolerance: float) -> Iterator[Contradiction | None]:
    """FLOP of a sample beside multiply-adds (MAC) of one: a MAC is 2 FLOP, and a training step is 3 forward passes.
    Else one of the two is of another convention, another model or another image size."""
    for row in rows:
        flop, mac = row.flop_per_sample, row.mac_per_sample
        if flop is None or mac is None or not mac.positive:
            continue
        factors = (2.0,) if row.mode == "infer" else (2.0, 6.0)
        if any(agree(flop, exact(factor) * mac, tolerance) for factor in factors):
            yield None
        else:
            text = f"{shown(flop, 'FLOP')} a sample, but {shown(mac, 'MAC')}, which are {shown(exact(2) * mac, 'FLOP')}"
            yield Contradiction(row=row, arithmetic=f"{text} ({difference(flop, exact(2) * mac)})")


def _flop(row: StatedRow) -> tuple[Number, Number, str] | None:
    rate, time, work = row.attained_flop_per_s, row.time_s, row.flop_per_step
    if rate is None or time is None or work is None or not work.positive:
        return None
    found = rate * time
    text = f"{shown(rate, 'FLOP/s')} x {shown(time, 's')} = {shown(found, 'FLOP')}, but a step has"
    return found, work, f"{text} {shown(work, 'FLOP')} ({difference(found, work)})"


def _steps_per_s(row: StatedRow) -> tuple[Number, Number, str] | None:
    rate, time = row.steps_per_s, row.mean_s
    if rate is None or time is None:
        return None
    found = rate * time
    return found, exact(1.0), f"{shown(rate)} steps/s x {shown(time, 's')} = {shown(found)} steps, not 1"


def _total(row: StatedRow) -> tuple[Number, Number, str] | None:
    steps, time, total = row.steps, row.step_time_s, row.total_s
    if steps is None or time is None or total is None or not total.positive:
        return None
    found = steps * time
    text = f"{shown(steps)} steps x {shown(time, 's')} = {shown(found, 's')}, but all together took"
    return found, total, f"{text} {shown(total, 's')} ({difference(found, total)})"
