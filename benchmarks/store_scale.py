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
from roofline.frames import Results
from roofline.machine.published import load
from roofline.model.points import place_all
from roofline.results.reader import read
from roofline.schema.record import KEY, SCHEMA
from roofline.store.batches import AT_ONCE, write_frames

CASES = 50
"""Of a file."""

FILES_OF_A_DAY = 200

REAL = 20_000
SLIM = (10_000, 100_000, 980_000)
"""Cases that are added one after the other; with the real ones a million and more."""

QUERY = (
    "SELECT model, precision, count(*) AS cases, median(step_time_s) AS step_time_s FROM cases"
    " WHERE model = '{model}' AND precision = '{precision}' GROUP BY ALL"
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
        query = QUERY.format(**_source()[1][0]["extra_info"][KEY]["case"])
        asked = [_command("query", store, query) for _ in range(1 if quick else 5)]
        of_frames = _cases_per_s(folder / "2", folder / "frames")
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


def _source() -> tuple[dict[str, Any], list[dict[str, Any]]]:
    """The committed reference, and its rows of cases."""
    content = msgspec.json.decode(max(REFERENCE.glob("*.json"), key=lambda path: path.stat().st_size).read_bytes())
    rows = [row for row in content["benchmarks"] if row["extra_info"][KEY]["case"]["mode"] in ("train", "infer")]
    return content, rows


def _write(folder: Path, files: int, *, slim: bool, first_day: int) -> int:
    """Write files of `CASES` each; their size in bytes."""
    folder.mkdir()
    source, rows = _source()
    session = source[KEY]
    if slim:
        session = {**session, "roofs": [{**roof, "samples": []} for roof in session["roofs"]]}
    rng = random.Random(first_day)
    size = 0
    for number in range(files):
        day = time.strftime("%Y-%m-%d", time.gmtime(86_400 * (20_000 + first_day + number // FILES_OF_A_DAY)))
        content = {
            **source,
            KEY: {**session, "started_at": f"{day}T00:00:00+00:00"},
            "benchmarks": [_row(rows[index % len(rows)], index // len(rows), rng, slim=slim) for index in range(CASES)],
        }
        encoded = msgspec.json.encode(content)
        size += (folder / f"{number:06}.json").write_bytes(encoded if slim else msgspec.json.format(encoded, indent=1))
    return size


_SLIM_ROUNDS = 5
_OF_SLIM = ("case", "device", "timing", "work")
"""Parts of a record."""


def _row(row: Mapping[str, Any], copy: int, rng: random.Random, *, slim: bool) -> dict[str, Any]:
    """Make the row that of another case and session: its rounds last up to some per cent longer or shorter."""
    record = row["extra_info"][KEY]
    case, timing, rounds = record["case"], record["timing"], record["timing"]["rounds"]
    wall = [one * (1 + rng.gauss(0, 0.01)) for one in rounds["wall_s"]]
    if slim:
        record = {name: record[name] for name in _OF_SLIM}
        case, wall = {**case, "config": {}}, wall[:_SLIM_ROUNDS]
        rounds = {"steps": rounds["steps"]}
    return {
        **({} if slim else row),
        "name": f"{row['name']}-{copy}",
        "fullname": f"{row['fullname']}-{copy}",
        "stats": row["stats"],
        "extra_info": {
            KEY: {
                **record,
                # Of an older one readers work out the margin anew.
                "schema": SCHEMA,
                "case": {**case, "id": f"{case['id']}-{copy}"},
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
    """Cases a second of writing, in one process, the frames that adding writes, when they have been made."""
    some: Sequence[Path] = sorted(files.iterdir())[:200]
    results = Results(place_all(read(some).files, load(None)))
    names = {path.name: path.name for path in some}
    for batch in ("first.parquet", "a.parquet"):  # the first loads what is needed
        start = time.perf_counter()
        write_frames(store, batch, results, names, AT_ONCE)
        seconds = time.perf_counter() - start
    return len(results.cases) / seconds
