"""Memory that is given back before another process has the device."""

from __future__ import annotations

import os
import sys
import weakref
from types import SimpleNamespace
from typing import Any

import pytest
import torch

from pytest_roofline.profilers.ncu.held_memory import Held, release

CPU, CUDA = torch.device("cpu"), torch.device("cuda", 0)
UUID = "8c3e6f0a-0000-4000-8000-000000000001"
NOT_TOLD = "NVML has no figure of this process: in a container it has another number, and Windows keeps it"


def test_what_a_failure_holds_is_let_go() -> None:
    """Frames of the last failure hold the model of its test, and cycles hold it till they are looked for."""
    model = torch.nn.Linear(2, 2)
    model.me = model  # type: ignore[assignment]
    error = ValueError("no")
    error.model = model  # type: ignore[attr-defined]
    for name in ("last_exc", "last_value"):
        setattr(sys, name, error)
    alive = weakref.ref(model)
    del model, error
    assert release(CPU) == Held(why="not read for cpu")
    assert alive() is None
    assert not any(hasattr(sys, name) for name in ("last_exc", "last_value"))


class FakeNvml:
    """NVML that knows of one device and the processes on it."""

    class NVMLError(Exception):
        pass

    def __init__(self, pids: dict[int, int | None], fails_in: str | None = None) -> None:
        self._pids = pids
        self._fails_in = fails_in

    def __getattr__(self, name: str) -> Any:
        if not name.startswith("nvml"):
            raise AttributeError(name)

        def call(*_: Any) -> Any:
            if name == self._fails_in:
                raise self.NVMLError(name)
            answers = {
                "nvmlInit": None,
                "nvmlDeviceGetCount": 1,
                "nvmlDeviceGetHandleByIndex": 0,
                "nvmlDeviceGetUUID": f"GPU-{UUID}",
                "nvmlDeviceGetComputeRunningProcesses": [
                    SimpleNamespace(pid=pid, usedGpuMemory=byte) for pid, byte in self._pids.items()
                ],
            }
            return answers[name]

        return call


@pytest.fixture
def allocator(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """torch's, which keeps 10 byte once its cache is emptied."""
    log: list[str] = []
    monkeypatch.setattr(torch.cuda, "empty_cache", lambda: log.append("emptied"))
    monkeypatch.setattr(torch.accelerator, "reset_peak_memory_stats", lambda _device: log.append("reset"))
    monkeypatch.setattr(torch.cuda, "memory_reserved", lambda _device: 10)
    monkeypatch.setattr(torch.cuda, "get_device_properties", lambda _device: SimpleNamespace(uuid=UUID))
    return log


@pytest.mark.parametrize(
    ("nvml", "held"),
    [
        (FakeNvml({1: 7, os.getpid(): 500}), Held(byte=500)),
        (FakeNvml({1: 7}), Held(why=NOT_TOLD)),
        (FakeNvml({os.getpid(): None}), Held(why=NOT_TOLD)),
        (FakeNvml({os.getpid(): 500}, fails_in="nvmlInit"), Held(why="NVML says: nvmlInit")),
        (
            FakeNvml({os.getpid(): 500}, fails_in="nvmlDeviceGetComputeRunningProcesses"),
            Held(why="NVML says: nvmlDeviceGetComputeRunningProcesses"),
        ),
        (None, Held(why="nvidia-ml-py is not installed")),
    ],
)
def test_what_is_still_held_is_the_drivers_figure_or_unknown(
    allocator: list[str], monkeypatch: pytest.MonkeyPatch, nvml: FakeNvml | None, held: Held
) -> None:
    """The driver's has the CUDA context in it. In a container it knows this process by another number; what torch knows
    leaves the context out, and is no answer."""
    monkeypatch.setitem(sys.modules, "pynvml", nvml)
    assert release(CUDA) == held
    assert allocator == ["emptied", "reset"]
