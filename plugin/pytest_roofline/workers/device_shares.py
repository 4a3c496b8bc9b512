"""The device that a process measures on: the one that was asked for, or among several processes its share.

A share is a GPU, or on a CPU a set of cores. All of them are alike. Everybody's pytest imports this module, so it loads
torch only where it is called.
"""

from __future__ import annotations

import os
import re
import sys
from collections import defaultdict
from collections.abc import Collection, Sequence
from dataclasses import dataclass
from importlib.util import find_spec
from itertools import chain
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from pytest_roofline.config import options_of, spelled
from pytest_roofline.device import cgroup, cpus, selection
from pytest_roofline.device.selection import DeviceError, Wanted
from pytest_roofline.parallel import torchrun
from pytest_roofline.workers import machine_lock
from pytest_roofline.workers.role import Role, role_of

if TYPE_CHECKING:
    import torch

SYSTEM = Path("/sys/devices/system")


@dataclass(frozen=True, slots=True, kw_only=True)
class Core:
    """A core, by what it shares: the memory of a NUMA node, a socket. ``cpus``: the numbers of its threads."""

    node: int
    socket: int
    cpus: tuple[int, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Share:
    """What one of several processes measures on.

    :param device: with its number, where it has one.
    :param cores: those that it keeps to; empty where the device is no CPU: then it uses all.
    :param neighbours: how many of the others use cores of the same socket.
    """

    device: Wanted
    cores: tuple[Core, ...] = ()
    neighbours: int = 0

    @property
    def cpus(self) -> frozenset[int]:
        return frozenset(chain.from_iterable(core.cpus for core in self.cores))


def shares(wanted: Wanted, count: int, cpus: Collection[int], system: Path = SYSTEM) -> tuple[Share, ...]:
    """Hand the devices out.

    :param count: how many processes are to measure beside each other.
    :param cpus: numbers of the CPUs that all of them may use.
    :param system: where Linux describes its CPUs.
    :raises DeviceError: there are too few, or they differ; the message says how many there are.
    """
    kind = selection.kind_of(wanted)
    if kind == "cuda":
        return _of_gpus(wanted, count)
    if kind == "mps":
        _refuse_more(count, 1, "the Apple GPU", "device")
        return (Share(device=wanted),)
    return tuple(
        Share(device=Wanted("cpu"), cores=own, neighbours=neighbours)
        for own, neighbours in _of_cores(count, cores(cpus, system), cgroup.quota_cpus())
    )


def automatic(wanted: Wanted, cpus: Collection[int], system: Path = SYSTEM) -> int:
    """Count the processes that can measure beside each other without sharing a device: GPUs, or a CPU's NUMA nodes."""
    kind = selection.kind_of(wanted)
    if kind == "cuda" and wanted.index is None:
        import torch

        return max(1, torch.cuda.device_count())
    return len({core.node for core in cores(cpus, system)}) if kind == "cpu" else 1


def cores(cpus: Collection[int], system: Path = SYSTEM) -> tuple[Core, ...]:
    """The cores of some CPUs, neighbours beside each other. Where nothing is told, each CPU is a core of one socket."""
    nodes = {
        cpu: int(folder.name.removeprefix("node"))
        for folder in system.glob("node/node[0-9]*")
        for cpu in _listed(folder / "cpulist")
    }
    found: dict[tuple[int, int, int], list[int]] = defaultdict(list)
    for cpu in sorted(cpus):
        topology = system / "cpu" / f"cpu{cpu}" / "topology"
        socket, core = _number(topology / "physical_package_id"), _number(topology / "core_id")
        found[nodes.get(cpu, 0), socket or 0, cpu if core is None else core].append(cpu)
    return tuple(Core(node=node, socket=socket, cpus=tuple(of)) for (node, socket, _), of in sorted(found.items()))


def _of_cores(count: int, found: Sequence[Core], quota: float | None) -> list[tuple[tuple[Core, ...], int]]:
    """For each process its cores, and how many others have some of the same socket."""
    most = len(found) if quota is None else min(len(found), int(quota))
    limit = "" if quota is None or most == len(found) else f", of which its CPU quota lets it use {max(1, most)}"
    _refuse_more(count, max(1, most), f"the processes' {len(found)} cores{limit}", "core")
    nodes: dict[int, list[Core]] = defaultdict(list)
    for core in found:
        nodes[core.node].append(core)
    each, rest = divmod(count, len(nodes))
    # Where the nodes can be divided evenly, nobody's memory is behind a link.
    even = not rest and all(len(node) >= each for node in nodes.values())
    groups: list[Sequence[Core]] = [*nodes.values()] if even else [found]
    each = count // len(groups)
    size = min(*(len(group) // each for group in groups), max(1, most // count))
    handed = [tuple(group[place * size : (place + 1) * size]) for group in groups for place in range(each)]
    sockets = [{core.socket for core in own} for own in handed]
    return [
        (own, sum(not mine.isdisjoint(other) for other in sockets) - 1)
        for own, mine in zip(handed, sockets, strict=True)
    ]


def _of_gpus(wanted: Wanted, count: int) -> tuple[Share, ...]:
    import torch

    asked = wanted.index is not None
    visible = [wanted.index or 0] if asked else [*range(torch.cuda.device_count())]
    # Where there is none at all, trying to use one says why.
    _refuse_more(count, max(1, len(visible)), f"{wanted}" if asked else f"{len(visible)} CUDA devices", "device")
    names = {torch.cuda.get_device_name(index) for index in visible[:count]} if count > 1 else set()
    if len(names) > 1:
        raise DeviceError(
            f"the devices differ ({', '.join(sorted(names))}), and one file holds results of one kind. Let"
            " CUDA_VISIBLE_DEVICES name equal ones."
        )
    return tuple(Share(device=Wanted("cuda", index), neighbours=count - 1) for index in (visible or [0])[:count])


def _refuse_more(count: int, most: int, what: str, one: str) -> None:
    if count > most:
        raise DeviceError(
            f"{count} workers are too many for {what}: each measures on a {one} of its own. Use -n {most} at most."
        )


def _number(path: Path) -> int | None:
    try:
        return int(path.read_text())
    except (OSError, ValueError):
        return None


def _listed(path: Path) -> list[int]:
    """Read numbers as Linux lists them: ``0-3,8``."""
    try:
        parts = re.findall(r"(\d+)(?:-(\d+))?", path.read_text())
    except OSError:
        return []
    return [number for first, last in parts for number in range(int(first), int(last or first) + 1)]


class Places:
    """Hands out places among several processes, and the place of one that died to its successor."""

    def __init__(self, count: int) -> None:
        self._taken: dict[str, int] = {}
        self._free: list[int] = list(range(count))

    def take(self, worker: str) -> int:
        """The lowest place that is free."""
        place = self._free.pop(0)
        self._taken[worker] = place
        return place

    def of(self, worker: str) -> int:
        return self._taken[worker]

    def give_back(self, worker: str) -> None:
        place = self._taken.pop(worker, None)
        if place is not None:
            self._free = sorted([*self._free, place])


_NO_TORCH = (
    "measuring needs torch 2.9 or newer, which can't be imported: {}. "
    "Install it with: pip install 'pytest-roofline[torch]'"
)

_BINDING = tuple(name for name in cpus.VARIABLES if name != "OMP_NUM_THREADS")

_SHARE = pytest.StashKey[Share]()


def require_torch() -> None:
    """Look for torch without loading it, which takes the process's CPUs as they are then.

    :raises pytest.UsageError: it isn't installed.
    """
    if find_spec("torch") is None:
        raise pytest.UsageError(_NO_TORCH.format("it is not installed"))


def device_kind(config: pytest.Config) -> selection.Kind:
    """The kind of device this session is for, whether or not it works.

    :raises pytest.UsageError: torch is needed to tell and can't be imported.
    """
    try:
        return selection.kind_of(options_of(config).device)
    except ImportError as error:
        raise pytest.UsageError(_NO_TORCH.format(error)) from error


def select_device(config: pytest.Config) -> torch.device:
    """The device that this process measures on: its share among several, else the one that was asked for.

    :raises pytest.UsageError: it can't be used.
    """
    share = take_share(config)
    wanted = options_of(config).device if share is None else share.device
    if (rank := torchrun.several()) is not None and wanted.index is None and device_kind(config) == "cuda":
        wanted = Wanted("cuda", rank.local_rank)
    try:
        # Of several GPUs each worker tries its own; the controller leaves the memory of the first to its worker.
        return selection.select(wanted, tried=share is None or hasattr(config, "workerinput"))
    except DeviceError as error:
        raise pytest.UsageError(f"{spelled(config, 'device')} {wanted}: {error}") from error
    except ImportError as error:
        raise pytest.UsageError(_NO_TORCH.format(error)) from error


def take_share(config: pytest.Config) -> Share | None:
    """Keep a process among several to the device that it owns, once; None for one that measures alone.

    :raises pytest.UsageError: there is none for it.
    """
    role = role_of(config)
    if role is None:
        return None
    if _SHARE not in config.stash:
        try:
            config.stash[_SHARE] = _take(role, config)
        except DeviceError as error:
            raise pytest.UsageError(f"-n: {error}") from error
    return config.stash[_SHARE]


def _take(role: Role, config: pytest.Config) -> Share:
    wanted = options_of(config).device
    if not machine_lock.AVAILABLE:
        raise DeviceError(f"{sys.platform} has no file locks that workers could wait by. Leave -n out.")
    if selection.kind_of(wanted) == "cpu":
        if not hasattr(os, "sched_setaffinity"):
            raise DeviceError(f"{sys.platform} can't keep a worker to cores of its own. Leave -n out.")
        binding = [name for name in _BINDING if name in os.environ]
        if binding:
            raise DeviceError(f"by {binding[0]} OpenMP chooses the cores of each worker's threads itself. Unset it.")
    share = shares(wanted, role.count, role.cpus)[role.place]
    if share.cores:
        cpus.keep_to(share.cpus)
    return share
