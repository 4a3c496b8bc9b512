"""Precisions: what each means, which a device has, and torch's switches."""

from __future__ import annotations

import sys

import pytest
import torch

from pytest_roofline.counting.flop.matrix_operations import Tf32
from pytest_roofline.device import host
from pytest_roofline.workload import precision as precisions
from pytest_roofline.workload.precision import PRECISIONS

CPU = torch.device("cpu")
CUDA = torch.device("cuda", 0)
MPS = torch.device("mps")


def _cpu_with(monkeypatch: pytest.MonkeyPatch, *features: str) -> None:
    monkeypatch.setattr(precisions, "cpu_instructions", lambda: frozenset(features))
    monkeypatch.setattr(precisions, "cpu_name", lambda: "Fake")


@pytest.mark.parametrize(
    ("features", "unsupported"),
    [
        ((), {"tf32", "amp_bf16", "bf16", "amp_fp16", "fp16"}),
        (("avx512_bf16",), {"tf32", "amp_fp16", "fp16"}),
        (("amx_bf16", "amx_fp16"), {"tf32"}),
    ],
)
def test_a_cpu_runs_natively_what_its_instructions_say(
    monkeypatch: pytest.MonkeyPatch, features: tuple[str, ...], unsupported: set[str]
) -> None:
    """What it would emulate is refused with a reason."""
    _cpu_with(monkeypatch, *features)
    assert {name for name, precision in PRECISIONS.items() if precisions.unsupported(precision, CPU)} == unsupported


@pytest.mark.parametrize("key", ["flags", "Features"])
def test_linux_tells_what_an_older_torch_does_not(monkeypatch: pytest.MonkeyPatch, key: str) -> None:
    """torch names a CPU's instructions since 2.11; Linux has a key of its own for x86 and for Arm."""
    monkeypatch.delattr(torch.cpu, "get_capabilities", raising=False)
    monkeypatch.setattr(sys, "platform", "linux")
    monkeypatch.setattr(host, "_cpuinfo", lambda: {key: "fpu avx512_bf16 svebf16"})
    assert precisions.unsupported(PRECISIONS["bf16"], CPU) is None
    assert "fp16 is not native" in str(precisions.unsupported(PRECISIONS["fp16"], CPU))


def test_the_reason_names_the_precision_the_device_and_the_cause(monkeypatch: pytest.MonkeyPatch) -> None:
    """A skip must say why."""
    _cpu_with(monkeypatch)
    reason = precisions.unsupported(PRECISIONS["bf16"], CPU)
    assert reason == "bf16 is not native on cpu: this CPU (Fake) has no bfloat16 instructions"


@pytest.mark.parametrize(
    ("capability", "unsupported"),
    [((7, 5), {"tf32", "amp_bf16", "bf16"}), ((8, 0), set()), ((9, 0), set())],
)
def test_cuda_by_compute_capability(
    monkeypatch: pytest.MonkeyPatch, capability: tuple[int, int], unsupported: set[str]
) -> None:
    """A T4 has neither TF32 nor bf16; Ampere and later have all."""
    monkeypatch.setattr(torch.cuda, "get_device_capability", lambda _device: capability)
    assert {name for name, precision in PRECISIONS.items() if precisions.unsupported(precision, CUDA)} == unsupported


@pytest.mark.parametrize(("new", "unsupported"), [(False, {"tf32", "amp_bf16", "bf16"}), (True, {"tf32"})])
def test_mps_by_macos(monkeypatch: pytest.MonkeyPatch, new: bool, unsupported: set[str]) -> None:
    """bf16 needs macOS 14; TF32 doesn't exist."""
    monkeypatch.setattr(torch.backends.mps, "is_macos_or_newer", lambda _major, _minor: new)
    assert {name for name, precision in PRECISIONS.items() if precisions.unsupported(precision, MPS)} == unsupported


@pytest.mark.parametrize(
    ("name", "matmul", "convolution"),
    [("fp32", "ieee", "ieee"), ("tf32", "tf32", "tf32"), ("amp_bf16", "ieee", "ieee")],
)
def test_switches_are_set_and_put_back(name: str, matmul: str, convolution: str) -> None:
    """fp32 turns TF32 off everywhere, and afterwards torch is as it was."""
    before = (torch.backends.cuda.matmul.fp32_precision, torch.backends.cudnn.conv.fp32_precision)
    with precisions.applied(PRECISIONS[name]):
        assert torch.backends.cuda.matmul.fp32_precision == matmul
        assert torch.backends.cudnn.conv.fp32_precision == convolution
        assert torch.backends.mkldnn.matmul.fp32_precision == "ieee"
    assert (torch.backends.cuda.matmul.fp32_precision, torch.backends.cudnn.conv.fp32_precision) == before


def test_torch_default_touches_nothing() -> None:
    """It is whatever torch does unasked."""
    before = torch.backends.cudnn.conv.fp32_precision
    with precisions.applied(PRECISIONS["torch_default"]):
        assert torch.backends.cudnn.conv.fp32_precision == before


def test_switches_count_on_devices_that_have_tf32(monkeypatch: pytest.MonkeyPatch) -> None:
    """torch's own default: convolutions in TF32, matrix products not, from Ampere on."""
    monkeypatch.setattr(torch.cuda, "get_device_capability", lambda _device: (8, 0))
    assert precisions.tf32_in_use(CUDA) == Tf32(convolution=True)
    monkeypatch.setattr(torch.cuda, "get_device_capability", lambda _device: (7, 5))
    assert precisions.tf32_in_use(CUDA) == precisions.tf32_in_use(CPU) == Tf32()


@pytest.mark.parametrize("device", [CPU, CUDA, MPS])
@pytest.mark.parametrize("name", list(PRECISIONS))
def test_only_fp16_autocast_on_cuda_scales_gradients(device: torch.device, name: str) -> None:
    """bf16 has fp32's range; CPU and MPS train without a scaler."""
    assert precisions.needs_scaler(PRECISIONS[name], device) == (name == "amp_fp16" and device.type == "cuda")


def test_autocast_is_of_the_device_that_runs() -> None:
    """autocast('cuda') around CPU tensors would silently run fp32."""
    with precisions.autocast(PRECISIONS["amp_bf16"], CPU):
        assert torch.nn.functional.linear(torch.ones(1, 2), torch.ones(2, 2)).dtype == torch.bfloat16
    with precisions.autocast(PRECISIONS["fp32"], CPU):
        assert torch.nn.functional.linear(torch.ones(1, 2), torch.ones(2, 2)).dtype == torch.float32
