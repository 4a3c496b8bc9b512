"""Measure a store: adding results and asking for them, from ten thousand cases to a million.

    python -m benchmarks store

The real rows are those of the committed reference of the two-core CPU, with their operations and rounds. The slim ones,
of which most of the million is made, are the same without operations and with few rounds. All are added to one store,
which grows. Commands run in processes of their own, whose time and memory, of all of them together, are taken.

A whole run also draws ``docs/images/store-scale.png``.
"""

from __future__ import annotations

import json
import random
import shutil
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import msgspec
import psutil

from benchmarks.compare_speed import REFERENCE, ROOT
from benchmarks.figures import Figure
from roofline.frames import Results
from roofline.machine.published import load
from roofline.model.points import place_all
from roofline.plots.layout import draw_heading
from roofline.plots.style import DARK, new_figure, number_axis, save, tidy
from roofline.results.reader import read
from roofline.schema.record import KEY, SCHEMA
from roofline.store.batches import AT_ONCE, write_frames

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure as Drawing

CASES = 50
"""Of a file."""

FILES_OF_A_DAY = 200

STEPS = ((10_000, True), (20_000, False), (70_000, True), (200_000, True), (700_000, True))
"""Cases that are added one after the other, and whether they are slim."""

QUERY = (
    "SELECT model, precision, count(*) AS cases, median(step_time_s) AS step_time_s FROM cases"
    " WHERE model = '{model}' AND precision = '{precision}' GROUP BY ALL"
)

LEAST_BYTE_PER_S = 100e6
LEAST_CASES_PER_S = 10_000.0
MOST_QUERY_S = 1.0
MOST_BYTE = 1e9
MOST_GROWTH = 1.25
"""Of the time of a slim case, from the quickest addition to the last: the cost is linear."""

IMAGE = ROOT / "docs" / "images" / "store-scale.png"


@dataclass(frozen=True, slots=True, kw_only=True)
class Step:
    """What was added to a store, and what it took.

    :param there: cases that are in the store then.
    :param byte: of the files that were added.
    :param seconds: of adding them.
    :param asked_s: of each query after it.
    :param peak_byte: the most memory of all processes of a command together.
    """

    cases: int
    slim: bool
    there: int
    byte: int
    seconds: float
    asked_s: tuple[float, ...]
    peak_byte: float

    @property
    def case_s(self) -> float:
        return self.seconds / self.cases


