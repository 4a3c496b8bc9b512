"""What counting a step promises beside its numbers."""

from __future__ import annotations

import copy
import gc
import subprocess
import sys
from collections.abc import Callable
from typing import Any

import pytest
import torch
from torch import Tensor, nn
from torch._subclasses.fake_tensor import FakeTensorMode
from torch.multiprocessing.reductions import StorageWeakRef
from torch.utils._python_dispatch import _get_current_dispatch_mode_stack

from pytest_roofline.complexity.fake import fake_copy
from pytest_roofline.counting import Counted, count_step


def network() -> nn.Sequential:
    torch.manual_seed(0)
    layers = (nn.Conv2d(3, 8, 3), nn.BatchNorm2d(8), nn.ReLU(inplace=True), nn.MaxPool2d(2), nn.Flatten())
    return nn.Sequential(*layers, nn.Dropout(0.5), nn.Linear(8 * 9, 10))


def images() -> Tensor:
    return torch.randn(4, 3, 8, 8, generator=torch.Generator().manual_seed(1))


class Training:
    """A model with all that belongs to training it."""

    def __init__(self, model: nn.Module, source: Tensor, **options: Any) -> None:
        self.model, self.source, self.target = model, source, torch.zeros(len(source), dtype=torch.int64)
        self.optimizer = torch.optim.SGD(model.parameters(), lr=0.1, momentum=0.9, **options)

    def step(self) -> Tensor:
        self.optimizer.zero_grad()
        loss = nn.functional.cross_entropy(self.model(self.source), self.target)
        loss.backward()  # type: ignore[no-untyped-call]
        self.optimizer.step()
        return loss.detach()

    def count(self, **options: Any) -> Counted:
        return count_step(self.step, model=self.model, optimizer=self.optimizer, **options)


def test_results_are_the_same_counted_or_not() -> None:
    """Bit by bit, random numbers included: parameters, running statistics and momentum."""
    plain, counted = Training(network(), images()), Training(network(), images())
    for training, run in ((plain, plain.step), (counted, counted.count)):
        torch.manual_seed(2)
        run()
        training.step()
    for one, other in zip(plain.model.state_dict().values(), counted.model.state_dict().values(), strict=True):
        assert torch.equal(one, other)
    for parameter, same in zip(plain.model.parameters(), counted.model.parameters(), strict=True):
        state, twin = plain.optimizer.state[parameter], counted.optimizer.state[same]
        assert torch.equal(state["momentum_buffer"], twin["momentum_buffer"])


@pytest.mark.parametrize("layer", [nn.LSTM(8, 16), nn.TransformerEncoderLayer(8, 2, 16, batch_first=True)], ids=str)
def test_inference_is_the_same_counted_or_not(layer: nn.Module) -> None:
    """Composite operations are taken apart the way they run."""
    layer, source, outputs = layer.eval(), torch.randn(2, 5, 8), []

    def step() -> None:
        with torch.inference_mode():
            result = layer(source)
            outputs.append(result[0] if isinstance(result, tuple) else result)

    step()
    count_step(step, model=layer)
    assert torch.equal(*outputs)


def test_no_tensor_is_held() -> None:
    """What the step frees is free, and after counting nothing of it is left."""
    model, alive, during = nn.Linear(64, 64), [], []

    def step() -> None:
        first = model(torch.randn(8, 64))
        alive.append(StorageWeakRef(first.untyped_storage()))
        second = first + 1
        del first
        during.append(alive[0].expired())
        alive.append(StorageWeakRef(second.untyped_storage()))

    counted = count_step(step, model=model)
    gc.collect()
    assert counted.work.flop_per_step > 0
    assert during == [True]
    assert [storage.expired() for storage in alive] == [True, True]


def test_state_is_restored_when_the_step_fails() -> None:
    """Hooks and modes go, and the error comes through as it is."""
    training = Training(network(), images())

    def fail(*_: object) -> None:
        raise RuntimeError("no such luck")

    handle = training.model.register_forward_hook(fail)
    with pytest.raises(RuntimeError, match="no such luck"):
        training.count()
    handle.remove()
    assert _get_current_dispatch_mode_stack() == []
    assert not training.optimizer._optimizer_step_pre_hooks
    assert not training.optimizer._optimizer_step_post_hooks
    assert torch._C._autograd._top_saved_tensors_default_hooks(False) is None
    assert training.count().work.flop_per_step > 0


@pytest.fixture
def compiler() -> Any:
    import torch._dynamo

    torch._dynamo.reset()
    torch._dynamo.utils.counters.clear()
    yield torch._dynamo.utils.counters
    torch._dynamo.reset()


def test_a_compiled_model_is_counted_uncompiled_and_can_be_compiled_later(compiler: Any) -> None:
    """Under a dispatch mode torch would mark the function as never to compile."""
    model, source = network().eval(), images()
    compiled = torch.compile(model, backend="eager")
    expected = count_step(lambda: model(source), model=model).work
    assert count_step(lambda: compiled(source), model=model).work == expected
    assert compiler["stats"]["unique_graphs"] == 0
    compiled(source)
    assert compiler["stats"]["unique_graphs"] >= 1


@pytest.mark.parametrize("backend", ["eager", "aot_eager"])
@pytest.mark.parametrize("compiled_before", [False, True])
def test_a_compiled_training_step_counts_like_the_eager_one(backend: str, compiled_before: bool, compiler: Any) -> None:
    """Whether it has run compiled or not; afterwards it runs compiled, with as many graphs as if never counted."""
    training = Training(network(), images())
    training.step()
    expected = training.count()
    module = training.model
    training.model = torch.compile(module, backend=backend)  # type: ignore[assignment]
    if compiled_before:
        training.step()
    graphs = compiler["stats"]["unique_graphs"]
    counted = count_step(training.step, model=module, optimizer=training.optimizer)
    assert (counted.work, counted.operations, counted.peak_byte) == (
        expected.work,
        expected.operations,
        expected.peak_byte,
    )
    assert compiler["stats"]["unique_graphs"] == graphs
    training.step()
    assert compiler["stats"]["unique_graphs"] == max(graphs, 1)


