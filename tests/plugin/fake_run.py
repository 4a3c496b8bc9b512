"""What measuring a workload needs, on a clock that only steps move: a run, a model that takes time, its batches."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any, cast

import torch
from torch import Tensor, nn

from pytest_roofline.device.selection import Wanted
from pytest_roofline.measuring import Plan
from pytest_roofline.measuring.rounds import Alone
from pytest_roofline.options import SETTINGS, Options
from pytest_roofline.roofs import kernels as roofs
from pytest_roofline.session.run import Run
from pytest_roofline.workload.precision import PRECISIONS
from pytest_roofline.workload.step import ReadyBatches, Workload, sgd
from roofline.schema.record import Device, Record, Timing
from tests.plugin.measuring.fakes import Lab

CPU = torch.device("cpu")
DEVICE = Device(kind="cpu", name="a CPU", last_level_cache_byte=2**25)
STEP_S = 0.25
WINDOW = Plan(protocol="window", warmup_steps=2, steps=4)


def options(**changes: Any) -> Options:
    """The defaults, on the CPU, without roofs."""
    defaults: dict[str, Any] = {setting.name: setting.default for setting in SETTINGS}
    return Options(**{**defaults, "device": Wanted("cpu"), "roofs": "off", **changes})


def run_on(lab: Lab, max_time: float = 10.0) -> Run:
    """What measuring needs of a run, on the lab's clock and instruments."""
    machine = SimpleNamespace(device=DEVICE)
    return cast(
        Run,
        SimpleNamespace(
            options=options(max_time=max_time, seed=7),
            device=CPU,
            clock=lab.clock,
            instruments=lab,
            machine=machine,
            roofs=SimpleNamespace(ledger=roofs.Ledger()),
            turns=None,
            perf_stat=None,
            ranks=Alone(),
            progress=None,
            neighbours=0,
            measuring_s=0.0,
        ),
    )


class Ticking(nn.Linear):
    """A layer whose forward pass is all that takes time on the lab's clock."""

    def __init__(self, lab: Lab) -> None:
        super().__init__(5, 3)
        self._lab = lab

    def forward(self, inputs: Tensor) -> Tensor:
        self._lab.step()
        return super().forward(inputs)


class Waiting(ReadyBatches):
    """Batches of a loader that took two seconds to start, and for which a quarter of the time is spent waiting."""

    def __init__(self, lab: Lab, batches: list[tuple[tuple[Tensor, ...], Tensor | None]]) -> None:
        super().__init__(batches)
        self._lab = lab

    @property
    def startup_s(self) -> float:
        return 2.0

    def wait_s(self) -> float:
        return self._lab.now / 4


def batch(rows: int = 4, seed: int = 0) -> tuple[tuple[Tensor, ...], Tensor]:
    """Rows of five numbers, each of one of three classes."""
    generator = torch.Generator().manual_seed(seed)
    return (torch.randn(rows, 5, generator=generator),), torch.randint(3, (rows,), generator=generator)


def workload_of(model: nn.Module, **changes: Any) -> Workload:
    """A step of a model on one `batch`, in training unless a mode is given, in fp32 on the CPU."""
    values: dict[str, Any] = {
        "model": model,
        "batches": ReadyBatches([batch()]),
        "mode": "train",
        "precision": PRECISIONS["fp32"],
        "device": CPU,
        "name": "linear",
        "batch": 4,
        "sample_unit": "row",
    }
    if changes.get("mode") != "infer":
        values |= {"loss": nn.functional.cross_entropy, "optimizer": sgd(model)}
    return Workload(**{**values, **changes})


def workload(lab: Lab, model: nn.Module | None = None, *, size: float = 1.0, **changes: Any) -> Workload:
    """The same of a model that takes the lab's time, on inputs that are all of a size."""
    batches = ReadyBatches([((torch.full((4, 5), size),), torch.tensor([0, 1, 2, 0]))])
    return workload_of(model or Ticking(lab), **{"batches": batches, **changes})


def timing_of(record: Record) -> Timing:
    assert record.timing is not None
    return record.timing
