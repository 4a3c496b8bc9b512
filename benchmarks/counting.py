"""What counting costs, in a fresh process, and how far it is from a count made another way."""

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
from pytest_roofline.models import Registry
from pytest_roofline.precision import PRECISIONS
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
    models = _models()[::20] if quick else _models()
    deviations = {name: _deviation(name) for name in models}
    worst = max(deviations, key=lambda name: deviations[name])
    named = f": {worst}" if deviations[worst] else ""
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
        Figure(
            name=f"largest deviation of a training step's FLOP from a count of modules, {len(models)} models{named}",
            unit="",
            samples=(deviations[worst],),
            at_most=0.005,
        ),
        Figure(
            name="models whose training step agrees to the last FLOP",
            unit="",
            samples=(float(sum(deviation == 0 for deviation in deviations.values())),),
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


def _models() -> list[str]:
    """All of torchvision's classification models."""
    import torchvision

    return sorted(torchvision.models.list_models(module=torchvision.models))


def _deviation(name: str) -> float:
    """Of a training step's FLOPs, as a share of what the modules' definitions say."""
    from benchmarks.module_count import training_flop
    from pytest_roofline.complexity.assessment import Assessment
    from pytest_roofline.models import Registry
    from pytest_roofline.precision import PRECISIONS

    spec = Registry().find(name)
    batch = spec.min_train_batch
    counted = Assessment(spec, mode="train", precision=PRECISIONS["fp32"]).step(batch).work.flop_per_step
    expected = training_flop(spec, batch)
    print(f"{name}: {counted:.0f} FLOP, by modules {expected}", flush=True)
    return abs(counted / expected - 1)
