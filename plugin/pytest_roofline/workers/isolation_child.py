"""The pytest plugin of the process that measures one case of an isolated run, loaded with ``-p`` by it alone.

It gives each report of its test to the process that started it, with what the run gained. What belongs to a run
(results, sets, gate, bounds) is that one's business.
"""

from __future__ import annotations

import json
import os
from collections.abc import Generator, MutableMapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from pytest_roofline.config import deselect
from pytest_roofline.rerun import (
    ONE_TEST_OFF,
    end_with_parent,
    repeat_one_test,
    switch_off,
    take_order,
    variables_of,
)

# The plugin itself is imported late: pytest has yet to load it, and to rewrite its assertions, when it loads this one.

VARIABLE = "ROOFLINE_ISOLATED"
"""Taken away by the first to read it: no pytest that the test starts is one of these processes."""

CHILD = "pytest_roofline.workers.isolation_child"

ALONE = f"{CHILD} is for the processes that --roofline-isolate starts. Leave -p {CHILD} out."


@dataclass(frozen=True, slots=True, kw_only=True)
class OneTest:
    """What one of these processes is to measure.

    :param test: its full name.
    :param reports: the file for its reports, a line for each.
    :param hung: the file for where it hung.
    :param seconds: how long it may take; None for ever.
    :param results: path of the results file.
    """

    test: str
    reports: str
    hung: str
    seconds: float | None
    results: str | None

    def environment(self) -> dict[str, str]:
        return variables_of(VARIABLE, self)


def given(environment: MutableMapping[str, str]) -> OneTest | None:
    """Read which test this process was started for; None: none was given.

    :raises pytest.UsageError: the variable is somebody else's.
    """
    return take_order(environment, VARIABLE, OneTest)


@pytest.hookimpl(wrapper=True)
def pytest_load_initial_conftests(early_config: pytest.Config) -> Generator[None, object, object]:
    """Switch off what begins before a later hook is called."""
    switch_off(early_config, ONE_TEST_OFF)
    return (yield)


@pytest.hookimpl(wrapper=True)
def pytest_cmdline_main(config: pytest.Config) -> Generator[None, object, object]:
    """Become a process that measures one test, before any other plugin decides what this run is to be.

    :raises pytest.UsageError: this is none.
    """
    chosen = given(os.environ)
    if chosen is None:
        raise pytest.UsageError(ALONE)
    end_with_parent()
    repeat_one_test(config, ONE_TEST_OFF)
    config.pluginmanager.register(IsolatedCase(config, chosen), "roofline-isolated")
    return (yield)


class IsolatedCase:
    """Connects the test to pytest."""

    def __init__(self, config: pytest.Config, chosen: OneTest) -> None:
        self._config = config
        self._chosen = chosen

    @pytest.hookimpl(wrapper=True, trylast=True)
    def pytest_collection_modifyitems(self, items: list[pytest.Item]) -> Generator[None, None, None]:
        """All but the one test are left out."""
        yield
        deselect(self._config, items, {item for item in items if item.nodeid != self._chosen.test})
        del items[1:]

    @pytest.hookimpl(wrapper=True)
    def pytest_runtestloop(self) -> Generator[None, object, object]:
        from pytest_roofline.session.case_timeout import TimeLimit
        from pytest_roofline.session.run import run_of
        from pytest_roofline.workers.gains import GivesGains

        run, chosen = run_of(self._config), self._chosen
        if run is not None:
            run.results_path = None if chosen.results is None else Path(chosen.results)
            self._config.pluginmanager.register(GivesGains(run, self._config), "roofline-gains")
        if chosen.seconds is not None:
            self._config.pluginmanager.register(TimeLimit(chosen.seconds, Path(chosen.hung)), "roofline-time-limit")
        return (yield)

    @pytest.hookimpl(trylast=True)
    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        data = self._config.hook.pytest_report_to_serializable(config=self._config, report=report)
        self._give(data)

    def pytest_runtest_logfinish(self) -> None:
        self._give(None)

    def _give(self, data: dict[str, Any] | None) -> None:
        with open(self._chosen.reports, "a", encoding="utf-8") as file:
            file.write(json.dumps(data, default=str) + "\n")
