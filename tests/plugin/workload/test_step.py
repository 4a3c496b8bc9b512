"""Workloads: what one step does, exactly as a user's own loop would."""

from __future__ import annotations

import copy
import gc
import weakref

import pytest
import torch
from torch import nn

from pytest_roofline.workload.precision import PRECISIONS
from pytest_roofline.workload.step import LEARNING_RATE, ReadyBatches, Step, case_id, sgd, workload_hash
from tests.plugin.fake_run import batch, workload_of


def test_a_training_step_is_the_one_written_by_hand() -> None:
    """Zero gradients, forward, loss, backward, SGD with momentum: the same weights to the last bit."""
    torch.manual_seed(0)
    model = nn.Linear(5, 3)
    twin = copy.deepcopy(model)
    step = Step(workload_of(model))
    optimizer = torch.optim.SGD(twin.parameters(), lr=LEARNING_RATE, momentum=0.9, weight_decay=1e-4)
    for _ in range(3):
        step()
        (inputs,), target = batch()
        optimizer.zero_grad()
        nn.functional.cross_entropy(twin(inputs), target).backward()
        optimizer.step()
    assert torch.equal(model.weight, twin.weight)


def test_accumulation_adds_the_gradients_of_several_batches() -> None:
    """Two halves make the gradient of the whole."""
    torch.manual_seed(0)
    model = nn.Linear(5, 3)
    twin = copy.deepcopy(model)
    pair = [batch(seed=1), batch(seed=2)]
    Step(workload_of(model, batches=ReadyBatches(pair), grad_accum_steps=2))()
    whole = (torch.cat([pair[0][0][0], pair[1][0][0]]),), torch.cat([pair[0][1], pair[1][1]])
    Step(workload_of(twin, batches=ReadyBatches([whole])))()
    torch.testing.assert_close(model.weight.grad, twin.weight.grad)


def test_inference_leaves_no_graph_and_keeps_the_output() -> None:
    """It runs under inference_mode."""
    step = Step(workload_of(nn.Linear(5, 3), mode="infer"))
    step()
    assert step.last.is_inference()
    assert step.last.shape == (4, 3)


def test_autocast_is_entered_in_every_step() -> None:
    """The output of the second step is in the autocast dtype too."""
    step = Step(workload_of(nn.Linear(5, 3), mode="infer", precision=PRECISIONS["amp_bf16"]))
    step()
    step()
    assert step.last.dtype == torch.bfloat16


@pytest.mark.parametrize("mode", ["train", "infer"])
def test_a_step_that_was_taken_dies_with_its_last_name(mode: str) -> None:
    """Model, batch and optimiser are gone at once: the next model needs the memory before cycles are collected."""
    model = nn.Linear(5, 3)
    step = Step(workload_of(model, mode=mode, optimizer=sgd(model)))
    gc.disable()
    try:
        step()
        parts = (model, step.workload.optimizer, step.workload.batches)
        alive = [weakref.ref(part) for part in (*parts, model.weight, step)]
        del model, step, parts
        assert [reference() for reference in alive] == [None] * 5
    finally:
        gc.enable()


def test_batches_are_taken_in_turn() -> None:
    """One batch alone could stay in a cache that real input doesn't stay in."""
    batches = ReadyBatches([batch(seed=1), batch(seed=2)])
    first, second, third = (batches.next()[0][0] for _ in range(3))
    assert torch.equal(first, third)
    assert not torch.equal(first, second)
    assert batches.wait_s() is None
    with pytest.raises(ValueError, match="at least one batch"):
        ReadyBatches([])


def test_training_without_a_loss_is_refused() -> None:
    """The workload says what is missing before anything runs."""
    with pytest.raises(ValueError, match="training needs a loss and an optimizer"):
        workload_of(nn.Linear(5, 3), loss=None)


def test_ids_and_hashes() -> None:
    """An id is readable and names no device; the hash is over values, not over their order."""
    assert case_id("resnet50", "train", 32, "amp_bf16") == "resnet50-train-b32-amp_bf16"
    assert workload_hash({"a": 1, "b": [2]}) == workload_hash({"b": [2], "a": 1})
    assert workload_hash({"a": 1}) != workload_hash({"a": 2})
