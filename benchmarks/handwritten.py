"""The suite's training step against one written by hand, in the manner of PyTorch's ImageNet example.

The hand-written one is as lean as it can be: what the example does beside the step itself (moving the batch, accuracy,
meters, printing) is left out, though every user of it pays for that too.
"""

from __future__ import annotations

import copy
import itertools
import time
from collections.abc import Callable, Iterator

import torch
from torch import nn

from benchmarks.figures import Figure
from benchmarks.pairs import alternate
from benchmarks.steps import Batch, random_batches, training_step
from perftests import models

BATCH = 4


def run(*, quick: bool) -> tuple[Figure, ...]:
    spec = models.find("resnet18")
    model = spec.build()
    batches = random_batches(spec, BATCH)
    by_hand = handwritten_step(copy.deepcopy(model), batches)
    by_suite = training_step(spec, model, batches)
    for _ in range(3):
        by_hand()
        by_suite()
    times = alternate(lambda: _seconds(by_hand), lambda: _seconds(by_suite), 3 if quick else 100)
    return (
        Figure(
            name=f"resnet18 training, batch {BATCH}: steps/s of the suite / by hand",
            unit="",
            samples=times.ratios(),
            at_least=0.99,
        ),
    )


def handwritten_step(model: nn.Module, batches: tuple[Batch, ...]) -> Callable[[], object]:
    """One pass through the loop that a user would write."""
    criterion = nn.CrossEntropyLoss()
    optimizer = torch.optim.SGD(model.parameters(), lr=1e-4, momentum=0.9, weight_decay=1e-4)
    loader: Iterator[Batch] = itertools.cycle(batches)
    model.train()

    def step() -> None:
        (images,), target = next(loader)
        output = model(images)
        loss = criterion(output, target)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()

    return step


def _seconds(step: Callable[[], object]) -> float:
    start = time.perf_counter()
    step()
    return time.perf_counter() - start
