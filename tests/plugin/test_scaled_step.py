"""Training with a gradient scaler: what a skipped optimiser step looks like, and that it is seen."""

from __future__ import annotations

import copy

import pytest
import torch
from torch import nn

from pytest_roofline.proof import claims
from pytest_roofline.workload.precision import PRECISIONS
from pytest_roofline.workload.step import ReadyBatches, Step, sgd
from tests.plugin.fake_run import workload_of

SCALE = 65536.0


def scaled_step(size: float, *, growth_interval: int = 2000, parts: int = 1) -> Step:
    """Mixed fp16 on the CPU with a real scaler, on inputs of about ``size``."""
    torch.manual_seed(0)
    model = nn.Linear(4, 3)
    batches = [((size * torch.randn(2, 4),), torch.tensor([0, 1])) for _ in range(parts)]
    changes = {"batches": ReadyBatches(batches), "precision": PRECISIONS["amp_fp16"], "grad_accum_steps": parts}
    workload = workload_of(model, **changes)
    # A step makes no scaler of its own for a CPU: this one stands for CUDA's.
    return Step(workload, torch.amp.GradScaler("cpu", growth_interval=growth_interval))


def weights(step: Step) -> dict[str, torch.Tensor]:
    return copy.deepcopy(step.workload.model.state_dict())


def same(first: dict[str, torch.Tensor], second: dict[str, torch.Tensor]) -> bool:
    return all(torch.equal(first[name], second[name]) for name in first)


def test_inputs_out_of_range_skip_the_step_and_are_disproved() -> None:
    """fp16 makes infinity of 1e30: each time the scaler halves its scale and leaves the weights alone. So the number of
    skipped steps is known without touching the optimiser.
    """
    step = scaled_step(1e30)
    before, old = claims.snapshot(step), weights(step)
    step()
    step()
    assert step.scale() == SCALE / 4 == 16384.0
    assert same(weights(step), old)
    check = claims.check_optimizer_steps(step, before, claims.snapshot(step))
    assert check is not None
    assert (check.status, check.evidence) == (
        "failed",
        "gradient scale 65536 before the rounds, 16384 after: "
        "2 step(s) were skipped for gradients that were not finite",
    )
    assert [flag.name for flag in claims.flags_of([check]) if flag.invalid] == ["optimizer_steps_disproved"]


def test_a_step_that_is_taken_passes() -> None:
    """Finite gradients: the weights move and the scale stays."""
    step = scaled_step(1.0)
    before, old = claims.snapshot(step), weights(step)
    step()
    check = claims.check_optimizer_steps(step, before, claims.snapshot(step))
    assert not same(weights(step), old)
    assert check is not None
    assert (check.status, check.evidence) == ("passed", "gradient scale 65536 before the rounds, 65536 after")


def test_gradients_are_unscaled_before_they_are_used() -> None:
    """The step is the one of a loop without a scaler, up to fp16's rounding, and not 65536 times as large."""
    step = scaled_step(1.0, parts=2)
    plain = copy.deepcopy(step.workload.model)
    optimizer = sgd(plain)
    for _ in range(2):
        inputs, target = step.workload.batches.next()
        assert target is not None
        (nn.functional.cross_entropy(plain(*inputs), target) / 2).backward()
    old = weights(step)["weight"]
    optimizer.step()
    step()
    moved = step.workload.model.get_parameter("weight").detach() - old
    torch.testing.assert_close(moved, plain.get_parameter("weight").detach() - old, rtol=0.02, atol=1e-6)


@pytest.mark.parametrize(("frozen", "scale"), [(False, 4 * SCALE), (True, SCALE)])
def test_a_frozen_scale_does_not_grow(frozen: bool, scale: float) -> None:
    """Growing, it would skip a step sooner or later, inside the timed rounds."""
    step = scaled_step(1.0, growth_interval=1)
    if frozen:
        step.freeze_scale()
    step()
    step()
    assert step.scale() == scale


def test_steps_on_fetched_batches_go_on_with_the_same_scaler() -> None:
    """The counting pass takes the step that was timed, not one with a fresh scale."""
    step = scaled_step(1e30)
    step()
    fetched = step.on_fetched_batches()
    assert fetched.scale() == SCALE / 2
    fetched()
    assert step.scale() == SCALE / 4