def test_fake_copy_counts_as_the_real_model_does() -> None:
    """Same work, operation by operation, without data; the real model is not touched."""
    model, source = network(), images()
    before = copy.deepcopy(model.state_dict())
    mode = FakeTensorMode()
    fake = fake_copy(model, mode)
    with mode:
        counted = Training(fake, mode.from_tensor(source)).count()
    assert all(torch.equal(before[name], tensor) for name, tensor in model.state_dict().items())
    real = Training(model, source).count()
    assert (real.work.flop_by_dtype, real.work.parameter_byte) == (
        counted.work.flop_by_dtype,
        counted.work.parameter_byte,
    )
    assert [operation.flop for operation in real.operations if operation.flop] == [
        operation.flop for operation in counted.operations if operation.flop
    ]


def test_fake_copy_keeps_tied_weights_tied() -> None:
    """One parameter in two places stays one."""
    model = nn.Sequential(nn.Linear(4, 4), nn.Linear(4, 4))
    model[1].weight = model[0].weight
    fake = fake_copy(model, FakeTensorMode())
    assert fake[1].weight is fake[0].weight


@pytest.mark.parametrize("options", [{}, {"foreach": True}, {"fused": True}], ids=str)
def test_the_optimizer_is_told_apart(options: dict[str, Any]) -> None:
    """Whatever its implementation, its operations are of kind optimizer, and only they."""
    training = Training(network(), images(), **options)
    training.step()
    counted = training.count()
    kinds = {operation.kind for operation in counted.operations}
    assert {"convolution", "matmul", "optimizer", "normalisation", "pooling", "softmax", "elementwise"} <= kinds
    byte = sum(operation.byte for operation in counted.operations if operation.kind == "optimizer")
    parameters = counted.work.parameter_byte
    assert parameters is not None
    # At least parameter and momentum read and written, gradient read.
    assert 5 * parameters <= byte <= 8 * parameters


def test_operations_stand_in_order_of_first_occurrence() -> None:
    """Forward, backward, optimiser."""
    training = Training(network(), images())
    names = [operation.name for operation in training.count().operations]
    order = ["aten::convolution", "aten::addmm", "aten::_log_softmax", "aten::convolution_backward"]
    assert sorted(order, key=names.index) == order


def test_devices_tell_where_the_tensors_were() -> None:
    """Each operation counts once for a device."""
    assert count_step(lambda: torch.ones(3) + torch.ones(3), model=nn.Identity()).devices == {"cpu": 3}
    with FakeTensorMode():
        model = nn.Linear(4, 4, device="meta")
        assert set(count_step(lambda: model(torch.ones(2, 4, device="meta")), model=model).devices) == {"meta"}


def test_gradient_accumulation_adds_up(count: Callable[..., Counted]) -> None:
    """Two passes before the optimiser are twice the matrix arithmetic."""
    training = Training(network(), images())

    def half() -> None:
        nn.functional.cross_entropy(training.model(training.source), training.target).backward()  # type: ignore[no-untyped-call]

    one, two = count(half).work, count(lambda: (half(), half())).work
    assert two.flop_per_step == 2 * one.flop_per_step
    assert one.other_flop_per_step is not None
    assert two.other_flop_per_step is not None
    # The second time gradients are added to those that are there.
    assert two.other_flop_per_step >= 2 * one.other_flop_per_step


def test_what_refuses_to_be_watched_for_what_it_saves_is_counted_all_the_same() -> None:
    """Gradients of torch.func: 8 rows of 4 x 3 multiply-adds at least. One value is missing, with the reason."""
    layer, rows = nn.Linear(4, 3), torch.randn(8, 4)

    def loss(row: Tensor) -> Any:
        return layer(row).square().sum()

    counted = count_step(lambda: torch.func.vmap(torch.func.grad(loss))(rows), model=layer)
    assert counted.work.flop_per_step >= 2 * 8 * 4 * 3
    assert counted.work.saved_for_backward_byte is None
    reason = counted.missing["work.saved_for_backward_byte"]
    assert reason.startswith("can't be seen: torch.func")
    assert reason.endswith("don't yet support saved tensor hooks")


JAGGED = """
import torch
from pytest_roofline.counting import count_step

layer, rows = torch.nn.Linear(16, 16), torch.randn(4, 16)

def step():
    nested = torch.nested.nested_tensor([rows[:2], rows[1:]], layout=torch.jagged)
    layer(nested).values().sum().backward()

work = count_step(step, model=layer).work
print(work.flop_per_step, work.uncovered)
"""


def test_jagged_tensors_do_not_end_the_process() -> None:
    """Their sizes are asked for by an operation that nothing registered. A linear layer's rows are those there are:
    2 and 3, once forward and once for the weight's gradient."""
    run = subprocess.run([sys.executable, "-c", JAGGED], capture_output=True, text=True, check=False)
    assert run.returncode == 0, run.stderr
    assert run.stdout == f"{2.0 * 2 * (2 + 3) * 16 * 16} ()\n"


def test_unknown_cache_is_said(count: Callable[..., Counted]) -> None:
    """What had to be assumed stands in ``missing``."""
    known = count(lambda: torch.ones(3) + 1, last_level_cache_byte=1 << 20)
    unknown = count(lambda: torch.ones(3) + 1)
    assert known.missing == {}
    assert "cache unknown" in unknown.missing["work.byte_low_per_step"]
