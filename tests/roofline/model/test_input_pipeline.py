"""The input pipeline: whether input bounds the step, told from how long the step waits."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from roofline.model.input_pipeline import LoaderVerdict, verdicts
from roofline.schema.record import Device, Flag, Record, Rounds
from tests.roofline import build


def row(
    mode: str,
    data: str,
    step_s: float,
    wait_s: float | None,
    *,
    margin: float | None = 0.01,
    threads: object = None,
    device: Device = build.CPU,
    **more: Any,
) -> Record:
    """A record of batch 10; ``more`` is of its timing."""
    config: dict[str, Any] = {"test": "input_pipeline", "threads": threads} if mode == "train" else {}
    if wait_s is not None:
        config["loader"] = {"workers": 1}
    case = build.case(id=f"{mode}-{data}", model="resnet18", mode=mode, batch=10, data=data, config=config)
    return build.record(
        case=case, device=device, timing=build.timing(step_s, margin=margin, input_wait_s=wait_s, **more)
    )


Judge = Callable[..., tuple[LoaderVerdict, ...]]


@pytest.fixture
def judged(tmp_path: Path) -> Judge:
    """The verdicts of a file with these records."""
    return lambda *records: verdicts(build.result(tmp_path / "a.json", records))


READY = row("train", "synthetic", 1.0, None)


def test_a_step_that_waits_is_bound_by_input(judged: Judge) -> None:
    """Half of the step is spent waiting, and the loader alone delivers half of what ready tensors allow."""
    (found,) = judged(READY, row("train", "sample", 2.0, 1.0), row("input", "sample", 2.0, None))
    assert found.input_bounds
    assert found.sentence() == (
        "resnet18-train-b10-fp32 on sample: 5.00 images/s, 50 % less than on ready tensors; waits 50 % of the step; "
        "the loader alone delivers 5.00 (0.50x what ready tensors allow). Input bounds the step."
    )


def test_a_step_that_is_slower_without_waiting_shares_its_cpus(judged: Judge) -> None:
    """On a CPU the workers compete with the model: that is not waiting for input."""
    (found,) = judged(READY, row("train", "sample", 1.25, 0.01), row("input", "sample", 0.1, None))
    assert not found.input_bounds
    assert found.sentence().endswith("the loader's workers take CPU time from it.")


_NOT_KNOWN = ". Whether it is slower than on ready tensors is not known: the margins reached are too wide."


@pytest.mark.parametrize(
    ("step_s", "margin", "end"),
    [
        (1.01, 0.01, "."),
        (1.03, 0.01, _NOT_KNOWN),
        (0.9, 0.01, "."),
        (1.25, None, _NOT_KNOWN),
    ],
    ids=["small", "within margins", "faster", "no margin claimed"],
)
def test_what_the_margins_do_not_show_is_not_claimed(
    judged: Judge, step_s: float, margin: float | None, end: str
) -> None:
    """A loss within the margins, or a margin that nobody claims, is no finding: what was seen needs that word."""
    (found,) = judged(READY, row("train", "fake", step_s, 0.0, margin=margin))
    assert found.sentence().endswith(f"of the step. Input does not bound the step{end}")
    assert found.loader_samples_per_s is None


@pytest.mark.parametrize("margin", [0.01, None])
def test_a_step_with_fewer_threads_says_so(judged: Judge, margin: float | None) -> None:
    """The threads are known, so that no margin is needed to see why a step is slower."""
    (found,) = judged(
        row("train", "synthetic", 1.0, None, threads=2), row("train", "fake", 2.0, 0.01, margin=margin, threads=1)
    )
    assert found.conclusion == (
        "Input does not bound the step, but it computes with 1 of 2 threads, for the loader's workers have the rest."
    )


@pytest.mark.parametrize(
    ("own", "ready", "more"),
    [
        (2, 2, {}),
        (2, 1, {}),
        ("1", 2, {}),
        (1, None, {}),
        (1, 2, {"device": build.CUDA}),
    ],
    ids=["equal", "more", "no number", "not known", "not computed by them"],
)
def test_threads_that_are_not_fewer_explain_nothing(judged: Judge, own: object, ready: object, more: Any) -> None:
    """On a GPU the host's threads don't compute."""
    fed = row("train", "sample", 1.25, 0.01, threads=own, **more)
    (found,) = judged(row("train", "synthetic", 1.0, None, threads=ready, **more), fed)
    assert found.fewer_threads is None
    assert found.conclusion.endswith("the loader's workers take CPU time from it.")


def test_input_bounds_a_step_with_fewer_threads(judged: Judge) -> None:
    """A loss within what is worth a word isn't explained, either."""
    ready = row("train", "synthetic", 1.0, None, threads=2)
    fed = (row("train", "sample", 2.0, 1.0, threads=1), row("train", "fake", 1.01, 0.0, threads=1))
    assert [found.conclusion for found in judged(ready, *fed)] == [
        *("Input bounds the step.", "Input does not bound the step."),
    ]


def test_without_its_counterpart_there_is_no_verdict(judged: Judge) -> None:
    """A fed step alone, or steps that were measured for something else."""
    fed = row("train", "sample", 2.0, 1.0)
    assert judged(fed) == ()
    assert judged(READY) == ()
    assert judged(*(replace(one, case=replace(one.case, config={})) for one in (READY, fed))) == ()


def test_rounds_that_others_disturbed_conclude_nothing(judged: Judge) -> None:
    """A fed step that is faster than on ready tensors says that the machine was busy, not that input is no limit."""
    rounds = Rounds(steps=1, wall_s=(0.3, 0.3, 0.3), disturbed=("a", "b", None))
    (found,) = judged(READY, row("train", "fake", 0.3, 0.0, rounds=rounds))
    assert found.sentence().endswith("measure again before concluding anything.")


def test_a_row_whose_test_failed_has_no_verdict(judged: Judge) -> None:
    """Nothing is concluded from an invalid row, on either side."""
    failed = Flag(name="test_failed", evidence="e", invalid=True)
    assert judged(READY, replace(row("train", "fake", 1.25, 0.0), flags=(failed,))) == ()
