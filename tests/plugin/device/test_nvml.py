"""NVML's readings in SI units, and the reason for each that it refuses."""

from __future__ import annotations

import sys

import pytest

from pytest_roofline.device.nvml import POWER_CAP, SLOWDOWNS, DeviceState, HeldDown, NoNvml, Nvml, held_down, open_nvml
from tests.plugin.fake_nvml import FakeNvml


def test_a_state_is_in_si_units() -> None:
    """MHz, mW, mJ and ns become Hz, W, J and s; memory is what all programs use."""
    nvml = Nvml(FakeNvml("GPU-a", bits=0x24), 0)
    assert nvml.state() == DeviceState(
        sm_clock_hz=1e9,
        memory_clock_hz=2e9,
        power_w=412.5,
        temperature_c=61.0,
        device_memory_byte=7 * 10**9,
        throttle=("SW Power Cap", "SW Thermal Slowdown"),
    )
    assert nvml.held_so_far() == HeldDown(power_held_s=1.5, heat_held_s=0.25)
    assert (nvml.energy_j(), nvml.power_limit_w(), nvml.driver()) == (5.0, 700.0, "580.65.06")
    assert nvml.missing == {}


@pytest.mark.parametrize(
    ("function", "names"),
    [
        ("nvmlDeviceGetClockInfo", ("sm_clock_hz", "memory_clock_hz")),
        ("nvmlDeviceGetPowerUsage", ("power_w",)),
        ("nvmlDeviceGetTemperature", ("temperature_c",)),
        ("nvmlDeviceGetMemoryInfo", ("device_memory_byte",)),
        ("nvmlDeviceGetCurrentClocksEventReasons", ("throttle",)),
    ],
)
def test_a_reading_that_is_refused_is_none_with_nvmls_reason(function: str, names: tuple[str, ...]) -> None:
    """None, not 0; the other readings stand."""
    nvml = Nvml(FakeNvml("GPU-a", refuses={function: "Not Supported"}), 0)
    state, whole = nvml.state(), Nvml(FakeNvml("GPU-a"), 0).state()
    for name in DeviceState.__dataclass_fields__:
        assert getattr(state, name) == (None if name in names else getattr(whole, name))
    assert nvml.missing == dict.fromkeys(names, "NVML says: Not Supported")


def test_what_is_not_counted_is_none_with_nvmls_reason() -> None:
    """As on a device or in a virtual machine without the counters."""
    nvml = Nvml(FakeNvml("GPU-a", refuses={"nvmlDeviceGetViolationStatus": "Not Supported"}), 0)
    assert nvml.held_so_far() == HeldDown()
    assert nvml.missing == dict.fromkeys(("power_held_s", "heat_held_s"), "NVML says: Not Supported")


@pytest.mark.parametrize(
    ("function", "name"),
    [
        ("nvmlDeviceGetTotalEnergyConsumption", "energy_j"),
        ("nvmlDeviceGetPowerManagementLimit", "power_limit_w"),
        ("nvmlSystemGetDriverVersion", "driver"),
    ],
)
def test_what_is_refused_of_the_device_itself(function: str, name: str) -> None:
    """In the same way."""
    nvml = Nvml(FakeNvml("GPU-a", refuses={function: "Insufficient Permissions"}), 0)
    assert getattr(nvml, name)() is None
    assert nvml.missing == {name: "NVML says: Insufficient Permissions"}


def test_old_drivers_know_the_reasons_under_another_name() -> None:
    """Before 535 they were throttle reasons; a driver that knows neither gives no reasons."""
    new = "nvmlDeviceGetCurrentClocksEventReasons"
    fake = FakeNvml("GPU-a", refuses={new: "Function Not Found"}, bits=0x40)
    assert Nvml(fake, 0).state().throttle == ("HW Thermal Slowdown",)
    fake.refuses["nvmlDeviceGetCurrentClocksThrottleReasons"] = "Function Not Found"
    assert Nvml(fake, 0).state().throttle is None


@pytest.mark.parametrize(
    ("bits", "names"),
    [
        (0, ()),
        (0x1, ()),
        (0x2, ("Applications Clocks Setting",)),
        (0x4, (POWER_CAP,)),
        (0x8 | 0x20 | 0x40 | 0x80, SLOWDOWNS),
        (0x10 | 0x100, ("Sync Boost", "Display Clocks Setting")),
        (0x1 | 0x4 | 0x3000, (POWER_CAP, "0x3000")),
    ],
)
def test_the_reasons_in_a_mask(bits: int, names: tuple[str, ...]) -> None:
    """An idle device is not held down, and a bit that nobody has named yet is not hidden."""
    assert held_down(bits) == names


@pytest.mark.parametrize(
    ("module", "why"),
    [
        (None, "nvidia-ml-py is not installed"),
        (FakeNvml("GPU-b"), "NVML doesn't list this device"),
        (FakeNvml("GPU-a", refuses={"nvmlInit": "Driver Not Loaded"}), "NVML says: Driver Not Loaded"),
    ],
    ids=["not installed", "unknown", "no driver"],
)
def test_why_there_is_no_nvml(monkeypatch: pytest.MonkeyPatch, module: FakeNvml | None, why: str) -> None:
    """In NVML's own words where it has some."""
    monkeypatch.setitem(sys.modules, "pynvml", module)
    with pytest.raises(NoNvml, match=f"^{why}$"):
        open_nvml("a")
