"""The process of pytest-xdist that starts the others: it hands out devices, and keeps what the workers measure."""

from __future__ import annotations

import os
from collections.abc import Callable, Generator, Iterable, Sequence
from contextlib import ExitStack
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from pytest_roofline.config import disabled, options_of, spelled, temporary_folder
from pytest_roofline.device import cpus
from pytest_roofline.workers.device_shares import Places, automatic
from pytest_roofline.workers.role import KEY, ROLE, Role
from pytest_roofline.workers.shared_folder import ForWorkers, PlannedTests, tell_kept, tell_roofs

if TYPE_CHECKING:
    from pytest_roofline.session.hooks import SessionHooks
    from pytest_roofline.session.run import Run
    from pytest_roofline.workers.gains import TakesGains

# What measures is imported once a worker says that a test does: everybody's pytest-xdist has this plugin.


def distributes(config: pytest.Config) -> bool:
    """Tell whether this process hands its tests to workers of pytest-xdist."""
    option = config.option
    return getattr(option, "dist", "no") != "no" and bool(getattr(option, "tx", None)) and not option.collectonly


def workers_of(config: pytest.Config) -> int | None:
    """Count the workers that ``-n auto`` starts of a run that measures, each with a GPU or a NUMA node; None for
    others, whose number is pytest-xdist's business, and where its own variable says it.
    """
    asked = os.environ.get("PYTEST_XDIST_AUTO_NUM_WORKERS")
    if config.option.numprocesses != "auto" or asked or disabled(config) is not None:
        return None
    try:
        return automatic(options_of(config).device, cpus.AT_START)
    except ImportError:
        return None  # without torch: collecting says so


@dataclass(frozen=True, slots=True, kw_only=True)
class _Kept:
    """A run that keeps what workers measure, and what takes it. ``roofs``: tests of those that it is to measure."""

    plan: PlannedTests
    roofs: frozenset[str]
    run: Run
    hooks: SessionHooks
    gains: TakesGains