def run(*, quick: bool) -> tuple[Figure, ...]:
    part, asked = (100, 1) if quick else (1, 5)
    query = QUERY.format(**_source()[1][0]["extra_info"][KEY]["case"])
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        steps: list[Step] = []
        there = 0
        for cases, slim in ((cases // part, slim) for cases, slim in STEPS):
            there += cases
            size = _write(folder / "files", cases // CASES, slim=slim, first_day=100 * len(steps))
            if not steps:
                of_frames = _cases_per_s(folder / "files", folder / "frames")
            seconds, peak = _command("add", folder / "store", folder / "files")
            shutil.rmtree(folder / "files")  # the disk needn't hold the million
            answers = [_command("query", folder / "store", query) for _ in range(asked)]
            steps.append(
                Step(
                    cases=cases,
                    slim=slim,
                    there=there,
                    byte=size,
                    seconds=seconds,
                    asked_s=tuple(time_s for time_s, _ in answers),
                    peak_byte=max(peak, *(most for _, most in answers)),
                )
            )
    if not quick:
        save(drawing(steps), IMAGE)
    return (*(_adding(step) for step in steps), *_of_all(steps, of_frames))


def _adding(step: Step) -> Figure:
    name = f"adding {step.cases} cases of {step.byte / step.cases / 1e3:.2g} kB to {step.there - step.cases}"
    if step.slim:
        return Figure(name=f"{name}, a case", unit="s", samples=(step.case_s,))
    return Figure(name=name, unit="B/s", samples=(step.byte / step.seconds,), at_least=LEAST_BYTE_PER_S)


def _of_all(steps: Sequence[Step], of_frames: float) -> tuple[Figure, ...]:
    slim = [step for step in steps if step.slim]
    return (
        Figure(
            name="time of a slim case in the last addition over that in the quickest",
            unit="",
            samples=(slim[-1].case_s / min(step.case_s for step in slim),),
            at_most=MOST_GROWTH,
        ),
        Figure(
            name="cases a second written from frames that are made",
            unit="",
            samples=(of_frames,),
            at_least=LEAST_CASES_PER_S,
        ),
        *(
            Figure(
                name=f"asking {step.there} cases for those of a model and precision",
                unit="s",
                samples=step.asked_s,
                at_most=MOST_QUERY_S,
            )
            for step in steps
        ),
        Figure(
            name="most memory of all processes",
            unit="B",
            samples=(max(step.peak_byte for step in steps),),
            at_most=MOST_BYTE,
        ),
    )


def drawing(steps: Sequence[Step]) -> Drawing:
    """Draw what adding a case takes and what a query takes, by the cases that are in the store."""
    figure = new_figure(9.0, 2.6)
    adding, asking = figure.add_axes((0, 0, 0.44, 1)), figure.add_axes((0.56, 0, 0.44, 1))
    for slim, color in ((True, "#0072B2"), (False, "#D55E00")):
        some = [step for step in steps if step.slim == slim]
        size = sum(step.byte for step in some) / sum(step.cases for step in some) / 1e3
        label = f"files with {size:.2g} kB a case"
        adding.plot([step.there for step in some], [step.case_s for step in some], "o-", color=color, label=label)
    medians = [statistics.median(step.asked_s) for step in steps]
    asking.plot([step.there for step in steps], medians, "o-", color="#009E73")
    asking.axhline(MOST_QUERY_S, color=DARK, linewidth=1, linestyle=":")
    adding.legend(frameon=False, fontsize=9)
    _name(adding, "adding a case", [step.case_s for step in steps], steps)
    _name(asking, "a query by model and precision", [*medians, MOST_QUERY_S], steps)
    lines = ["each addition and query is a process of its own, its start included; dotted: the most that is wanted"]
    draw_heading(figure, "Time of `roofline store add` and `query`", lines, over=0.4, across=9.0)
    return figure


def _name(axes: Axes, title: str, times_s: Sequence[float], steps: Sequence[Step]) -> None:
    tidy(axes)
    axes.set_title(title, fontsize=9.5, color=DARK, loc="left")
    axes.set_xlabel("cases in the store", fontsize=9, color=DARK)
    number_axis(axes, "x", "", steps[0].there / 1.5, steps[-1].there * 1.5)
    number_axis(axes, "y", "s", min(times_s) / 2, max(times_s) * 2)


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
        encoded = json.dumps(content, separators=(",", ":")).encode()  # ASCII, as pytest-benchmark writes it
        size += (folder / f"{number:06}.json").write_bytes(encoded if slim else msgspec.json.format(encoded, indent=1))
    return size


_SLIM_ROUNDS = 5
_OF_SLIM = ("case", "device", "timing", "work")
"""Parts of a record."""


def _row(row: Mapping[str, Any], copy: int, rng: random.Random, *, slim: bool) -> dict[str, Any]:
    """Make the row that of another case and session: its rounds last up to some per cent longer or shorter."""
    record = row["extra_info"][KEY]
    case, timing, rounds = record["case"], record["timing"], record["timing"]["rounds"]
    walls = rounds["wall_s"][: _SLIM_ROUNDS if slim else None]
    wall = [one * (1 + rng.gauss(0, 0.01)) for one in walls]
    if slim:
        record = {name: record[name] for name in _OF_SLIM}
        case = {**case, "config": {}}
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
    while True:
        peak = max(peak, _resident_byte(child))
        with suppress(psutil.TimeoutExpired):  # to look at all processes takes some milliseconds
            child.wait(0.05)
            break
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
