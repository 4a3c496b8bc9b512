"""Tell what each session says of each of its cases, from placed points, for sessions that only follow one another."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence

from roofline.comparison.observations.observation import (
    Observation,
    Unusable,
    disturbed_sessions,
    observe,
    observe_stats,
)
from roofline.model.points import Point
from roofline.text.units import counted
from roofline.timing.step_time import mostly_disturbed


def observations(
    measured: Sequence[Point], *, with_error: bool = True
) -> tuple[list[tuple[Point, Observation]], dict[str, list[str]]]:
    """Collect what each session says of each case; and by the case's id why sessions say nothing of it.

    :param measured: cases, without the roofs.
    :param with_error: of records' rounds; it takes most of the time.
    """
    disturbed = disturbed_sessions({one.result.path: one.result for one in measured}.values())
    observed: list[tuple[Point, Observation]] = []
    left_out: dict[str, list[str]] = {}
    for point in measured:
        try:
            observed.append((point, _observation(point, point.result.path in disturbed, with_error)))
        except Unusable as error:
            left_out.setdefault(point.id, []).append(str(error))
    return observed, left_out


def left_out_notes(left_out: Mapping[str, Sequence[str]]) -> list[str]:
    """A line for each case with all that was left out of it, the most frequent reasons first."""
    lines = []
    for case, reasons in left_out.items():
        counts = Counter(reasons).most_common()
        told = [f"{why} ({counted(count, 'session')} left out)" for why, count in counts]
        lines.append(f"{case}: {'; '.join(told)}")
    return lines


def _observation(point: Point, disturbed: bool, with_error: bool) -> Observation:
    """:param disturbed: whether nothing of its session is taken that knows what disturbed it."""
    if not point.valid:
        raise Unusable(point.why_invalid)
    record = point.benchmark.record
    if record is None:
        return observe_stats(point.benchmark.stats, point.result.when)
    if record.timing is None:
        raise Unusable("no rounds in the record")
    rounds = record.timing.rounds
    if mostly_disturbed(rounds.disturbed) is not None:
        # Without its own numbers: of several sessions it is one reason.
        raise Unusable("most rounds were disturbed from outside")
    if disturbed and rounds.disturbed is not None:
        raise Unusable("most cases of the session were mostly disturbed from outside")
    return observe(rounds, point.result.when, with_error=with_error)
