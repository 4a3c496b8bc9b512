"""Measuring a workload and a roof on a clock that only steps move: what happens when, and what the record says."""

from __future__ import annotations

from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from types import SimpleNamespace
from typing import Any, cast

import pytest
import torch
from torch import Tensor, nn
from torch.utils._python_dispatch import _get_current_dispatch_mode_stack

from pytest_roofline import bench
from pytest_roofline.device.nvml import DeviceState
from pytest_roofline.device.system import System
from pytest_roofline.measuring import Measured
from pytest_roofline.profilers.perf_stat import PerfStat
from pytest_roofline.proof import claims, passes
from pytest_roofline.roofs import kernels as roofs
from pytest_roofline.roofs.kernels import Candidate, RoofPlan
from pytest_roofline.session.run import Run
from pytest_roofline.workload.step import ReadyBatches, Step
from roofline.schema.record import Case, Counters, HostCounters, Process, Record
from roofline.schema.record_json import from_json, to_json
from roofline.schema.session import RoofKind
from tests.plugin.fake_run import DEVICE, STEP_S, WINDOW, Ticking, Waiting, run_on, timing_of, workload
from tests.plugin.measuring.fakes import Lab
from tests.plugin.measuring.test_pace import Turns
from tests.roofline import build

LOADER = Case(
    id="input-alone",
    workload_hash="0",
    samples_per_step=4,
    sample_unit="image",
    model="loader",
    mode="input",
    precision="fp32",
    batch=4,
)


def test_proofs_and_counting_are_outside_the_timed_rounds(lab: Lab, monkeypatch: pytest.MonkeyPatch) -> None:
    """The whole order of a measurement: in the round nothing but steps, and every pass of our own after the timing."""

    def noted(name: str, real: Callable[..., object]) -> Callable[..., object]:
        def call(*arguments: object) -> object:
            lab.calls.append(name)
            return real(*arguments)

        return call

    for name in ("snapshot", "check_finite"):
        monkeypatch.setattr(claims, name, noted(name, getattr(claims, name)))
    bench.measure_workload(run_on(lab), workload(lab), "case", WINDOW)
    sync_cost = ["synchronize"] + (["clock"] + 10 * ["synchronize"] + ["clock"]) * 5
    warm_up = ["synchronize", "clock", "step", "synchronize", "clock"] * 2
    timed = ["telemetry", "synchronize", "clock", "mark", *4 * ["step"], "mark", "synchronize", "clock", "telemetry"]
    # One to start with, and as many as fill a second.
    profiled = ["clock", "step", "clock"] * (1 + 4)
    assert lab.calls == [
        "snapshot",
        "clock",
        *sync_cost,
        *warm_up,
        "snapshot",
        "energy",
        "held",
        *timed,
        "state",
        "held",
        "energy",
        "clock",
        "snapshot",
        "check_finite",
        "step",
        *profiled,
    ]


def test_times_are_those_of_the_steps(lab: Lab) -> None:
    """Two steps of warm-up and four in the window; the steps that are counted and profiled are in no time."""
    run = run_on(lab)
    record, measured = bench.measure_workload(run, workload(lab), "case", WINDOW)
    timing = timing_of(record)
    assert timing.step_time_s == STEP_S
    assert (timing.rounds.steps, timing.rounds.wall_s) == (4, (1.0,))
    assert (timing.warmup_steps, timing.warmup_s, measured.first_step_s) == (2, 0.5, STEP_S)
    assert run.measuring_s == 6 * STEP_S
    # One more that is counted, and five under the profiler.
    assert lab.now == (6 + 1 + 5) * STEP_S


