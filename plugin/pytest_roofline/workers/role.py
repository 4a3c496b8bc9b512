"""What a process among several was told: its place, and so its device; and what it tells of its tests.

The processes share a folder, in which each worker writes its `Plan` once it has collected, and the controller, before
any test begins, its `Word`. Everybody's pytest-xdist imports this module.
"""

from __future__ import annotations

import hashlib
import json
import os
import sys
import threading
import time
from collections.abc import Iterable, Mapping
from contextlib import suppress
from dataclasses import asdict, dataclass, field
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from pytest_roofline.config import options_of, spelled
from pytest_roofline.device import cpus
from pytest_roofline.device import selection as devices
from pytest_roofline.items import case_name, uses_roofline
from pytest_roofline.parallel import launch
from pytest_roofline.workers import quiet
from pytest_roofline.workers.shares import Share, shares

if TYPE_CHECKING:
    import torch

    from pytest_roofline.session.gating.sets import Standing
    from roofline.schema.session import SessionSet

KEY = "roofline"
"""Of what pytest-xdist hands to a worker, and back."""

_NO_TORCH = (
    "measuring needs torch 2.9 or newer, which can't be imported: {}. "
    "Install it with: pip install 'pytest-roofline[torch]'"
)

_BINDING = tuple(name for name in cpus.VARIABLES if name != "OMP_NUM_THREADS")

_KEPT_S = 10.0
"""Keeping what came of a test takes milliseconds, and longer on a slow file system."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Role:
    """A process's place among ``count`` that measure beside each other. The controller has the first worker's, and so
    describes the machine, and measures its roofs, as the workers see it.

    :param folder: that all of them share.
    :param cpus: numbers of the CPUs that all of them may use.
    :param session: which of a set of sessions it is.
    """

    folder: Path
    place: int
    count: int
    cpus: tuple[int, ...]
    session: int = 1

    def to_json(self) -> dict[str, Any]:
        return {**asdict(self), "folder": str(self.folder), "cpus": list(self.cpus)}

    @classmethod
    def from_json(cls, value: Mapping[str, Any]) -> Role:
        return cls(**{**value, "folder": Path(value["folder"]), "cpus": tuple(value["cpus"])})


ROLE = pytest.StashKey[Role]()
"""In pytest's stash, of a process among several."""

_SHARE = pytest.StashKey[Share]()

STANDING: pytest.StashKey[Standing] = pytest.StashKey()
"""In pytest's stash, of a process that runs a session of a set, or has a baseline."""


def place_of(config: pytest.Config) -> SessionSet | None:
    """Which session of a set this process runs; None without a set, and in a worker."""
    standing = config.stash.get(STANDING, None)
    return None if standing is None or standing.member is None else standing.member.place


def session_of(config: pytest.Config) -> int:
    """The number of the session, in a worker, too; 1 without a set."""
    role, place = role_of(config), place_of(config)
    if role is not None:
        return role.session
    return 1 if place is None else place.index


def role_of(config: pytest.Config) -> Role | None:
    """The process's place among several; None for one that measures alone, or nothing."""
    return config.stash.get(ROLE, None)


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
        except devices.DeviceError as error:
            raise pytest.UsageError(f"-n: {error}") from error
    return config.stash[_SHARE]


def _take(role: Role, config: pytest.Config) -> Share:
    wanted = options_of(config).device
    if not quiet.AVAILABLE:
        raise devices.DeviceError(f"{sys.platform} has no file locks that workers could wait by. Leave -n out.")
    if devices.kind_of(wanted) == "cpu":
        if not hasattr(os, "sched_setaffinity"):
            raise devices.DeviceError(f"{sys.platform} can't keep a worker to cores of its own. Leave -n out.")
        binding = [name for name in _BINDING if name in os.environ]
        if binding:
            raise devices.DeviceError(
                f"by {binding[0]} OpenMP chooses the cores of each worker's threads itself. Unset it."
            )
    share = shares(wanted, role.count, role.cpus)[role.place]
    if share.cores:
        cpus.keep_to(share.cpus)
    return share


def require_torch() -> None:
    """Look for torch without loading it, which takes the process's CPUs as they are then.

    :raises pytest.UsageError: it isn't installed.
    """
    if find_spec("torch") is None:
        raise pytest.UsageError(_NO_TORCH.format("it is not installed"))


