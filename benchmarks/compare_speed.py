"""Measure the comparison of many result files: 1,000 files of 50 cases each, half of them a side.

The rows are those of the committed reference of the two-core CPU, with all their operations, rounds and statistics;
each file's times scatter by 1 %. The command runs in a process of its own, whose time and memory are taken.
"""

from __future__ import annotations

import random
import statistics
import subprocess
import sys
import tempfile
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import msgspec

from benchmarks.figures import Figure
from roofline.schema.record import KEY

ROOT = Path(__file__).parents[1]
REFERENCE = ROOT / "results" / "amd-epyc-2cpu"

FILES = 1_000
CASES = 50

LAUNCH = """
import resource, subprocess, sys, time
start = time.perf_counter()
subprocess.run(sys.argv[1:], check=True, stderr=subprocess.DEVNULL)
print(time.perf_counter() - start, resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss)
"""
"""From a small process: until it has begun, Linux counts a child's memory as its parent's."""

MOST_S = 20.0
MOST_BYTE = 1e9


def run(*, quick: bool) -> tuple[Figure, ...]:
    files = 20 if quick else FILES
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        size = _write(folder, files)
        measured = [_compare(folder) for _ in range(1 if quick else 5)]
    return (
        Figure(
            name=f"comparing {files} files of {CASES} cases",
            unit="s",
            samples=tuple(seconds for seconds, _ in measured),
            at_most=MOST_S,
        ),
        Figure(
            name="most memory of the process",
            unit="B",
            samples=tuple(peak for _, peak in measured),
            at_most=MOST_BYTE,
        ),
        Figure(name="size of the files", unit="B", samples=(float(size),)),
    )


def _write(folder: Path, files: int) -> int:
    """Half of the files to ``base``, half to ``new``; their size in bytes."""
    whole = max(REFERENCE.glob("*.json"), key=lambda path: path.stat().st_size)
    source = msgspec.json.decode(whole.read_bytes())
    rows = [row for row in source["benchmarks"] if row["extra_info"][KEY]["case"]["mode"] in ("train", "infer")]
    rng = random.Random(1)
    size = 0
    for number in range(files):
        side = folder / ("base" if number % 2 else "new")
        side.mkdir(exist_ok=True)
        content = {
            **source,
            KEY: {**source[KEY], "started_at": f"2026-11-{1 + number // 48:02}T{number // 2 % 24:02}:00:00+00:00"},
            "benchmarks": [_row(rows[index % len(rows)], index // len(rows), rng) for index in range(CASES)],
        }
        size += (side / f"{number:04}.json").write_bytes(msgspec.json.encode(content))
    return size


def _row(row: Mapping[str, Any], copy: int, rng: random.Random) -> dict[str, Any]:
    """The row as another case's and another session's: its rounds last up to some per cent longer or shorter."""
    record = row["extra_info"][KEY]
    rounds = record["timing"]["rounds"]
    factor = 1 + rng.gauss(0, 0.01)
    wall = [factor * (1 + rng.gauss(0, 0.01)) * one for one in rounds["wall_s"]]
    steps = [one / rounds["steps"] for one in wall]
    mean = statistics.fmean(steps)
    stats = {"mean": mean, "median": statistics.median(steps), "min": min(steps), "max": max(steps), "ops": 1 / mean}
    timing = {**record["timing"], "step_time_s": mean, "rounds": {**rounds, "wall_s": wall}}
    return {
        **row,
        "name": f"{row['name']}-{copy}",
        "fullname": f"{row['fullname']}-{copy}",
        "stats": {**row["stats"], **stats},
        "extra_info": {
            KEY: {**record, "case": {**record["case"], "id": f"{record['case']['id']}-{copy}"}, "timing": timing}
        },
    }


def _compare(folder: Path) -> tuple[float, float]:
    """Seconds and most memory in bytes of comparing the two sides."""
    command = [sys.executable, "-m", "roofline", "compare", "base", "--with", "new", "-o", "compared.json"]
    launched = subprocess.run(
        [sys.executable, "-c", LAUNCH, *command], cwd=folder, stdout=subprocess.PIPE, text=True, check=True
    )
    seconds, kibibytes = launched.stdout.split()
    return float(seconds), 1024.0 * float(kibibytes)
