"""Measure how far compile times of unchanged code scatter between sessions.

Each session is a fresh process whose torch compiles all code anew. The scatter is held against what
``check --figure compile_time`` assumes of sessions about which nothing else is known.
"""

from __future__ import annotations

import math
import os
import statistics
import subprocess
import sys
import tempfile
from pathlib import Path

from benchmarks.figures import Figure
from roofline.comparison.sides.compared_figures import FIGURES
from roofline.results.reader import read

_ROOT = Path(__file__).parents[1]
_CASES = [
    *("--device", "cpu", "--model", "mlp,cnn,resnet18,squeezenet1_1", "--mode", "infer", "--batch", "1"),
    *("--precision", "fp32", "--compile", "--roofs", "off", "--max-time", "0.5"),
]


def run(*, quick: bool) -> tuple[Figure, ...]:
    sessions = 2 if quick else 10
    times: dict[str, list[float]] = {}
    with tempfile.TemporaryDirectory() as folder:
        for number in range(sessions):
            subprocess.run(
                [
                    *(sys.executable, "-m", "pytest", "-q", str(_ROOT / "perftests" / "test_models.py"), *_CASES),
                    *("--results", folder),
                ],
                cwd=_ROOT,
                env={**os.environ, "TORCHINDUCTOR_FORCE_DISABLE_CACHES": "1"},
                stdout=subprocess.DEVNULL,
                check=True,
            )
            print(f"session {number + 1} of {sessions}", flush=True)
        for result in read([Path(folder)]).files:
            for benchmark in result.benchmarks:
                record = benchmark.record
                assert record is not None
                assert record.timing is not None
                assert record.timing.compile_s is not None
                times.setdefault(record.case.id, []).append(record.timing.compile_s)
    prior = FIGURES["compile_time"].prior
    assert prior is not None
    scatter = [statistics.stdev(map(math.log, of_case)) for of_case in times.values()]
    return (
        Figure(
            name="compile time between sessions, relative standard deviation",
            unit="",
            samples=tuple(scatter),
            at_most=prior.deviation,
        ),
        Figure(name="compile time", unit="s", samples=tuple(map(statistics.median, times.values()))),
    )
