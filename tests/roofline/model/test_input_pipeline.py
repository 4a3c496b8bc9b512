"""The input pipeline: whether input bounds the step, told from how long the step waits."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Literal

import pytest

from roofline.model.input_pipeline import LoaderVerdict, verdicts
from roofline.results.result import Benchmark, Host, ResultFile
from roofline.schema.record import Case, Device, Flag, Record, Rounds, Timing
from roofline.schema.round_statistics import Stats

CPU = Device(kind="cpu", name="x")


def row(
    mode: Literal["train", "input"], data: str, step_s: float, wait_s: float | None, *, margin: float | None = 0.01
) -> Benchmark:
    """A benchmark of batch 10."""
    record = Record(
        case=Case(
            id=f"{mode}-{data}",
            workload_hash="h",
            model="resnet18",
            mode=mode,
            precision="fp32",
            batch=10,
            samples_per_step=10,
            sample_unit="image",
            data=data,
            config={"test": "input_pipeline"} if mode == "train" else {},
        ),
        device=CPU,
        timing=Timing(
            protocol="adaptive",
            step_time_s=step_s,
            step_time_sd_s=0.0,
            rounds=Rounds(steps=1, wall_s=(step_s,)),
            warmup_steps=1,
            warmup_s=1.0,
            warmup_settled=True,
            confidence=0.95,
            margin_target=0.01,
            margin=margin,
            stop_reason="margin",
            input_wait_s=wait_s,
        ),
    )
    stats = Stats(mean_s=step_s, stddev_s=0.0)
    return Benchmark(name=record.case.id, fullname=record.case.id, stats=stats, record=record)


def verdict(*rows: Benchmark) -> LoaderVerdict:
    (only,) = verdicts(result(*rows))
    return only


def result(*rows: Benchmark) -> ResultFile:
    return ResultFile(
        path=Path("f.json"),
        host=Host(node=None, cpu=None, system=None, python=None),
        machine=None,
        session=None,
        benchmarks=rows,
        written_at=None,
        commit=None,
        commit_dirty=None,
        pytest_benchmark_version=None,
        nonfinite=(),
        name="f.json",
    )


READY = row("train", "synthetic", 1.0, None)


def test_a_step_that_waits_is_bound_by_input() -> None:
    """Half of the step is spent waiting, and the loader alone delivers half of what ready tensors allow."""
    found = verdict(READY, row("train", "sample", 2.0, 1.0), row("input", "sample", 2.0, None))
    assert found.input_bounds
    assert found.sentence() == (
        "resnet18-train-b10-fp32 on sample: 5.00 images/s, 50 % less than on ready tensors; waits 50 % of the step; "
        "the loader alone delivers 5.00 (0.50x what ready tensors allow). Input bounds the step."
    )


def test_a_step_that_is_slower_without_waiting_shares_its_cpus() -> None:
    """On a CPU the workers compete with the model: that is not waiting for input."""
    found = verdict(READY, row("train", "sample", 1.25, 0.01), row("input", "sample", 0.1, None))
    assert not found.input_bounds
    assert found.sentence().endswith("the loader's workers take CPU time from it.")


@pytest.mark.parametrize(
    ("step_s", "margin", "end"),
    [
        (1.01, 0.01, "."),
        (1.03, 0.01, "; the margins reached are too wide to say that the loss is one."),
        (0.9, 0.01, "."),
        (1.25, None, "; the margins reached are too wide to say that the loss is one."),
    ],
    ids=["small", "within margins", "faster", "no margin claimed"],
)
def test_what_the_margins_do_not_show_is_not_claimed(step_s: float, margin: float | None, end: str) -> None:
    """A loss within the margins, or a margin that nobody claims, is no finding: what was seen needs that word."""
    found = verdict(READY, row("train", "fake", step_s, 0.0, margin=margin))
    assert found.sentence().endswith(f"of the step. Input does not bound the step{end}")
    assert found.loader_samples_per_s is None


def test_without_its_counterpart_there_is_no_verdict() -> None:
    """A fed step alone, or of another batch, can't be compared."""
    assert verdicts(result(row("train", "sample", 2.0, 1.0))) == ()
    assert verdicts(result(READY)) == ()


def test_rounds_that_others_disturbed_conclude_nothing() -> None:
    """A fed step that is faster than on ready tensors says that the machine was busy, not that input is no limit."""
    fed = row("train", "fake", 0.3, 0.0)
    assert fed.record is not None
    assert fed.record.timing is not None
    timing = replace(fed.record.timing, rounds=Rounds(steps=1, wall_s=(0.3, 0.3, 0.3), disturbed=("a", "b", None)))
    busy = replace(fed, record=replace(fed.record, timing=timing))
    assert verdict(READY, busy).sentence().endswith("measure again before concluding anything.")


def test_a_row_whose_test_failed_has_no_verdict() -> None:
    """Nothing is concluded from an invalid row, on either side."""
    fed = row("train", "fake", 1.25, 0.0)
    assert fed.record is not None
    invalid = replace(fed, record=replace(fed.record, flags=(Flag(name="test_failed", evidence="e", invalid=True),)))
    assert verdicts(result(READY, invalid)) == ()
