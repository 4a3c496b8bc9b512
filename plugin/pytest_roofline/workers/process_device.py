"""The device that a process measures on: the one that was asked for, or among several processes its share.

Everybody's pytest imports this module, so it loads torch only where it is called.
"""

from __future__ import annotations

import os
import sys
from importlib.util import find_spec
from typing import TYPE_CHECKING

import pytest

from pytest_roofline.config import options_of, spelled
from pytest_roofline.device import cpus, selection
from pytest_roofline.parallel import launch
from pytest_roofline.workers import machine_lock
from pytest_roofline.workers.role import Role, role_of
from pytest_roofline.workers.shares import Share, shares

if TYPE_CHECKING:
    import torch

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


def kind_of(config: pytest.Config) -> selection.Kind:
    """The kind of device this session is for, whether or not it works.

    :raises pytest.UsageError: torch is needed to tell and can't be imported.
    """
    try:
        return selection.kind_of(options_of(config).device)
    except ImportError as error:
        raise pytest.UsageError(_NO_TORCH.format(error)) from error


def select(config: pytest.Config) -> torch.device:
    """The device that this process measures on: its share among several, else the one that was asked for.

    :raises pytest.UsageError: it can't be used.
    """
    share = take_share(config)
    wanted = options_of(config).device if share is None else share.device
    if (rank := launch.several()) is not None and wanted.index is None and kind_of(config) == "cuda":
        wanted = selection.Wanted("cuda", rank.local_rank)
    try:
        # Of several GPUs each worker tries its own; the controller leaves the memory of the first to its worker.
        return selection.select(wanted, tried=share is None or hasattr(config, "workerinput"))
    except selection.DeviceError as error:
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
        except selection.DeviceError as error:
            raise pytest.UsageError(f"-n: {error}") from error
    return config.stash[_SHARE]


def _take(role: Role, config: pytest.Config) -> Share:
    wanted = options_of(config).device
    if not machine_lock.AVAILABLE:
        raise selection.DeviceError(f"{sys.platform} has no file locks that workers could wait by. Leave -n out.")
    if selection.kind_of(wanted) == "cpu":
        if not hasattr(os, "sched_setaffinity"):
            raise selection.DeviceError(f"{sys.platform} can't keep a worker to cores of its own. Leave -n out.")
        binding = [name for name in _BINDING if name in os.environ]
        if binding:
            raise selection.DeviceError(
                f"by {binding[0]} OpenMP chooses the cores of each worker's threads itself. Unset it."
            )
    share = shares(wanted, role.count, role.cpus)[role.place]
    if share.cores:
        cpus.keep_to(share.cpus)
    return share
