"""The stretch that a profiler looks at."""

from __future__ import annotations

import pytest
import torch

from pytest_roofline.workload.switches import profiled_range


@pytest.fixture
def calls(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """What CUDA is told, in order."""
    log: list[str] = []

    monkeypatch.setattr(torch.cuda, "synchronize", lambda device: log.append(f"synchronize {device}"))
    monkeypatch.setattr(torch.cuda.profiler, "start", lambda: log.append("start"))
    monkeypatch.setattr(torch.cuda.profiler, "stop", lambda: log.append("stop"))
    monkeypatch.setattr(torch.cuda.nvtx, "range_push", lambda name: log.append(f"push {name}"))
    monkeypatch.setattr(torch.cuda.nvtx, "range_pop", lambda: log.append("pop"))
    return log


def test_work_from_before_is_outside_and_all_that_was_launched_inside(calls: list[str]) -> None:
    """Kernels run after their launch: both ends wait for them."""
    with profiled_range(torch.device("cuda", 0), "case"):
        calls.append("step")
    assert calls == ["synchronize cuda:0", "start", "push case", "step", "synchronize cuda:0", "pop", "stop"]


def test_an_error_ends_it_too(calls: list[str]) -> None:
    """Nothing that follows is looked at."""
    with pytest.raises(ValueError, match="no"), profiled_range(torch.device("cuda", 0), "case"):
        raise ValueError("no")
    assert calls[-3:] == ["push case", "pop", "stop"]


def test_on_a_cpu_nothing_happens(calls: list[str]) -> None:
    """There is no such switch."""
    with profiled_range(torch.device("cpu"), "case"):
        pass
    assert calls == []
