"""Roofs: what is run for each, how the best is found, and what is stored of it."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import AbstractContextManager, nullcontext

import pytest
import torch

from pytest_roofline.device.instruments import CpuInstruments
from pytest_roofline.roofs import kernels as roofs
from pytest_roofline.roofs.kernels import Candidate, Ledger, RoofPlan, RoofUnavailable
from roofline.schema.session import RoofSample

CPU = torch.device("cpu")
LLC = 32 * 2**20


class Machine:
    """A clock that advances by what kernels cost."""

    def __init__(self) -> None:
        self.now = 0.0

    def clock(self) -> float:
        self.now += 1e-9
        return self.now

    def kernel(self, name: str, amount: float, seconds: float, log: list[str] | None = None) -> Candidate:
        def prepare() -> Callable[[], None]:
            def call() -> None:
                self.now += seconds
                if log is not None:
                    log.append(name)

            return call

        return Candidate(name, amount, prepare)


def plan_of(*candidates: Candidate, kind: roofs.RoofKind = "flop") -> RoofPlan:
    return RoofPlan(kind, "fp32", "how", "fp32", candidates)


def test_the_best_candidate_has_the_highest_rate() -> None:
    """Not the shortest call, and not the largest amount."""
    machine = Machine()
    plan = plan_of(
        machine.kernel("short", 1e9, 0.01), machine.kernel("best", 4e9, 0.02), machine.kernel("large", 5e9, 0.1)
    )
    assert roofs.find_best(plan, CpuInstruments(), machine.clock).kernel == "best"


def test_a_size_that_would_take_too_long_is_left_out() -> None:
    """By the rate seen so far it would take longer than a second."""
    machine, log = Machine(), list[str]()
    plan = plan_of(machine.kernel("small", 1e9, 0.01, log), machine.kernel("huge", 1e12, 10.0, log))
    assert roofs.find_best(plan, CpuInstruments(), machine.clock).kernel == "small"
    assert "huge" not in log


def test_a_size_that_does_not_fit_is_left_out_and_none_is_an_error() -> None:
    """Out of memory in one size is no reason to lose the roof."""

    def full() -> Callable[[], object]:
        raise torch.OutOfMemoryError

    machine = Machine()
    plan = plan_of(Candidate("full", 1.0, full), machine.kernel("fits", 1e9, 0.01))
    assert roofs.find_best(plan, CpuInstruments(), machine.clock).kernel == "fits"
    with pytest.raises(RoofUnavailable, match="fits into the device's memory"):
        roofs.find_best(plan_of(Candidate("full", 1.0, full)), CpuInstruments(), machine.clock)


def test_a_sample_is_the_best_window_of_at_least_a_tenth_of_a_second() -> None:
    """Short kernels are called so often that a window is long enough; the fastest window counts."""
    machine = Machine()
    speeds = iter([0.001] * 200 + [0.0005] * 300 + [0.001] * 10_000)

    def call() -> None:
        machine.now += next(speeds)

    rate = roofs.sample(Candidate("k", 1.0, lambda: call), CpuInstruments(), machine.clock)
    assert 1000 < rate <= 2000


def test_a_roof_is_its_best_sample_and_the_spread_of_all() -> None:
    """The highest stands; a latency is best where it is least."""
    samples = tuple(RoofSample(value=value, kernel="k", at=f"t{value:g}") for value in (10.7, 21.7, 10.9))
    rate = roofs.roof(plan_of(), samples)
    assert (rate.value, rate.measured_at, rate.source) == (21.7, "t21.7", "measured")
    assert rate.spread == pytest.approx((21.7 - 10.7) / 21.7)
    assert roofs.roof(plan_of(kind="latency"), samples).value == 10.7


def test_the_ledger_samples_the_winner_again() -> None:
    """Middle and end of the session add a sample each."""
    machine, ledger = Machine(), Ledger()
    winner = machine.kernel("best", 4e9, 0.02)
    assert not ledger
    ledger.add(plan_of(winner), winner, 1e11, None)
    entered: list[str] = []

    def conditions(plan: RoofPlan) -> AbstractContextManager[None]:
        entered.append(plan.precision)
        return nullcontext()

    ledger.sample_again(CpuInstruments(), machine.clock, conditions)
    assert entered == ["fp32"]
    (roof,) = ledger.roofs()
    assert [sample.kernel for sample in roof.samples] == ["best", "best"]
    assert roof.samples[1].value == pytest.approx(2e11)
    assert roof.value == roof.samples[1].value


@pytest.mark.parametrize("name", ["fp32", "dram", "llc", "launch"])
def test_every_roof_of_a_cpu_can_be_run(name: str) -> None:
    """The smallest candidate of each really runs."""
    plan = roofs.plan(name, CPU, 2**20)
    smallest = min(plan.candidates, key=lambda candidate: candidate.amount)
    smallest.prepare()()
    assert smallest.amount > 0


@pytest.mark.parametrize(
    ("name", "cache", "reason"),
    [("tf32", LLC, "TF32"), ("host_to_device", LLC, "shares the host's memory"), ("llc", None, "is unknown")],
)
def test_a_roof_that_the_device_has_not(name: str, cache: int | None, reason: str) -> None:
    """The reason is told."""
    with pytest.raises(RoofUnavailable, match=reason):
        roofs.plan(name, CPU, cache)


def test_dram_buffers_are_at_least_four_times_the_cache() -> None:
    """Else the cache would be measured."""
    plan = roofs.plan("dram", CPU, 64 * 2**20)
    assert {candidate.kernel for candidate in plan.candidates} == {
        f"{kind} 256 MiB" for kind in ("copy", "triad", "read", "fill")
    }
    amounts = {candidate.kernel.split()[0]: candidate.amount / 2**28 for candidate in plan.candidates}
    assert amounts == {"copy": 2, "triad": 3, "read": 1, "fill": 1}


def test_cache_buffers_fit_together() -> None:
    """All buffers of a kernel take at most half the cache."""
    for candidate in roofs.plan("llc", CPU, LLC).candidates:
        kind = candidate.kernel.split()[0]
        buffers = {"copy": 2, "triad": 3, "read": 1, "fill": 1}[kind]
        traffic = {"copy": 2, "triad": 3, "read": 1, "fill": 1}[kind]
        assert candidate.amount / traffic * buffers <= LLC / 2


def test_no_fp32_convolution_of_the_roof_can_run_as_winograd() -> None:
    """Fewer multiplications than are counted would be no ceiling; other dtypes have no such algorithm here."""
    names = [candidate.kernel for candidate in roofs.plan("fp32", CPU, LLC).candidates]
    assert all(name.endswith("stride 2") for name in names if "conv 3x3" in name)
    assert any("conv 3x3" in name for name in names)
    assert any("conv 1x1" in name for name in names)
    assert any("matmul" in name for name in names)


@pytest.mark.parametrize("index", range(4))
def test_convolution_flops_are_those_of_its_output(index: int) -> None:
    """2 FLOP a multiply-add, over the real output shape."""
    candidates = [c for c in roofs.plan("fp32", CPU, LLC).candidates if c.kernel.startswith("conv")]
    inputs, _, _, kernel = roofs._CONVOLUTIONS[index]
    output = candidates[index].prepare()()
    assert isinstance(output, torch.Tensor)
    assert candidates[index].amount == 2 * output.numel() * inputs * kernel**2
