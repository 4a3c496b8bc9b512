"""Devices: what can be asked for, why it can't be had, and instruments that belong to it."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest
import torch

from pytest_roofline.device import host, instruments, selection
from pytest_roofline.device.nvml import DeviceState, HeldDown
from pytest_roofline.device.selection import DeviceError, Wanted


@pytest.mark.parametrize(
    ("text", "wanted"),
    [
        ("auto", Wanted(None)),
        ("cpu", Wanted("cpu")),
        ("CUDA", Wanted("cuda")),
        ("cuda:3", Wanted("cuda", 3)),
        ("mps", Wanted("mps")),
    ],
)
def test_parse(text: str, wanted: Wanted) -> None:
    """The spellings that are allowed."""
    assert selection.parse(text) == wanted


@pytest.mark.parametrize("text", ["", "gpu", "cuda:", "cuda:x", "cuda:-1", "cpu:0", "auto:1", "mps:0"])
def test_parse_refuses(text: str) -> None:
    """Anything else says what is allowed."""
    with pytest.raises(ValueError, match=r"^use auto, cpu, cuda, cuda:N or mps$"):
        selection.parse(text)


def refused(monkeypatch: pytest.MonkeyPatch, count: int, index: int | None = None) -> str:
    """Say why a CUDA device can't be used where torch counts so many."""
    monkeypatch.setattr(torch.backends.cuda, "is_built", lambda: True)
    monkeypatch.setattr(torch.cuda, "device_count", lambda: count)
    with pytest.raises(DeviceError) as error:
        selection.select(Wanted("cuda", index))
    return str(error.value)


def failing(error: Exception) -> Callable[..., None]:
    def fail(*_: object, **__: object) -> None:
        raise error

    return fail


def test_a_build_without_cuda_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    """The reason is the build, not the driver."""
    monkeypatch.setattr(torch.backends.cuda, "is_built", lambda: False)
    with pytest.raises(DeviceError, match="was built without CUDA"):
        selection.select(Wanted("cuda"))


@pytest.mark.parametrize(
    ("message", "reason"),
    [
        ("Found no NVIDIA driver on your system. Please check http://x", "no usable NVIDIA driver on this machine"),
        ("No CUDA GPUs are available", "no CUDA device is visible"),
    ],
)
def test_no_driver_and_no_device_are_told_apart(monkeypatch: pytest.MonkeyPatch, message: str, reason: str) -> None:
    """What torch says when it starts CUDA decides."""
    monkeypatch.setattr(torch.cuda, "init", failing(RuntimeError(message)))
    told = refused(monkeypatch, 0)
    assert told.startswith(reason)
    assert "http" not in told


def test_hidden_devices_are_told(monkeypatch: pytest.MonkeyPatch) -> None:
    """CUDA_VISIBLE_DEVICES is named with its value."""
    monkeypatch.setenv("CUDA_VISIBLE_DEVICES", "")
    monkeypatch.setattr(torch.cuda, "init", lambda: None)
    assert "CUDA_VISIBLE_DEVICES is ''" in refused(monkeypatch, 0)


def test_an_index_beyond_the_last_device(monkeypatch: pytest.MonkeyPatch) -> None:
    """The message counts what there is."""
    told = refused(monkeypatch, 2, index=2)
    assert told == "cuda:2 was asked for, but only 2 CUDA device(s) are visible (cuda:0 to cuda:1)."


def test_a_device_whose_first_allocation_fails_is_not_usable(monkeypatch: pytest.MonkeyPatch) -> None:
    """is_available() is not enough: something is allocated."""
    monkeypatch.setattr(torch, "zeros", failing(torch.OutOfMemoryError("CUDA out of memory. Tried to allocate")))
    told = refused(monkeypatch, 1)
    assert told == "cuda:0 is there, but a first allocation on it failed: CUDA out of memory"


def test_auto_prefers_an_accelerator(monkeypatch: pytest.MonkeyPatch) -> None:
    """CUDA, then MPS, then the CPU; a visible count of 0 is no CUDA."""
    monkeypatch.setattr(torch.cuda, "is_available", lambda: True)
    monkeypatch.setattr(torch.cuda, "device_count", lambda: 1)
    assert selection.kind_of(Wanted(None)) == "cuda"
    monkeypatch.setattr(torch.cuda, "device_count", lambda: 0)
    monkeypatch.setattr(torch.backends.mps, "is_available", lambda: True)
    assert selection.kind_of(Wanted(None)) == "mps"
    monkeypatch.setattr(torch.backends.mps, "is_available", lambda: False)
    assert selection.kind_of(Wanted(None)) == "cpu"


def test_an_unknown_kind_is_an_error_never_a_silent_no_op() -> None:
    """Synchronising a device nobody knows would make every time wrong."""
    with pytest.raises(DeviceError, match="meta is not supported"):
        instruments.instruments(torch.device("meta"))
    with pytest.raises(DeviceError, match="meta is not supported"):
        host.describe_device(torch.device("meta"))


def test_cpu_instruments_have_no_device_clock() -> None:
    """Nothing to wait for, no event that could be misread as a device time, and nothing that NVML would tell."""
    cpu = instruments.CpuInstruments()
    assert (cpu.synchronize(), cpu.mark(), cpu.state()) == (None, None, DeviceState())
    assert cpu.held_so_far() == HeldDown()
    assert (cpu.energy_j() is None) is ("energy_j" in cpu.missing)
    with pytest.raises(TypeError):
        cpu.between_s(None, None)


def test_the_last_level_cache_is_the_highest_level_that_holds_data(tmp_path: Path) -> None:
    """Instruction caches and lower levels don't count."""
    for index, (kind, level, size) in enumerate(
        [("Data", 1, "48K"), ("Instruction", 1, "64K"), ("Unified", 2, "1024K"), ("Unified", 3, "32768K")]
    ):
        folder = tmp_path / f"index{index}"
        folder.mkdir()
        for name, value in (("type", kind), ("level", str(level)), ("size", size)):
            (folder / name).write_text(value + "\n")
    assert host._cpu_last_level_cache_byte(tmp_path) == 32 * 2**20
    assert host._cpu_last_level_cache_byte(tmp_path / "nothing") is None
