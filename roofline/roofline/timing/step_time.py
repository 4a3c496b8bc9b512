"""The step time of a case: the median of its undisturbed rounds, the same figure wherever it is shown or judged.

Rounds are left out by their marks alone, never by their time (`Rounds.disturbed`). The spread and the margin that stand
beside the step time are of the same rounds. The mean of all rounds is a figure of its own, for those who know
pytest-benchmark's.
"""

from __future__ import annotations

import math
import statistics
from collections.abc import Sequence
from dataclasses import dataclass, replace

from roofline.schema.amounts import usable
from roofline.schema.record import Flag, Record, Rounds, Timing
from roofline.timing.margin import estimator_of

LEAST_QUIET_SHARE = 0.5
"""Where fewer of the rounds are undisturbed, the rounds tell of the machine's other users: even those without a mark
were slower then, by up to 15 % where this was recorded."""

AGREEMENT = 0.01
"""Relative difference up to which two figures of one row are the same: none of them is rounded."""

_MEAN_SCHEMA = 1
"""Up to this schema a record's figures are of the mean of all rounds."""


@dataclass(frozen=True, slots=True, kw_only=True)
class StepTime:
    """The time of one step from a series of rounds, in seconds.

    :param time_s: the median of the undisturbed rounds; of all, where more than half were disturbed.
    :param sd_s: standard deviation of the same rounds; None of a single one.
    :param mean_s: of all rounds.
    """

    time_s: float
    sd_s: float | None
    mean_s: float


def step_times_s(rounds: Rounds) -> list[float]:
    """Seconds of a step in each round that the step time is made of; `rounds` must have steps."""
    return [wall / rounds.steps for wall in undisturbed(rounds.wall_s, rounds.disturbed)]


def undisturbed(values: Sequence[float], marks: Sequence[str | None] | None) -> list[float]:
    """The values of rounds without a mark; all of them where no marks were recorded, and where most rounds have one.

    A few rounds that escaped are no sample of the case: one of two hundred is nearly its minimum.
    """
    if marks is None or len(marks) != len(values) or mostly_disturbed(marks):
        return list(values)
    return [value for value, mark in zip(values, marks, strict=True) if mark is None]


def has_times(rounds: Rounds) -> bool:
    """True if there are rounds, and each has a time that can be calculated with."""
    return rounds.steps >= 1 and len(rounds.wall_s) > 0 and all(map(usable, rounds.wall_s))


def step_time(rounds: Rounds) -> StepTime | None:
    """The step time by the rounds; None without rounds, or where a round's time can't be calculated with."""
    if not has_times(rounds):
        return None
    kept = step_times_s(rounds)
    return StepTime(
        time_s=statistics.median(kept),
        sd_s=_deviation(kept) if len(kept) > 1 else None,
        mean_s=statistics.fmean(rounds.wall_s) / rounds.steps,
    )


def mean_of_all_s(rounds: Rounds) -> float | None:
    """pytest-benchmark's mean, of disturbed rounds too; None where `step_time` is."""
    return statistics.fmean(rounds.wall_s) / rounds.steps if has_times(rounds) else None


def left_out(rounds: Rounds) -> int | None:
    """Count the rounds that the step time is not of, because something disturbed them; None where `step_time` is."""
    return len(rounds.wall_s) - len(undisturbed(rounds.wall_s, rounds.disturbed)) if has_times(rounds) else None


def throughput(record: Record) -> float | None:
    """Samples per second, by the wall; None without a usable time or number of samples."""
    if record.timing is None or not usable(record.timing.step_time_s) or record.case.samples_per_step < 1:
        return None
    return record.case.samples_per_step / record.timing.step_time_s


def _deviation(values: Sequence[float]) -> float:
    """Standard deviation of a sample, as `statistics.stdev` has it to some 15 digits, in a tenth of its time."""
    mean = statistics.fmean(values)
    return math.sqrt(math.fsum((value - mean) ** 2 for value in values) / (len(values) - 1))


def mostly_disturbed(marks: Sequence[str | None] | None) -> str | None:
    """Give the reason why the rounds say nothing of the case: more than half were disturbed. Else None.

    :param marks: what disturbed each round, or None; None altogether where nothing was read to tell.
    """
    count = len(marks or ())
    disturbed = 0 if marks is None else count - marks.count(None)
    return f"{disturbed} of {count} rounds were disturbed from outside" if too_many(disturbed, count) else None


def too_many(disturbed: int, count: int) -> bool:
    """True if too few of ``count`` were undisturbed to say anything of them all."""
    return disturbed > 0 and count - disturbed < max(1, LEAST_QUIET_SHARE * count)


def margin_flag(timing: Timing, why_none: str) -> Flag | None:
    """The flag for a margin that was asked for and not reached.

    :param why_none: why no margin is claimed, where none is.
    """
    if timing.margin_target is None or (timing.margin is not None and timing.margin <= timing.margin_target):
        return None
    reached = f"no margin can be claimed ({why_none})" if timing.margin is None else f"±{timing.margin:.2%} reached"
    return Flag(name="margin", evidence=f"{reached}, ±{timing.margin_target:.2%} asked for")


def by_median(record: Record) -> Record:
    """A record with the figures of today: of an older one, that tells the mean of all rounds and its margin, they are
    worked out from the rounds.

    A record whose own figure contradicts its rounds stays as it is: a comparison refuses it, and says why. So does one
    whose confidence was edited to what no margin has.
    """
    timing = record.timing
    found = None if timing is None or record.schema > _MEAN_SCHEMA else step_time(timing.rounds)
    if timing is None or found is None or not abs(timing.step_time_s / found.mean_s - 1) <= AGREEMENT:
        return record
    if not 0.5 <= timing.confidence <= 0.999:
        return record
    why_none = mostly_disturbed(timing.rounds.disturbed)
    margin = None
    if why_none is None:
        kept = step_times_s(timing.rounds)
        reached = estimator_of(timing.confidence).of(kept, sum(kept) * timing.rounds.steps)
        margin, why_none = reached.half_width_relative, reached.reason
    # Which rounds belong to which repeat isn't recorded: the repeats' figures stay those of their means.
    sd_s = timing.step_time_sd_s if timing.repeat_step_time_s else found.sd_s
    timing = replace(timing, step_time_s=found.time_s, step_time_sd_s=sd_s, margin=margin)
    flag = margin_flag(timing, why_none or "")
    flags = [one for one in record.flags if one.name != "margin"]
    missing = {path: why for path, why in record.missing.items() if path != "timing.margin"}
    return replace(
        record,
        timing=timing,
        flags=(*flags, *([] if flag is None else [flag])),
        missing=missing if why_none is None else {**missing, "timing.margin": why_none},
    )
