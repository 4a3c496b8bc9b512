"""Let the processes of a run tell each other things, by files in a folder that all of them share.

Each worker writes its `PlannedTests` once it has collected, and the controller `ForWorkers` before any test begins.
Everybody's pytest-xdist imports this module.
"""

from __future__ import annotations

import hashlib
import json
import threading
import time
from collections.abc import Collection, Iterable, Mapping
from contextlib import suppress
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

import pytest

from pytest_roofline.config import case_name, uses_roofline
from pytest_roofline.workers.role import Role

_KEPT_S = 10.0
"""Keeping what came of a test takes milliseconds, and longer on a slow file system."""


@dataclass(frozen=True, slots=True, kw_only=True)
class PlannedTests:
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
    def of(cls, items: Iterable[pytest.Item], notes: Iterable[str] = ()) -> PlannedTests:
        from pytest_roofline.session.expected_bounds import MARKER

        measuring = [item for item in items if uses_roofline(item)]
        return cls(
            planned={item.nodeid: case_name(item) for item in measuring if item.get_closest_marker("roofs") is None},
            tests=tuple(item.nodeid for item in measuring),
            expects=any(item.get_closest_marker(MARKER) for item in measuring),
            notes=tuple(notes),
        )

    def write(self, role: Role) -> None:
        """Write it for the controller."""
        _write(role.folder / f"planned-{role.place}.json", asdict(self))

    @classmethod
    def read(cls, folder: Path, place: int) -> PlannedTests | None:
        """Read what the worker at a place has written; None where none of its tests measures."""
        found = _read(folder / f"planned-{place}.json")
        lists = ("tests", "notes", "announced")
        return None if found is None else cls(**{**found, **{name: tuple(found[name]) for name in lists}})


@dataclass(frozen=True, slots=True, kw_only=True)
class ForWorkers:
    """What the controller tells its workers: tests that are left out, and the path of the results file."""

    left_out: tuple[str, ...] = ()
    results: str | None = None

    def write(self, folder: Path) -> None:
        _write(folder / "for-workers.json", asdict(self))

    @classmethod
    def read(cls, folder: Path) -> ForWorkers:
        found = _read(folder / "for-workers.json") or {}
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


def tell_roofs(folder: Path, workers: Collection[str]) -> None:
    """Tell the workers which of them have roofs to measure. Where the disk is full nobody waits for them."""
    had, have = {*folder.glob("roofs-*")}, {folder / f"roofs-{worker}" for worker in workers}
    with suppress(OSError):
        for path in had - have:
            path.unlink()
        for path in have - had:
            path.touch()


def await_roofs(folder: Path, worker: str) -> None:
    """Wait until no other worker has roofs to measure. One that has some itself doesn't: others may wait for it."""
    own, rest = folder / f"roofs-{worker}", threading.Event()
    while not own.exists() and any(folder.glob("roofs-*")):
        rest.wait(0.01)


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
