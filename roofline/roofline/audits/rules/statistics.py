"""Rules on the statistics of one row's times."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import pairwise

from roofline.audits.row import Number, StatedRow, exact, shown
from roofline.audits.rule import Contradiction, Known, rule

_HIGH = 0.9
"""From this percentile on a mean above it is worth a word, even where it is not impossible."""

_FAR_BELOW = 0.1
"""Share of the mean below which a minimum is of something else than the step."""

_FINE = 0.001
"""A spread printed as 0 says something only where the digits would show a thousandth of the value."""


@rule("mean above a stated percentile")
def mean_above_percentile(rows: Sequence[StatedRow], known: Known, tolerance: float) -> Iterator[Contradiction | None]:
    """No mean lies above the maximum, nor above p x P + (1 - p) x maximum where a share p of the times is at or below
    P: such a mean is of other times. A mean above p90 or a higher percentile is possible, but then a tenth of the times
    or less outweighs all others: it describes the outliers, or it is of other times."""
    for row in rows:
        mean = row.mean_time_s
        stated = [(share, time) for share, time in row.percentiles if share > 0]
        if mean is None or not stated:
            continue
        found = [text for share, time in stated if (text := _too_high(row, mean, share, time)) is not None]
        yield Contradiction(row=row, arithmetic="; ".join(found)) if found else None


@rule("percentiles out of order")
def out_of_order(rows: Sequence[StatedRow], known: Known, tolerance: float) -> Iterator[Contradiction | None]:
    """A higher percentile is never the smaller one, and no mean lies below the minimum: else columns were exchanged or
    come from different runs."""
    for row in rows:
        if len(row.percentiles) < 2 and (row.mean_s is None or not row.percentiles):
            continue
        found = [
            f"{_name(high)} {shown(above, 's')} is below {_name(low)} {shown(below, 's')}"
            for (low, below), (high, above) in pairwise(row.percentiles)
            if above.high < below.low
        ]
        least = next((time for share, time in row.percentiles if share == 0), None)
        if least is not None and row.mean_s is not None and row.mean_s.high * (1 + 1e-9) < least.low:
            found.append(f"mean {shown(row.mean_s, 's')} is below the minimum {shown(least, 's')}")
        yield Contradiction(row=row, arithmetic="; ".join(found)) if found else None


@rule("times in two clusters")
def two_clusters(rows: Sequence[StatedRow], known: Known, tolerance: float) -> Iterator[Contradiction | None]:
    """A mean below the lower quartile with a minimum of less than a tenth of it: less than a quarter of the times, all
    far shorter than the rest, pull it there. So it is where launches on a GPU were not waited for: the first ones fill
    the queue and cost microseconds, and the later ones wait for room in it. Neither is the time of a step."""
    for row in rows:
        stated = dict(row.percentiles)
        mean, least, lower = row.mean_time_s, stated.get(0.0), stated.get(0.25)
        if mean is None or least is None or lower is None:
            continue
        if mean.high >= lower.low or least.high >= _FAR_BELOW * mean.low:
            yield None
            continue
        text = (
            f"mean {shown(mean, 's')} is below the lower quartile {shown(lower, 's')}, and the minimum is"
            f" {shown(least, 's')}: launches not waited for?"
        )
        yield Contradiction(row=row, arithmetic=text)


@rule("spread of exactly 0")
def zero_spread(rows: Sequence[StatedRow], known: Known, tolerance: float) -> Iterator[Contradiction | None]:
    """Times never repeat to the last digit: a standard deviation of 0 is that of a single run, of values copied, or was
    never computed. Not said of a row that states one run, nor where the digits are too few to tell."""
    for row in rows:
        for spread, value, unit in (
            (row.samples_per_s_sd, row.samples_per_s, "samples/s"),
            (row.step_time_sd_s, row.step_time_s, "s"),
        ):
            runs = row.runs or row.steps
            if spread is None or value is None or not value.positive or (runs is not None and runs.value < 2):
                continue
            if spread.value > 0:
                yield None
                continue
            if spread.high > _FINE * value.value:
                continue
            over = "" if runs is None else f" over {shown(runs)} runs"
            yield Contradiction(row=row, arithmetic=f"{shown(value)} ± 0 {unit}{over}: no clock gives that")


def _too_high(row: StatedRow, mean: Number, share: float, time: Number) -> str | None:
    # The last bits of a mean are rounding.
    if mean.low <= time.high * (1 + 1e-9):
        return None
    stated = f"mean {shown(mean, 's')} is above {_name(share)} {shown(time, 's')}"
    if share == 1:
        return stated
    if share >= _HIGH:
        return f"{stated}: the slowest {100 * (1 - share):.0f} % would outweigh all others"
    bound = _most(row, share, time)
    if bound is None or mean.low <= bound.high * (1 + 1e-9):
        return None
    return f"{stated}, and above {shown(bound, 's')}, the most that it and the maximum allow"


def _most(row: StatedRow, share: float, time: Number) -> Number | None:
    """The largest mean that a percentile and the maximum leave room for; None where they bound nothing."""
    slowest = dict(row.percentiles).get(1.0)
    if slowest is None or row.steps is None:
        return None
    # Of n times, interpolation may leave one fewer at or below the percentile than its share says.
    sure = max(0.0, share - 1 / max(1.0, row.steps.value))
    return exact(sure) * time + exact(1 - sure) * slowest


def _name(share: float) -> str:
    return {0.0: "minimum", 0.5: "median", 1.0: "maximum"}.get(share, f"p{100 * share:.0f}")
