"""Measure the same cases by one process on one core, and by two workers of pytest-xdist with a core each.

What fits into a core's own cache is to take as long beside a neighbour as without one. What streams through memory
shares its bandwidth with the neighbour: that is why its rows are flagged.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tempfile
import time
from pathlib import Path

from benchmarks.figures import Figure

SUITE = """
import pytest, torch
from torch import nn

@pytest.mark.parametrize("number", range(4))
def test_cached(roofline, number):
    roofline(nn.Linear(128, 128 + number), torch.randn(32, 128), mode="infer")

@pytest.mark.parametrize("number", range(4))
def test_streamed(roofline, number):
    roofline(nn.Linear(8192, 4096 + number), torch.randn(1, 8192), mode="infer")
"""

ARGUMENTS = [
    *("-q", "-p", "no:cacheprovider", "--roofline-device", "cpu", "--roofline-results", "results"),
    *("--roofline-max-time", "5", "--roofline-roofs", "off"),
]

KINDS = ("cached", "streamed")


class WorkersError(RuntimeError):
    """A run failed, or the machine has too few cores."""


def run(*, quick: bool) -> tuple[Figure, ...]:
    repeats = 1 if quick else 3
    cores = sorted(os.sched_getaffinity(0))
    if len(cores) < 2:
        raise WorkersError("two workers need two cores")
    slower: dict[str, list[float]] = {kind: [] for kind in KINDS}
    shorter = []
    with tempfile.TemporaryDirectory() as name:
        for repeat in range(repeats):
            alone, alone_s = _measured(Path(name, f"alone-{repeat}"), cores[:1], [])
            beside, beside_s = _measured(Path(name, f"beside-{repeat}"), cores[:2], ["-n", "2"])
            for kind in KINDS:
                slower[kind] += [beside[case] / alone[case] for case in alone if kind in case]
            shorter.append(beside_s / alone_s)
            print(f"{repeat + 1} of {repeats} pairs of runs", flush=True)
    return (
        Figure(
            name="step time beside another worker over that alone, in cache",
            unit="",
            samples=tuple(slower["cached"]),
            at_least=0.97,
            at_most=1.03,
        ),
        Figure(
            name="step time beside another worker over that alone, through memory",
            unit="",
            samples=tuple(slower["streamed"]),
        ),
        Figure(name="time of a run by two workers over that by one process", unit="", samples=tuple(shorter)),
    )


def _measured(folder: Path, cores: list[int], more: list[str]) -> tuple[dict[str, float], float]:
    """Step times by test of a run that may use some cores, in seconds, and how long it took.

    :raises WorkersError: it failed.
    """
    folder.mkdir()
    (folder / "pytest.ini").write_text("[pytest]\n")
    (folder / "test_it.py").write_text(SUITE)
    start = time.perf_counter()
    ended = subprocess.run(
        [sys.executable, "-m", "pytest", *ARGUMENTS, *more],
        cwd=folder,
        capture_output=True,
        text=True,
        check=False,
        preexec_fn=lambda: os.sched_setaffinity(0, cores),
    )
    took_s = time.perf_counter() - start
    if ended.returncode:
        raise WorkersError(f"a run ended with {ended.returncode}:\n{ended.stdout}{ended.stderr}")
    (path,) = folder.rglob("*.json")
    rows = json.loads(path.read_text())["benchmarks"]
    return {row["name"]: row["extra_info"]["roofline"]["timing"]["step_time_s"] for row in rows}, took_s
