"""Points with round figures: 1e12 FLOP/s attained under a roof of 1e13, a DRAM of 1e11 byte/s, so a knee of 100."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

from roofline.comparison.gate import judge
from roofline.expectations.bounds_table import found_in
from roofline.expectations.outcome import Checked
from roofline.model.points import Point
from roofline.schema.record import Record, Work
from roofline.schema.session import Roof
from tests.roofline import build


def roofs(spread: float | None = 0.2, **more: Any) -> tuple[Roof, ...]:
    """By their worst samples 8e12 FLOP/s and 8e10 byte/s, with a spread of a fifth."""
    return (
        build.roof("flop", "fp32", 1e13, spread=spread, **more),
        build.roof("byte", "dram", 1e11, spread=spread, **more),
    )


def compute_work() -> Work:
    """250 to 1000 FLOP/byte: a tenth of the roof, and a tenth of the speed of light."""
    return build.work(1e11, 1e8, 4e8)


def memory_work() -> Work:
    """25 to 50 FLOP/byte: 0.2 to 0.4 of the roof, and by the least bytes 0.2 of the speed of light."""
    return build.work(1e11, 2e9, 4e9)


def record(**changes: Any) -> Record:
    return build.record(**{"work": compute_work(), **changes})


def points(
    folder: Path,
    *records: Record | None,
    name: str = "a",
    over: Iterable[Roof] | None = None,
    session: Mapping[str, Any] | None = None,
    machine: Mapping[str, Any] | None = None,
) -> tuple[Point, ...]:
    """What one file's records come to."""
    of = build.session(tuple(roofs() if over is None else over), **(session or {}))
    return build.points(folder / f"{name}.json", records, of=of, on=build.machine(**(machine or {})))


def sessions(folder: Path, *records: Record | None, spread: float | None = None) -> list[Point]:
    """A session each, an hour apart."""
    return [
        point
        for number, record in enumerate(records)
        for point in points(
            folder,
            record,
            name=f"s{number}",
            over=roofs(spread),
            session={"started_at": f"2026-11-20T1{number}:00:00+00:00"},
        )
    ]


def exit_code(checked: Checked) -> int:
    """What the gate makes of it."""
    return judge(found_in(checked)).exit_code