def test_the_record_of_a_training_case_is_complete(lab: Lab) -> None:
    """Case, device, checks, work, and a reason for what is missing; it survives its own file format."""
    record, _ = bench.measure_workload(run_on(lab), workload(lab), "linear-train-b4-fp32", WINDOW)
    case = record.case
    assert (case.id, case.model, case.mode, case.precision) == ("linear-train-b4-fp32", "linear", "train", "fp32")
    assert (case.batch, case.samples_per_step, case.sample_unit) == (4, 4, "row")
    assert (case.config["parameters"], case.config["seed"]) == (18, 7)
    assert record.device == DEVICE
    assert {check.name: check.status for check in record.checks} == {
        "device": "passed",
        "kernels": "not_made",
        "precision": "passed",
        "graphs": "passed",
        "optimizer_steps": "passed",
        "finite": "passed",
    }
    assert record.work is not None
    # 4 x 5 x 3 multiply-adds forward and for the weights; the inputs need no gradient.
    assert record.work.flop_by_dtype["fp32"] >= 2 * (2 * 4 * 5 * 3)
    assert record.operations
    assert record.profile
    assert (record.profile.source, record.profile.steps, record.profile.step_s) == ("operators", 4, STEP_S)
    assert all(operation.time_s for operation in record.operations)
    assert record.process is not None
    assert record.counters == Counters(status="not_requested")
    assert record.memory is not None
    assert record.memory.peak_predicted_byte is not None
    # Parameters, momentum and batch at least.
    assert record.memory.peak_predicted_byte > (18 + 18 + 4 * 5) * 4 + 4 * 8
    absent = {"memory.peak_allocated_byte", "energy_j_per_step", "timing.latency", "timing.input_wait_s"}
    assert absent <= set(record.missing)
    assert record.valid
    assert from_json(Record, to_json(record), "the record") == record


def test_a_process_that_takes_turns_is_not_profiled(lab: Lab) -> None:
    """What its verdict hangs on is proven, for which one step is counted; none is taken for the times of operations, or
    for events, and the record says why they aren't there.
    """
    run, turns = run_on(lab), Turns(lab, 3)
    run.perf_stat = cast(PerfStat, Events())
    run.turns = cast(Any, SimpleNamespace(last=True, pace=lambda _case: turns, slowed=lambda step, *_: step))
    record, _ = bench.measure_workload(run, workload(lab), "case", WINDOW)
    assert len(turns.taken) == 3
    assert record.valid
    statuses = {check.name: check.status for check in record.checks}
    assert (statuses["device"], statuses["precision"], statuses["finite"]) == ("passed", "passed", "passed")
    assert record.work is not None
    assert record.operations
    assert record.profile is None
    assert record.missing["profile"] == passes.TAKES_TURNS
    assert record.host_counters is None
    assert record.missing["host_counters"] == "perf stat counts in no process that takes turns with others"
    last = max(index for index, call in enumerate(lab.calls) if call == "wait")
    assert lab.calls[last:].count("step") == 1


def test_all_batches_that_lie_ready_are_in_the_predicted_peak(lab: Lab) -> None:
    """Two more of 4 x 5 numbers and 4 targets."""

    def peak(batches: int) -> int:
        ready = ReadyBatches([((torch.ones(4, 5),), torch.tensor([0, 1, 2, 0])) for _ in range(batches)])
        record, _ = bench.measure_workload(run_on(lab), workload(lab, batches=ready), "case", WINDOW)
        assert record.memory is not None
        assert record.memory.peak_predicted_byte is not None
        return record.memory.peak_predicted_byte

    assert peak(3) - peak(1) == 2 * (4 * 5 * 4 + 4 * 8)


def test_a_step_that_raises_when_it_is_counted_keeps_its_row(lab: Lab) -> None:
    """It may raise anything where it finds a mode; what isn't proven isn't passed."""

    class Refusing(Ticking):
        def forward(self, inputs: Tensor) -> Tensor:
            if _get_current_dispatch_mode_stack():
                raise LookupError("not under a mode\nplease")
            return super().forward(inputs)

    model = Refusing(lab)
    record, _ = bench.measure_workload(run_on(lab), workload(lab, model), "case", WINDOW)
    assert timing_of(record).step_time_s == STEP_S
    assert record.valid
    statuses = {check.name: check.status for check in record.checks}
    assert (statuses["device"], statuses["precision"], statuses["finite"]) == ("not_made", "not_made", "passed")
    for path in ("work", "profile", "memory.peak_predicted_byte"):
        assert record.missing[path] == "the step can't be counted: LookupError: not under a mode"


