"""A worker of pytest-xdist: it measures on the device that it owns, and gives all that it gains to the controller."""

from __future__ import annotations

from collections.abc import Generator
from contextlib import AbstractContextManager
from pathlib import Path

import pytest

from pytest_roofline.config import uses_roofline
from pytest_roofline.device.device_memory import release
from pytest_roofline.session.run import Run
from pytest_roofline.workers.gains import GivesGains
from pytest_roofline.workers.machine_lock import MachineLock
from pytest_roofline.workers.role import KEY, Role
from pytest_roofline.workers.shared_folder import ForWorkers, await_kept, await_roofs


class XdistWorker(GivesGains):
    """Connects a worker's run to pytest and pytest-xdist. Roofs are measured alone and first; cases run beside
    those of other workers.
    """

    def __init__(self, run: Run, config: pytest.Config, role: Role) -> None:
        super().__init__(run, config)
        self._lock = MachineLock(role.folder)
        self._folder = role.folder
        run.alone = self._lock.alone
        self._ended: str | None = None
        """The last test that measured here: none begins before the controller has it on disk."""

    @pytest.hookimpl(wrapper=True)
    def pytest_runtestloop(self) -> Generator[None, object, object]:
        result = yield
        self._run.sample_roofs()
        self._config.workeroutput[KEY] = self.gained()  # type: ignore[attr-defined]
        return result

    @pytest.hookimpl(wrapper=True, tryfirst=True)
    def pytest_runtest_protocol(self, item: pytest.Item) -> Generator[None, object, object]:
        if not uses_roofline(item):
            return (yield)
        if self._ended is not None:
            await_kept(self._folder, self._ended)
        told = ForWorkers.read(self._folder)
        self._run.results_path = None if told.results is None else Path(told.results)
        with self._turn(item):
            result = yield
            release(self._run.device)  # others may lack what it leaves
        if item.nodeid not in told.left_out:
            self._ended = item.nodeid
        return result

    def _turn(self, item: pytest.Item) -> AbstractContextManager[None]:
        if item.get_closest_marker("roofs") is not None:
            return self._lock.alone()
        await_roofs(self._folder, self._config.workerinput["workerid"])  # type: ignore[attr-defined]
        return self._lock.beside()


class LeavesOut:
    """Leaves out the tests of a resumed run that have ended: what was collected has to be the same in all workers."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder

    @pytest.hookimpl(tryfirst=True)
    def pytest_runtest_protocol(self, item: pytest.Item) -> bool | None:
        return True if item.nodeid in ForWorkers.read(self._folder).left_out else None
