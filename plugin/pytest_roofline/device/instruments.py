"""Give what belongs to a device while steps are timed: synchronising, device time, clocks, energy (of CPUs by RAPL).

Every device kind has an implementation of its own here; one that is not known is an error, never a silent no-op.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import fields
from pathlib import Path
from typing import TYPE_CHECKING, Any

from pytest_roofline.device.nvml import DeviceState, HeldDown, NoNvml, Nvml, open_nvml
from pytest_roofline.device.selection import KINDS, DeviceError

if TYPE_CHECKING:
    import torch

POWERCAP = Path("/sys/class/powercap")


class Rapl:
    """All packages of this machine together, with all programs that run on them; memory is not in it.

    A package is a zone ``intel-rapl:N`` with the name ``package-N``, on AMD too. Its counter ``energy_uj`` starts again
    at 0 beyond ``max_energy_range_uj`` (Linux, Documentation/power/powercap): it has to be read more often than it
    wraps, which at 200 W takes about 20 minutes.

    :param folder: the powercap class in the mounted sys file system.
    """

    def __init__(self, folder: Path = POWERCAP) -> None:
        self.missing: dict[str, str] = {}
        self._used_uj = 0
        self._zones: dict[Path, tuple[int, int]] = {}
        """Counter at the last reading and its range, by folder."""
        try:
            for zone in sorted(folder.glob("intel-rapl:*")):
                if (zone / "name").read_text().startswith("package"):
                    self._zones[zone] = (_number(zone / "energy_uj"), _number(zone / "max_energy_range_uj"))
        except (OSError, ValueError) as error:
            self._give_up(error)
        if not self._zones and not self.missing:
            self.missing["energy_j"] = "the system tells no energy of its processors (no RAPL in powercap)"

    def energy_j(self) -> float | None:
        """Read what was used since this was made; None where nothing tells."""
        if self.missing:
            return None
        try:
            for zone, (last, wraps_at) in self._zones.items():
                now = _number(zone / "energy_uj")
                self._used_uj += now - last if now >= last else now + wraps_at - last
                self._zones[zone] = (now, wraps_at)
        except (OSError, ValueError) as error:
            self._give_up(error)
            return None
        return 1e-6 * self._used_uj

    def _give_up(self, error: Exception) -> None:
        if isinstance(error, PermissionError):
            # Since Linux 5.10, for what else can be learned from it (CVE-2020-8694).
            why = "root alone may read the processors' energy (energy_uj in powercap)"
        else:
            why = "the processors' energy can't be read (energy_uj in powercap)"
        self.missing["energy_j"] = why


def _number(path: Path) -> int:
    return int(path.read_text())


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
