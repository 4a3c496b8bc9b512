"""Measure what timing adds to a step: against a bare loop over the same step, and in its own seconds per round."""

from __future__ import annotations

import gc
import time
from collections.abc import Callable
from dataclasses import dataclass

import torch
from torch import Tensor, nn

from benchmarks.figures import Figure
from perftests import models
from pytest_roofline.device.instruments import CpuInstruments
from pytest_roofline.measuring import Plan, measure
from pytest_roofline.measuring.rounds import Stopwatch
from pytest_roofline.workload import precision
from pytest_roofline.workload.step import ReadyBatches, Step, Workload, sgd

RESNET_BATCH = 4
MLP_BATCH = 64
PAIRS = 400
"""Single pairs scatter by 6 % on a shared machine: the median of so many is known to a third of a percent."""
ROUND_S = 0.1
"""Shortest timed round of the suite."""

Batch = tuple[tuple[Tensor, ...], Tensor]


def run(*, quick: bool) -> tuple[Figure, ...]:
    return (
        Figure(
            name=f"resnet18 training, batch {RESNET_BATCH}: timed by the suite / bare loop",
            unit="",
            samples=_resnet_ratios(3 if quick else PAIRS),
            at_least=0.99,
            at_most=1.01,
        ),
        Figure(
            name=f"suite's own work in a timed round, mlp training, batch {MLP_BATCH}",
            unit="s",
            samples=_own_work_s(20 if quick else 400),
            at_most=20e-6,
        ),
    )


def _resnet_ratios(pairs: int) -> tuple[float, ...]:
    spec = models.find("resnet18")
    step = training_step(spec, spec.build(), random_batches(spec, RESNET_BATCH))
    steps = _steps_of_a_round(step)
    return alternate(lambda: timed_s(step, steps), lambda: bare_s(step, steps), pairs).ratios()


def _own_work_s(rounds: int) -> tuple[float, ...]:
    """Rounds around nothing at all, with as many steps as a round of the smallest model has: what is left is ours.

    The loop itself is in it, which a loop written by hand has as well.
    """
    spec = models.find("mlp")
    steps = _steps_of_a_round(training_step(spec, spec.build(), random_batches(spec, MLP_BATCH)))
    return tuple(timed_s(_nothing, steps) for _ in range(rounds))


def timed_s(step: Callable[[], object], steps: int) -> float:
    """Seconds of one round of ``steps`` steps as the suite measures it."""
    plan = Plan(protocol="window", warmup_steps=0, steps=steps, repeats=1)
    (wall_s,) = measure(Stopwatch(step, CpuInstruments()), plan).timing.rounds.wall_s
    return wall_s


def bare_s(step: Callable[[], object], steps: int) -> float:
    """Seconds of the same steps in a loop that does nothing else. On a CPU there is nothing to synchronise.

    What the suite does before it reads the clock is done here too, so that both loops find the caches alike.
    """
    gc.collect()
    start = time.perf_counter()
    for _ in range(steps):
        step()
    return time.perf_counter() - start


def _steps_of_a_round(step: Callable[[], object]) -> int:
    for _ in range(3):
        step()
    start = time.perf_counter()
    step()
    return max(1, round(ROUND_S / (time.perf_counter() - start)))


def _nothing() -> None:
    return None


def random_batches(spec: models.ModelSpec, batch: int, count: int = 4) -> tuple[Batch, ...]:
    """``count`` batches of normal random samples with random labels; for image models."""
    random = torch.Generator().manual_seed(0)
    return tuple(
        (
            (torch.randn(batch, *spec.input_shape, generator=random),),
            torch.randint(spec.classes, (batch,), generator=random),
        )
        for _ in range(count)
    )


def training_step(spec: models.ModelSpec, model: nn.Module, batches: tuple[Batch, ...]) -> Step:
    """The step that the suite times for a training case in fp32."""
    model.train()
    (inputs, _) = batches[0]
    return Step(
        Workload(
            model=model,
            batches=ReadyBatches(batches),
            mode="train",
            precision=precision.PRECISIONS["fp32"],
            device=torch.device("cpu"),
            loss=spec.loss,
            optimizer=sgd(model),
            name=spec.name,
            batch=len(inputs[0]),
        )
    )


@dataclass(frozen=True, slots=True)
class Pairs:
    """Times of the two, one pair per turn."""

    first_s: tuple[float, ...]
    second_s: tuple[float, ...]

    def ratios(self) -> tuple[float, ...]:
        """First over second, of each pair."""
        return tuple(first / second for first, second in zip(self.first_s, self.second_s, strict=True))

    def differences_s(self) -> tuple[float, ...]:
        """First minus second, of each pair."""
        return tuple(first - second for first, second in zip(self.first_s, self.second_s, strict=True))


def alternate(first: Callable[[], float], second: Callable[[], float], pairs: int) -> Pairs:
    """Call both ``pairs`` times in turn, the order reversed from pair to pair: a steady drift then favours neither.

    Both return the seconds that are to be compared.
    """
    first_s: list[float] = []
    second_s: list[float] = []
    for turn in range(pairs):
        if turn % 2 == 0:
            first_s.append(first())
            second_s.append(second())
        else:
            second_s.append(second())
            first_s.append(first())
    return Pairs(tuple(first_s), tuple(second_s))
