"""Conditions of a measurement: torch's switches as asked for while it runs, and as they were after it."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
import torch

from pytest_roofline.workload.precision import PRECISIONS
from pytest_roofline.workload.switches import conditions
from tests.plugin.fake_run import options

CPU, CUDA = torch.device("cpu"), torch.device("cuda", 0)


def switches() -> tuple[bool, bool]:
    """Deterministic algorithms only, and cuDNN's benchmark."""
    return torch.are_deterministic_algorithms_enabled(), torch.backends.cudnn.benchmark


@pytest.fixture(params=[(False, False), (True, True)], ids=["off before", "on before"])
def before(request: pytest.FixtureRequest) -> Iterator[tuple[bool, bool]]:
    """Both switches as somebody left them, and back to what the test process had."""
    had = switches()
    value: tuple[bool, bool] = request.param
    torch.use_deterministic_algorithms(value[0])
    torch.backends.cudnn.benchmark = value[1]
    yield value
    torch.use_deterministic_algorithms(had[0])
    torch.backends.cudnn.benchmark = had[1]


@pytest.fixture
def ranges(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """What opens and closes an NVTX range."""
    log: list[str] = []

    monkeypatch.setattr(torch.cuda.nvtx, "range_push", lambda name: log.append(f"open {name}"))
    monkeypatch.setattr(torch.cuda.nvtx, "range_pop", lambda: log.append("close"))
    return log


@pytest.mark.parametrize(
    ("asked", "inside"),
    [({"deterministic": True}, (True, None)), ({"cudnn_benchmark": True}, (None, True)), ({}, (None, None))],
    ids=["deterministic", "cudnn_benchmark", "neither"],
)
def test_only_what_is_asked_for_is_set(
    before: tuple[bool, bool], asked: dict[str, bool], inside: tuple[bool | None, bool | None]
) -> None:
    """A switch nobody asked for stays as the program left it (None here); after the case both are as before."""
    with conditions(PRECISIONS["fp32"], options(**asked), CPU, "case"):
        seen = switches()
    assert seen == tuple(old if value is None else value for old, value in zip(before, inside, strict=True))
    assert switches() == before


def test_a_case_that_fails_leaves_nothing_set(before: tuple[bool, bool], ranges: list[str]) -> None:
    """The next case, and whoever runs in this process, must not inherit a failed case's switches or its range."""
    chosen = options(deterministic=True, cudnn_benchmark=True, nvtx=True)
    seen: list[tuple[bool, bool]] = []

    def fail() -> None:
        with conditions(PRECISIONS["fp32"], chosen, CUDA, "resnet50"):
            seen.append(switches())
            raise ValueError("in the case")

    with pytest.raises(ValueError, match="in the case"):
        fail()
    assert seen == [(True, True)]
    assert switches() == before
    assert ranges == ["open resnet50", "close"]


@pytest.mark.parametrize(
    ("asked", "device", "opened"),
    [(True, CUDA, ["open mlp[{}]", "close"]), (False, CUDA, []), (True, CPU, [])],
    ids=["asked", "not asked", "no CUDA"],
)
def test_an_nvtx_range_has_the_name_of_its_case(
    ranges: list[str], asked: bool, device: torch.device, opened: list[str]
) -> None:
    """Where it is asked for and there is CUDA, and nowhere else; braces are a part of it and no format."""
    with conditions(PRECISIONS["fp32"], options(nvtx=asked), device, "mlp[{}]"):
        assert ranges == opened[:1]
    assert ranges == opened


def test_the_precision_holds_inside_and_not_after() -> None:
    """The float32 switches are part of a case's conditions."""
    had = torch.backends.cuda.matmul.fp32_precision
    other = "ieee" if had == "tf32" else "tf32"
    with conditions(PRECISIONS["tf32" if other == "tf32" else "fp32"], options(), CPU, "case"):
        assert torch.backends.cuda.matmul.fp32_precision == other
    assert torch.backends.cuda.matmul.fp32_precision == had
