"""What belongs to a device while steps are timed: synchronising, device time, clocks, energy.

Every device kind has an implementation of its own here; one that is not known is an error, never a silent no-op.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import fields
from typing import TYPE_CHECKING, Any

from pytest_roofline.device.nvml import NoNvml, Nvml, open_nvml
from pytest_roofline.device.rapl import Rapl
from pytest_roofline.device.selection import KINDS, DeviceError
from pytest_roofline.device.state import DeviceState, HeldDown

if TYPE_CHECKING:
    import torch


class CpuInstruments:
    """A CPU runs what it is given at once: nothing to wait for, and no device clock beside the host's."""

    def __init__(self) -> None:
        self._rapl = Rapl()

    @property
    def missing(self) -> Mapping[str, str]:
        """Tell why readings are None: under the names of `DeviceState` and `HeldDown`, and ``energy_j``."""
        return self._rapl.missing

    def synchronize(self) -> None:
        return None

    def mark(self) -> None:
        """An event recorded on the device now; None where there are none."""

    def between_s(self, _first: object, _second: object) -> float:
        """Device seconds between two events, after a synchronisation."""
        raise TypeError("a CPU has no device events")

    def state(self) -> DeviceState:
        return DeviceState()

    def held_so_far(self) -> HeldDown:
        return HeldDown()

    def energy_j(self) -> float | None:
        """Read what the device has used since some moment before; None where it tells no energy."""
        return self._rapl.energy_j()


class AcceleratorInstruments:
    """CUDA and MPS: torch's own synchronisation and events; the device's state through NVML where there is one."""

    def __init__(self, device: torch.device) -> None:
        import torch

        self._device = device
        self._wait = torch.accelerator.synchronize
        self._event = torch.Event
        self._spare: list[Any] = []
        """Events to use again: making one takes longer than recording it, and would happen inside a timed round."""
        self._nvml: Nvml | None = None
        self._no_nvml: dict[str, str] = {}
        try:
            self._nvml = nvml_of(device)
        except NoNvml as why:
            told = (*fields(DeviceState), *fields(HeldDown))
            self._no_nvml = dict.fromkeys((*(one.name for one in told), "energy_j"), str(why))

    @property
    def missing(self) -> Mapping[str, str]:
        return self._no_nvml if self._nvml is None else self._nvml.missing

    def synchronize(self) -> None:
        self._wait(self._device)

    def mark(self) -> object:
        event = self._spare.pop() if self._spare else self._event(self._device, enable_timing=True)
        event.record()
        return event

    def between_s(self, first: object, second: object) -> float:
        seconds = float(first.elapsed_time(second)) / 1e3  # type: ignore[attr-defined]
        self._spare += (first, second)
        return seconds

    def state(self) -> DeviceState:
        return DeviceState() if self._nvml is None else self._nvml.state()

    def held_so_far(self) -> HeldDown:
        return HeldDown() if self._nvml is None else self._nvml.held_so_far()

    def energy_j(self) -> float | None:
        return None if self._nvml is None else self._nvml.energy_j()


Instruments = CpuInstruments | AcceleratorInstruments


def instruments(device: torch.device) -> Instruments:
    """The instruments of a device.

    :raises DeviceError: a kind that has none.
    """
    if device.type == "cpu":
        return CpuInstruments()
    if device.type in ("cuda", "mps"):
        return AcceleratorInstruments(device)
    raise DeviceError(f"{device.type} is not supported; use one of {', '.join(KINDS)}.")


def nvml_of(device: torch.device) -> Nvml:
    """NVML of a CUDA device.

    :raises NoNvml: it can't be had.
    """
    if device.type != "cuda":
        raise NoNvml("no NVML for this device")
    import torch

    return open_nvml(str(torch.cuda.get_device_properties(device).uuid))
