"""The roofline of one machine as plain dicts: lines of roofs with their labels, and the places of its cases."""

from __future__ import annotations

import math
from collections.abc import Sequence

from roofline.model.points import Point
from roofline.plots.rooflines.roofline import LINE_STYLES
from roofline.plots.rooflines.roofline_content import (
    Content,
    Placed,
    ceiling_label,
    ceilings_of,
    drawable,
    level_label,
    limits,
    marker_size,
    published_beside,
)
from roofline.report.page.cells import Data, rounded
from roofline.schema.session import Roof


def roofline_data(points: Sequence[Point]) -> Data:
    """Place the cases of one machine under its roofs.

    :param points: all rows of its table, in their order; at least one.
    """
    content = Content(drawable(points) or points)
    row_of = {id(point): row for row, point in enumerate(points)}
    ceilings, levels = ceilings_of(content.roofs, content.used), content.roofs.levels
    published = published_beside(points, [*ceilings, *levels])
    more = [one for one in published if one.kind == "flop"]
    x_low, x_high, y_low, y_high = limits(content.placed, [*ceilings, *more], levels)
    top = max((ceiling.value for ceiling in ceilings), default=y_high)
    return {
        "x": [x_low, x_high],
        "y": [y_low, y_high],
        "levels": [
            *(_level(level, x_low, y_low, min(x_high, top / level.value)) for level in levels),
            *(
                _thin(_level(level, x_low, y_low, min(x_high, top / level.value)))
                for level in published
                if level.kind == "byte"
            ),
        ],
        "ceilings": [
            *(_ceiling(one, content, x_low, x_high) for one in ceilings),
            *({**_thin(_ceiling(one, content, x_low, x_high)), "label": ceiling_label(one, None)} for one in more),
        ],
        "points": [_place(one, row_of[id(one.point)]) for one in content.placed],
        "lines": _how_to_read(content),
        "notes": content.footer,
    }


def _thin(line: Data) -> Data:
    """The line of a published roof. It is drawn ``beside`` those of other machines where a measured one would be."""
    return {**line, "beside": line["strong"], "strong": False, "thin": True, "dash": "2px,3px", "knee": None}


def _how_to_read(content: Content) -> list[str]:
    if not content.placed:
        return []
    several = len({one.record.case.batch for one in content.placed}) > 1
    hollow = any(one.point.placement.provenance == "time_only" for one in content.placed)
    first, *rest = content.lines
    marks = [first, *(["size: batch"] if several else []), *(["hollow: from time alone, no bound"] if hollow else [])]
    return ["; ".join(marks), *rest]


def _level(level: Roof, x_low: float, y_low: float, end: float) -> Data:
    start = max(x_low, y_low / level.value)
    return {
        "x": [start, end],
        "y": [start * level.value, end * level.value],
        "label": level_label(level),
        "strong": level.name == "dram",
    }


def _ceiling(ceiling: Roof, content: Content, x_low: float, x_high: float) -> Data:
    dram = next((level for level in content.roofs.levels if level.name == "dram"), None)
    fastest = max((level.value for level in content.roofs.levels), default=None)
    strong = ceiling.name in content.used or not content.used
    return {
        "x": [x_low if fastest is None else max(x_low, ceiling.value / fastest), x_high],
        "y": ceiling.value,
        "label": ceiling_label(ceiling, dram),
        "strong": strong,
        "dash": _dash(ceiling.name),
        "knee": ceiling.value / dram.value if dram is not None and strong else None,
    }


def _dash(name: str) -> str:
    """A line style of matplotlib in pixels, as SVG has it."""
    style = LINE_STYLES.get(name, "-")
    return "solid" if style == "-" else ",".join(f"{2 * length:g}px" for length in style[1])


def _place(one: Placed, row: int) -> Data:
    place = one.point.placement
    shares = (place.fraction_low, place.fraction_high)
    return {
        "row": row,
        "x": rounded(math.sqrt(one.low * one.high)),
        "low": rounded(one.low),
        "high": rounded(one.high),
        "y": rounded(one.attained),
        "size": round(marker_size(one.record.case.batch), 1),
        "share": [rounded(share) for share in shares if share is not None],
        **({"open": True} if place.provenance == "time_only" else {}),
    }
