"""Session files of several cases whose rounds scatter a little, as a real machine's do."""

from __future__ import annotations

import json
import random
import statistics
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

from roofline.schema.record import KEY, Record, Rounds
from tests.roofline import build

TIMES = {"resnet18": 0.01, "resnet50": 0.1}
"""Model -> seconds of a step, of two cases."""

ID = "resnet50-train-b32-fp32"
"""The case of the second."""

STEPS = 5
SLOWER = 1.5
"""Beyond doubt with `COUNT` sessions a side, whatever is taken for known of their scatter."""
COUNT = 4


def record(step_time_s: float, seed: object, model: str = "resnet50", **changes: Any) -> Record:
    """A case whose rounds are drawn with 0.4 % of noise; ``changes`` are of the record."""
    rng = random.Random(str(seed))
    wall = tuple(STEPS * step_time_s * (1 + rng.gauss(0, 0.004)) for _ in range(20))
    timing = build.timing(statistics.fmean(wall) / STEPS, rounds=Rounds(steps=STEPS, wall_s=wall))
    return build.record(**{"case": build.case(model=model), "timing": timing, **changes})


def document(
    times: Mapping[str, float], number: int = 0, started_at: str | None = None, **machine: Any
) -> dict[str, Any]:
    """One session: a case a model."""
    # No two sessions have the same times to the last bit, on whatever machine and whenever they began.
    own = (number, *([started_at] if started_at else []), *map(str, machine.items()))
    records = [record(seconds, (model, seconds, *own), model) for model, seconds in times.items()]
    started = started_at or f"2026-11-20T{number:02}:00:00+00:00"
    return build.document(records, of=build.session(build.roofs(), started_at=started), on=build.machine(**machine))


def side(
    folder: Path,
    times: Mapping[str, float],
    count: int = COUNT,
    first: int = 0,
    started_at: str | None = None,
    **machine: Any,
) -> list[Path]:
    """So many sessions of one side, an hour apart."""
    return [
        build.write(folder / f"{number:02}.json", document(times, number, started_at, **machine))
        for number in range(first, first + count)
    ]


def edited(path: Path, change: Any) -> Path:
    """The file with ``change(content)`` made to it."""
    content = json.loads(path.read_text())
    change(content)
    return build.write(path, content)


def edit(paths: Iterable[Path], change: Any) -> None:
    """Make ``change(content)`` to each file."""
    for path in paths:
        edited(path, change)


def foreign(times: Mapping[str, tuple[float, ...]], **host: Any) -> dict[str, Any]:
    """Another project's file: the round times of each test, saved with it."""
    content = build.document([None] * len(times))
    content["machine_info"].update(host)
    for row, (name, rounds) in zip(content["benchmarks"], times.items(), strict=True):
        row["name"], row["fullname"] = name, f"tests/test_speed.py::{name}"
        row["stats"] = statistics_of(rounds)
    return content


def statistics_of(rounds: tuple[float, ...]) -> dict[str, Any]:
    """As pytest-benchmark writes them with --benchmark-save-data."""
    mean = statistics.fmean(rounds)
    return {
        "min": min(rounds),
        "max": max(rounds),
        "mean": mean,
        "stddev": statistics.stdev(rounds) if len(rounds) > 1 else 0.0,
        "median": statistics.median(rounds),
        "rounds": len(rounds),
        "iterations": 1,
        "ops": 1 / mean,
        "data": list(rounds),
    }


def row_of(content: dict[str, Any]) -> dict[str, Any]:
    """The row of resnet50."""
    row: dict[str, Any] = content["benchmarks"][1]
    return row


def record_of(content: dict[str, Any]) -> dict[str, Any]:
    record: dict[str, Any] = row_of(content)["extra_info"][KEY]
    return record


def remove(content: dict[str, Any]) -> None:
    del content["benchmarks"][1]


def errored(content: dict[str, Any]) -> None:
    """It measured, and failed afterwards: the row stays and is marked."""
    flag = {"name": "test_failed", "evidence": "the test measured, but did not pass: assert 1 == 2", "invalid": True}
    record_of(content)["flags"] = [flag]


def disturbed(content: dict[str, Any]) -> None:
    """No round of any case was left alone."""
    for row in content["benchmarks"]:
        rounds = row["extra_info"][KEY]["timing"]["rounds"]
        rounds["disturbed"] = ["steal"] * len(rounds["wall_s"])


def disproved(content: dict[str, Any]) -> None:
    """A check of its precision failed, whatever its flags say."""
    record_of(content)["checks"] = [{"name": "precision", "status": "failed", "evidence": "3 products ran in tf32"}]
