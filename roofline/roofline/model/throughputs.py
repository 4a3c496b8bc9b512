"""Throughputs of cases against each other: whether margins tell them apart, and the knee over batch sizes."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Literal

from roofline.model.points import Point

NEAR_BEST = 0.9
"""Of the best throughput: what larger batches gain beyond this is seldom worth their memory and latency."""


def apart_by_margins(ratio: float, point: Point, other: Point) -> Literal["yes", "no"] | None:
    """Tell whether the ratio of two throughputs or step times differs from 1 by more than both margins together.

    None where one of them has no margin.
    """
    margin = _margin(point, other)
    return None if math.isinf(margin) else "yes" if abs(ratio - 1) > margin else "no"


def knee(points: Sequence[Point]) -> int | None:
    """Place of the smallest batch whose throughput is at least `NEAR_BEST` of the best; None where margins leave it
    open.

    :param points: cases that differ in their batch size alone, the smallest first, each with a throughput.
    """
    for place, point in enumerate(points):
        others = [other for other in points if other is not point]
        shares = [
            ((point.samples_per_s or 0.0) / (other.samples_per_s or 1.0), _margin(point, other)) for other in others
        ]
        if not any(share + margin < NEAR_BEST for share, margin in shares):
            return place if all(share - margin >= NEAR_BEST for share, margin in shares) else None
    return None


def _margin(point: Point, other: Point) -> float:
    """Of the ratio of both, relative; infinite where one has none."""
    return math.inf if point.margin is None or other.margin is None else point.margin + other.margin
