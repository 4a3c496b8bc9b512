"""Eager traffic of single operations, in bytes worked out by hand."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial

import pytest
import torch
from torch import Tensor
from torch._subclasses.fake_tensor import FakeTensorMode
from torch.nn import functional

from pytest_roofline.counting import Counted


def floats(*sizes: int) -> Tensor:
    return torch.randn(*sizes)


SMALL = floats(10, 10)
TABLE, INDEX = floats(1000, 16), torch.tensor([3, 5, 7])
ROWS = floats(3, 16)
FLAG = torch.zeros(10, 10, dtype=torch.bool)

TRAFFIC: dict[str, tuple[Callable[[], object], int]] = {
    "reads both, writes one": (lambda: SMALL + SMALL.t().contiguous(), 2 * 400 + 3 * 400),
    "same tensor twice is read once": (lambda: SMALL * SMALL, 2 * 400),
    "in place reads and writes": (lambda: SMALL.mul_(1.0), 2 * 400),
    "filled: only written": (FLAG.zero_, 100),
    "copied over: not read": (lambda: FLAG.copy_(SMALL), 400 + 100),
    "out= only receives": (lambda: torch.add(SMALL, 1.0, out=torch.empty(10, 10)), 2 * 400),
    "out= over an input is both": (lambda: torch.add(SMALL, 0.0, out=SMALL), 2 * 400),
    "views move nothing": (lambda: SMALL.view(100)[::2].unsqueeze(0).expand(5, 50).detach(), 0),
    "transposing in place moves nothing": (lambda: SMALL.detach().t_(), 0),
    "allocation moves nothing": (lambda: torch.empty(1000), 0),
    "a question moves nothing": (SMALL[0, 0].item, 0),
    "expanded counts its storage": (lambda: SMALL[:1].expand(50, 10) + 1, 40 + 50 * 40),
    "conversion reads one width, writes another": (SMALL.bfloat16, 400 + 200),
    "product": (lambda: torch.mm(SMALL, floats(10, 20)), 800 + 400 + 800 + 800),
    "look-up reads rows, not the table": (lambda: functional.embedding(INDEX, TABLE), 3 * 64 + 24 + 3 * 64),
    "indexing likewise": (lambda: TABLE[INDEX], 3 * 64 + 24 + 3 * 64),
    "adding rows reads and writes those": (lambda: TABLE.index_add_(0, INDEX, ROWS), 24 + 192 + 2 * 192),
    "lists count each tensor": (lambda: torch._foreach_mul_([SMALL, TABLE], 1.0), 2 * (400 + 64_000)),
    "cat": (lambda: torch.cat([SMALL, SMALL.clone()]), 2 * 400 + 2 * 800),
    "slice reads its part": (lambda: SMALL[:5] * 2, 2 * 200),
}


@pytest.mark.parametrize("name", TRAFFIC)
def test_bytes_of_an_operation(name: str, count: Callable[..., Counted]) -> None:
    """``randn`` in a step is an operation too: it writes what it makes."""
    step, expected = TRAFFIC[name]
    counted = count(step)
    assert counted.work.byte_high_per_step == expected
    assert counted.work.byte_low_per_step <= expected
    assert sum(operation.byte for operation in counted.operations) == expected


def test_a_bag_reads_the_rows_it_takes(count: Callable[..., Counted]) -> None:
    """Not the table, and more than it returns: 6 rows of 16 bytes, 6 + 3 integers; 3 rows and bookkeeping come back."""
    rows, bags = torch.tensor([1, 2, 3, 4, 4, 7]), torch.tensor([0, 3, 5])
    counted = count(lambda: functional.embedding_bag(rows, torch.zeros(9000, 4), bags, mode="sum"))
    (bag,) = (operation for operation in counted.operations if operation.kind == "indexing")
    assert 6 * 16 + 9 * 8 + 3 * 16 <= bag.byte <= 6 * 16 + 9 * 8 + 3 * 16 + 4 * 6 * 8


def test_convolution_backward_reads_what_the_gradients_asked_for_need(count: Callable[..., Counted]) -> None:
    """Without the input's gradient the weight is not read, nor the input without the weight's."""
    source, weight = floats(2, 3, 8, 8), floats(4, 3, 3, 3)
    inputs, outputs, weights = 4 * source.numel(), 4 * 2 * 4 * 6 * 6, 4 * weight.numel()
    for of_input, of_weight, expected in (
        (True, True, outputs + 2 * inputs + 2 * weights),
        (False, True, outputs + inputs + weights),
        (True, False, outputs + weights + inputs),
    ):
        result = torch.conv2d(source.requires_grad_(of_input), weight.requires_grad_(of_weight))
        wanted = [tensor for tensor in (source, weight) if tensor.requires_grad]
        counted = count(partial(torch.autograd.grad, result, wanted, torch.ones_like(result)))
        assert counted.work.byte_high_per_step == expected


def test_fused_optimizer_writes_gradients_only_to_unscale_them(count: Callable[..., Counted]) -> None:
    """Parameter and momentum read and written, gradient read."""
    parameter = torch.nn.Parameter(floats(25))
    parameter.grad = floats(25)
    optimizer = torch.optim.SGD([parameter], lr=0.1, momentum=0.9, fused=True)
    optimizer.step()
    assert count(optimizer.step, optimizer=optimizer).work.byte_high_per_step == 5 * 100


def test_working_set_counts_each_part_of_memory_once(count: Callable[..., Counted]) -> None:
    """An in-place operation moves twice what it touches; alike calls have one working set."""
    (operation,) = count(lambda: (SMALL.mul_(1.0), SMALL.mul_(1.0))).operations
    assert (operation.calls, operation.byte, operation.working_set_byte) == (2, 4 * 400, 400)


def test_host_memory_does_not_count_beside_an_accelerator(count: Callable[..., Counted]) -> None:
    """A copy to the device writes the device's memory; both devices are told."""
    with FakeTensorMode():
        host = torch.randn(100)
        counted = count(lambda: host.to("cuda"))
    assert counted.work.byte_high_per_step == 400
    assert counted.devices == {"cpu": 1, "cuda": 1}
