"""Work of a step in threads where no mode follows it, told from what runs there meanwhile."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from time import perf_counter

import pytest
import torch
from torch import nn

from pytest_roofline.counting import count_step
from pytest_roofline.profilers.kineto import Profiled, profile_step
from pytest_roofline.profilers.kineto.recording import LABEL, Recording, Span, escaped

OWN, HELPER, FOREIGN = 1, 2, 3


def recording(*spans: Span) -> Recording:
    return Recording(wall_s=1.0, thread=OWN, spans=spans, kernels=())


def span(name: str, thread: int) -> Span:
    return Span(name, 10, 20, thread, 1)


OWN_PRODUCT = span("aten::mm", OWN)
FOLLOWED = (span(f"{LABEL}0", HELPER), span("aten::bmm", HELPER))
HIDDEN = (span("aten::linear", FOREIGN), span("aten::addmm", FOREIGN), span("aten::relu", FOREIGN))


def test_products_in_a_thread_that_nobody_follows() -> None:
    """Those that every step has, by name; that of the step itself and of threads with labels are seen."""
    step = recording(OWN_PRODUCT, *FOLLOWED, *HIDDEN)
    assert escaped([step, step]) == (
        "aten::addmm, aten::linear ran in another thread in every step: what other threads run can't be seen"
    )


@pytest.mark.parametrize(
    "steps",
    [
        [],
        [recording(OWN_PRODUCT, *FOLLOWED)],
        [recording(*HIDDEN), recording(OWN_PRODUCT)],
        [recording(span("aten::addmm", FOREIGN)), recording(span("aten::mm", FOREIGN))],
        [recording(span("aten::add", FOREIGN), span("aten::select", FOREIGN))],
    ],
    ids=["no step", "all seen", "in one step", "others in each step", "no products"],
)
def test_what_runs_meanwhile_is_no_sign_of_it(steps: list[Recording]) -> None:
    """A loader fills its queue and waits; a logger does no products; torch's own pool looks at parts of tensors."""
    assert escaped(steps) is None


@pytest.fixture
def pool() -> Iterator[ThreadPoolExecutor]:
    with ThreadPoolExecutor(1) as threads:
        yield threads


MODEL = nn.Sequential(nn.Linear(4, 4), nn.Linear(4, 3))
SOURCE = torch.randn(2, 4)


def profiled(step: Callable[[], object], *, compiled: bool = False) -> Profiled:
    counted = count_step(step, model=MODEL)
    return profile_step(step, torch.device("cpu"), counted, compiled=compiled, clock=perf_counter, all_threads=True)


@pytest.mark.parametrize("compiled", [False, True])
def test_a_layer_in_another_thread(pool: ThreadPoolExecutor, compiled: bool) -> None:
    """The count lacks it, and so do the times: nothing is left of either."""
    result = profiled(lambda: MODEL[1](pool.submit(MODEL[0], SOURCE).result()), compiled=compiled)
    assert result.escaped is not None
    assert "aten::addmm" in result.escaped
    assert "what other threads run can't be seen" in result.escaped
    assert (result.profile, result.missing) == (None, {"profile": result.escaped})


@pytest.mark.parametrize("compiled", [False, True])
def test_threads_that_only_log_or_load_cost_nothing(pool: ThreadPoolExecutor, compiled: bool) -> None:
    """Neither the times, nor a place among what ran outside of the operations."""
    steps = itertools.count()

    def load() -> torch.Tensor:
        return SOURCE @ SOURCE.t()

    def log() -> torch.Tensor:
        return torch.arange(10).sum()

    def step() -> None:
        logged = pool.submit(log)
        # The one that is counted, the one that is thrown away, and one more.
        loaded = pool.submit(load) if next(steps) < 3 else None
        MODEL(SOURCE).argmax(1)
        logged.result()
        if loaded is not None:
            loaded.result()

    result = profiled(step, compiled=compiled)
    assert result.escaped is None
    assert result.profile is not None, result.missing
    assert not {"aten::arange", "aten::sum", "aten::mm"} & {one.name for one in result.profile.outside}


class Images(torch.utils.data.Dataset[torch.Tensor]):
    """Images that are turned as they are loaded, by a product."""

    def __len__(self) -> int:
        return 64

    def __getitem__(self, index: int) -> torch.Tensor:
        return torch.full((4, 4), float(index)) @ torch.eye(4)


@pytest.mark.filterwarnings("ignore:This process .* is multi-threaded")
def test_a_data_loader_alive_beside_is_no_part_of_the_step() -> None:
    """Its workers, which go on filling their queue, are processes of their own."""
    batches = iter(torch.utils.data.DataLoader(Images(), batch_size=2, num_workers=1, prefetch_factor=8))
    next(batches)
    result = profiled(lambda: MODEL(SOURCE))
    del batches
    assert result.escaped is None
    assert result.profile is not None, result.missing
