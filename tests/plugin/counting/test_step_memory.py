"""Memory of a step by part and at its peak, by hand and against what torch's own allocator gives out."""

from __future__ import annotations

from collections.abc import Callable

import pytest
import torch
from torch import Tensor, nn
from torch._subclasses.fake_tensor import FakeTensorMode

from pytest_roofline.counting import Counted, count_step
from pytest_roofline.counting.step_memory import held_before, stored_byte

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
    model = nn.Sequential(nn.Linear(IN, OUT), nn.ReLU())
    small, large = torch.randn(BATCH, IN), torch.randn(2 * BATCH, IN)

    def step() -> None:
        for source in (small, large, small):
            model(source).sum().backward()

    work = count_step(step, model=model).work
    assert work.saved_for_backward_byte == 2 * (SOURCE + RESULT)
    assert work.activation_byte == (1 + 2 + 1) * 2 * RESULT + 3 * (4 + 4)


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


WIDE, HIDDEN, NARROW, ROWS = 100, 200, 10, 64
WEIGHTS = 4 * (WIDE * HIDDEN + HIDDEN * NARROW)
GIVEN, MIDDLE = 4 * ROWS * WIDE, 4 * ROWS * HIDDEN


def two_layers() -> nn.Sequential:
    layers = nn.Linear(WIDE, HIDDEN, bias=False), nn.ReLU(), nn.Linear(HIDDEN, NARROW, bias=False)
    return nn.Sequential(*layers)


def counted(model: nn.Module, source: Tensor, optimizer: torch.optim.Optimizer | None = None) -> Counted:
    return count_step(step_of(model, source, optimizer), model=model, optimizer=optimizer, held=[source])


def step_of(model: nn.Module, source: Tensor, optimizer: torch.optim.Optimizer | None) -> Callable[[], object]:
    def train() -> None:
        assert optimizer is not None
        optimizer.zero_grad()
        model(source).square().sum().backward()
        optimizer.step()

    def infer() -> None:
        with torch.inference_mode():
            model(source)

    return train if optimizer else infer


def test_inference_lets_go_what_is_used_up() -> None:
    """Of two layers and a ReLU: the ReLU's input and output are both there at the worst moment, never all three."""
    assert counted(two_layers(), torch.randn(ROWS, WIDE)).peak_byte == WEIGHTS + GIVEN + 2 * MIDDLE


def test_training_keeps_what_the_backward_pass_needs() -> None:
    """Worst at the ReLU's backward: it reads its result, which was saved, and a gradient, and makes another.

    The old gradients are gone by then, the second layer's new one is there.
    """
    model = two_layers()
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1, momentum=0.9, fused=True)
    source = torch.randn(ROWS, WIDE)
    step_of(model, source, optimizer)()
    momentum, second_gradient = WEIGHTS, 4 * HIDDEN * NARROW
    # Whoever calls ``backward`` holds the loss and the gradient of 1 it starts from.
    loss = 4 + 4
    expected = WEIGHTS + momentum + GIVEN + second_gradient + 3 * MIDDLE + loss
    assert counted(model, source, optimizer).peak_byte == expected


def test_an_optimizer_step_holds_one_copy_at_a_time() -> None:
    """Without fusing, weight decay makes a copy of a gradient; with a tiny batch that is the most."""
    model = nn.Linear(1000, 10, bias=False)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1, momentum=0.9, weight_decay=0.1, foreach=False)
    source = torch.randn(1, 1000)
    step_of(model, source, optimizer)()
    weight, gradient, momentum, decayed = (40_000,) * 4
    assert counted(model, source, optimizer).peak_byte == pytest.approx(
        weight + gradient + momentum + decayed + 4000, abs=64
    )


def test_old_gradients_count_until_they_are_dropped() -> None:
    """They lie there while the forward pass runs if the step drops them only at its end."""
    model, source = nn.Linear(1000, 10, bias=False), torch.randn(1, 1000)

    def forward_only() -> None:
        with torch.no_grad():
            model(source)

    without = count_step(forward_only, model=model).peak_byte
    model(source).sum().backward()
    within = count_step(forward_only, model=model).peak_byte
    assert (without, within) == (40_000 + 4000 + 40, 2 * 40_000 + 4000 + 40)


