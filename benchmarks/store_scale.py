"""Measure a store: adding results and asking for them, from ten thousand cases to a million.

The real rows are those of the committed reference of the two-core CPU, with their operations and rounds. The slim ones,
of which the million is made, are the same without operations and with few rounds. Commands run in processes of their
own, whose time and memory, of all of them together, are taken.
"""

from __future__ import annotations

import random
import subprocess
import sys
import tempfile
import time
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import msgspec
import psutil

from benchmarks.compare_speed import REFERENCE
from benchmarks.figures import Figure
from roofline.frames import FRAMES, Results
from roofline.machine.published import load
from roofline.model.points import place_all
from roofline.results.reader import read
from roofline.schema.record import KEY
from roofline.store.batches import write_frames

CASES = 50
"""Of a file."""

FILES_OF_A_DAY = 200

REAL = 20_000
SLIM = (10_000, 100_000, 980_000)
"""Cases that are added one after the other; with the real ones a million and more."""

QUERY = (
    "SELECT model, precision, count(*) AS cases, median(step_time_s) AS step_time_s FROM cases"
    " WHERE model = 'resnet18' AND precision = 'fp32' GROUP BY ALL"
)

LEAST_BYTE_PER_S = 100e6
LEAST_CASES_PER_S = 10_000.0
MOST_QUERY_S = 1.0
MOST_BYTE = 1e9
MOST_GROWTH = 1.25
"""Of the time of a case, from the first of `SLIM` to the last: the cost is linear."""


def run(*, quick: bool) -> tuple[Figure, ...]:
    part = 100 if quick else 1
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        store = folder / "store"
        added: list[tuple[int, float]] = []
        peaks: list[float] = []
        for number, cases in enumerate([REAL, *SLIM]):
            files = folder / str(number)
            size = _write(files, max(1, cases // part // CASES), slim=number > 0, first_day=100 * number)
            seconds, peak = _command("add", store, files)
            added.append((size, seconds / cases * part))
            peaks.append(peak)
        asked = [_command("query", store, QUERY) for _ in range(1 if quick else 5)]
        of_frames = _cases_per_s(folder / "0", folder / "frames")
    (real_byte, real_s), *slim = added
    return (
        Figure(
            name=f"adding {REAL // part} cases of {real_byte / REAL * part / 1e3:.0f} kB",
            unit="B/s",
            samples=(real_byte / (real_s * REAL / part),),
            at_least=LEAST_BYTE_PER_S,
        ),
        *(
            Figure(
                name=f"adding {cases // part} cases of {size / cases * part / 1e3:.1f} kB, a second",
                unit="",
                samples=(1 / seconds,),
                at_least=LEAST_CASES_PER_S,
            )
            for cases, (size, seconds) in zip(SLIM, slim, strict=True)
        ),
        Figure(
            name="time of a case in the largest over the smallest of these",
            unit="",
            samples=(slim[-1][1] / slim[0][1],),
            at_most=MOST_GROWTH,
        ),
        Figure(
            name="cases a second written from frames that are made",
            unit="",
            samples=(of_frames,),
            at_least=LEAST_CASES_PER_S,
        ),
        Figure(
            name=f"asking {(REAL + sum(SLIM)) // part} cases for those of a model and precision",
            unit="s",
            samples=tuple(seconds for seconds, _ in asked),
            at_most=MOST_QUERY_S,
        ),
        Figure(
            name="most memory of all processes",
            unit="B",
            samples=(max(*peaks, *(peak for _, peak in asked)),),
            at_most=MOST_BYTE,
        ),
    )


def _write(folder: Path, files: int, *, slim: bool, first_day: int) -> int:
    """Write files of `CASES` each; their size in bytes."""
    folder.mkdir()
    source = msgspec.json.decode(max(REFERENCE.glob("*.json"), key=lambda path: path.stat().st_size).read_bytes())
    rows = [row for row in source["benchmarks"] if row["extra_info"][KEY]["case"]["mode"] in ("train", "infer")]
    rng = random.Random(first_day)
    size = 0
    for number in range(files):
        day = time.strftime("%Y-%m-%d", time.gmtime(86_400 * (20_000 + first_day + number // FILES_OF_A_DAY)))
        content = {
            **source,
            KEY: {**source[KEY], "started_at": f"{day}T00:00:00+00:00"},
            "benchmarks": [_row(rows[index % len(rows)], index // len(rows), rng, slim=slim) for index in range(CASES)],
        }
        encoded = msgspec.json.encode(content)
        size += (folder / f"{number:06}.json").write_bytes(encoded if slim else msgspec.json.format(encoded, indent=1))
    return size


_SLIM_ROUNDS = 5
_LEFT_OUT_OF_SLIM = ("operations", "profile", "checks", "flags", "expected", "host_counters", "counters")


def _row(row: Mapping[str, Any], copy: int, rng: random.Random, *, slim: bool) -> dict[str, Any]:
    """Make the row that of another case and session: its rounds last up to some per cent longer or shorter."""
    record = row["extra_info"][KEY]
    timing, rounds = record["timing"], record["timing"]["rounds"]
    wall = [one * (1 + rng.gauss(0, 0.01)) for one in rounds["wall_s"]]
    if slim:
        wall = wall[:_SLIM_ROUNDS]
        rounds = {"steps": rounds["steps"], "wall_s": wall}
        work = {**record["work"], "uncovered": []}
        record = {key: value for key, value in record.items() if key not in _LEFT_OUT_OF_SLIM} | {
            "work": work,
            "missing": {},
        }
    return {
        **row,
        "name": f"{row['name']}-{copy}",
        "fullname": f"{row['fullname']}-{copy}",
        "options": {},
        "extra_info": {
            KEY: {
                **record,
                "case": {**record["case"], "id": f"{record['case']['id']}-{copy}"},
                "timing": {**timing, "rounds": {**rounds, "wall_s": wall}},
            }
        },
    }


def _command(name: str, store: Path, argument: object) -> tuple[float, float]:
    """Seconds, and the most memory in bytes of its processes together, of ``roofline store NAME``."""
    start = time.perf_counter()
    child = psutil.Popen(
        [sys.executable, "-m", "roofline", "store", name, str(store), str(argument)],
        stdout=subprocess.DEVNULL,
        stderr=subprocess.PIPE,
        text=True,
    )
    peak = 0.0
    while child.poll() is None:
        peak = max(peak, _resident_byte(child))
        time.sleep(0.01)
    seconds = time.perf_counter() - start
    if child.returncode:
        raise RuntimeError(child.stderr.read())
    return seconds, peak


def _resident_byte(process: psutil.Process) -> float:
    total = 0.0
    try:
        for one in (process, *process.children(recursive=True)):
            total += one.memory_info().rss
    except psutil.NoSuchProcess:  # it has just ended
        pass
    return total


def _cases_per_s(files: Path, store: Path) -> float:
    """Cases a second of writing frames that have been made, of some files."""
    some: Sequence[Path] = sorted(files.iterdir())[:20]
    results = Results(place_all(read(some).files, load(None)))
    for name in FRAMES:
        getattr(results, name)
    start = time.perf_counter()
    write_frames(store, "a.parquet", results, {path.name: path.name for path in some}, FRAMES)
    return len(results.cases) / (time.perf_counter() - start)
