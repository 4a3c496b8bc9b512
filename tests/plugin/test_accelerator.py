"""What belongs to an accelerator, with torch's and NVML's calls replaced: the rules hold without one."""

from __future__ import annotations

import gc
import sys
import weakref
from types import SimpleNamespace
from typing import Any

import pytest
import torch

from pytest_roofline.device import instruments as device_instruments
from pytest_roofline.device.device_memory import peak_memory, release, reset_peak
from pytest_roofline.device.nvml import DeviceState, HeldDown, NoNvml
from pytest_roofline.roofs import kernels as roofs
from roofline.schema.record import Memory
from tests.plugin.fake_nvml import FakeNvml

CPU, CUDA, MPS = torch.device("cpu"), torch.device("cuda", 0), torch.device("mps")

UUID = "8c3e6f0a-0000-4000-8000-000000000001"
OTHER = "8c3e6f0a-0000-4000-8000-000000000002"


@pytest.fixture
def calls(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """What torch is told, in order; an event's number says when it was recorded, in milliseconds."""
    log: list[str] = []

    class Event:
        made = 0

        def __init__(self, device: torch.device, *, enable_timing: bool) -> None:
            Event.made += 1
            self.at_ms = 250.0 * Event.made
            log.append(f"event {device} timing={enable_timing}")

        def record(self) -> None:
            log.append("record")

        def elapsed_time(self, later: Event) -> float:
            return later.at_ms - self.at_ms

    monkeypatch.setattr(torch.accelerator, "synchronize", lambda device: log.append(f"synchronize {device}"))
    monkeypatch.setattr(torch, "Event", Event)
    return log


@pytest.fixture
def properties(monkeypatch: pytest.MonkeyPatch) -> None:
    """torch's UUID of cuda:0 has no prefix, NVML's has one."""
    found = SimpleNamespace(uuid=UUID, total_memory=80 * 2**30)
    monkeypatch.setattr(torch.cuda, "get_device_properties", lambda _device: found)


def test_a_round_on_an_accelerator(calls: list[str]) -> None:
    """Waiting and both events are of the run's own device, and events are made with timing."""
    instruments = device_instruments.instruments(MPS)
    instruments.synchronize()
    first = instruments.mark()
    last = instruments.mark()
    instruments.synchronize()
    assert calls == [
        "synchronize mps",
        "event mps timing=True",
        "record",
        "event mps timing=True",
        "record",
        "synchronize mps",
    ]
    assert instruments.between_s(first, last) == 0.25
    assert (instruments.state(), instruments.held_so_far(), instruments.energy_j()) == (DeviceState(), HeldDown(), None)
    assert instruments.missing["power_w"] == instruments.missing["energy_j"] == "no NVML for this device"
    assert instruments.missing["heat_held_s"] == "no NVML for this device"


@pytest.mark.usefixtures("properties", "calls")
def test_nvml_is_asked_for_the_device_that_torch_means(monkeypatch: pytest.MonkeyPatch) -> None:
    """cuda:0 is NVML's second device here, as CUDA_VISIBLE_DEVICES=1 makes it: found by UUID, not by number."""
    monkeypatch.setitem(sys.modules, "pynvml", FakeNvml(f"GPU-{OTHER}", f"GPU-{UUID}"))
    instruments = device_instruments.instruments(CUDA)
    assert (instruments.state().sm_clock_hz, instruments.energy_j()) == (1001e6, 5.0)
    assert instruments.held_so_far() == HeldDown(power_held_s=1.5, heat_held_s=0.25)
    assert instruments.missing == {}
    with pytest.raises(NoNvml, match="no NVML for this device"):
        device_instruments.nvml_of(CPU)


@pytest.mark.usefixtures("properties", "calls")
def test_without_nvml_there_is_no_clock_and_no_error(monkeypatch: pytest.MonkeyPatch) -> None:
    """A machine whose NVML is missing or fails measures all the same; why it does is in device/test_nvml.py."""
    nvml = FakeNvml(f"GPU-{UUID}", refuses={"nvmlDeviceGetHandleByIndex": "Unknown Error"})
    monkeypatch.setitem(sys.modules, "pynvml", nvml)
    instruments = device_instruments.instruments(CUDA)
    assert (instruments.state(), instruments.held_so_far(), instruments.energy_j()) == (DeviceState(), HeldDown(), None)
    told = {*DeviceState.__dataclass_fields__, *HeldDown.__dataclass_fields__, "energy_j"}
    assert set(instruments.missing) == told


@pytest.mark.usefixtures("properties")
def test_peak_memory_is_torchs_own(monkeypatch: pytest.MonkeyPatch) -> None:
    """Allocated, reserved and total, of the run's device; nothing is missing."""
    monkeypatch.setattr(torch.accelerator, "max_memory_allocated", lambda device: 3000 + device.index)
    monkeypatch.setattr(torch.accelerator, "max_memory_reserved", lambda device: 4000 + device.index)
    assert peak_memory(torch.device("cuda", 2), 1) == (
        Memory(peak_allocated_byte=3002, peak_reserved_byte=4002, device_total_byte=80 * 2**30),
        {},
    )


@pytest.mark.parametrize("device", [CPU, MPS], ids=str)
@pytest.mark.parametrize("total", [None, 16 * 10**9])
def test_where_torch_keeps_no_peak_the_reason_is_recorded(device: torch.device, total: int | None) -> None:
    """None with a reason, never 0. The size of the device is recorded where it is known."""
    memory, missing = peak_memory(device, total)
    assert memory == Memory(device_total_byte=total)
    why = f"torch keeps no peak of {device.type} memory"
    assert (missing["memory.peak_allocated_byte"], missing["memory.peak_reserved_byte"]) == (why, why)
    assert ("memory.device_total_byte" in missing) is (total is None)


def test_the_peak_is_reset_where_there_is_one(monkeypatch: pytest.MonkeyPatch) -> None:
    """The warm-up's peak is not the rounds'; a CPU has none to reset."""
    reset: list[torch.device] = []
    monkeypatch.setattr(torch.accelerator, "reset_peak_memory_stats", reset.append)
    for device in (CPU, CUDA):
        reset_peak(device)
    assert reset == [CUDA]


@pytest.mark.parametrize(
    ("device", "order"),
    [(CUDA, ["dead", "emptied", "reset"]), (MPS, ["dead", "emptied"]), (CPU, ["dead"])],
    ids=str,
)
def test_what_nobody_holds_is_collected_then_given_back_then_the_peak_reset(
    monkeypatch: pytest.MonkeyPatch, device: torch.device, order: list[str]
) -> None:
    """The cache holds nothing to give back of a model that still lives in a cycle, and the peak begins after both."""
    log: list[str] = []
    monkeypatch.setattr(
        torch, "get_device_module", lambda _: SimpleNamespace(empty_cache=lambda: log.append("emptied"))
    )
    monkeypatch.setattr(torch.accelerator, "reset_peak_memory_stats", lambda _: log.append("reset"))
    gc.disable()
    try:
        model = torch.nn.Linear(2, 2)
        model.me = model  # type: ignore[assignment]
        weakref.finalize(model, log.append, "dead")
        del model
        release(device)
    finally:
        gc.enable()
    assert log == order


def test_the_link_is_measured_from_pinned_memory(monkeypatch: pytest.MonkeyPatch) -> None:
    """One copy of 256 MiB from pinned host memory to the device; the amount is what the copy moves."""
    made: list[tuple[bool, torch.device | None]] = []
    empty = torch.empty

    def without_memory(*size: Any, dtype: torch.dtype, device: Any = None, pin_memory: bool = False) -> torch.Tensor:
        made.append((pin_memory, device))
        return empty(*size, dtype=dtype, device="meta")

    monkeypatch.setattr(torch, "empty", without_memory)
    plan = roofs.plan("host_to_device", CUDA, None)
    (candidate,) = plan.candidates
    copied = candidate.prepare()()
    assert made == [(True, None), (False, CUDA)]
    assert isinstance(copied, torch.Tensor)
    assert candidate.amount == copied.nbytes == 256 * 2**20
    assert (plan.kind, plan.name) == ("byte", "host_to_device")


@pytest.mark.parametrize("device", [CPU, MPS], ids=str)
def test_shared_memory_has_no_link(device: torch.device) -> None:
    """The roof isn't there, with the reason."""
    with pytest.raises(roofs.RoofUnavailable, match=f"^{device.type} shares the host's memory"):
        roofs.plan("host_to_device", device, None)
