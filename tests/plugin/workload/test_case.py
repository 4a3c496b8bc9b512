"""The case of a workload: its hash covers the work, and nothing that differs between machines."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest
import torch
from torch import nn

from pytest_roofline.options import Options
from pytest_roofline.workload.case import case_of, check_parameters, layout_of
from pytest_roofline.workload.precision import PRECISIONS
from pytest_roofline.workload.step import ReadyBatches, Workload
from tests.plugin.fake_run import options, workload_of

OPTIONS = options()


def workload(model: nn.Module | None = None, **changes: Any) -> Workload:
    values: dict[str, Any] = {
        "batches": ReadyBatches([((torch.ones(2, 4),), torch.tensor([0, 1]))]),
        "batch": 2,
        "config": {"input_shape": [4]},
        "setting": {"threads": 2, "loader": {"workers": 1}},
    }
    return workload_of(model or nn.Linear(4, 3), **{**values, **changes})


def hash_of(made: Workload, options: Options = OPTIONS) -> str:
    return case_of(made, "id", options).workload_hash


def test_threads_workers_and_seed_make_no_other_workload() -> None:
    """Machines with different numbers of cores are compared on the same work."""
    here = hash_of(workload())
    assert hash_of(workload(setting={"threads": 64, "loader": {"workers": 16}})) == here
    assert hash_of(workload(), replace(OPTIONS, seed=7)) == here


@pytest.mark.parametrize(
    "changes",
    [
        {"batch": 4},
        {"precision": PRECISIONS["tf32"]},
        {"data": "sample"},
        {"config": {"input_shape": [5]}},
        {"grad_accum_steps": 2},
        {"name": "other"},
    ],
)
def test_what_changes_the_work_changes_the_hash(changes: dict[str, Any]) -> None:
    """Batch, precision, data, shapes, accumulation, model."""
    assert hash_of(workload(**changes)) != hash_of(workload())


def test_the_optimizer_counts_by_its_arithmetic() -> None:
    """Its momentum does; an implementation flag that a torch version adds doesn't."""
    plain, other = workload(), workload()
    assert other.optimizer is not None
    other.optimizer.param_groups[0]["some_new_flag"] = True
    assert hash_of(other) == hash_of(plain)
    other.optimizer.param_groups[0]["momentum"] = 0.5
    assert hash_of(other) != hash_of(plain)


def test_what_is_not_hashed_is_recorded_all_the_same() -> None:
    """Threads, workers and seed can be read in the results."""
    config = case_of(workload(), "id", OPTIONS).config
    assert (config["threads"], config["loader"], config["seed"]) == (2, {"workers": 1}, 0)


def images(weights: torch.memory_format, inputs: torch.memory_format, channels: int = 3) -> Workload:
    model = nn.Conv2d(channels, 4, 3).to(memory_format=weights)
    batch = torch.ones(2, channels, 8, 8).to(memory_format=inputs)
    return workload(model=model, batches=ReadyBatches([((batch,), None)]), mode="infer")


PLAIN, LAST = torch.contiguous_format, torch.channels_last


def test_a_single_channel_lies_in_both_layouts() -> None:
    """There is no difference in memory, so either name is right."""
    one = workload(model=nn.Conv2d(1, 1, 3), batches=ReadyBatches([((torch.ones(2, 1, 8, 8),), None)]), mode="infer")
    assert layout_of(one).fits == {"contiguous", "channels_last"}
    assert case_of(one, "id", OPTIONS).layout == "contiguous"


@pytest.mark.parametrize(
    ("parameters", "status"),
    [
        ({"precision": torch.float32}, "passed"),
        ({"precision": torch.float16}, "failed"),
        ({"mode": "nearest", "precision": "half", "layout": "nhwc", "batch": "all", "device": "here", "n": 3}, None),
        ({"precision": torch.ones(2), "batch": True, "device": "auto"}, None),
        ({"mode": "infer", "precision": "fp32", "batch": 2, "layout": "channels_last", "device": "cpu"}, "passed"),
        ({"batch_size": 2, "device": torch.device("cpu")}, "passed"),
        ({"mode": "train"}, "failed"),
        ({"precision": "amp_bf16"}, "failed"),
        ({"batch": 3}, "failed"),
        ({"batch_size": 3}, "failed"),
        ({"layout": "contiguous"}, "failed"),
        ({"device": "cuda"}, "failed"),
        ({"device": "cuda:1"}, "failed"),
    ],
)
def test_parameters_in_our_words_must_say_what_was_measured(parameters: dict[str, Any], status: str | None) -> None:
    """Others' words say nothing."""
    made = images(LAST, LAST)
    check = check_parameters(parameters, made, case_of(made, "id", OPTIONS))
    assert (check and check.status) == status


def test_tensors_in_several_layouts_disprove_none() -> None:
    """What ran can't be said in one word."""
    made = images(LAST, PLAIN)
    check = check_parameters({"layout": "channels_last"}, made, case_of(made, "id", OPTIONS))
    assert check is not None
    assert check.status == "passed"
