"""Note what becomes of each test that measures: a number, or the reason why there is none."""

from __future__ import annotations

from collections.abc import Generator
from typing import Any

import pytest

from pytest_roofline.config import case_name, uses_roofline
from pytest_roofline.device.device_memory import is_out_of_memory, release
from pytest_roofline.session.expected_bounds import NotAsExpected
from pytest_roofline.session.run import Run

NOT_CALLED = (
    "this test asks for the roofline fixture and never called it: nothing was measured. "
    "Call roofline(model, *inputs) in it, skip it, or leave the fixture out."
)


class CaseHooks:
    """Connects a `Run` to the tests of its cases, in the process that measures them."""

    def __init__(self, run: Run) -> None:
        self._run = run

    @pytest.hookimpl(tryfirst=True)
    def pytest_runtest_setup(self, item: pytest.Item) -> None:
        """Release what ran before, ahead of the first fixture that builds something; also of a test that runs again."""
        if uses_roofline(item):
            release(self._run.device)

    @pytest.hookimpl(wrapper=True)
    def pytest_runtest_makereport(
        self, item: pytest.Item, call: pytest.CallInfo[None]
    ) -> Generator[None, pytest.TestReport, pytest.TestReport]:
        report = yield
        if not uses_roofline(item):
            return report
        if report.when == "call" and report.outcome == "passed" and not _called(item):
            report.outcome, report.longrepr = "failed", NOT_CALLED
            self._run.not_called += 1
        if report.outcome != "passed" and not _is_measured_well(call):
            outcome, reason = why(report, call)
            self._run.case_failed(case_name(item), outcome, reason, test=item.nodeid)
            if self._run.ranks.count > 1 and not alike_on_all_ranks(report, call):
                self._run.ranks.leave(reason)
                item.session.shouldfail = f"{case_name(item)}: {reason}"
            if outcome == "out_of_memory":
                # Where in torch an allocator gave up says nothing.
                report.longrepr = reason
        return report


def _called(item: pytest.Item) -> bool:
    """Tell whether the test measured, or tried to. True where its fixture was never made: that has its own error."""
    fixture = getattr(item, "funcargs", {}).get("roofline")
    return fixture is None or bool(fixture.called)


def _is_measured_well(call: pytest.CallInfo[None]) -> bool:
    """Tell whether the test failed only because its case isn't as expected: its number is right."""
    return call.excinfo is not None and isinstance(call.excinfo.value, NotAsExpected)


def alike_on_all_ranks(report: pytest.TestReport, call: pytest.CallInfo[None]) -> bool:
    """Tell whether all ranks know how the test ended. After another error they would wait for this one."""
    known = (AssertionError, pytest.fail.Exception)
    return report.skipped or call.excinfo is None or isinstance(call.excinfo.value, known)


def why(report: pytest.TestReport, call: pytest.CallInfo[None]) -> tuple[Any, str]:
    """The outcome of a report that didn't pass, and its reason in one line."""
    if report.skipped and isinstance(report.longrepr, tuple):
        return "skipped", str(report.longrepr[2]).removeprefix("Skipped: ")
    error = call.excinfo
    if error is None and isinstance(report.longrepr, str):
        return "failed", report.longrepr.strip()
    text = error.exconly(tryshort=True).splitlines()[0] if error is not None else "no reason was given"
    if error is not None and is_out_of_memory(error.value):
        return "out_of_memory", text
    return ("failed" if report.when == "call" else "error"), text
