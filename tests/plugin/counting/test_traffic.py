"""Bytes of operations and of what is left behind an ideal cache, worked out by hand."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Sequence
from functools import partial
from math import inf

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from torch import Tensor
from torch._subclasses.fake_tensor import FakeTensorMode
from torch.nn import functional

from pytest_roofline.counting import Counted
from pytest_roofline.counting.traffic import Access, Traffic, Unit, least_traffic_byte, location


def floats(*sizes: int) -> Tensor:
    return torch.randn(*sizes)


SMALL = floats(10, 10)
TABLE, INDEX = floats(1000, 16), torch.tensor([3, 5, 7])
ROWS = floats(3, 16)
FLAG = torch.zeros(10, 10, dtype=torch.bool)
MASK = torch.arange(10) < 3
DENSE = floats(10, 4)
with warnings.catch_warnings():
    warnings.simplefilter("ignore")  # some versions of torch say, once, that these are new
    SPARSE_ROWS = torch.sparse_coo_tensor(INDEX[None], ROWS, (1000, 16), check_invariants=True)
    JAGGED = torch.nested.nested_tensor([floats(3, 10), floats(4, 10)], layout=torch.jagged)

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
    "an element for each index": (lambda: TABLE.scatter_(1, INDEX[:, None], 1.0), 24 + 2 * 12),
    "filled rows": (lambda: TABLE.index_fill_(0, INDEX, 0.0), 24 + 2 * 192),
    "rows by scattering": (
        lambda: TABLE.scatter_reduce_(0, INDEX[:, None].expand(3, 16), ROWS, "sum"),
        24 + 3 * 192,
    ),
    "a number put into rows": (lambda: TABLE.index_put_((INDEX,), ROWS[0, 0]), 24 + 4 + 2 * 192),
    "a number put into columns": (lambda: TABLE.__setitem__((slice(None), INDEX), ROWS[0, 0]), 24 + 4 + 2 * 12_000),
    "what a mask selects": (lambda: SMALL.index_put_((MASK,), ROWS[:, :10]), 10 + 120 + 2 * 120),
    "a number by a mask: all, at most": (lambda: SMALL.index_put_((FLAG,), ROWS[0, 0]), 100 + 4 + 2 * 400),
    "random numbers: only written": (SMALL.log_normal_, 400),
    "sparse rows added": (lambda: TABLE.add_(SPARSE_ROWS), 192 + 24 + 2 * 192),
    "jagged: its rows": (lambda: functional.linear(JAGGED, DENSE.t()), 7 * 40 + 3 * 8 + 160 + 7 * 16),
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


@pytest.mark.parametrize(("scaled", "byte"), [(False, 5 * 100), (True, 6 * 100 + 2 * 4)])
def test_fused_optimizer_writes_gradients_only_to_unscale_them(
    scaled: bool, byte: int, count: Callable[..., Counted]
) -> None:
    """Parameter and momentum read and written, gradient read; to unscale it, its scale and the mark are read, too."""
    parameter = torch.nn.Parameter(floats(25))
    parameter.grad = floats(25)
    optimizer = torch.optim.SGD([parameter], lr=0.1, momentum=0.9, fused=True)
    optimizer.step()
    if scaled:
        optimizer.grad_scale, optimizer.found_inf = torch.ones(()), torch.zeros(())  # type: ignore[attr-defined]
    assert count(optimizer.step, optimizer=optimizer).work.byte_high_per_step == byte


def test_working_set_counts_each_part_of_memory_once(count: Callable[..., Counted]) -> None:
    """An in-place operation moves twice what it touches; of alike calls the largest is told."""
    (operation,) = count(lambda: (SMALL.mul_(1.0), SMALL.mul_(1.0))).operations
    assert (operation.calls, operation.byte, operation.working_set_byte) == (2, 4 * 400, 400)
    other = floats(10, 10)
    (operation,) = count(lambda: (SMALL * SMALL, SMALL * other)).operations
    assert (operation.calls, operation.byte, operation.working_set_byte) == (2, 5 * 400, 3 * 400)


def test_host_memory_does_not_count_beside_an_accelerator(
    count: Callable[..., Counted], without_data: FakeTensorMode
) -> None:
    """A copy to the device writes the device's memory; both devices are told."""
    with without_data:
        host = torch.randn(100)
        counted = count(lambda: host.to("cuda"))
    assert counted.work.byte_high_per_step == 400
    assert counted.devices == {"cpu": 1, "cuda": 1}


