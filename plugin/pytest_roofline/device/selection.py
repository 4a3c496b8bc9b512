"""Which device a run uses, and the instruments that belong to it: synchronising, device time, clocks, energy.

Every device kind has an implementation of its own here; one that is not known is an error, never a silent no-op.
"""

from __future__ import annotations

import os
import re
import sys
from collections.abc import Mapping
from dataclasses import dataclass, fields
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

from pytest_roofline.device.nvml import NoNvml, Nvml, open_nvml
from pytest_roofline.device.rapl import Rapl
from pytest_roofline.device.state import DeviceState, HeldDown

if TYPE_CHECKING:
    import torch

    from roofline.schema.record import Device

Kind = Literal["cpu", "cuda", "mps"]

KINDS: tuple[Kind, ...] = ("cpu", "cuda", "mps")


class DeviceError(RuntimeError):
    """The device asked for can't be used. The message says why and what to do."""


@dataclass(frozen=True, slots=True)
class Wanted:
    """What was asked for: a kind, or None for the best device present, and an index where one was given."""

    kind: Kind | None
    index: int | None = None

    def __str__(self) -> str:
        return (self.kind or "auto") + ("" if self.index is None else f":{self.index}")


def parse(text: str) -> Wanted:
    """Read ``auto``, ``cpu``, ``cuda``, ``cuda:N`` or ``mps``.

    :raises ValueError: anything else; the text says what is allowed.
    """
    name, colon, number = text.strip().lower().partition(":")
    if name == "auto" and not colon:
        return Wanted(None)
    for kind in KINDS:
        if name == kind and not colon:
            return Wanted(kind)
    if name == "cuda" and re.fullmatch("[0-9]{1,4}", number):
        return Wanted("cuda", int(number))
    raise ValueError("use auto, cpu, cuda, cuda:N or mps")


def kind_of(wanted: Wanted) -> Kind:
    """The kind a run will use, without insisting that it works (so that collecting works anywhere)."""
    if wanted.kind is not None:
        return wanted.kind
    import torch

    if torch.cuda.is_available() and torch.cuda.device_count() > 0:
        return "cuda"
    return "mps" if torch.backends.mps.is_available() else "cpu"


def select(wanted: Wanted, *, tried: bool = True) -> torch.device:
    """The device to run on, tried with one allocation.

    :param tried: False leaves its memory alone.
    :raises DeviceError: it can't be used, with the reason.
    """
    import torch

    kind = kind_of(wanted)
    if kind == "cpu":
        return torch.device("cpu")
    device = _select_cuda(wanted.index) if kind == "cuda" else _select_mps()
    if not tried:
        return device
    try:
        torch.zeros(1, device=device)
        torch.accelerator.synchronize(device)
    except RuntimeError as error:
        raise DeviceError(f"{device} is there, but a first allocation on it failed: {_first_line(error)}") from error
    return device


def _select_cuda(index: int | None) -> torch.device:
    import torch

    if not torch.backends.cuda.is_built():
        raise DeviceError(
            f"this torch ({torch.__version__}) was built without CUDA. "
            "Install a CUDA build of torch, or choose the cpu."
        )
    count = torch.cuda.device_count()
    if count == 0:
        raise DeviceError(_why_no_cuda())
    chosen = index if index is not None else 0
    if chosen >= count:
        raise DeviceError(
            f"cuda:{chosen} was asked for, but only {count} CUDA device(s) are visible (cuda:0 to cuda:{count - 1})."
        )
    return torch.device("cuda", chosen)


def _why_no_cuda() -> str:
    import torch

    visible = os.environ.get("CUDA_VISIBLE_DEVICES")
    try:
        torch.cuda.init()
        reason = "CUDA starts, but counts no device"
    except (RuntimeError, AssertionError) as error:
        reason = _first_line(error)
    if "driver" in reason.lower():
        return f"no usable NVIDIA driver on this machine ({reason}). Install one, or choose the cpu."
    hidden = f" CUDA_VISIBLE_DEVICES is {visible!r}: set it to the device's number." if visible is not None else ""
    return f"no CUDA device is visible ({reason}).{hidden} Check nvidia-smi, or choose the cpu."


