"""Read one NVIDIA device through NVML: clocks, power, temperature, memory, what holds its clocks down, and energy.

`DeviceState` and `HeldDown` are the readings of any device.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, TypeVar


@dataclass(frozen=True, slots=True, kw_only=True)
class DeviceState:
    """Readings at one moment, named as the series of `roofline.schema.record.Rounds`; None where the device has no such
    reading.

    :param device_memory_byte: in use on the device, by all programs.
    :param throttle: why its clocks are held down, in NVML's words; empty where they aren't.
    """

    sm_clock_hz: float | None = None
    memory_clock_hz: float | None = None
    power_w: float | None = None
    temperature_c: float | None = None
    device_memory_byte: int | None = None
    throttle: tuple[str, ...] | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class HeldDown:
    """Counters that only grow: for how long so far the device's clocks were held below those that programs ask for.
    Named as the series of `roofline.schema.record.Rounds`; None where the device doesn't count it.

    :param power_held_s: by the power limit.
    :param heat_held_s: by heat.
    """

    power_held_s: float | None = None
    heat_held_s: float | None = None


T = TypeVar("T")

POWER_CAP = "SW Power Cap"
"""The clocks are held down to keep within the power limit."""

SLOWDOWNS = ("HW Slowdown", "SW Thermal Slowdown", "HW Thermal Slowdown", "HW Power Brake Slowdown")
"""They are held down by heat, or by a power supply that asks for it."""

_HELD = {
    0x002: "Applications Clocks Setting",
    0x004: POWER_CAP,
    0x008: SLOWDOWNS[0],
    0x010: "Sync Boost",
    0x020: SLOWDOWNS[1],
    0x040: SLOWDOWNS[2],
    0x080: SLOWDOWNS[3],
    0x100: "Display Clocks Setting",
    0x200: "Board Limit",
    0x400: "Reliability",
}
"""Bits of the clocks' event reasons (nvml.h, nvmlClocksEventReasons) under the names that nvidia-smi prints."""

_IDLE = 0x001
"""Nothing runs: the round is over when it is asked. That holds no clock down."""


class NoNvml(RuntimeError):
    """NVML can't tell of the device. The message says why."""


class Nvml:
    """One device.

    What it doesn't tell stands in ``missing`` with NVML's reason: under the names of `DeviceState`, `HeldDown` and the
    methods.
    """

    def __init__(self, nvml: Any, handle: Any) -> None:
        self._nvml = nvml
        self._handle = handle
        self.missing: dict[str, str] = {}

    def state(self) -> DeviceState:
        """All readings now."""
        nvml, handle = self._nvml, self._handle
        return DeviceState(
            sm_clock_hz=self._read("sm_clock_hz", lambda: self._clock_hz(nvml.NVML_CLOCK_SM)),
            memory_clock_hz=self._read("memory_clock_hz", lambda: self._clock_hz(nvml.NVML_CLOCK_MEM)),
            power_w=self._read("power_w", lambda: float(nvml.nvmlDeviceGetPowerUsage(handle)) / 1e3),
            temperature_c=self._read(
                "temperature_c", lambda: float(nvml.nvmlDeviceGetTemperature(handle, nvml.NVML_TEMPERATURE_GPU))
            ),
            device_memory_byte=self._read("device_memory_byte", lambda: int(nvml.nvmlDeviceGetMemoryInfo(handle).used)),
            throttle=self._read("throttle", lambda: held_down(self._event_reasons())),
        )

    def held_so_far(self) -> HeldDown:
        """NVML's violation times: for how long the clocks were below the applications' ones, by the limiter's policy.

        They see what happened while the device worked, which `state`, read when it is idle again, may miss. In
        nanoseconds (nvml.h, nvmlViolationTime_t). By NVML's reference manual heat need not be counted: its counter may
        stand at 0 on a device that does slow down, so growth alone says something.
        """
        nvml = self._nvml
        return HeldDown(
            power_held_s=self._read("power_held_s", lambda: self._violation_s(nvml.NVML_PERF_POLICY_POWER)),
            heat_held_s=self._read("heat_held_s", lambda: self._violation_s(nvml.NVML_PERF_POLICY_THERMAL)),
        )

    def energy_j(self) -> float | None:
        """Read what the board has used since its driver was loaded; None before Volta, and in many virtual machines."""
        nvml = self._nvml
        return self._read("energy_j", lambda: float(nvml.nvmlDeviceGetTotalEnergyConsumption(self._handle)) / 1e3)

    def power_limit_w(self) -> float | None:
        nvml = self._nvml
        return self._read("power_limit_w", lambda: float(nvml.nvmlDeviceGetPowerManagementLimit(self._handle)) / 1e3)

    def driver(self) -> str | None:
        return self._read("driver", lambda: str(self._nvml.nvmlSystemGetDriverVersion()))

    def process_byte(self, pid: int) -> int | None:
        """Memory of a process on the device, its context with it.

        None where that isn't known: in a container a process has another number than outside, and Windows keeps it.
        """
        nvml = self._nvml
        found = self._read("process_byte", lambda: nvml.nvmlDeviceGetComputeRunningProcesses(self._handle)) or ()
        held = (one.usedGpuMemory for one in found if one.pid == pid)
        return next((int(byte) for byte in held if byte is not None), None)

    def _clock_hz(self, clock: int) -> float:
        return 1e6 * float(self._nvml.nvmlDeviceGetClockInfo(self._handle, clock))

    def _violation_s(self, policy: int) -> float:
        return float(self._nvml.nvmlDeviceGetViolationStatus(self._handle, policy).violationTime) / 1e9

    def _event_reasons(self) -> int:
        try:
            return int(self._nvml.nvmlDeviceGetCurrentClocksEventReasons(self._handle))
        except self._nvml.NVMLError_FunctionNotFound:
            # Its name in drivers before 535.
            return int(self._nvml.nvmlDeviceGetCurrentClocksThrottleReasons(self._handle))

    def _read(self, name: str, read: Callable[[], T]) -> T | None:
        """A reading, or None where the device doesn't support it or the user may not see it."""
        try:
            return read()
        except self._nvml.NVMLError as error:
            self.missing[name] = f"NVML says: {error}"
            return None


def held_down(bits: int) -> tuple[str, ...]:
    """The reasons in a mask of event reasons; a bit without a name is given as a number."""
    bits &= ~_IDLE
    named = [name for bit, name in _HELD.items() if bits & bit]
    rest = bits & ~sum(_HELD)
    return (*named, *([f"0x{rest:x}"] if rest else []))


def open_nvml(uuid: str) -> Nvml:
    """A CUDA device by its UUID: CUDA_VISIBLE_DEVICES renumbers CUDA's devices, not NVML's.

    :raises NoNvml: there is no NVML here, or it doesn't know the device.
    """
    try:
        import pynvml
    except ImportError as error:
        raise NoNvml("nvidia-ml-py is not installed") from error
    try:
        pynvml.nvmlInit()
        for index in range(pynvml.nvmlDeviceGetCount()):
            handle = pynvml.nvmlDeviceGetHandleByIndex(index)
            if uuid in str(pynvml.nvmlDeviceGetUUID(handle)):
                return Nvml(pynvml, handle)
    except pynvml.NVMLError as error:
        raise NoNvml(f"NVML says: {error}") from error
    raise NoNvml("NVML doesn't list this device")
