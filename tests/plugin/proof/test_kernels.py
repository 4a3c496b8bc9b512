"""Names of the kernels of one step, on recordings made by hand."""

from __future__ import annotations

from typing import Any

import pytest
import torch

from pytest_roofline.profilers.kineto import recording
from pytest_roofline.profilers.kineto.recording import Kernel, ProfilerBusyError, Recording
from pytest_roofline.proof.passes import kernel_names

CUDA = torch.device("cuda")


def seen(*names: str) -> Recording:
    return Recording(wall_s=1.0, thread=1, spans=(), kernels=tuple(Kernel(name, 0, 1, 0) for name in names))


def recorded(monkeypatch: pytest.MonkeyPatch, probe: Recording, taken: Recording) -> None:
    """Let the profiler see these for the kernel of our own and for the step."""

    def record(_: object, device: torch.device, *, enough: Any, **__: object) -> list[Recording]:
        assert device == CUDA
        assert not enough([1.0])
        assert enough([1.0, 1.0])
        return [probe, taken]

    monkeypatch.setattr(recording, "record", record)


@pytest.mark.parametrize(
    ("probe", "taken", "names"),
    [
        (seen("fill"), seen("gemm", "Memcpy HtoD (Pinned -> Device)", "relu", "Memset (Device)"), ("gemm", "relu")),
        # The profiler sees our own kernel, so that an empty list is evidence; without CUPTI it sees none at all.
        (seen("fill"), seen("Memcpy DtoH"), ()),
        (seen(), seen(), None),
    ],
)
def test_kernels_in_order_without_copies_and_fills(
    monkeypatch: pytest.MonkeyPatch, probe: Recording, taken: Recording, names: tuple[str, ...] | None
) -> None:
    """Our own kernel isn't among them. A profiler that sees nothing proves nothing."""
    recorded(monkeypatch, probe, taken)
    assert kernel_names(lambda: None, CUDA) == names


def test_beside_another_profiler_nothing_is_told(monkeypatch: pytest.MonkeyPatch) -> None:
    """The row isn't lost for it."""

    def busy(*_: object, **__: object) -> list[Recording]:
        raise ProfilerBusyError("another torch profiler is at work")

    monkeypatch.setattr(recording, "record", busy)
    assert kernel_names(lambda: None, CUDA) is None


def test_a_cpu_has_no_kernels() -> None:
    """No step is taken for them."""
    assert kernel_names(lambda: pytest.fail("a step was taken"), torch.device("cpu")) is None
