"""A case's fraction of its roof or of the speed of light, and how well the measurement knows it.

Two things leave a session's own fraction open:

- **timing**: the margin that the session reached (`Timing.margin`; where none can be claimed, the deviation of its
  rounds). Of a session whose rounds, or whose cases, were mostly disturbed from outside it isn't known.
- **roofs**: a roof is the best of its samples. By the worst of them (value x (1 - spread)) the same time is a larger
  fraction; this is the share by which. A roof that was sampled once shows no spread, and that is said.

Of several sessions the case's fraction is the median. What is left open of it is bounded by the session above which so
few lie by a chance of one in `ONE_IN` at most, were the median the true one, by its own margin and its own roofs' worst
samples; with fewer than eight sessions it is the highest (the interval of a quantile by order statistics: W. J.
Conover, "Practical Nonparametric Statistics", 3rd edition (1999), section 3.2). Nothing is assumed of how they scatter.
"""

from __future__ import annotations

import math
import statistics
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from roofline.machine.roof_choice import Roofs
from roofline.model.placement import place
from roofline.model.points import Point
from roofline.model.speed_of_light import speed_of_light
from roofline.schema.amounts import usable
from roofline.schema.session import Roof
from roofline.text.units import percent, short_commit
from roofline.timing.step_time import mostly_disturbed


@dataclass(frozen=True, slots=True, kw_only=True)
class Fraction:
    """``value`` is the median over the sessions, ``least`` the lowest of them, ``at_most`` the largest value that the
    measurement leaves open.

    The others are relative: ``timing`` of the session that knows its time worst, None where one doesn't tell;
    ``sessions`` the standard deviation of single ones, None where there is only one; ``roofs`` the median. ``once``: a
    roof over the case was sampled once, so far. ``count`` is of the sessions.
    """

    value: float
    least: float
    at_most: float
    timing: float | None
    sessions: float | None
    roofs: float
    once: bool = False
    count: int = 1

    @property
    def scatter(self) -> float:
        """Of a single session's time: margin and deviation between sessions, which are independent. Relative."""
        return math.hypot(self.timing or 0.0, self.sessions or 0.0)

    @property
    def timed(self) -> bool:
        """Tell whether there is a time at all: one that is known to no better than itself is none."""
        return self.timing is None or self.timing < 1

    @property
    def open(self) -> bool:
        """Tell whether it may be more than twice what was found: nothing could be shown to lie above that."""
        return self.at_most > 2 * self.value

    @property
    def why_open(self) -> str:
        """Say what leaves it open, in words."""
        timing = "timing not known" if self.timing is None else f"timing ±{percent(self.timing)}"
        sessions = "" if self.sessions is None else f", between sessions ±{percent(self.sessions)}"
        once = ", a roof sampled once" if self.once else ""
        return f"{timing}{sessions}, by the roofs' worst samples +{percent(self.roofs)}{once}"

    @property
    def why_at_most(self) -> str:
        """Say what ``at_most`` is by, in words."""
        if self.count == 1:
            return self.why_open
        rank = from_the_top(self.count)
        return f"by the highest{f' but {rank - 1}' if rank > 1 else ''} of {self.count} sessions; {self.why_open}"


ONE_IN = 20
"""So rarely the median of sessions lies beyond the bound that they are taken for."""


def from_the_top(sessions: int) -> int:
    """Say which of so many sessions bounds their median, counted from the highest: 1 of up to seven, 2 of eight, ..."""
    ways, rank = 1, 0
    while ONE_IN * ways <= 2**sessions:
        rank += 1
        ways += math.comb(sessions, rank)
    return max(1, rank)


def of_roof(points: Sequence[Point], disturbed: Mapping[Path, str]) -> Fraction | None:
    """Of what the roofs allow, by the end of the intensity range where it is largest: of bytes that are only known as a
    range, the least that could be true. None where a session has no such fraction.

    :param disturbed: the sessions of a disturbed hour.
    """
    return _fraction(points, disturbed, _fraction_of_roof)


def of_speed_of_light(points: Sequence[Point], disturbed: Mapping[Path, str]) -> Fraction | None:
    """Of the speed of light. None where a session has no such fraction."""
    return _fraction(points, disturbed, _fraction_of_speed_of_light)