class Controller:
    """Connects the controller's run to pytest-xdist.

    :param begin: makes the run of what a worker has collected; None where none of its tests measures.
    :param session: which session of a set this is.
    """

    def __init__(
        self,
        config: pytest.Config,
        begin: Callable[[PlannedTests | None], tuple[Run, SessionHooks] | None],
        session: int,
    ) -> None:
        self._config = config
        self._begin = begin
        self._session = session
        self._cpus = tuple(sorted(cpus.AT_START))
        self._places: Places | None = None
        self._ending = ExitStack()
        self._asked = False
        self._tests: Sequence[str] = ()
        self._kept: _Kept | None = None
        self._begun: set[str] = set()
        """Tests that a worker has begun."""
        self._roofs: dict[str, str] = {}
        """Tests of roofs that have not ended, with the worker that has them."""

    @cached_property
    def _folder(self) -> Path:
        """The folder that all processes share."""
        return temporary_folder(self._config)

    def pytest_configure_node(self, node: Any) -> None:
        """A worker is about to be started, or the successor of one that died."""
        count = node.workerinput["workercount"]
        if self._places is None:
            self._places = Places(count)
            self._config.stash[ROLE] = self._role(0, count)
        role = self._role(self._places.take(node.gateway.id), count)
        node.workerinput[KEY] = role.to_json()
        self._watch_sending(node)

    def _watch_sending(self, node: Any) -> None:
        """Note which roofs a worker is sent. Let sending to one that has died fail silently: next pytest-xdist hears of
        it, and has others go on.
        """
        send = node.sendcommand

        def send_to_the_living(name: str, **values: Any) -> None:
            if name == "runtests":
                self._hand_out(values["indices"], node.gateway.id)
            try:
                send(name, **values)
            except OSError:
                if self._kept is None:
                    raise

        node.sendcommand = send_to_the_living

    def _hand_out(self, places: Iterable[int], worker: str) -> None:
        """Have the others wait with their cases while a worker has roofs.

        :param places: of the tests that it gets, among those that were collected.
        """
        tests = {self._tests[place] for place in places}
        if self._kept is not None and (roofs := tests & self._kept.roofs):
            self._roofs |= dict.fromkeys(roofs, worker)
            tell_roofs(self._folder, self._roofs.values())

    def _role(self, place: int, count: int) -> Role:
        return Role(folder=self._folder, place=place, count=count, cpus=self._cpus, session=self._session)

    def pytest_testnodedown(self, node: Any) -> None:
        """A worker has ended, or died."""
        assert self._places is not None
        self._places.give_back(node.gateway.id)
        # Its successor may get them behind cases: nobody waits for that.
        self._roofs = {test: worker for test, worker in self._roofs.items() if worker != node.gateway.id}
        tell_roofs(self._folder, self._roofs.values())
        text = getattr(node, "workeroutput", {}).get(KEY)
        if text is not None and self._kept is not None:
            self._kept.gains.add(text, node.gateway.id)

    def pytest_xdist_node_collection_finished(self, node: Any, ids: Sequence[str]) -> None:
        """A worker has collected; none has begun a test before all have.

        :param ids: the tests' full names, the same of each worker.
        :raises pytest.UsageError: it can't measure, or nothing can be kept.
        """
        assert self._places is not None
        plan = PlannedTests.read(self._folder, self._places.of(node.gateway.id))
        if plan is not None:
            self._refuse(plan, node)
        if not self._asked:
            self._asked, self._tests = True, ids
            self._start(plan)

    def _refuse(self, plan: PlannedTests, node: Any) -> None:
        if plan.wrong is not None:
            raise pytest.UsageError(plan.wrong)
        if not node.gateway.spec.popen:
            raise pytest.UsageError("--tx: results of other machines aren't of this one. Measure there, without --tx.")
        if self._config.option.dist == "each":
            raise pytest.UsageError("--dist each: each case would be in the results several times. Leave it out.")

    def _start(self, plan: PlannedTests | None) -> None:
        begun = self._begin(plan)
        if plan is None or begun is None:
            return
        from pytest_roofline.workers.gains import TakesGains
        from pytest_roofline.workers.machine_lock import MachineLock

        run, hooks = begun
        run.alone = MachineLock(self._folder).alone
        ended = () if run.earlier is None else [test for test in plan.tests if run.earlier.ended(test)]
        roofs = frozenset(plan.tests).difference(plan.planned, ended)
        self._kept = _Kept(plan=plan, roofs=roofs, run=run, hooks=hooks, gains=TakesGains(run, self._config))
        results = None if run.results_path is None else str(run.results_path)
        ForWorkers(left_out=tuple(ended), results=results).write(self._folder)
        self._ending.enter_context(hooks.measuring())

    @pytest.hookimpl(wrapper=True)
    def pytest_runtestloop(self) -> Generator[None, object, object]:
        with self._ending:
            return (yield)

    # Before the terminal and pytest's own count of failures.
    @pytest.hookimpl(tryfirst=True)
    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        if self._kept is not None and hasattr(report, "node"):
            self._kept.gains.take(report, report.node.gateway.id)

    def pytest_runtest_logstart(self, nodeid: str) -> None:
        self._begun.add(nodeid)

    def pytest_runtest_logfinish(self, nodeid: str) -> None:
        self._finished(nodeid)

    @pytest.hookimpl(tryfirst=True)
    def pytest_handlecrashitem(self, crashitem: str, report: pytest.TestReport) -> None:
        """A worker died in a test: that alone is lost. One that had not begun or has ended is not."""
        if self._kept is None or crashitem not in self._kept.plan.tests:
            return
        case = self._kept.plan.planned.get(crashitem, crashitem)
        if crashitem not in self._begun:
            resume = spelled(self._config, "resume")
            report.longrepr = f"{case}: its process died before the test began: {resume} goes on with it"
            return
        if crashitem in self._kept.run.finished:
            report.longrepr = f"{case}: its process died after the test had ended"
            return
        from pytest_roofline.session.case_timeout import how_lost

        lost = how_lost(self._config, self._folder / f"{report.node.gateway.id}.txt", "died")
        self._kept.run.case_failed(case, lost.outcome, lost.why, test=crashitem)
        report.longrepr = f"{case}: {lost.why}\n{lost.where}".rstrip()
        self._finished(crashitem)

    def _finished(self, test: str) -> None:
        if self._kept is not None and test in self._kept.plan.tests:
            self._kept.run.finished.append(test)
            self._kept.hooks.save()
            tell_kept(self._folder, test)
            if self._roofs.pop(test, None) is not None:
                tell_roofs(self._folder, self._roofs.values())

    # Inside of the terminal's, which then shows what came of the run.
    @pytest.hookimpl(wrapper=True, trylast=True)
    def pytest_sessionfinish(self, session: pytest.Session) -> Generator[None, object, object]:
        """Take a Ctrl-C for one that ends the workers at once: they may take seconds to end."""
        try:
            return (yield)
        except KeyboardInterrupt:
            if self._kept is None:
                raise
            session.exitstatus = pytest.ExitCode.INTERRUPTED
            return []
