"""Record sessions of unchanged code, the data on which the gate's error rates are measured (see `gate`).

    python -m benchmarks.gate_record --label quiet --sessions 20

runs the cases of ``gate_cases.toml`` in so many fresh processes, one after the other, and writes
``benchmarks/data/gate_sessions_quiet.npz``; ``--pack FOLDER`` makes it from result files that are there. Per case it
holds for every round the time of a step in seconds, whether the round was marked as disturbed from outside, and the
number of its session. Under ``about`` stands a JSON text that says which machine (no host name), which versions, and
when each session began.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import tempfile
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np

from roofline.results.reader import read
from roofline.results.result import ResultFile

DATA = Path(__file__).parent / "data"
CASES = Path(__file__).parent / "gate_cases.toml"
_ROOT = Path(__file__).parents[1]


def record(sessions: int, seconds: float, threads: int, folder: Path) -> None:
    """Measure the cases in fresh processes; each writes its result file to ``folder``."""
    for number in range(sessions):
        subprocess.run(
            [
                *(sys.executable, "-m", "pytest", "-q", str(_ROOT / "perftests" / "test_models.py")),
                *("--matrix", str(CASES), "--device", "cpu", "--max-time", str(seconds), "--results", str(folder)),
            ],
            cwd=_ROOT,
            env={**os.environ, "OMP_NUM_THREADS": str(threads)},
            stdout=subprocess.DEVNULL,
            check=True,
        )
        print(f"session {number + 1} of {sessions}", flush=True)


def pack(results: Sequence[ResultFile], path: Path) -> None:
    """Write the rounds of all sessions of one machine, in the order the sessions were begun."""
    results = sorted(results, key=lambda result: result.when)
    assert len({result.machine_key for result in results}) == 1, "sessions of one machine only"
    columns: dict[str, list[tuple[float, bool, int]]] = {}
    for session, result in enumerate(results):
        for benchmark in result.benchmarks:
            assert benchmark.record is not None
            assert benchmark.record.timing is not None
            rounds = benchmark.record.timing.rounds
            marks = rounds.disturbed or (None,) * len(rounds.wall_s)
            columns.setdefault(benchmark.record.case.id, []).extend(
                (wall / rounds.steps, mark is not None, session)
                for wall, mark in zip(rounds.wall_s, marks, strict=True)
            )
    machine = results[0].machine
    assert machine is not None
    about = {
        "cpu": machine.cpu,
        "cpus": machine.cpu_count,
        "os": machine.os.partition(" ")[0],
        "versions": machine.versions,
        "threads": machine.threads,
        "started_at": [result.when for result in results],
    }
    arrays: dict[str, Any] = {}
    for case, rows in columns.items():
        times, disturbed, session_numbers = zip(*rows, strict=True)
        arrays[f"{case}.time"] = np.array(times, dtype=np.float32)
        arrays[f"{case}.disturbed"] = np.array(disturbed)
        arrays[f"{case}.session"] = np.array(session_numbers, dtype=np.uint8)
    path.parent.mkdir(exist_ok=True)
    np.savez_compressed(path, about=np.array(json.dumps(about)), **arrays)
    print(f"{path.name}: {len(results)} sessions, {len(columns)} cases, {path.stat().st_size / 1e3:.0f} kB")


def machine_of(threads: int) -> dict[str, Any]:
    """Describe this machine, without its name, and the versions that are installed."""
    import torch

    from pytest_roofline.device.host import describe_machine

    machine = describe_machine(torch.device("cpu"), None)
    return {
        "cpu": machine.cpu,
        "cpus": machine.cpu_count,
        "os": machine.os.partition(" ")[0],
        "versions": dict(machine.versions),
        "threads": threads,
    }


def main() -> None:
    """Record, or take what was recorded, and write one file."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--label", required=True, help="goes into the file name: quiet, loud")
    parser.add_argument("--sessions", type=int, default=20, help="fresh processes (default %(default)s)")
    parser.add_argument("--seconds", type=float, default=3.0, help="of timed rounds a case (default %(default)s)")
    parser.add_argument("--threads", type=int, default=1, help="torch's threads (default %(default)s)")
    parser.add_argument("--pack", type=Path, metavar="FOLDER", help="result files to take, instead of recording")
    arguments = parser.parse_args()
    path = DATA / f"gate_sessions_{arguments.label}.npz"
    if arguments.pack is not None:
        pack(read([arguments.pack]).files, path)
        return
    with tempfile.TemporaryDirectory() as folder:
        record(arguments.sessions, arguments.seconds, arguments.threads, Path(folder))
        pack(read([Path(folder)]).files, path)


if __name__ == "__main__":
    main()
