"""A case under torch.compile: what is timed, what is observed of which step, and what the record says."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import replace
from functools import partial
from typing import Any

import pytest
import torch
from torch import Tensor, nn
from torch._dynamo import config

from pytest_roofline import bench
from pytest_roofline.missing import unexplained
from pytest_roofline.proof import passes
from pytest_roofline.workload.precision import PRECISIONS
from pytest_roofline.workload.step import ReadyBatches, Step, Workload
from roofline.schema.record import Check, Record
from tests.plugin.fake_run import STEP_S, WINDOW, run_on, timing_of, workload_of
from tests.plugin.measuring.fakes import Lab

COMPILING_S = 8.0


class Backend:
    """Runs graphs as they were captured, and counts how often."""

    def __init__(self) -> None:
        self.calls = 0

    def __call__(self, graph: torch.fx.GraphModule, _inputs: list[Any]) -> Callable[..., Any]:
        def run(*arguments: Any) -> Any:
            self.calls += 1
            return graph.forward(*arguments)

        return run


@pytest.fixture
def backend(monkeypatch: pytest.MonkeyPatch) -> Backend:
    """Stands in for inductor, which takes seconds; for every shape a graph is made."""
    backend = Backend()
    monkeypatch.setattr(torch, "compile", partial(torch.compile, backend=backend, dynamic=False))
    return backend


def compiled(lab: Lab, model: nn.Module | None = None, **changes: Any) -> Workload:
    """A training step that takes time in its loss, which isn't compiled: the first 8 s and every later one 0.25 s."""
    lab.take(COMPILING_S + STEP_S, STEP_S)

    def loss(output: Tensor, target: Tensor) -> Tensor:
        lab.step()
        return nn.functional.cross_entropy(output, target)

    return workload_of(model or nn.Linear(5, 3), **{"loss": loss, "compile": True, **changes})


def check_of(record: Record, name: str) -> Check:
    (check,) = (check for check in record.checks if check.name == name)
    return check


@pytest.mark.usefixtures("backend")
def test_compiling_is_timed_apart_from_the_steps(lab: Lab) -> None:
    """What the first step takes beyond a later one; the step time is that of the rounds."""
    record, measured = bench.measure_workload(run_on(lab), compiled(lab), "case", WINDOW)
    assert measured.first_step_s == COMPILING_S + STEP_S
    assert (timing_of(record).step_time_s, timing_of(record).compile_s) == (STEP_S, COMPILING_S)
    assert record.valid
    assert not [path for path in unexplained(record) if path.startswith("timing")]
    assert check_of(record, "graphs").evidence == "1 graph(s) were compiled before the timed rounds"


@pytest.mark.usefixtures("backend")
def test_an_eager_step_has_no_compile_time_with_the_reason(lab: Lab) -> None:
    """Even if its first step took long."""
    record, _ = bench.measure_workload(run_on(lab), compiled(lab, compile=False), "case", WINDOW)
    assert timing_of(record).compile_s is None
    assert record.missing["timing.compile_s"] == "steps run eagerly: nothing is compiled"
    assert record.case.config["compile"] is False


