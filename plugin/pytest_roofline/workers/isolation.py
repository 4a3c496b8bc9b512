"""``--isolate``: each case in a process of its own. Whatever becomes of that, the next one is measured."""

from __future__ import annotations

import json
import os
from collections.abc import Iterator, Sequence
from itertools import count
from pathlib import Path
from typing import Any

import pytest

from pytest_roofline.config import case_name, temporary_folder, uses_roofline
from pytest_roofline.device.system import Ended, run_program
from pytest_roofline.rerun import arguments_of, environment_of, signal_of, started_as
from pytest_roofline.session.case_timeout import Lost, how_lost
from pytest_roofline.session.run import Run
from pytest_roofline.workers.gains import TakesGains
from pytest_roofline.workers.isolation_child import CHILD, OneTest

_LAST_LINES = 20
"""Of what a process said before it died."""


class Isolation:
    """Connects a run to the processes that measure its cases. Roofs are measured in this one, while none runs."""

    def __init__(self, run: Run, config: pytest.Config) -> None:
        self._run = run
        self._config = config
        self._gains = TakesGains(run, config)
        self._folder = temporary_folder(config)
        self._numbers = count(1)

    @pytest.hookimpl(tryfirst=True)
    def pytest_runtest_protocol(self, item: pytest.Item) -> bool | None:
        if not uses_roofline(item) or item.get_closest_marker("roofs") is not None:
            return None
        item.ihook.pytest_runtest_logstart(nodeid=item.nodeid, location=item.location)
        process = f"process-{next(self._numbers)}"
        for report in self._reports(item, process):
            self._gains.take(report, process)
            item.ihook.pytest_runtest_logreport(report=report)
        item.ihook.pytest_runtest_logfinish(nodeid=item.nodeid, location=item.location)
        return True

    def _reports(self, item: pytest.Item, process: str) -> Iterator[pytest.TestReport]:
        """Run a test in a process of its own, and give its reports, with one more if the process died in it."""
        given, hung = (self._folder / f"{process}.{kind}" for kind in ("reports", "hung"))
        if self._run.progress is not None:
            self._run.progress.say("measuring in a process of its own")
        results = self._run.results_path
        chosen = OneTest(
            test=item.nodeid,
            reports=str(given),
            hung=str(hung),
            seconds=self._run.options.case_timeout,
            results=None if results is None else str(results),
        )
        ended = run_program(
            [*started_as(), "-p", CHILD, *arguments_of(self._config)],
            timeout_s=None,
            environment={**os.environ, **environment_of(self._config), **chosen.environment()},
            cwd=self._config.invocation_params.dir,
        )
        reports = _read(given)
        for data in reports:
            if data is not None:
                yield self._report(data)
        if None not in reports:
            yield self._lost(item, ended, how_lost(self._config, hung, _how(ended)))

    def _report(self, data: dict[str, Any]) -> pytest.TestReport:
        report: pytest.TestReport = self._config.hook.pytest_report_from_serializable(config=self._config, data=data)
        # JSON has no tuples.
        path, line, name = report.location
        report.location = path, line, name
        if isinstance(report.longrepr, list):
            report.longrepr = tuple(report.longrepr)
        return report

    def _lost(self, item: pytest.Item, ended: Ended, lost: Lost) -> pytest.TestReport:
        case = case_name(item)
        self._run.case_failed(case, lost.outcome, lost.why, test=item.nodeid)
        last = "\n".join(ended.text.splitlines()[-_LAST_LINES:])
        return pytest.TestReport(
            nodeid=item.nodeid,
            location=item.location,
            keywords={},
            outcome="failed",
            longrepr=f"{case}: {lost.why}\n{lost.where or last}".rstrip(),
            when="call",
        )


def _read(path: Path) -> Sequence[dict[str, Any] | None]:
    """The reports that a process gave, and None for the test's end. A last line that is cut off is none."""
    try:
        lines = path.read_bytes().split(b"\n")[:-1]
    except FileNotFoundError:
        return []
    return [json.loads(line) for line in lines]


def _how(ended: Ended) -> str:
    """Tell how a process died."""
    if ended.code is None:
        return f"could not be started: {ended.reason}"
    if ended.code >= 0:
        return f"ended with exit code {ended.code} before its test had ended"
    return f"was killed by {signal_of(ended.code)}"