def kind_of(config: pytest.Config) -> devices.Kind:
    """The kind of device this session is for, whether or not it works.

    :raises pytest.UsageError: torch is needed to tell and can't be imported.
    """
    try:
        return devices.kind_of(options_of(config).device)
    except ImportError as error:
        raise pytest.UsageError(_NO_TORCH.format(error)) from error


def select(config: pytest.Config) -> torch.device:
    """The device that this process measures on: its share among several, else the one that was asked for.

    :raises pytest.UsageError: it can't be used.
    """
    share = take_share(config)
    wanted = options_of(config).device if share is None else share.device
    if (rank := launch.several()) is not None and wanted.index is None and kind_of(config) == "cuda":
        wanted = devices.Wanted("cuda", rank.local_rank)
    try:
        # Of several GPUs each worker tries its own; the controller leaves the memory of the first to its worker.
        return devices.select(wanted, tried=share is None or hasattr(config, "workerinput"))
    except devices.DeviceError as error:
        raise pytest.UsageError(f"{spelled(config, 'device')} {wanted}: {error}") from error
    except ImportError as error:
        raise pytest.UsageError(_NO_TORCH.format(error)) from error


@dataclass(frozen=True, slots=True, kw_only=True)
class Plan:
    """Which of the collected tests measure.

    :param planned: ids of the cases by the full names of their tests, without those of roofs.
    :param tests: full names of all that measure.
    :param expects: whether a marker of one of them says what is expected.
    :param wrong: why nothing can be measured.
    """

    planned: Mapping[str, str] = field(default_factory=dict)
    tests: tuple[str, ...] = ()
    expects: bool = False
    notes: tuple[str, ...] = ()
    announced: tuple[str, ...] = ()
    wrong: str | None = None

    @classmethod
    def of(cls, items: Iterable[pytest.Item], notes: Iterable[str] = ()) -> Plan:
        from pytest_roofline.session.expected_bounds import MARKER

        measuring = [item for item in items if uses_roofline(item)]
        return cls(
            planned={item.nodeid: case_name(item) for item in measuring if item.get_closest_marker("roofs") is None},
            tests=tuple(item.nodeid for item in measuring),
            expects=any(item.get_closest_marker(MARKER) for item in measuring),
            notes=tuple(notes),
        )

    def write(self, role: Role) -> None:
        """Tell it to the controller."""
        _write(role.folder / f"plan-{role.place}.json", asdict(self))

    @classmethod
    def read(cls, folder: Path, place: int) -> Plan | None:
        """What the worker at a place told; None: none of its tests measures."""
        found = _read(folder / f"plan-{place}.json")
        lists = ("tests", "notes", "announced")
        return None if found is None else cls(**{**found, **{name: tuple(found[name]) for name in lists}})


@dataclass(frozen=True, slots=True, kw_only=True)
class Word:
    """What the controller tells its workers: tests that are left out, and the path of the results file."""

    left_out: tuple[str, ...] = ()
    results: str | None = None

    def write(self, folder: Path) -> None:
        _write(folder / "word.json", asdict(self))

    @classmethod
    def read(cls, folder: Path) -> Word:
        found = _read(folder / "word.json") or {}
        return cls(left_out=tuple(found.get("left_out", ())), results=found.get("results"))


def tell_kept(folder: Path, test: str) -> None:
    """Tell the workers that what came of a test is on disk."""
    with suppress(OSError):
        _kept(folder, test).touch()


def await_kept(folder: Path, test: str) -> None:
    """Wait until the controller has told so. It can't where it has died, or the folder's disk is full."""
    path, rest, until = _kept(folder, test), threading.Event(), time.monotonic() + _KEPT_S
    while not path.exists() and time.monotonic() < until:
        rest.wait(0.001)  # tests may replace time.sleep


def _kept(folder: Path, test: str) -> Path:
    return folder / f"kept-{hashlib.sha256(test.encode()).hexdigest()}"


def _write(path: Path, value: Mapping[str, Any]) -> None:
    made = path.with_suffix(".tmp")
    made.write_text(json.dumps(value), encoding="utf-8")
    made.replace(path)


def _read(path: Path) -> dict[str, Any] | None:
    try:
        return dict(json.loads(path.read_text(encoding="utf-8")))
    except FileNotFoundError:
        return None
