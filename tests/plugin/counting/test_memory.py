"""Memory by part, and the byte range of whole steps, worked out by hand."""

from __future__ import annotations

from collections.abc import Callable

import pytest
import torch
from torch import nn

from pytest_roofline.counting import Counted, count_step

IN, OUT, BATCH = 32, 16, 8
WEIGHT, BIAS = 4 * IN * OUT, 4 * OUT
PARAMETERS = WEIGHT + BIAS
SOURCE, RESULT = 4 * BATCH * IN, 4 * BATCH * OUT


def trained() -> tuple[nn.Module, torch.optim.Optimizer, Callable[[], None]]:
    model, source = nn.Linear(IN, OUT), torch.randn(BATCH, IN)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1, momentum=0.9, fused=True)

    def step() -> None:
        optimizer.zero_grad()
        model(source).sum().backward()
        optimizer.step()

    step()
    return model, optimizer, step


def test_parts_of_training() -> None:
    """Parameters, gradients, momentum; the input is what autograd saves, the results are what the forward makes."""
    model, optimizer, step = trained()
    work = count_step(step, model=model, optimizer=optimizer).work
    assert work.parameter_count == IN * OUT + OUT
    assert (work.parameter_byte, work.gradient_byte, work.optimizer_state_byte) == (PARAMETERS,) * 3
    assert work.saved_for_backward_byte == SOURCE
    loss, first_gradient = 4, 4
    assert work.activation_byte == RESULT + loss + first_gradient


def test_gradients_dropped_at_the_end_of_the_step_count_too() -> None:
    """They were there when the optimiser took them."""
    model, optimizer, step = trained()

    def tidy() -> None:
        step()
        optimizer.zero_grad()

    assert count_step(tidy, model=model, optimizer=optimizer).work.gradient_byte == PARAMETERS


def test_inference_saves_nothing() -> None:
    """No gradients, nothing saved; without an optimiser its state is unknown, not 0."""
    model, source = nn.Linear(IN, OUT), torch.randn(BATCH, IN)

    def step() -> None:
        with torch.inference_mode():
            model(source)

    work = count_step(step, model=model).work
    assert (work.saved_for_backward_byte, work.gradient_byte, work.optimizer_state_byte) == (0, 0, None)
    assert work.activation_byte == RESULT


def test_saved_tensors_count_once_and_parameters_not() -> None:
    """The ReLU's result is saved by itself and by the next layer: one storage."""
    model = nn.Sequential(nn.Linear(IN, OUT), nn.ReLU(), nn.Linear(OUT, 1))
    source = torch.randn(BATCH, IN)
    work = count_step(lambda: model(source).sum().backward(), model=model).work
    assert work.saved_for_backward_byte == SOURCE + RESULT


def test_of_accumulated_passes_the_largest_counts() -> None:
    """A pass's tensors are freed before the next saves its own; what the forward makes adds up."""
    model, small, large = nn.Linear(IN, OUT), torch.randn(BATCH, IN), torch.randn(2 * BATCH, IN)

    def step() -> None:
        for source in (small, large, small):
            model(source).sum().backward()

    work = count_step(step, model=model).work
    assert work.saved_for_backward_byte == 2 * SOURCE
    assert work.activation_byte == (1 + 2 + 1) * RESULT + 3 * (4 + 4)


def test_tied_weights_count_once() -> None:
    """Two names, one parameter."""
    model = nn.Sequential(nn.Linear(4, 4, bias=False), nn.Linear(4, 4, bias=False))
    model[1].weight = model[0].weight
    work = count_step(lambda: model(torch.randn(2, 4)), model=model).work
    assert (work.parameter_count, work.parameter_byte) == (16, 64)


def test_adam_keeps_two_moments_and_its_step_counters() -> None:
    """8 bytes a parameter, and 4 for each parameter's counter."""
    model = nn.Linear(IN, OUT)
    optimizer = torch.optim.Adam(model.parameters())

    def step() -> None:
        optimizer.zero_grad()
        model(torch.randn(BATCH, IN)).sum().backward()
        optimizer.step()

    assert count_step(step, model=model, optimizer=optimizer).work.optimizer_state_byte == 2 * PARAMETERS + 2 * 4


@pytest.mark.parametrize("held", ["by nobody", "by the step", "by the caller"])
def test_compulsory_traffic_of_inference(held: str) -> None:
    """Behind a cache that holds all: parameters and input read, output written, whoever holds it."""
    model, source = nn.Sequential(nn.Linear(IN, OUT), nn.ReLU()), torch.randn(BATCH, IN)
    kept: list[torch.Tensor] = []

    def step() -> torch.Tensor | None:
        with torch.inference_mode():
            output = model(source)
        if held == "by the step":
            kept.append(output)
        return output if held == "by the caller" else None

    work = count_step(step, model=model, last_level_cache_byte=1 << 30).work
    assert work.byte_low_per_step == PARAMETERS + SOURCE + RESULT


def test_a_by_product_nobody_reads_is_no_output() -> None:
    """The indices of a maximum pooling are written and forgotten; its result is the output."""
    source = torch.randn(1, 1, 8, 8)
    work = count_step(
        lambda: nn.functional.max_pool2d(source, 2) + 1, model=nn.Identity(), last_level_cache_byte=1 << 30
    ).work
    assert work.byte_low_per_step == 4 * 64 + 4 * 16
    assert work.byte_high_per_step == 4 * 64 + (4 + 8) * 16 + 2 * 4 * 16


def test_compulsory_traffic_of_training() -> None:
    """Parameters and momentum read and written, gradients written, input read, and the loss's 4 bytes at most."""
    model, optimizer, step = trained()
    work = count_step(step, model=model, optimizer=optimizer, last_level_cache_byte=1 << 30).work
    assert 5 * PARAMETERS + SOURCE <= work.byte_low_per_step <= 5 * PARAMETERS + SOURCE + 4


def test_a_cache_too_small_brings_intermediates_back() -> None:
    """A chain of elementwise operations on 4000 bytes behind 1000: each hand-over moves 3000 out and 3000 in."""
    source = torch.randn(1000)

    def step() -> torch.Tensor:
        return source.add(1).mul(2).neg()

    low = count_step(step, model=nn.Identity(), last_level_cache_byte=1000).work.byte_low_per_step
    assert low == 4000 + 2 * (3000 + 3000) + 4000


@pytest.mark.parametrize("cache", [None, 0, 1 << 10, 1 << 14, 1 << 30])
def test_low_never_exceeds_high(cache: int | None) -> None:
    """Whatever the cache."""
    model, optimizer, step = trained()
    counted: Counted = count_step(step, model=model, optimizer=optimizer, last_level_cache_byte=cache)
    assert 0 < counted.work.byte_low_per_step <= counted.work.byte_high_per_step
