"""Measure the cost of counting, in a fresh process."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

from benchmarks.figures import Figure

ROOT = Path(__file__).parents[1]

BATCH = 32

COUNT = """
import resource, sys, time
import torch, torchvision
import psutil
before_byte = psutil.Process().memory_info().rss
start = time.perf_counter()
from pytest_roofline.complexity.assessment import Assessment
from pytest_roofline.workload.models import Registry
from pytest_roofline.workload.precision import PRECISIONS
needs = Assessment(Registry().find("resnet50"), mode="train", precision=PRECISIONS["fp32"]).step(int(sys.argv[1]))
seconds = time.perf_counter() - start
peak_byte = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * (1 if sys.platform == "darwin" else 1024)
print(needs.work.flop_per_step, seconds, peak_byte - before_byte)
"""
"""Builds the model, gives the optimiser its state in a first step, and counts the second; imports of our own included.

What importing torch and torchvision took before is neither in the seconds nor in the memory.
"""

RESNET50_FLOP = 24_299_000_000
"""One image, training, as published (to five digits): what was timed must be the count of it."""


def run(*, quick: bool) -> tuple[Figure, ...]:
    costs = tuple(_cost() for _ in range(1 if quick else 11))
    return (
        Figure(
            name=f"counting a training step of resnet50, batch {BATCH}, beside importing torch and torchvision",
            unit="s",
            samples=tuple(seconds for seconds, _ in costs),
            at_most=3.0,
        ),
        Figure(
            name="peak memory of it beside importing torch and torchvision",
            unit="B",
            samples=tuple(byte for _, byte in costs),
            at_most=300e6,
        ),
    )


class ChildError(RuntimeError):
    """A child process did not do what was to be timed."""


def _cost() -> tuple[float, float]:
    """Seconds and bytes.

    :raises ChildError: it ended with another status than 0, or counted something else.
    """
    child = subprocess.run(
        [sys.executable, "-c", COUNT, str(BATCH)], cwd=ROOT, capture_output=True, text=True, check=False
    )
    if child.returncode != 0:
        raise ChildError(f"counting ended with {child.returncode}:\n{child.stdout}{child.stderr}")
    flop, seconds, byte = map(float, child.stdout.split())
    if abs(flop / BATCH / RESNET50_FLOP - 1) > 1e-4:
        raise ChildError(f"counted {flop / BATCH:.0f} FLOP an image, expected {RESNET50_FLOP}")
    return seconds, byte