def test_an_inference_partly_in_another_thread_has_no_work(lab: Lab) -> None:
    """What is seen of it is a number like any other; the pass under the profiler shows that it isn't all."""

    class Partly(Ticking):
        def forward(self, inputs: Tensor) -> Tensor:
            with ThreadPoolExecutor(1) as pool:
                return pool.submit(torch.mm, super().forward(inputs), torch.eye(3)).result()

    partly = workload(lab, Partly(lab), mode="infer")
    record, _ = bench.measure_workload(run_on(lab), partly, "case", WINDOW)
    assert record.valid
    statuses = {check.name: check.status for check in record.checks}
    assert (statuses["device"], statuses["precision"], statuses["finite"]) == ("not_made", "not_made", "passed")
    assert (record.work, record.profile, record.operations) == (None, None, ())
    assert record.missing["work"].startswith("aten::mm ran in another thread in every step")
    assert record.missing["memory.peak_predicted_byte"] == record.missing["work"]


def test_a_step_that_computes_in_numpy_has_no_work(lab: Lab) -> None:
    """Whatever numpy does with its numbers, no operation shows it."""

    class Scaled(Ticking):
        def forward(self, inputs: Tensor) -> Tensor:
            return super().forward(torch.from_numpy(inputs.numpy() * 2))

    model = Scaled(lab)
    record, _ = bench.measure_workload(run_on(lab), workload(lab, model), "case", WINDOW)
    assert record.valid
    assert {check.name: check.status for check in record.checks}["precision"] == "not_made"
    assert record.work is None
    assert record.missing["work"].startswith("the step hands tensors to numpy (the first is fp32, 4x5)")


def test_a_cached_output_is_no_work_of_0_flop(lab: Lab) -> None:
    """Later steps run nothing at all: that is said, and not taken for other threads."""

    class Cached(Ticking):
        def forward(self, inputs: Tensor) -> Tensor:
            self._lab.step()
            if not hasattr(self, "_output"):
                self._output = nn.functional.linear(inputs, self.weight, self.bias)
            return self._output

    cached = workload(lab, Cached(lab), mode="infer")
    record, _ = bench.measure_workload(run_on(lab), cached, "case", WINDOW)
    assert record.work is None
    assert record.missing["work"] == (
        "no operation ran in the step: its output is cached, or computed where torch doesn't see it"
    )


def test_steps_of_different_work_are_flagged(lab: Lab) -> None:
    """As a model that skips layers at random takes: the count is of one step, the time of all."""

    class Alternating(Ticking):
        steps = 0

        def forward(self, inputs: Tensor) -> Tensor:
            self.steps += 1
            outputs = super().forward(inputs)
            return outputs @ outputs.t() if self.steps % 2 else outputs

    uneven = workload(lab, Alternating(lab), mode="infer")
    record, _ = bench.measure_workload(run_on(lab), uneven, "case", WINDOW)
    assert [(flag.name, flag.invalid) for flag in record.flags] == [("uneven_steps", False)]
    assert record.work is not None


def test_inference_has_latencies_and_no_optimizer_steps(lab: Lab) -> None:
    """Single steps are timed after the rounds, and count as measuring."""
    run = run_on(lab)
    record, _ = bench.measure_workload(run, workload(lab, mode="infer"), "case", WINDOW)
    latency = timing_of(record).latency
    assert latency is not None
    assert (latency.steps, latency.median_s, latency.p99_s) == (10, STEP_S, STEP_S)
    assert "optimizer_steps" not in {check.name for check in record.checks}
    assert run.measuring_s == (2 + 4 + 10) * STEP_S


def test_waiting_for_data_is_recorded_by_step(lab: Lab) -> None:
    """Where the batches tell how long they were waited for, and how long they took to start."""
    batches = Waiting(lab, [((torch.ones(4, 5),), torch.tensor([0, 1, 2, 0]))])
    record, _ = bench.measure_workload(run_on(lab), workload(lab, batches=batches), "case", WINDOW)
    assert timing_of(record).rounds.input_wait_s == (0.25,)
    assert timing_of(record).input_wait_s == STEP_S / 4
    assert timing_of(record).input_startup_s == 2.0
    assert "timing.input_wait_s" not in record.missing


def kernel(lab: Lab, name: str, amount: float, seconds: float) -> Candidate:
    def call() -> None:
        lab.now += seconds

    return Candidate(name, amount, lambda: call)


def roof_plan(monkeypatch: pytest.MonkeyPatch, kind: RoofKind, name: str, *candidates: Candidate) -> None:
    """What the roof of any name is measured with."""
    plan = RoofPlan(kind, name, "how", "fp32", candidates)
    monkeypatch.setattr(roofs, "plan", lambda _name, _device, _cache: plan)


