"""Send what a run in another process gains with each report of a test to the main run, which takes it as its own.

It travels as JSON in an attribute of pytest's report, which pytest-xdist sends, and so is with the main process before
the next test begins.
"""

from __future__ import annotations

import json
from collections.abc import Generator
from types import SimpleNamespace
from typing import Any

import pytest

from pytest_roofline.config import uses_roofline
from pytest_roofline.session.expected_bounds import NotAsExpected, assert_bounds
from pytest_roofline.session.results_file import dumps, with_short_parameters
from pytest_roofline.session.run import Run, new_rows
from roofline.schema.record import KEY, Record
from roofline.schema.record_json import from_json, to_json
from roofline.schema.session import Session

ATTRIBUTE = "roofline_gains"
"""Of a report."""

_COUNTS = ("measured", "tried", "not_called", "measuring_s")
"""Of a `Run`, what is added up."""


class GivesGains:
    """Adds to each report of a test that measures what the run gained since the report before."""

    def __init__(self, run: Run, config: pytest.Config) -> None:
        self._run = run
        self._config = config
        self._records: list[Any] = []
        """Of each row, its record as it was given."""
        self._reasons = self._lines = 0
        self._counts = dict.fromkeys(_COUNTS, 0.0)

    # The outermost, so that what the others make of a failed test is in it.
    @pytest.hookimpl(wrapper=True, tryfirst=True)
    def pytest_runtest_makereport(self, item: pytest.Item) -> Generator[None, pytest.TestReport, pytest.TestReport]:
        report = yield
        if uses_roofline(item):
            setattr(report, ATTRIBUTE, self.gained())
        return report

    @pytest.hookimpl(tryfirst=True)
    def pytest_sessionfinish(self) -> None:
        """Leave pytest-benchmark's files and table to the process that takes the rows."""
        self._config._benchmarksession.benchmarks.clear()  # type: ignore[attr-defined]

    def gained(self) -> str:
        """Give what is new, as JSON."""
        run = self._run
        records = [stats.extra_info[KEY] for stats in run.stats]
        counts = {name: getattr(run, name) for name in _COUNTS}
        gained = {
            "rows": {
                place: row for place in new_rows(records, self._records) for row in self._rows_of(run.stats[place])
            },
            "session": to_json(
                Session(
                    started_at="",
                    label="",
                    roofs=run.roofs.ledger.roofs(),
                    not_measured=tuple(run.not_measured[self._reasons :]),
                )
            ),
            "printed": run.printed[self._lines :],
            **{name: count - self._counts[name] for name, count in counts.items()},
        }
        self._records, self._reasons, self._lines = records, len(run.not_measured), len(run.printed)
        self._counts = counts
        return dumps(gained)

    def _rows_of(self, stats: Any) -> list[dict[str, Any]]:
        """One, or none where pytest-benchmark found its fixture misused."""
        document = self._config.hook.pytest_benchmark_generate_json(
            config=self._config, benchmarks=[stats], include_data=True, machine_info={}, commit_info={}
        )
        return list(with_short_parameters(document)["benchmarks"])


class TakesGains:
    """Takes what other processes' runs gained into this one, as if it had measured it.

    :param run: of this process.
    """

    def __init__(self, run: Run, config: pytest.Config) -> None:
        self._run = run
        self._config = config
        self._rows: dict[tuple[str, str], Any] = {}
        """By the process, and its place among that process's rows."""

    def take(self, report: pytest.TestReport, process: str) -> None:
        """Take what came with a report. Its test fails where bounds are asserted and its case isn't as expected.

        :param process: the name of the one that it is from.
        """
        text = report.__dict__.pop(ATTRIBUTE, None)
        if text is None:
            return
        new = self.add(text, process)
        if new is not None and report.passed:
            try:
                assert_bounds(self._run, from_json(Record, new.extra_info[KEY], new.fullname), new.fullname)
            except NotAsExpected as error:
                report.outcome = "failed"
                report.longrepr = pytest.ExceptionInfo.from_exception(error).getrepr(style="value")

    def add(self, text: str, process: str) -> Any:
        """Add what a process's run gained.

        :returns: pytest-benchmark's result of a case that was measured; None where none was.
        """
        gained, run, new = json.loads(text), self._run, None
        for place, row in gained["rows"].items():
            known = self._rows.get((process, place))
            if known is None:
                self._rows[process, place] = new = _as_measured(row)
                run.stats.append(new)
                # pytest-benchmark's own files and table have it, too.
                self._config._benchmarksession.benchmarks.append(new)  # type: ignore[attr-defined]
            else:
                known.extra_info = row["extra_info"]
        session = from_json(Session, gained["session"], process)
        for entry in session.not_measured:
            run.give_up(entry)
        run.roofs.take(process, session.roofs)
        run.printed += gained["printed"]
        for name in _COUNTS:
            setattr(run, name, getattr(run, name) + gained[name])
        return new


def _as_measured(row: dict[str, Any]) -> Any:
    """pytest-benchmark's result of which a row was made."""
    from pytest_benchmark.stats import Metadata

    names = ("name", "fullname", "group", "param", "params", "extra_info")
    fixture = SimpleNamespace(**{name: row[name] for name in names}, cprofile_stats=None, has_error=False)
    result = Metadata(fixture, iterations=row["stats"]["iterations"], options=row["options"])
    result.stats.data = row["stats"]["data"]
    return result