def lowest(roofs: Roofs) -> Roofs:
    """The roofs by their worst samples. A published one has none, and stays; so does a latency, the best of which is
    the least.
    """
    return replace(
        roofs,
        roofs=tuple(
            replace(roof, value=roof.value * max(1 - roof.spread, _NOTHING))
            if roof.kind != "latency" and roof.spread is not None and roof.spread > 0
            else roof
            for roof in roofs.roofs
        ),
    )


_NOTHING = 1e-9
"""Share of a roof's value that stays where its samples differ by all of it: no fraction of it is known."""


def bounding(point: Point) -> list[Roof]:
    """The roofs that a point's bound and fractions come from: those of its dtypes and of all levels of memory."""
    record = point.benchmark.record
    dtypes = record.work.flop_by_dtype if record is not None and record.work is not None else {}
    return [roof for roof in point.roofs.roofs if dtypes.get(roof.name, 0) > 0 or roof.name in ("dram", "llc")]


def _fraction(
    points: Sequence[Point], disturbed: Mapping[Path, str], get: Callable[[Point, Roofs], float | None]
) -> Fraction | None:
    pairs = [(get(point, point.roofs), get(point, lowest(point.roofs))) for point in points]
    known = [(value, most) for value, most in pairs if value is not None and most is not None]
    if not pairs or len(known) < len(pairs):
        return None
    values = [value for value, _ in known]
    timings = [_timing(point, disturbed) for point in points]
    known_timings = [timing for timing in timings if timing is not None]
    highest = sorted(
        ((value, most * (1 + (timing or 0.0))) for (value, most), timing in zip(known, timings, strict=True)),
        reverse=True,
    )
    return Fraction(
        value=statistics.median(values),
        least=min(values),
        at_most=highest[from_the_top(len(highest)) - 1][1],
        timing=max(known_timings) if len(known_timings) == len(timings) else None,
        sessions=statistics.stdev(values) / statistics.fmean(values) if len(values) > 1 else None,
        roofs=max(0.0, statistics.median(most / value for value, most in known) - 1),
        once=any(len(roof.samples) == 1 for point in points for roof in bounding(point)),
        count=len(values),
    )


def _fraction_of_roof(point: Point, roofs: Roofs) -> float | None:
    fraction = place(point.benchmark.record, roofs).fraction_high
    return fraction if fraction is not None and usable(fraction) else None


def _fraction_of_speed_of_light(point: Point, roofs: Roofs) -> float | None:
    record = point.benchmark.record
    if record is None or point.step_time_s is None or not usable(point.step_time_s):
        return None
    least = speed_of_light(record, roofs, resident=point.placement.cache_resident).time_s
    return least / point.step_time_s if least is not None and usable(least) else None


def why_disturbed(point: Point, disturbed: Mapping[Path, str]) -> str | None:
    """Say why nothing is concluded from its time: hardly a round of it was left alone, or hardly a case of its session.
    None where enough were, or nobody looked.

    :param disturbed: `roofline.comparison.observations.observation.disturbed_sessions`.
    """
    record = point.benchmark.record
    rounds = None if record is None or record.timing is None else record.timing.rounds
    if rounds is None or rounds.disturbed is None:
        return None
    return mostly_disturbed(rounds.disturbed) or disturbed.get(point.result.path)


def _timing(point: Point, disturbed: Mapping[Path, str]) -> float | None:
    record = point.benchmark.record
    timing = None if record is None else record.timing
    if why_disturbed(point, disturbed) is not None:
        return None
    margin = None if timing is None else timing.margin
    return min(margin, _NO_MARGIN) if margin is not None and margin >= 0 else point.spread


_NO_MARGIN = 1e9
"""A margin beyond this is as little of one, and can be calculated with."""


def of_several_commits(groups: Iterable[Sequence[Point]], done: str) -> str | None:
    """Say which commits; None where each group is of one, as far as its files tell.

    :param groups: sessions of a case each.
    :param done: what was done with the sessions of a group, such as "judged".
    """
    commits = [{short_commit(commit) for point in sessions if (commit := point.result.commit)} for sessions in groups]
    several = sorted(set[str]().union(*(of_group for of_group in commits if len(of_group) > 1)))
    if not several:
        return None
    return f"Sessions of several commits are {done} together: {', '.join(several)}. Give those of one at a time."
