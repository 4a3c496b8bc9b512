"""Choose what a roofline shows, whatever draws it: cases that can be placed, their roofs, the reach of the axes."""

from __future__ import annotations

import math
from collections.abc import Collection, Sequence
from dataclasses import dataclass

from roofline.machine.roof_choice import Roofs
from roofline.model.point_groups import runs_of
from roofline.model.points import Point
from roofline.schema.record import Record
from roofline.schema.session import Roof
from roofline.text.units import scaled, significant

_LISTED = 8


@dataclass(frozen=True, slots=True)
class Spot:
    """The place of a point: least and most FLOP/byte, and FLOP/s. Every number is finite and above 0."""

    low: float
    high: float
    attained: float


@dataclass(frozen=True, slots=True)
class Placed(Spot):
    """The spot of a point that can be drawn."""

    point: Point
    record: Record


def spot_of(point: Point) -> Spot | None:
    """Find where the whole step stands; None where that isn't known."""
    place = point.placement
    if not place.intensity_low or not place.intensity_high or not place.attained_flop_per_s:
        return None
    return Spot(place.intensity_low, place.intensity_high, place.attained_flop_per_s)


class Content:
    """Cases of one device under their roofs; in ``footer`` what can't be drawn, with the reason, in ``lines`` how to
    read it. No roofs and no placed cases are no error.

    :param points: of one device, at least one.
    """

    def __init__(self, points: Sequence[Point]) -> None:
        self.placed, left_out = _sorted_out(points)
        shown = [one.point for one in self.placed] or list(points)
        self.roofs, whose = _newest_roofs(shown)
        works = (one.record.work for one in self.placed)
        self.used = {dtype for work in works if work is not None for dtype in work.dtypes}
        about = (runs_of(shown), whose)
        self.lines = ["bar: range of the intensity, from most to least bytes", *(line for line in about if line)]
        self.footer = _footer(left_out, self.roofs.notices, self.roofs.why_none)


def drawable(points: Sequence[Point]) -> list[Point]:
    """Those that ran a model, or of which nobody knows what they ran."""
    return [point for point in points if point.mode in ("train", "infer") or point.benchmark.record is None]


def _sorted_out(points: Sequence[Point]) -> tuple[list[Placed], list[tuple[Point, str]]]:
    drawn: list[Placed] = []
    left_out: list[tuple[Point, str]] = []
    for point in points:
        record, spot = point.benchmark.record, spot_of(point)
        if point.mode == "roof":
            continue
        if point.why_not_drawn is not None:
            left_out.append((point, point.why_not_drawn))
        elif record is not None and spot is not None:
            drawn.append(Placed(spot.low, spot.high, spot.attained, point, record))
    return drawn, left_out


def _newest_roofs(points: Sequence[Point]) -> tuple[Roofs, str | None]:
    """Choose the roofs over points of several runs: of each the newest measured, else the published one.

    :returns: the roofs, and whose they are where some points were measured under others.
    """
    order = sorted(points, key=lambda point: point.result.when, reverse=True)
    chosen: dict[tuple[str, str], Roof] = {}
    for source in ("measured", "spec"):
        for point in order:
            for roof in point.roofs.roofs:
                if roof.source == source:
                    chosen.setdefault((roof.kind, roof.name), roof)
    roofs = Roofs(roofs=tuple(chosen.values()), why_none=None if chosen else order[0].roofs.why_none)
    others = sum(any(chosen[one.kind, one.name].value != one.value for one in point.roofs.roofs) for point in points)
    if not others:
        return roofs, None
    return roofs, (
        f"Roofs drawn: of each the newest. {others} of {len(points)} cases were measured under others; tables hold each"
        " against the roofs of its own run."
    )


def _footer(left_out: Sequence[tuple[Point, str]], notices: Sequence[str], why_no_roofs: str | None) -> list[str]:
    lines = [f"No roofs: {why_no_roofs}", *notices] if why_no_roofs else list(notices)
    lines += [f"Not drawn: {point.id}: {reason}" for point, reason in left_out[:_LISTED]]
    if len(left_out) > _LISTED:
        lines.append(f"and {len(left_out) - _LISTED} more: `roofline points` lists all with the reason")
    return lines


def ceilings_of(roofs: Roofs, used: Collection[str]) -> list[Roof]:
    """The compute roofs to draw: a published one that nothing here ran in would only be clutter.

    :param used: the dtypes of the points.
    """
    return [roof for roof in roofs.roofs if roof.kind == "flop" and (roof.source == "measured" or roof.name in used)]


def published_beside(points: Sequence[Point], drawn: Sequence[Roof]) -> list[Roof]:
    """Choose the published value of each roof that is drawn as it was measured.

    :param points: of one device, at least one.
    """
    measured = {(roof.kind, roof.name) for roof in drawn if roof.source == "measured"}
    newest = max(points, key=lambda point: point.result.when)
    return [roof for roof in newest.roofs.published if (roof.kind, roof.name) in measured]


def ceiling_label(ceiling: Roof, dram: Roof | None) -> str:
    """Name, FLOP/s, source and knee of a compute roof."""
    knee = "" if dram is None else f", knee {significant(ceiling.value / dram.value)}"
    return f"{ceiling.name}  {scaled(ceiling.value, 'FLOP/s')}{_published(ceiling)}{knee}"


def level_label(level: Roof) -> str:
    """Name, byte/s and source of a memory roof."""
    name = "DRAM" if level.name == "dram" else "last-level cache"
    return f"{name} {scaled(level.value, 'B/s')}{_published(level)}"


def _published(roof: Roof) -> str:
    return "" if roof.source == "measured" else " (published)"


def limits(
    spots: Sequence[Spot], ceilings: Sequence[Roof], levels: Sequence[Roof]
) -> tuple[float, float, float, float]:
    """Ends of the axes: FLOP/byte, then FLOP/s."""
    knees = [ceiling.value / level.value for ceiling in ceilings for level in levels]
    across = [*knees, *(one.low for one in spots), *(one.high for one in spots)] or [0.1, 100.0]
    x_low, x_high = min(across) / 4, max(across) * 2.5
    up = [ceiling.value for ceiling in ceilings] + [one.attained for one in spots]
    if not up:
        up = [level.value * x for level in levels for x in (x_low, x_high)] or [1e9, 1e12]
    return x_low, x_high, min(up) / 4, max(up) * 2.2


def marker_size(batch: int) -> float:
    """Points: the area is seen as proportional to the logarithm of the batch, and bounded."""
    return math.sqrt(32 + 14 * min(math.log2(max(batch, 1)), 12))