def test_what_is_read_late_was_there_early() -> None:
    """A tensor no operation made counts from the start, though it shows only when it is read."""
    late, source = torch.randn(1000), torch.randn(10)

    def step() -> None:
        source.expand(500, 10).clone()
        late.neg_()

    assert count_step(step, model=nn.Identity()).peak_byte == 4 * (1000 + 10 + 5000)


def test_held_is_there_though_nobody_reads_it() -> None:
    """The other batches that lie ready; a storage counts once."""
    source, other = torch.randn(10), torch.randn(1000)
    step = source.neg
    assert count_step(step, model=nn.Identity()).peak_byte == 40 + 40
    assert count_step(step, model=nn.Identity(), held=[source, other, other[1:]]).peak_byte == 40 + 40 + 4000


def test_storages_that_grow_count_with_their_new_size() -> None:
    """``out=`` enlarges an empty tensor."""

    def step() -> None:
        out = torch.empty(0)
        torch.neg(torch.ones(1000), out=out)
        out.abs_()

    assert count_step(step, model=nn.Identity()).peak_byte == 8000


def test_an_accelerator_has_memory_of_its_own(without_data: FakeTensorMode) -> None:
    """The batch in host memory is none of the device's."""
    with without_data:
        model, source = nn.Linear(10, 20, bias=False, device="cuda"), torch.randn(5, 10)

        def step() -> None:
            with torch.no_grad():
                model(source.to("cuda"))

        assert count_step(step, model=model, held=[source]).peak_byte == 4 * (10 * 20 + 5 * 10 + 5 * 20)


def test_memory_that_cannot_be_seen_is_said() -> None:
    """Sparse tensors keep their data where no storage shows it: no number is better than too small a one."""
    sparse = torch.eye(4).to_sparse()
    result = count_step(lambda: torch.mm(sparse, torch.ones(4, 4)), model=nn.Identity())
    assert result.peak_byte is None
    assert result.missing["memory.peak_predicted_byte"] == "memory of aten::mm can't be seen"


def allocated_peak_byte(step: Callable[[], object], held_byte: int) -> int:
    """The most that torch's CPU allocator had given out during a step, by its own log; ``held_byte`` before it."""
    activities = [torch.profiler.ProfilerActivity.CPU]
    with torch.profiler.profile(activities=activities, profile_memory=True, acc_events=True) as profiler:
        step()  # what it leaves behind, and frees the next time, has to be known to the log
        with torch.profiler.record_function("from here"):
            pass
        step()
    events = sorted(profiler.profiler.kineto_results.events(), key=lambda event: event.start_ns())
    (start,) = (number for number, event in enumerate(events) if event.name() == "from here")
    now = most = held_byte
    for event in events[start:]:
        if event.name() == "[memory]":
            now += event.nbytes()
            most = max(most, now)
    return most


NETS: dict[str, tuple[Callable[[], nn.Module], tuple[int, ...]]] = {
    "multilayer perceptron": (two_layers, (ROWS, WIDE)),
    "block": (
        lambda: nn.Sequential(nn.Linear(64, 64), nn.LayerNorm(64), nn.GELU(), nn.Dropout(0.5), nn.Linear(64, 64)),
        (32, 64),
    ),
    "transformer": (lambda: nn.TransformerEncoderLayer(64, 4, 128, batch_first=True), (8, 32, 64)),
}


@pytest.mark.parametrize("momentum", [0, 0.9, None], ids=["sgd", "momentum", "inference"])
@pytest.mark.parametrize("name", NETS)
def test_the_prediction_is_what_the_allocator_gave_out(name: str, momentum: float | None) -> None:
    """To the byte where kernels take no scratch memory; a fused layer does in inference, so that runs unfused here."""
    build, shape = NETS[name]
    model, source = build().train(momentum is not None or name == "transformer"), torch.randn(shape)
    optimizer = None if momentum is None else torch.optim.SGD(model.parameters(), lr=0.1, momentum=momentum)
    step = step_of(model, source, optimizer)
    step()
    step()
    held_byte = stored_byte((*held_before(model, optimizer), source))
    assert counted(model, source, optimizer).peak_byte == allocated_peak_byte(step, held_byte)
