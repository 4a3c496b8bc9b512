"""Whatever number a file carries, the gate ends with a verdict; and with no pass where it is one of the case's time."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from roofline.schema.record import KEY, Counters, Memory, Process
from tests.roofline import build
from tests.roofline.comparison import sessions
from tests.roofline.conftest import Run

_Path = tuple[str | int, ...]

VALUES = (None, -1, 0, 1e308, 10**400)

OF_THE_TIME = {
    ("record", "timing", "step_time_s"),
    ("record", "timing", "rounds", "steps"),
    ("record", "timing", "rounds", "wall_s", 0),
    ("stats", "mean"),
    ("stats", "median"),
}


def _document() -> dict[str, Any]:
    record = sessions.record(
        0.1,
        1,
        memory=Memory(peak_reserved_byte=10**9, device_total_byte=8 * 10**9),
        counters=Counters(status="ok", source="ncu", flop=1e11, dram_byte=1e9),
        profile=build.profile(source="kernels", device_busy_s=0.05),
        process=Process(
            user_s=3.0, system_s=1.0, max_rss_byte=10**9, voluntary_switches=1, involuntary_switches=1, real_s=4.0
        ),
    )
    return build.document([record], of=build.session(build.roofs()), on=build.machine())


def _parts(content: dict[str, Any]) -> dict[str, Any]:
    row = content["benchmarks"][0]
    machine = content["machine_info"]
    return {"record": row["extra_info"][KEY], "stats": row["stats"], "session": content[KEY], "machine": machine[KEY]}


def _numbers(value: Any, *path: str | int) -> Iterator[_Path]:
    """Paths of the numbers in JSON values; of a list only of its first item."""
    if isinstance(value, int | float) and not isinstance(value, bool):
        yield path
    elif isinstance(value, dict):
        for key, item in value.items():
            yield from _numbers(item, *path, key)
    elif isinstance(value, list) and value:
        yield from _numbers(value[0], *path, 0)


_ALL = list(_numbers(_parts(_document())))


def test_the_numbers_of_the_time_are_among_them() -> None:
    """Else what follows would hold of nothing."""
    assert set(_ALL) >= OF_THE_TIME


@pytest.mark.parametrize("path", _ALL, ids=lambda path: ".".join(map(str, path)))
def test_a_verdict_whatever_one_number_is(run: Run, tmp_path: Path, path: _Path) -> None:
    """On either side, by time and by roof: exit code 0, 1 or 3, and JSON without NaN."""
    whole = build.write(tmp_path / "whole.json", _document())
    for value in VALUES:
        content = _document()
        part: Any = _parts(content)
        for key in path[:-1]:
            part = part[key]
        part[path[-1]] = value
        edited = build.write(tmp_path / "edited.json", content)
        for new, base in ((edited, whole), (whole, edited)):
            for by in ("time", "roof"):
                code, out, _ = run("check", new, "--baseline", base, "--by", by, "--format", "json")
                assert code in ((3,) if path in OF_THE_TIME else (0, 1, 3)), (value, by)
                if out:
                    json.loads(out, parse_constant=pytest.fail)
