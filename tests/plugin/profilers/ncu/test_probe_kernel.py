"""The kernel that ncu counts before any test, launched through a stand-in for the driver."""

from __future__ import annotations

import ctypes
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from pytest_roofline.profilers.ncu import probe_kernel


class FakeCuda:
    """A driver whose calls succeed, but for one."""

    def __init__(self, failing: str = "", code: int = 0) -> None:
        self.calls: list[str] = []
        self._failing = failing
        self._code = code

    def __getattr__(self, name: str) -> Callable[..., int]:
        def call(*arguments: Any) -> int:
            self.calls.append(name)
            if name == "cuGetErrorName":
                arguments[1]._obj.value = b"CUDA_ERROR_NO_DEVICE"
            return self._code if name == self._failing else 0

        return call


def test_it_launches_and_waits(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    """One kernel, and the program ends only after it has run."""
    cuda = FakeCuda()
    monkeypatch.setattr(ctypes, "CDLL", lambda _: cuda)
    assert probe_kernel.main() == 0
    assert cuda.calls[0] == "cuInit"
    assert cuda.calls[-2:] == ["cuLaunchKernel", "cuCtxSynchronize"]
    assert capsys.readouterr().err == ""


@pytest.mark.parametrize(
    ("failing", "words"),
    [
        ("cuInit", "roofline probe: no GPU: cuInit failed with 100 (CUDA_ERROR_NO_DEVICE)\n"),
        ("cuDeviceGet", "roofline probe: no GPU: cuDeviceGet failed with 100 (CUDA_ERROR_NO_DEVICE)\n"),
        ("cuModuleLoadData", "roofline probe: cuModuleLoadData failed with 100 (CUDA_ERROR_NO_DEVICE)\n"),
    ],
)
def test_it_says_what_failed(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], failing: str, words: str
) -> None:
    """Whether there is no GPU at all, or one that can't be used."""
    monkeypatch.setattr(ctypes, "CDLL", lambda _: FakeCuda(failing, 100))
    assert probe_kernel.main() == 1
    assert capsys.readouterr().err == words


def test_without_a_driver(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    """The library isn't there."""

    def none(name: str) -> None:
        raise OSError(f"{name}: cannot open shared object file")

    monkeypatch.setattr(ctypes, "CDLL", none)
    assert probe_kernel.main() == 1
    assert capsys.readouterr().err.startswith("roofline probe: no GPU: no NVIDIA driver (")


def test_it_runs_without_any_package() -> None:
    """As the pre-flight starts it: it launches, or says why not."""
    program = [sys.executable, "-I", "-S", str(Path(probe_kernel.__file__))]
    ended = subprocess.run(program, capture_output=True, text=True, check=False, timeout=60)
    assert (ended.returncode, ended.stdout) in ((0, ""), (1, ""))
    assert ended.stderr.startswith(probe_kernel.SAYS) == bool(ended.returncode)