def _select_mps() -> torch.device:
    import torch

    if not torch.backends.mps.is_built():
        raise DeviceError(
            f"this torch ({torch.__version__}) was built without MPS, which exists on macOS only. Choose the cpu."
        )
    if not torch.backends.mps.is_available():
        raise DeviceError("MPS needs an Apple GPU and macOS 14 or newer; this machine has none. Choose the cpu.")
    return torch.device("mps")


def _first_line(error: BaseException) -> str:
    """The first sentence of an error: torch goes on with where to download what."""
    text = str(error).strip()
    return text.splitlines()[0].partition(". ")[0].rstrip(".") if text else type(error).__name__


def describe(device: torch.device) -> Device:
    """What the record says of the device."""
    import torch

    # Not above: everybody's pytest imports this module, and the record's classes take as long as all the rest of it.
    from roofline.schema.record import Device

    if device.type == "cuda":
        properties = torch.cuda.get_device_properties(device)
        return Device(
            kind="cuda",
            name=properties.name,
            index=device.index,
            memory_byte=properties.total_memory,
            last_level_cache_byte=getattr(properties, "L2_cache_size", None) or None,
            compute_capability=f"{properties.major}.{properties.minor}",
        )
    if device.type == "mps":
        return Device(kind="mps", name=f"{cpu_name()} GPU", memory_byte=torch.mps.recommended_max_memory())
    if device.type == "cpu":
        return Device(
            kind="cpu", name=cpu_name(), memory_byte=_memory_byte(), last_level_cache_byte=_cpu_last_level_cache_byte()
        )
    raise DeviceError(f"{device.type} is not supported; use one of {', '.join(KINDS)}.")


def cpu_name() -> str:
    """The processor's name as the system gives it."""
    import platform

    if sys.platform.startswith("linux"):
        known = _cpuinfo()
        if name := known.get("model name") or known.get("Model"):
            return name
    if sys.platform == "darwin":
        import subprocess

        answer = subprocess.run(
            ["/usr/sbin/sysctl", "-n", "machdep.cpu.brand_string"], capture_output=True, text=True, check=False
        )
        if answer.stdout.strip():
            return answer.stdout.strip()
    return platform.processor() or platform.machine() or "unknown CPU"


def cpu_name_and_model() -> str:
    """The same with the numbers of its model: ``AMD EPYC (cpu family 25, model 17)``.

    A virtual machine may give processors of several generations one name, of which one is twice as fast as another.
    """
    known = _cpuinfo() if sys.platform.startswith("linux") else {}
    numbers = [f"{key} {known[key]}" for key in _MODEL_NUMBERS if known.get(key)]
    return f"{cpu_name()} ({', '.join(numbers)})" if numbers else cpu_name()


_MODEL_NUMBERS = ("cpu family", "model", "CPU implementer", "CPU part")
"""As Linux calls them: the first two of x86, the others of Arm."""


def _cpuinfo(path: Path = Path("/proc/cpuinfo")) -> dict[str, str]:
    """What Linux tells of the first processor; of all of them what isn't told one by one."""
    try:
        lines = path.read_text().splitlines()
    except OSError:
        return {}
    known: dict[str, str] = {}
    for line in lines:
        key, _, value = line.partition(":")
        known.setdefault(key.strip(), value.strip())
    return known


def _memory_byte() -> int:
    import psutil

    return int(psutil.virtual_memory().total)


def _cpu_last_level_cache_byte(root: Path = Path("/sys/devices/system/cpu/cpu0/cache")) -> int | None:
    """Size of the largest-level data cache that Linux reports, in bytes; None elsewhere."""
    best: tuple[int, int] | None = None
    for folder in root.glob("index*"):
        try:
            kind, level, size = ((folder / name).read_text().strip() for name in ("type", "level", "size"))
        except OSError:
            continue
        if kind in ("Unified", "Data") and size.endswith("K") and level.isdecimal():
            best = max(best or (0, 0), (int(level), int(size[:-1]) * 1024))
    return best[1] if best else None


class CpuInstruments:
    """A CPU runs what it is given at once: nothing to wait for, and no device clock beside the host's."""

    def __init__(self) -> None:
        self._rapl = Rapl()

    @property
    def missing(self) -> Mapping[str, str]:
        """Why readings are None: under the names of `DeviceState` and `HeldDown`, and ``energy_j``."""
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
        """What the device has used since some moment before; None where it tells no energy."""
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