@pytest.mark.parametrize(
    ("part", "span"),
    [
        (lambda whole: whole, (0, 64)),
        (lambda whole: whole[2:], (32, 64)),
        (lambda whole: whole[:2, :2], (0, 24)),
        (lambda whole: whole.t()[1:], (4, 64)),
    ],
)
def test_the_span_of_a_view(part: Callable[[Tensor], Tensor], span: tuple[int, int]) -> None:
    """From its first byte to behind its last, of a 4 x 4 tensor of 64 bytes."""
    assert location(part(floats(4, 4)))[1:] == span


PARAMETER = Unit(100, external=True, outlives=True)
INTERMEDIATE = Unit(100, external=False, outlives=False)
SMALLER = Unit(80, external=False, outlives=False)
OUTPUT = Unit(100, external=False, outlives=True)


def new(unit: int, byte: int = 100) -> Access:
    return Access(unit, byte, True)


def old(unit: int, byte: int = 100) -> Access:
    return Access(unit, byte, False)


def touch(reads: Sequence[Access] = (), writes: Sequence[Access] = ()) -> Traffic:
    return Traffic(tuple(reads), tuple(writes), 0)


CHAIN = [touch([new(0)], [new(1)]), touch([old(0), old(1)], [new(2)])]


@pytest.mark.parametrize(
    ("units", "capacity", "operations", "byte"),
    [
        # The compulsory traffic: read once though used twice, written once, what passes between operations free.
        ([PARAMETER, INTERMEDIATE, OUTPUT], inf, CHAIN, 100 + 100),
        # The eager traffic: every read misses, every result that is read is written.
        ([PARAMETER, INTERMEDIATE, OUTPUT], 0, CHAIN, 5 * 100),
        # Only what does not fit goes out and comes back.
        ([INTERMEDIATE], 60, [touch([], [new(0)]), touch([old(0)])], 40 + 40),
        # The intermediate between its two writes needs all of the cache.
        (
            [OUTPUT, INTERMEDIATE],
            100,
            [touch([], [new(0)]), touch([], [new(1)]), touch([old(1)]), touch([], [old(0)])],
            200,
        ),
        # What is read last is given up first.
        (
            [INTERMEDIATE, SMALLER],
            100,
            [touch([], [new(0)]), touch([], [new(1, 80)]), touch([old(1, 80)]), touch([old(0)])],
            160,
        ),
        # What memory has by now is read again, never written.
        ([PARAMETER, INTERMEDIATE], 100, [touch([new(0)], [new(1)]), touch([old(1)]), touch([old(0)])], 200),
        # An update is read and written once, however often it is changed on the way.
        ([PARAMETER], inf, [touch([new(0)], [old(0)]), touch([old(0)], [old(0)])], 200),
        # What is overwritten unread is not fetched; what nobody needs costs nothing.
        ([PARAMETER], inf, [touch([], [new(0)])], 100),
        ([INTERMEDIATE], 10, [touch([], [new(0)])], 0),
        # Parts are fetched once each, and written one by one they add up.
        ([PARAMETER], inf, [touch([new(0, 50)]), touch([new(0, 50)]), touch([old(0, 50)])], 100),
        ([OUTPUT], inf, [touch([], [new(0, 50)]), touch([], [new(0, 50)])], 100),
        # Of a buffer from before the step 40 bytes are written and 50 others read.
        ([PARAMETER], inf, [touch([], [new(0, 40)]), touch([new(0, 50)])], 50 + 40),
    ],
)
def test_what_is_left_behind_an_ideal_cache(
    units: list[Unit], capacity: float, operations: list[Traffic], byte: int
) -> None:
    """By hand."""
    assert least_traffic_byte(operations, units, capacity) == byte


@st.composite
def sequences(draw: st.DrawFn) -> tuple[list[Traffic], list[Unit]]:
    sizes = draw(st.lists(st.integers(1, 100), min_size=1, max_size=6))
    units = [Unit(size, external=draw(st.booleans()), outlives=draw(st.booleans())) for size in sizes]
    seen: set[int] = set()

    def some() -> list[Access]:
        chosen = draw(st.lists(st.integers(0, len(units) - 1), max_size=3, unique=True))
        accesses = [Access(unit, units[unit].byte, unit not in seen) for unit in chosen]
        seen.update(chosen)
        return accesses

    return [touch(some(), some()) for _ in range(draw(st.integers(1, 12)))], units


@settings(deadline=None, max_examples=300)
@given(sequences(), st.integers(0, 300))
def test_never_more_than_the_eager_traffic_nor_less_than_the_compulsory(
    drawn: tuple[list[Traffic], list[Unit]], capacity: int
) -> None:
    """Low <= high, whatever the operations, and a finite cache saves no more than an unlimited one."""
    touches, units = drawn
    eager = sum(access.byte for one in touches for access in (*one.reads, *one.writes))
    low = least_traffic_byte(touches, units, capacity)
    assert least_traffic_byte(touches, units, inf) <= low <= eager
