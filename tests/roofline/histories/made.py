"""Results of many nights, as a history is made of."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import UTC, datetime, timedelta
from pathlib import Path
from random import Random
from typing import Any

from roofline.schema.record_json import to_json
from roofline.schema.session import SessionSet
from tests.roofline import build
from tests.roofline.comparison import sessions

BEGAN = datetime(2026, 1, 1, tzinfo=UTC)

UP = [1.0] * 12 + [1.1] * 8
"""Slower by 10 % since the thirteenth night."""


def commit(number: int) -> str:
    return f"{number:02}".ljust(40, "c")


def write(
    folder: Path,
    number: int,
    times: Mapping[str, float],
    sha: str | None = None,
    place: SessionSet | None = None,
    **machine: Any,
) -> Path:
    """The session of a night: its times with 0.5 % of scatter, of a commit of its own."""
    began = (BEGAN + timedelta(days=number, minutes=0 if place is None else place.index)).isoformat()
    rng = Random(f"{number} {place}")
    content = sessions.document(
        {model: seconds * (1 + rng.gauss(0, 0.005)) for model, seconds in times.items()}, number, began, **machine
    )
    content["commit_info"]["id"] = commit(number) if sha is None else sha
    if place is not None:
        content["roofline"]["set"] = to_json(place)
    return build.write(folder / f"{number:02}-{0 if place is None else place.index}.json", content)


def nights(folder: Path, factors: Sequence[float], **machine: Any) -> Path:
    """A night each, of two cases: one whose step takes so many times 0.1 s, and one that stays as it is."""
    for number, factor in enumerate(factors):
        write(folder, number, {"resnet50": 0.1 * factor, "resnet18": 0.01}, **machine)
    return folder
