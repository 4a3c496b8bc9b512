"""NVML as nvidia-ml-py shows it, of devices that a test makes up."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any


class FakeNvml:
    """Two devices or more, told apart by their SM clock; it refuses what it is told to.

    :param uuids: of the devices, as NVML writes them.
    :param refuses: functions -> the error that they raise.
    :param processes: on each device, and the memory that they hold, in bytes.
    :param bits: event reasons of the clocks; ``violation_ns`` is for how long each policy has held them down so far.
    """

    NVML_CLOCK_SM = 1
    NVML_CLOCK_MEM = 2
    NVML_TEMPERATURE_GPU = 0
    NVML_PERF_POLICY_POWER = 0
    NVML_PERF_POLICY_THERMAL = 1

    class NVMLError(Exception):
        pass

    class NVMLError_FunctionNotFound(NVMLError):  # noqa: N801 - NVML's own name
        pass

    def __init__(
        self,
        *uuids: str,
        refuses: dict[str, str] | None = None,
        bits: int = 0,
        processes: dict[int, int | None] | None = None,
    ) -> None:
        self.calls: list[str] = []
        self.refuses = refuses or {}
        self.bits = bits
        self.processes = processes or {}
        self.energy_mj = 5_000
        self.violation_ns = {self.NVML_PERF_POLICY_POWER: 1_500_000_000, self.NVML_PERF_POLICY_THERMAL: 250_000_000}
        self._uuids = uuids

    def __getattr__(self, name: str) -> Any:
        if not name.startswith("nvml"):
            raise AttributeError(name)

        def call(*arguments: Any) -> Any:
            self.calls.append(name)
            if name in self.refuses:
                text = self.refuses[name]
                raise (self.NVMLError_FunctionNotFound if text == "Function Not Found" else self.NVMLError)(text)
            answers: dict[str, Any] = {
                "nvmlInit": lambda: None,
                "nvmlDeviceGetCount": lambda: len(self._uuids),
                "nvmlDeviceGetHandleByIndex": lambda index: index,
                "nvmlDeviceGetUUID": lambda handle: self._uuids[handle],
                "nvmlDeviceGetClockInfo": lambda handle, kind: 1000 * kind + handle,
                "nvmlDeviceGetPowerUsage": lambda _: 412_500,
                "nvmlDeviceGetTemperature": lambda _, sensor: 61 + sensor,
                "nvmlDeviceGetMemoryInfo": lambda _: SimpleNamespace(total=80 * 10**9, used=7 * 10**9),
                "nvmlDeviceGetCurrentClocksEventReasons": lambda _: self.bits,
                "nvmlDeviceGetCurrentClocksThrottleReasons": lambda _: self.bits,
                "nvmlDeviceGetViolationStatus": lambda _, policy: SimpleNamespace(
                    referenceTime=0, violationTime=self.violation_ns[policy]
                ),
                "nvmlDeviceGetTotalEnergyConsumption": lambda _: self.energy_mj,
                "nvmlDeviceGetPowerManagementLimit": lambda _: 700_000,
                "nvmlDeviceGetComputeRunningProcesses": lambda _: [
                    SimpleNamespace(pid=pid, usedGpuMemory=byte) for pid, byte in self.processes.items()
                ],
                "nvmlSystemGetDriverVersion": lambda: "580.65.06",
            }
            return answers[name](*arguments)

        return call
