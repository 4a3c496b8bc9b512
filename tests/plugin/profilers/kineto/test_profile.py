"""The pass as a whole: real steps on the CPU, and a CUDA device's recordings made by hand."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Sequence
from dataclasses import replace
from time import perf_counter
from typing import Any

import pytest
import torch
from torch import Tensor, nn
from torch._higher_order_ops.out_dtype import out_dtype

from pytest_roofline.counting import Counted, count_step
from pytest_roofline.profilers.kineto import Profiled, profile, profile_step
from pytest_roofline.profilers.kineto.recording import LABEL, Kernel, Recording, Span
from roofline.schema.record import KernelTime, OutsideTime, Profile
from tests.plugin.measuring.fakes import Lab

CPU, CUDA = torch.device("cpu"), torch.device("cuda")


def counted_of(step: Callable[[], object]) -> Counted:
    return count_step(step, model=nn.Identity())


def profiled(step: Callable[[], object], counted: Counted, **options: Any) -> Profiled:
    values: dict[str, Any] = {"device": CPU, "compiled": False, "clock": perf_counter, **options}
    return profile_step(step, values.pop("device"), counted, **values)


def profile_of(result: Profiled) -> Profile:
    assert result.profile is not None, result.missing
    return result.profile


def times_of(result: Profiled) -> dict[tuple[str, str], float | None]:
    return {(operation.name, operation.shape): operation.time_s for operation in result.operations}


def test_every_operation_of_a_step_has_a_time() -> None:
    """Above zero each, and together no more than the step under the profiler; nothing else of the count changes."""
    small, large = torch.randn(8, 8), torch.randn(64, 64)

    def step() -> None:
        small @ small
        torch.empty(3)
        (large @ large).t().exp()

    counted = counted_of(step)
    result = profiled(step, counted)
    profile = profile_of(result)
    assert [operation.name for operation in result.operations] == ["aten::mm", "aten::mm", "aten::exp"]
    assert all(operation.time_s is not None and operation.time_s > 0 for operation in result.operations)
    assert profile.operations_s == sum(operation.time_s or 0.0 for operation in result.operations)
    assert profile.operations_s < profile.step_s
    assert {one.name for one in profile.outside} == {"aten::empty", "aten::t"}
    assert (profile.source, profile.steps) == ("operators", 10)
    assert (profile.device_busy_s, profile.longest_gap_s, profile.kernels) == (None, None, ())
    assert result.missing == {}
    assert result.work == counted.work
    assert [replace(one, time_s=None) for one in result.operations] == list(counted.operations)


def test_uncovered_operations_have_a_time_too() -> None:
    """All calls of one name together, whatever their shapes: it says how much is not accounted for."""
    with torch.library._scoped_library("roofline_profile_test", "FRAGMENT") as library:
        library.define("unknown(Tensor x) -> Tensor")
        library.impl("unknown", lambda x: x * 2 + 1, "CPU")
        unknown = torch.ops.roofline_profile_test.unknown

        def step() -> None:
            unknown(torch.ones(4))
            unknown(torch.ones(5))

        counted = counted_of(step)
        result = profiled(step, counted)
    ((uncovered),) = result.work.uncovered
    own = [one.time_s for one in result.operations if one.name == "roofline_profile_test::unknown"]
    assert (uncovered.name, uncovered.calls) == ("roofline_profile_test::unknown", 2)
    assert len(own) == 2
    assert uncovered.time_s == sum(time_s or 0.0 for time_s in own) > 0


def test_what_cannot_be_seen_into_has_a_time_and_is_outside() -> None:
    """A higher-order operator without a formula is named as uncovered, with all its time."""
    square = torch.ones(16, 16, dtype=torch.int8)

    def step() -> None:
        out_dtype(torch.ops.aten.mm.default, torch.int32, square, square)

    counted = counted_of(step)
    ticks = itertools.count(step=2.0)
    result = profiled(step, counted, clock=lambda: next(ticks))
    (uncovered,) = result.work.uncovered
    (outside,) = (one for one in profile_of(result).outside if one.name == "out_dtype")
    assert (uncovered.name, uncovered.calls) == ("out_dtype", 1)
    assert uncovered.time_s == outside.time_s > 0
    assert all(operation.time_s for operation in result.operations)


@pytest.mark.parametrize(
    ("step_s", "steps"),
    [
        ((1 / 1024,), 10),
        ((0.25,), 4),
        ((3.0,), 3),
        ((3.5,), 2),
        ((5.5,), 1),
        ((20.0, 2.0), 3),
    ],
)
def test_as_many_steps_as_fill_a_second(step_s: tuple[float, ...], steps: int) -> None:
    """Three to ten; of long ones as many as 10 s allow, but one. The first is taken besides and counts for nothing."""
    lab = Lab(*step_s)
    result = profiled(lab.step, counted_of(lambda: None), clock=lab.clock)
    assert (profile_of(result).steps, profile_of(result).step_s) == (steps, step_s[-1])
    assert lab.steps == steps + 1


@pytest.mark.parametrize(
    ("other", "uneven", "told"),
    [
        (lambda x: (x @ x).sin(), False, "(2 instead of 2); first aten::sin instead of aten::exp"),
        (lambda x: x @ x, False, "(1 instead of 2); first nothing more instead of aten::exp"),
        (lambda x: (x @ x).exp().sin(), False, "(3 instead of 2); first aten::sin instead of nothing more"),
        (lambda x: (x @ x @ x).exp(), True, "(3 instead of 2); first aten::mm instead of aten::exp"),
    ],
    ids=["another", "fewer", "more", "product"],
)
def test_a_step_that_takes_other_operations_has_no_times(
    other: Callable[[Tensor], Tensor], uneven: bool, told: str
) -> None:
    """A time must not go to another operation than the one it was measured of. Where products differ, the count isn't
    that of every step."""
    square = torch.randn(4, 4)
    result = profiled(lambda: other(square), counted_of(lambda: torch.exp(square @ square)))
    assert result.profile is None
    assert all(operation.time_s is None for operation in result.operations)
    assert result.missing == {
        "profile": "the step took other operations under the profiler than when it was counted " + told
    }
    assert (result.uneven is not None) == uneven


@pytest.mark.parametrize(
    ("error", "told"),
    [
        (RuntimeError("CUPTI said no\nand more"), "RuntimeError: CUPTI said no"),
        (torch.OutOfMemoryError("out of memory: 2 GiB"), "OutOfMemoryError: out of memory: 2 GiB"),
        (MemoryError(), "MemoryError"),
        (KeyError("not under a profiler"), "KeyError: 'not under a profiler'"),
    ],
    ids=["profiler", "device memory", "host memory", "step"],
)
def test_a_pass_that_fails_costs_the_times_only(error: Exception, told: str) -> None:
    """The row is measured by then: it keeps its count, and the reason stands where the times would."""

    def fail() -> None:
        raise error

    counted = counted_of(lambda: torch.ones(2).exp())
    result = profiled(fail, counted)
    assert (result.profile, result.operations, result.work) == (None, counted.operations, counted.work)
    assert result.missing == {"profile": f"no step could be taken under torch's profiler: {told}"}


def test_an_interrupt_is_no_failed_pass() -> None:
    """It ends the run."""

    def interrupt() -> None:
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        profiled(interrupt, counted_of(lambda: None))


def test_operators_tell_nothing_of_other_devices() -> None:
    """On MPS the host only hands work on: no step is taken for its times."""
    lab = Lab()
    result = profiled(lab.step, counted_of(lambda: None), device=torch.device("mps"), clock=lab.clock)
    assert result.missing == {"profile": "operators on the host tell nothing of the time on mps"}
    assert lab.calls == []


def test_a_compiled_step_is_timed_by_what_the_profiler_sees() -> None:
    """No operation gets a time, and the step is taken as it is, without a mode that would undo the compiling."""
    square = torch.randn(8, 8)
    seen_modes: list[int] = []

    def step() -> None:
        seen_modes.append(torch._C._len_torch_dispatch_stack())
        square @ square

    counted = counted_of(lambda: square @ square)
    result = profiled(step, counted, compiled=True)
    assert set(seen_modes) == {0}
    assert result.operations == counted.operations
    assert set(result.missing) == {"operations.time_s", "work.uncovered.time_s"}
    assert result.missing["operations.time_s"].startswith("a compiled step runs fused kernels")
    profile = profile_of(result)
    assert profile.operations_s == 0.0
    product = next(one for one in profile.outside if one.name == "aten::mm")
    assert product.calls == 1.0
    assert product.time_s > 0


def test_compiled_parts_run_uncompiled_under_labels() -> None:
    """And are compiled as ever afterwards."""
    from torch._dynamo.utils import counters

    torch.compiler.reset()

    @torch.compile(backend="eager")
    def product(square: Tensor) -> Tensor:
        return square @ square

    square = torch.randn(4, 4)
    before = counters["stats"]["unique_graphs"]
    result = profiled(lambda: product(square), counted_of(lambda: square @ square))
    assert profile_of(result).outside == ()
    assert counters["stats"]["unique_graphs"] == before
    product(square)
    assert counters["stats"]["unique_graphs"] == before + 1
    torch.compiler.reset()


class FakeRecord:
    """Stands in for `record` with a CUDA device: takes the step, and hands out recordings made by hand."""

    def __init__(self, *recordings: Recording) -> None:
        self._recordings = recordings

    def __call__(self, step: Callable[[], object], device: torch.device, **_: object) -> Sequence[Recording]:
        assert device == CUDA
        for _recording in self._recordings:
            step()
        return self._recordings


def on_cuda(wall_s: float, *product_ns: int, outside: tuple[Kernel, ...] = ()) -> Recording:
    """One step of a product, a view and ``exp``.

    Kernels of the product as given, one after the other from 0 on; 250 ms after the last, one of 500 ms for ``exp``.
    """
    starts = list(itertools.accumulate(product_ns, initial=0))
    exp_ns = starts[-1] + 250_000_000
    return Recording(
        wall_s=wall_s,
        thread=1,
        spans=(
            Span(f"{LABEL}0", 0, 10, 1, 1),
            Span("aten::mm", 2, 8, 1, 2),
            Span(LABEL, 20, 30, 1, 3),
            Span("aten::t", 22, 28, 1, 4),
            Span(f"{LABEL}1", 40, 50, 2, 5),
            Span("aten::exp", 42, 48, 2, 6),
        ),
        kernels=(
            *(Kernel("gemm", start, end, 2) for start, end in itertools.pairwise(starts)),
            Kernel("exp_kernel", exp_ns, exp_ns + 500_000_000, 6),
            *outside,
        ),
    )


@pytest.fixture
def cuda_step() -> Callable[[], object]:
    square = torch.randn(4, 4)
    return lambda: (square @ square).t().exp()


def test_operations_of_a_cuda_device_take_as_long_as_their_kernels(
    cuda_step: Callable[[], object], monkeypatch: pytest.MonkeyPatch
) -> None:
    """The median of the steps after the first; what runs on the host doesn't count at all.

    The copy runs beside the product: the device is busy with both at once.
    """
    lost = Kernel("Memcpy DtoH", 0, 2_000_000_000, 0)
    recordings = (
        on_cuda(90.0, 80_000_000_000),
        on_cuda(3.0, 1_000_000_000, 1_000_000_000, outside=(lost,)),
        on_cuda(5.0, 4_000_000_000, outside=(lost,)),
        on_cuda(4.0, 3_000_000_000, outside=(lost, lost)),
    )
    monkeypatch.setattr(profile, "record", FakeRecord(*recordings))
    result = profiled(cuda_step, counted_of(cuda_step), device=CUDA)
    assert times_of(result) == {("aten::mm", "4x4, 4x4"): 3.0, ("aten::exp", "4x4"): 0.5}
    assert result.profile == Profile(
        source="kernels",
        steps=3,
        step_s=4.0,
        operations_s=3.5,
        outside=(OutsideTime(name="Memcpy DtoH", calls=1.0, time_s=2.0),),
        device_busy_s=3.5,
        longest_gap_s=0.25,
        kernels=(
            KernelTime(name="gemm", launches=1.0, time_s=3.0),
            KernelTime(name="Memcpy DtoH", launches=1.0, time_s=2.0),
            KernelTime(name="exp_kernel", launches=1.0, time_s=0.5),
        ),
    )


def test_a_compiled_step_on_cuda_is_its_kernels(
    cuda_step: Callable[[], object], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Each by its name, launched by whatever."""
    fused = Recording(wall_s=1.0, thread=1, spans=(), kernels=(Kernel("triton_poi_fused_exp", 0, 250_000_000, 0),))
    monkeypatch.setattr(profile, "record", FakeRecord(fused, fused))
    result = profiled(cuda_step, counted_of(cuda_step), device=CUDA, compiled=True)
    assert profile_of(result).source == "kernels"
    assert profile_of(result).outside == (OutsideTime(name="triton_poi_fused_exp", calls=1.0, time_s=0.25),)
    assert profile_of(result).kernels == (KernelTime(name="triton_poi_fused_exp", launches=1.0, time_s=0.25),)
    assert (profile_of(result).device_busy_s, profile_of(result).longest_gap_s) == (0.25, 0.0)
    assert "operations.time_s" in result.missing


def test_a_profiler_that_sees_no_kernel_gives_no_times(
    cuda_step: Callable[[], object], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Zero seconds for every operation would be a number that is wrong."""
    blind = Recording(wall_s=1.0, thread=1, spans=(), kernels=())
    monkeypatch.setattr(profile, "record", FakeRecord(blind, blind))
    result = profiled(cuda_step, counted_of(cuda_step), device=CUDA)
    assert result.profile is None
    assert result.missing == {
        "profile": "torch's profiler saw no kernel: its CUPTI is missing, not permitted, or taken by another profiler"
    }