def test_a_roof_is_its_winners_best_round(lab: Lab, monkeypatch: pytest.MonkeyPatch) -> None:
    """Both kernels are tried, the one with the higher rate is measured, and what it reached is in the ledger."""
    roof_plan(monkeypatch, "flop", "fp32", kernel(lab, "slow", 1e9, 0.5), kernel(lab, "fast", 1e9, STEP_S))
    run = run_on(lab)
    record = bench.measure_roof(run, "fp32")
    (roof,) = run.roofs.ledger.roofs()
    assert (roof.name, roof.kernel, roof.value, roof.source) == ("fp32", "fast", 4e9, "measured")
    assert (record.case.id, record.case.model, record.case.mode) == ("roof-fp32", "fast", "roof")
    assert record.work is not None
    assert (record.work.flop_per_step, record.work.flop_by_dtype) == (1e9, {"fp32": 1e9})
    timing = timing_of(record)
    assert timing.rounds.wall_s == 6 * (STEP_S,)
    assert (timing.stop_reason, sum(timing.rounds.wall_s)) == ("budget", bench.ROOF_BUDGET_S)
    # Two calls of each to find the winner, its warm-up, its rounds.
    assert run.measuring_s == 2 * 0.5 + 2 * STEP_S + timing.warmup_s + bench.ROOF_BUDGET_S == lab.now


def test_a_bandwidth_roof_has_bytes_and_no_flop(lab: Lab, monkeypatch: pytest.MonkeyPatch) -> None:
    """What is moved is known exactly: both bounds are the same."""
    roof_plan(monkeypatch, "byte", "dram", kernel(lab, "copy", 2e9, STEP_S))
    run = run_on(lab)
    record = bench.measure_roof(run, "dram")
    assert record.work is not None
    assert record.work.byte_low_per_step == record.work.byte_high_per_step == 2e9
    assert record.work.flop_per_step == 0
    assert [roof.value for roof in run.roofs.ledger.roofs()] == [8e9]


def test_a_launch_has_a_time_and_no_work(lab: Lab, monkeypatch: pytest.MonkeyPatch) -> None:
    """Its roof is in seconds; there is a reason where the work would be."""
    roof_plan(monkeypatch, "latency", "launch", kernel(lab, "add", 1.0, STEP_S))
    run = run_on(lab)
    record = bench.measure_roof(run, "launch")
    assert [roof.value for roof in run.roofs.ledger.roofs()] == [STEP_S]
    assert record.work is None
    assert record.missing["work"] == "a launch has neither FLOPs nor bytes to count"


@pytest.mark.parametrize(("max_time", "budget_s"), [(10.0, bench.INPUT_BUDGET_S), (1.0, 1.0)])
def test_a_loader_alone_has_a_budget_of_its_own(lab: Lab, max_time: float, budget_s: float) -> None:
    """At most three seconds of rounds, less where less was asked for; it has no work, with the reason."""
    run = run_on(lab, max_time)
    record, _ = bench.measure_input(run, lab.step, LOADER)
    assert sum(timing_of(record).rounds.wall_s) == budget_s
    assert record.work is None
    assert record.missing["work"] == "a loader alone computes nothing for the model"
    assert run.measuring_s == lab.now == timing_of(record).warmup_s + budget_s


def plain_rows(run: Run, lab: Lab, monkeypatch: pytest.MonkeyPatch) -> tuple[Record, ...]:
    """A roof and a loader alone."""
    roof_plan(monkeypatch, "flop", "fp32", kernel(lab, "fast", 1e9, STEP_S))
    return bench.measure_roof(run, "fp32"), bench.measure_input(run, lab.step, LOADER)[0]


@pytest.mark.parametrize(
    ("state", "name"),
    [
        (DeviceState(throttle=("HW Thermal Slowdown",)), "throttled"),
        (DeviceState(device_memory_byte=99), "spilled"),
    ],
)
def test_what_held_the_device_back_is_flagged_in_every_row(
    lab: Lab, monkeypatch: pytest.MonkeyPatch, state: DeviceState, name: str
) -> None:
    """By what was read after each round; of roofs and loaders, too: every fraction of a roof rests on it."""
    monkeypatch.setattr(System, "wsl", True)
    lab.state = lambda: state  # type: ignore[method-assign]
    run = run_on(lab)
    monkeypatch.setattr(run.machine, "device", replace(DEVICE, memory_byte=100))
    case = bench.measure_workload(run, workload(lab), "case", WINDOW)[0]
    for record in (case, *plain_rows(run, lab, monkeypatch)):
        assert {flag.name for flag in record.flags} - {"margin"} == {name}
        assert record.valid


