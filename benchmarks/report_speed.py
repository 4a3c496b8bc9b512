"""Measure the report of a cluster: 50 machines of 200 cases each, made from the reference of the two-core CPU.

Each machine has its own speed, and each case its model, mode, precision and batch size, ten operations, and the rounds
of a case of the reference, with noise of their own. The command runs in a process of its own, whose time and memory are
taken; opening the page isn't measured here.
"""

from __future__ import annotations

import random
import statistics
import subprocess
import sys
import tempfile
from collections.abc import Mapping
from itertools import islice, product
from pathlib import Path
from typing import Any

import msgspec

from benchmarks.compare_speed import REFERENCE
from benchmarks.figures import Figure
from roofline.schema.record import KEY

MACHINES = 50
CASES = 200
OPERATIONS = 10

MODELS = ("resnet18", "resnet50", "vgg16", "mobilenet_v2", "bert_base", "mlp", "cnn")
BATCHES = (1, 4, 16, 64, 256)

LAUNCH = """
import resource, subprocess, sys
subprocess.run(sys.argv[1:], check=True, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
used = resource.getrusage(resource.RUSAGE_CHILDREN)
print(used.ru_utime + used.ru_stime, used.ru_maxrss)
"""
"""From a small process: until it has begun, Linux counts a child's memory as its parent's."""

MOST_S = 60.0
MOST_BYTE = 1e9
MOST_FOLDER_BYTE = 25e6


def run(*, quick: bool) -> tuple[Figure, ...]:
    machines = 2 if quick else MACHINES
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        size = write(folder / "results", machines)
        seconds, peak, written = _report(folder)
    return (
        Figure(
            name=f"CPU time of a report of {machines} machines of {CASES} cases",
            unit="s",
            samples=(seconds,),
            at_most=MOST_S,
        ),
        Figure(
            name="most memory of the process",
            unit="B",
            samples=(peak,),
            at_most=MOST_BYTE,
        ),
        Figure(
            name="size of the report",
            unit="B",
            samples=(written,),
            at_most=MOST_FOLDER_BYTE,
        ),
        Figure(name="size of the results", unit="B", samples=(float(size),)),
    )


def write(folder: Path, machines: int) -> int:
    """A file for each machine; their size in bytes."""
    folder.mkdir()
    whole = max(REFERENCE.glob("*.json"), key=lambda path: path.stat().st_size)
    source = msgspec.json.decode(whole.read_bytes())
    rows = [row for row in source["benchmarks"] if row["extra_info"][KEY]["case"]["mode"] in ("train", "infer")]
    names = list(islice(product(MODELS, ("train", "infer"), ("fp32", "bf16", "amp_bf16"), BATCHES), CASES))
    return sum(
        (folder / f"node-{number:02}.json").write_bytes(
            msgspec.json.encode(_machine(source, rows, names, number), order="deterministic")
        )
        for number in range(machines)
    )


def _machine(
    source: Mapping[str, Any], rows: list[dict[str, Any]], names: list[tuple[str, str, str, int]], number: int
) -> dict[str, Any]:
    rng = random.Random(number)
    label, cpu, speed = f"node-{number:02}", f"AMD EPYC {7003 + 10 * number}", rng.uniform(0.5, 2)
    info, session = source["machine_info"], source[KEY]
    device = {**info[KEY]["device"], "name": cpu}
    own = {**info[KEY], "fingerprint": f"{number:016x}", "label": label, "cpu": cpu, "device": device}
    roofs = [one if one["kind"] == "latency" else {**one, "value": one["value"] * speed} for one in session["roofs"]]
    return {
        **source,
        "machine_info": {**info, KEY: own},
        KEY: {**session, "label": label, "roofs": roofs, "started_at": f"2026-11-01T{number % 24:02}:00:00+00:00"},
        "benchmarks": [
            _row(rows[index % len(rows)], name, device, rng.uniform(0.7, 1.3) / speed, rng)
            for index, name in enumerate(names)
        ],
    }


def _row(
    row: Mapping[str, Any],
    name: tuple[str, str, str, int],
    device: Mapping[str, Any],
    factor: float,
    rng: random.Random,
) -> dict[str, Any]:
    """The row as another case's, whose steps take ``factor`` times as long."""
    model, mode, precision, batch = name
    record = row["extra_info"][KEY]
    rounds = record["timing"]["rounds"]
    wall = [factor * rng.gauss(1, 0.01) * one for one in rounds["wall_s"]]
    steps = [one / rounds["steps"] for one in wall]
    mean, median = statistics.fmean(steps), statistics.median(steps)
    timing = {**record["timing"], "step_time_s": median, "rounds": {**rounds, "wall_s": wall}}
    stats = {"data": steps, "mean": mean, "median": median, "min": min(steps), "max": max(steps)}
    case_id = f"{model}-{mode}-b{batch}-{precision}"
    case = {
        **record["case"],
        "id": case_id,
        "workload_hash": case_id,
        "model": model,
        "mode": mode,
        "precision": precision,
        "batch": batch,
        "samples_per_step": batch,
    }
    operations = [
        {**one, "time_s": one["time_s"] and one["time_s"] * factor * rng.gauss(1, 0.05)}
        for one in record["operations"][:OPERATIONS]
    ]
    changed = {"case": case, "device": device, "timing": timing, "operations": operations}
    return {
        **row,
        "name": f"test[{case_id}]",
        "fullname": f"perftests/test_models.py::test[{case_id}]",
        "stats": {**row["stats"], **stats},
        "extra_info": {KEY: {**record, **changed}},
    }


def _report(folder: Path) -> tuple[float, float, float]:
    """Seconds of CPU, most memory and bytes of the report of all results."""
    command = [sys.executable, "-m", "roofline", "report", "results", "-o", "report"]
    launched = subprocess.run(
        [sys.executable, "-c", LAUNCH, *command], cwd=folder, stdout=subprocess.PIPE, text=True, check=True
    )
    seconds, kibibytes = launched.stdout.split()
    written = sum(path.stat().st_size for path in (folder / "report").rglob("*") if path.is_file())
    return float(seconds), 1024.0 * float(kibibytes), float(written)