def test_the_compiled_step_is_timed_and_profiled_and_the_model_counted(
    lab: Lab, backend: Backend, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Two steps of warm-up, four timed, one whose kernels are named run the graph; the one that is counted does not."""
    seen: list[int] = []

    def kernel_names(step: Step, _device: torch.device) -> None:
        seen.append(backend.calls)
        step()
        seen.append(backend.calls)

    def count_step(step: Step, **arguments: Any) -> Any:
        before = backend.calls
        counted = real(step, **arguments)
        seen.append(backend.calls - before)
        return counted

    real = passes.count_step
    monkeypatch.setattr(passes, "kernel_names", kernel_names)
    monkeypatch.setattr(passes, "count_step", count_step)
    record, _ = bench.measure_workload(run_on(lab), compiled(lab), "case", WINDOW)
    assert seen == [6, 7, 0]
    assert record.work is not None
    # 4 x 5 x 3 multiply-adds forward and for the weights.
    assert record.work.flop_per_step == 2 * (2 * 4 * 5 * 3)
    assert check_of(record, "precision").evidence == "matrix FLOPs of the uncompiled model: 100.0% in fp32"


@pytest.mark.usefixtures("backend")
def test_memory_that_is_short_for_counting_loses_no_row(lab: Lab, monkeypatch: pytest.MonkeyPatch) -> None:
    """Uncompiled, a step may need more than compiled: it is timed all the same, and what isn't proven isn't passed."""

    def count_step(_step: Step, **_arguments: Any) -> None:
        raise torch.OutOfMemoryError("CUDA out of memory. Tried to allocate 20.00 GiB.")

    monkeypatch.setattr(passes, "count_step", count_step)
    record, _ = bench.measure_workload(run_on(lab), compiled(lab), "case", WINDOW)
    assert timing_of(record).step_time_s == STEP_S
    assert record.work is None
    assert record.missing["work"] == "out of memory after the timed rounds: CUDA out of memory"
    assert check_of(record, "device").status == "not_made"
    assert check_of(record, "graphs").status == "passed"
    assert record.valid


@pytest.fixture
def no_recurrent_graphs() -> Iterator[None]:
    """torch's own default, by its own means: its configuration can't be put back by pytest's."""
    with config.patch(allow_rnn=False):
        yield


class Recurrent(nn.Module):
    """One step of an LSTM on every row, after ``first``."""

    def __init__(self, first: nn.Module) -> None:
        super().__init__()
        self.first = first
        self.lstm = nn.LSTM(5, 3)

    def forward(self, inputs: Tensor) -> Tensor:
        output: Tensor = self.lstm(self.first(inputs))[0]
        return output


class Scaled(nn.Module):
    """A module with code of its own, which the compiler looks into wherever it is called from."""

    def forward(self, inputs: Tensor) -> Tensor:
        return 2 * inputs


@pytest.mark.usefixtures("backend", "no_recurrent_graphs")
def test_a_model_that_is_compiled_in_part_says_what_is_eager_in_it(lab: Lab) -> None:
    """It is measured: what torch leaves out is no error of the row, but must be known of it."""
    record, _ = bench.measure_workload(run_on(lab), compiled(lab, Recurrent(Scaled())), "case", WINDOW)
    assert record.valid
    compiled_first, *_, left_eager = check_of(record, "graphs").evidence.split("; ")
    assert compiled_first == "1 graph(s) were compiled before the timed rounds"
    assert left_eager == "torch.compile leaves LSTM eager unless torch._dynamo.config.allow_rnn is set"


@pytest.mark.usefixtures("backend")
def test_a_compiled_step_has_no_predicted_peak_with_the_reason(lab: Lab) -> None:
    """What is counted is another step, whose tensors fusion would have done away with."""
    record, _ = bench.measure_workload(run_on(lab), compiled(lab), "case", WINDOW)
    assert record.memory is not None
    assert record.memory.peak_predicted_byte is None
    assert record.missing["memory.peak_predicted_byte"] == "counted on the uncompiled step, whose tensors are others"


@pytest.mark.usefixtures("backend")
def test_without_a_warm_up_the_rounds_compile_and_are_disproved(lab: Lab) -> None:
    """There is no compile time then, for it is in the rounds."""
    record, _ = bench.measure_workload(run_on(lab), compiled(lab), "case", replace(WINDOW, warmup_steps=0))
    assert check_of(record, "graphs").evidence == "1 graph(s) were compiled inside the timed rounds"
    assert record.missing["timing.compile_s"] == "no graph was compiled before the timed rounds"
    assert not record.valid


@pytest.mark.usefixtures("backend")
def test_a_model_that_compiles_itself_has_a_compile_time_too(lab: Lab) -> None:
    """Nobody asked for it, and the step is a compiled one all the same."""
    torch.compiler.reset()
    model = nn.Sequential(torch.compile(nn.Linear(5, 3)))
    record, _ = bench.measure_workload(run_on(lab), compiled(lab, model, compile=False), "case", WINDOW)
    assert timing_of(record).compile_s == COMPILING_S
    assert check_of(record, "graphs").evidence == "1 graph(s) were compiled before the timed rounds"
    assert record.missing["memory.peak_predicted_byte"].startswith("counted on the uncompiled step")


@pytest.mark.parametrize("mode", ["train", "infer"])
@pytest.mark.parametrize("precision", ["fp32", "amp_bf16", "bf16", "amp_fp16"])
def test_a_compiled_step_is_the_eager_one(backend: Backend, mode: Any, precision: str) -> None:
    """The same loss and weights in every precision, with accumulation and a scaler; graphs ran once a batch."""
    dtype = torch.bfloat16 if precision == "bf16" else torch.float32
    batches = ReadyBatches([((torch.randn(4, 5, dtype=dtype),), torch.tensor([0, 1, 2, 0]))])
    results = []
    for compile in (False, True):
        torch.compiler.reset()
        torch.manual_seed(0)
        model = nn.Linear(5, 3).to(dtype)
        chosen = {"batches": batches, "mode": mode, "precision": PRECISIONS[precision], "grad_accum_steps": 2}
        step = Step(
            workload_of(model, compile=compile, **chosen),
            torch.amp.GradScaler("cpu") if precision == "amp_fp16" and mode == "train" else None,
        )
        step()
        step()
        results.append((step.last.detach(), model.weight.detach()))
    assert backend.calls == (4 if mode == "train" else 2)
    for eager, other in zip(*results, strict=True):
        torch.testing.assert_close(other, eager)