def test_what_the_process_used_stands_in_every_row(lab: Lab, monkeypatch: pytest.MonkeyPatch) -> None:
    """From before warm-up to after the last round, with the reasons for what isn't told of it."""
    opened: list[float] = []

    class Usage:
        def __init__(self) -> None:
            self.missing: dict[str, str] = {}
            opened.append(lab.now)

        def stop(self) -> Process:
            self.missing["process.max_rss_byte"] = "nothing tells it"
            return Process(
                real_s=lab.now - opened[-1],
                user_s=0.0,
                system_s=0.0,
                max_rss_byte=None,
                voluntary_switches=1,
                involuntary_switches=1,
            )

    monkeypatch.setattr(bench, "ProcessUsage", Usage)
    run = run_on(lab)
    case = bench.measure_workload(run, workload(lab), "case", WINDOW)[0]
    for record in (case, *plain_rows(run, lab, monkeypatch)):
        timing = timing_of(record)
        assert record.process is not None
        assert record.process.real_s == timing.warmup_s + sum(timing.rounds.wall_s)
        assert record.missing["process.max_rss_byte"] == "nothing tells it"
    assert len(opened) == 3


class Events:
    """Counts the steps that it takes, and tells as many cycles."""

    def count(self, step: Step, measured: Measured, instruments: Lab) -> HostCounters:
        instruments.calls.append("perf")
        step()
        return HostCounters(
            status="missing_metric",
            steps=1,
            cycles=measured.timing.step_time_s,
            reason="/opt/perf counts no misses",
        )


def test_events_are_counted_in_a_pass_of_their_own(lab: Lab) -> None:
    """After all others, only where that was asked for; the timing knows nothing of it, and no folder is published."""
    run = run_on(lab)
    record, _ = bench.measure_workload(run, workload(lab), "case", WINDOW)
    assert record.host_counters is None
    assert record.missing["host_counters"] == "perf stat was not asked for"
    run.perf_stat = cast(PerfStat, Events())
    record, _ = bench.measure_workload(run, workload(lab), "case", WINDOW)
    assert record.host_counters == HostCounters(
        status="missing_metric", steps=1, cycles=STEP_S, reason="perf counts no misses"
    )
    assert "host_counters" not in record.missing
    assert lab.calls[-2:] == ["perf", "step"]


def test_no_events_are_counted_of_roofs_and_loaders(lab: Lab, monkeypatch: pytest.MonkeyPatch) -> None:
    """Whether or not they were asked for, and it isn't said that they weren't."""
    run = run_on(lab)
    run.perf_stat = cast(PerfStat, Events())
    roof, loader = plain_rows(run, lab, monkeypatch)
    assert "perf" not in lab.calls
    assert (roof.host_counters, loader.host_counters) == (None, None)
    assert roof.missing["host_counters"] == "perf stat counts the steps of a model, not the kernel of a roof"
    assert loader.missing["host_counters"] == "perf stat counts the steps of a model, not a loader alone"


@pytest.mark.parametrize(
    ("kind", "busy_s", "fed", "flagged"),
    [("cpu", None, False, True), ("cuda", 0.09, False, False), ("cuda", 0.09, True, True), ("cuda", 0.05, False, True)],
)
def test_what_other_workers_may_slow_down_is_flagged(kind: str, busy_s: float, *, fed: bool, flagged: bool) -> None:
    """All on a CPU whose socket they share; on a GPU what a loader feeds, and where the host leaves the device idle."""
    record = build.record(timing=build.timing(0.1), profile=build.profile(device_busy_s=busy_s))

    def flags(neighbours: int) -> list[str]:
        run = cast(Run, SimpleNamespace(neighbours=neighbours, device=torch.device(kind)))
        return [flag.name for flag in bench.shared_host(run, record, fed=fed)]

    assert flags(1) == (["shared_host"] if flagged else [])
    assert flags(0) == []
