"""Compare counting with a count made another way: of modules, for all of torchvision's classification models."""

from __future__ import annotations

import multiprocessing
from collections.abc import Iterable, Iterator
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass

from benchmarks.figures import Figure
from pytest_roofline.workload.models import ModelSpec
from pytest_roofline.workload.step import Mode

MODES: tuple[Mode, ...] = ("train", "infer")

PRECISIONS = ("fp32", "amp_bf16", "bf16")

WORKERS = 2

AT_MOST = 0.005


@dataclass(frozen=True, slots=True)
class Deviation:
    """Of one model's step: what was counted from its operations beside what its modules' definitions say, in FLOP."""

    model: str
    mode: Mode
    precision: str
    counted: float
    expected: int

    @property
    def share(self) -> float:
        return abs(self.counted / self.expected - 1)

    def __str__(self) -> str:
        return f"{self.model} {self.mode} {self.precision}: {self.counted:.0f} FLOP, by modules {self.expected}"


def run(*, quick: bool) -> tuple[Figure, ...]:
    models = _models()[::20] if quick else _models()
    deviations: list[Deviation] = []
    with ProcessPoolExecutor(WORKERS, multiprocessing.get_context("spawn")) as pool:
        for some in pool.map(deviations_of, models):
            for one in some:
                print(one, flush=True)
            deviations += some
    return tuple(figures(deviations))


def figures(deviations: Iterable[Deviation]) -> Iterator[Figure]:
    """For each mode and precision the largest deviation, with the model it is of; then how many there are at all."""
    deviations = list(deviations)
    for mode in MODES:
        for precision in PRECISIONS:
            these = [one for one in deviations if (one.mode, one.precision) == (mode, precision)]
            worst = max(these, key=lambda one: one.share)
            named = f": {worst.model}" if worst.share else ""
            yield Figure(
                name=f"largest deviation from a count of modules, {mode}, {precision}, {len(these)} models{named}",
                unit="",
                samples=(worst.share,),
                at_most=AT_MOST,
            )
    yield Figure(
        name=f"of {len(deviations)} steps, those that agree to the last FLOP",
        unit="",
        samples=(float(sum(one.counted == one.expected for one in deviations)),),
    )


def _models() -> list[str]:
    """All of torchvision's classification models."""
    import torchvision

    return sorted(torchvision.models.list_models(module=torchvision.models))


def deviations_of(name: str) -> list[Deviation]:
    """One model's steps, in every mode and precision."""
    from benchmarks.module_count import step_flop
    from pytest_roofline.workload.models import Registry

    spec = Registry().find(name)
    batch = spec.min_train_batch
    expected = {mode: step_flop(spec, batch, train=mode == "train") for mode in MODES}
    return [
        Deviation(name, mode, precision, _counted(spec, batch, mode, precision), expected[mode])
        for precision in PRECISIONS
        for mode in MODES
    ]


def _counted(spec: ModelSpec, batch: int, mode: Mode, precision_name: str) -> float:
    """FLOP of the first step, which has the products of all; of its bytes and memory nothing is asked."""
    from torch._subclasses.fake_tensor import FakeTensorMode

    from pytest_roofline.complexity.fake import fake_model, fake_workload
    from pytest_roofline.counting.counter import run_counted
    from pytest_roofline.counting.matrix import Tf32
    from pytest_roofline.counting.step import flop_by_dtype
    from pytest_roofline.workload import precision
    from pytest_roofline.workload.step import Step

    fake, wanted = FakeTensorMode(), precision.PRECISIONS[precision_name]
    model = fake_model(spec, wanted, fake)
    with fake:
        workload = fake_workload(spec, model, batch=batch, mode=mode, precision=wanted)
        trace, _, _ = run_counted(Step(workload), model=model, optimizer=None, tf32=Tf32(), watch_saved=False)
    return sum(flop_by_dtype(trace.operations).values())
