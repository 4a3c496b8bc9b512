"""Rules on rates: their products with times (throughput x latency is the batch), FLOP/s against throughput, and how
throughput changes from batch to batch.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass

from roofline.audits.known_models import KnownModel
from roofline.audits.row import Mode, Number, StatedRow, agree, difference, exact, gap, shown
from roofline.audits.rule import Contradiction, Known, rule
from roofline.model.point_flags import CLIFF, FULL_MEMORY_SHARE
from roofline.text.units import percent, significant


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


COUNTINGS: dict[str, Callable[[KnownModel, Mode | None], Number]] = {
    # Right where a table has rows of both modes; of a row that states none it is the forward pass.
    "FLOP of the row's mode": lambda model, mode: model.of(mode or "infer"),
    "forward FLOP": lambda model, _: model.forward,
    "training FLOP": lambda model, _: model.training,
    "2 x forward FLOP": lambda model, _: exact(2) * model.forward,
    "3 x forward FLOP": lambda model, _: exact(3) * model.forward,
    "forward MAC": lambda model, _: exact(0.5) * model.forward,
    "3 x forward MAC": lambda model, _: exact(1.5) * model.forward,
}
"""The ways in which people count the FLOP of one sample: right for one mode, or a habit."""

_ENOUGH = 3
"""Rows of an unknown model that must agree on its FLOP a sample before another row is held against them."""


@dataclass(frozen=True, slots=True, kw_only=True)
class _Case:
    """A row that states attained FLOP/s and tells its throughput."""

    row: StatedRow
    attained: Number
    rate: Number


@dataclass(frozen=True, slots=True, kw_only=True)
class _Counted:
    """A case and the FLOP of a sample it should have been computed from."""

    case: _Case
    flop: Number
    name: str

    @property
    def expected(self) -> Number:
        return self.flop * self.case.rate


@rule("attained FLOP/s that no single throughput explains", tolerance=0.03)
def unexplained_rate(rows: Sequence[StatedRow], known: Known, tolerance: float) -> Iterator[Contradiction | None]:
    """Attained FLOP/s = FLOP of a sample x samples/s. A file counts FLOP in one way: the one (by mode, forward,
    training, twice forward, ...) that explains most of its rows is taken, and a row it doesn't explain was computed
    from another throughput than it prints. Where a row of another device has the same value, the run-weighted mean
    of both is tried. Models whose FLOP are not known are held against what at least three of their rows agree
    on."""
    files: defaultdict[str, list[_Case]] = defaultdict(list)
    for row in rows:
        attained, rate = row.attained_flop_per_s, row.rate
        if attained is not None and rate is not None and attained.positive and rate.positive:
            files[row.file].append(_Case(row=row, attained=attained, rate=rate))
    for cases in files.values():
        for counted in (*_of_known(cases, known, tolerance), *_of_unknown(cases, known, tolerance)):
            if agree(counted.case.attained, counted.expected, tolerance):
                yield None
            else:
                yield _contradiction(counted, cases, tolerance)


def _of_known(cases: Iterable[_Case], known: Known, tolerance: float) -> list[_Counted]:
    pairs = [(case, model) for case in cases if (model := known.models.of(case.row)) is not None]
    of_both_modes = len({case.row.mode for case, _ in pairs}) > 1
    # Where all rows are of one mode, the first is no different from another.
    countings = [*COUNTINGS.items()][0 if of_both_modes else 1 :]
    ways = [
        [
            _Counted(case=case, flop=flop_of(model, case.row.mode), name=f"{name} of {model.name}")
            for case, model in pairs
        ]
        for name, flop_of in countings
    ]
    return max(ways, key=lambda way: _explained(way, tolerance))


def _explained(way: Iterable[_Counted], tolerance: float) -> tuple[int, float]:
    """Count the rows that a way of counting explains; of ways that explain as many, the closest is the best."""
    gaps = [abs(gap(counted.case.attained, counted.expected)) for counted in way]
    return sum(one <= tolerance for one in gaps), -sum(min(one, 1.0) for one in gaps)


def _of_unknown(cases: Iterable[_Case], known: Known, tolerance: float) -> Iterator[_Counted]:
    models: defaultdict[tuple[object, ...], list[_Case]] = defaultdict(list)
    for case in cases:
        row = case.row
        if row.model is not None and known.models.of(row) is None:
            models[row.model, row.mode, row.size_pixel, row.length_token].append(case)
    for same in models.values():
        flop = [case.attained / case.rate for case in same]
        agreeing = [sum(agree(other, one, tolerance) for other in flop) for one in flop]
        if max(agreeing) >= _ENOUGH:
            usual = flop[agreeing.index(max(agreeing))]
            name = f"FLOP a sample, as in {max(agreeing)} rows of {same[0].row.model}"
            yield from (_Counted(case=case, flop=exact(usual.value), name=name) for case in same)


def _contradiction(counted: _Counted, cases: Iterable[_Case], tolerance: float) -> Contradiction:
    case = counted.case
    text = (
        f"{shown(counted.flop, 'FLOP')} ({counted.name}) x {shown(case.rate)} samples/s ="
        f" {shown(counted.expected, 'FLOP/s')}, but {shown(case.attained, 'FLOP/s')} is stated"
        f" ({difference(case.attained, counted.expected)})"
    )
    twins = [
        other
        for other in cases
        if other.row.device != case.row.device
        and other.row.work == case.row.work
        and other.attained.value == case.attained.value
    ]
    pooled = _pooled(counted, [case, *twins], tolerance) if twins else None
    if pooled is not None:
        return Contradiction(row=case.row, arithmetic=f"{text}. {pooled}", others=tuple(twin.row for twin in twins))
    needed = case.attained / counted.flop
    return Contradiction(
        row=case.row, arithmetic=f"{text}. It would take {shown(needed)} samples/s; no row of another device shares it"
    )


def _pooled(counted: _Counted, group: Sequence[_Case], tolerance: float) -> str | None:
    """Show the stated value as a mean over the devices of ``group``; None where it is none."""
    group = sorted(group, key=lambda case: case.row.number)
    weights = [case.row.runs.value if case.row.runs is not None else 1.0 for case in group]
    total = sum(weights)
    if total <= 0:
        return None
    rate = sum(weight * case.rate.value for weight, case in zip(weights, group, strict=True)) / total
    if not agree(counted.case.attained, counted.flop * exact(rate), tolerance):
        return None
    terms = " + ".join(f"{shown(weight)} x {shown(case.rate)}" for weight, case in zip(weights, group, strict=True))
    places = " and ".join(f"{case.row.place} ({case.row.device})" for case in group)
    return (
        f"Pooled over {places}: the run-weighted mean ({terms}) / {shown(total)} = {shown(rate)} samples/s gives"
        f" {shown(counted.flop * exact(rate), 'FLOP/s')}"
    )


@rule("throughput cliff against a smaller batch")
def throughput_cliff(rows: Sequence[StatedRow], known: Known, tolerance: float) -> Iterator[Contradiction | None]:
    """Less than half the throughput of a smaller batch of the same case, compared with the best of the smaller ones so
    that what comes after the first fall is found too. A larger batch has no more work a sample. The likely cause is
    named where the row tells the memory: past the card's, a driver spills to the host without an error."""
    series: defaultdict[tuple[object, ...], list[tuple[StatedRow, Number, Number]]] = defaultdict(list)
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


def _cause(row: StatedRow) -> str:
    reserved, total = row.reserved_byte, row.memory_byte
    if reserved is None or total is None or not total.positive:
        return "undetermined (the memory reserved is not stated)"
    share = reserved.value / total.value
    stated = f"{shown(reserved, 'B')} reserved of {shown(total, 'B')}, {percent(share, 3)}"
    if share <= FULL_MEMORY_SHARE:
        return f"undetermined ({stated})"
    return f"memory spilled to the host ({stated})"
