"""The hooks that are there only while a session measures: one object, registered when cases are about to run."""

from __future__ import annotations

from collections.abc import Generator, Mapping
from typing import Any

import pytest

from pytest_roofline.device_memory import release
from pytest_roofline.expecting import NotAsExpected, not_held
from pytest_roofline.items import uses_roofline
from pytest_roofline.results import ResultsError, with_short_parameters
from pytest_roofline.run import Run

_NAMED = 5
"""So many patterns that no case of the run is of are named."""


class SessionHooks:
    """Connects a `Run` to pytest and pytest-benchmark."""

    def __init__(self, run: Run, config: pytest.Config, cases: int) -> None:
        self._run = run
        self._config = config
        self._middle = max(1, cases // 2)
        self._done = 0
        self._not_called = 0

    @pytest.hookimpl(tryfirst=True)
    def pytest_runtest_setup(self, item: pytest.Item) -> None:
        """Release what ran before, ahead of the first fixture that builds something; also of a test that runs again."""
        if uses_roofline(item):
            release(self._run.device)

    @pytest.hookimpl(wrapper=True)
    def pytest_runtest_protocol(self, item: pytest.Item) -> Generator[None, object, object]:
        result = yield
        if uses_roofline(item):
            is_case = item.get_closest_marker("roofs") is None
            self._done += is_case
            if is_case and self._done == self._middle:
                self._run.sample_roofs()
            self._write(force=False)
        return result

    @pytest.hookimpl(wrapper=True)
    def pytest_runtest_makereport(
        self, item: pytest.Item, call: pytest.CallInfo[None]
    ) -> Generator[None, pytest.TestReport, pytest.TestReport]:
        report = yield
        if not uses_roofline(item):
            return report
        if report.when == "call" and report.outcome == "passed" and not _called(item):
            report.outcome, report.longrepr = "failed", NOT_CALLED
            self._not_called += 1
        if report.outcome != "passed" and not _is_measured_well(call):
            self._run.case_failed(case_name(item), *why(report, call), test=item.nodeid)
        return report

    @pytest.hookimpl(wrapper=True)
    def pytest_runtestloop(self) -> Generator[None, object, object]:
        self._announce()
        # Here and not at the session's finish: pytest-benchmark saves its own file there, and may fail.
        try:
            result = yield
            self._run.sample_roofs()
        finally:
            self._write(force=True)
        return result

    @pytest.hookimpl(tryfirst=True)
    def pytest_sessionfinish(self, session: pytest.Session, exitstatus: int) -> None:
        if self._run.unwritten is not None:
            self._run.printed.append(f"ERROR: {self._run.unwritten}")
            session.exitstatus = pytest.ExitCode.USAGE_ERROR
            if self._run.file is not None:
                self._run.file.discard_if_empty()
            return
        worked = self._run.summarise(_width(self._config))
        # A test that only forgot to measure has failed, but there is no other failure that it could hide.
        failed = exitstatus != pytest.ExitCode.NO_TESTS_COLLECTED and session.testsfailed > self._not_called
        green = exitstatus in (pytest.ExitCode.OK, pytest.ExitCode.TESTS_FAILED, pytest.ExitCode.NO_TESTS_COLLECTED)
        if green and not failed and not (self._run.measured or self._run.tried):
            self._run.printed.append("ERROR: nothing was measured. " + nothing_measured(self._run))
            session.exitstatus = pytest.ExitCode.USAGE_ERROR
        elif green and not failed and self._run.bounds is not None and not self._run.asserted:
            self._run.printed.append(f"ERROR: no bound was asserted. {nothing_expected(self._run)}")
            session.exitstatus = pytest.ExitCode.USAGE_ERROR
        elif green and not failed and self._run.bounds is not None and not self._tell_not_held():
            session.exitstatus = pytest.ExitCode.USAGE_ERROR
        elif exitstatus == pytest.ExitCode.OK and not worked:
            session.exitstatus = pytest.ExitCode.TESTS_FAILED
        if exitstatus in (pytest.ExitCode.OK, pytest.ExitCode.TESTS_FAILED):
            # A run that was cut short is no sample of what it was to measure.
            gated = self._run.check(_width(self._config))
            if session.exitstatus == pytest.ExitCode.OK:
                session.exitstatus = gated

    def _tell_not_held(self) -> bool:
        """Whether all that bounds were to be asserted of had a number. What was skipped, or no test is of, passes."""
        without = not_held(self._run)
        self._run.printed += [f"ERROR: no bound was asserted of {one}" for one in without.lost]
        self._run.printed += [f"bound not applicable: {one}" for one in without.not_applicable]
        if without.absent:
            shown, more = ", ".join(without.absent[:_NAMED]), len(without.absent) - _NAMED
            self._run.printed.append(
                f"bounds of no case of this run: {shown}{f' and {more} more' if more > 0 else ''}. Was one renamed?"
            )
        self._run.printed += [f"bounds not asserted: {one}" for one in self._run.warned]
        return not without.lost

    def _announce(self) -> None:
        reporter: pytest.TerminalReporter | None = self._config.pluginmanager.getplugin("terminalreporter")
        if reporter is not None:
            for text in self._run.announced:
                reporter.write_line(text)

    def _write(self, *, force: bool) -> None:
        """Rewrite the results. A disk that is full now may have room again for the next, so the run goes on."""
        try:
            self._run.write(self.document, force=force)
        except ResultsError as error:
            self._run.unwritten = str(error)
        else:
            self._run.unwritten = None if force else self._run.unwritten

    def pytest_terminal_summary(self, terminalreporter: pytest.TerminalReporter) -> None:
        if self._run.printed:
            terminalreporter.section("roofline")
            for text in self._run.printed:
                terminalreporter.write_line(text)

    @pytest.hookimpl(optionalhook=True)
    def pytest_benchmark_update_machine_info(self, machine_info: dict[str, Any]) -> None:
        self._run.describe_machine(machine_info)

    @pytest.hookimpl(optionalhook=True)
    def pytest_benchmark_update_json(self, output_json: dict[str, Any]) -> None:
        self._run.describe_session(output_json)

    def document(self) -> Mapping[str, Any]:
        """The pytest-benchmark document of what has been measured so far, through pytest-benchmark's own hooks."""
        config, hook = self._config, self._config.hook
        machine_info = hook.pytest_benchmark_generate_machine_info(config=config)
        hook.pytest_benchmark_update_machine_info(config=config, machine_info=machine_info)
        document: dict[str, Any] = hook.pytest_benchmark_generate_json(
            config=config,
            benchmarks=self._run.stats,
            include_data=True,
            machine_info=machine_info,
            commit_info=commit_info(config),
        )
        hook.pytest_benchmark_update_json(config=config, benchmarks=self._run.stats, output_json=document)
        return with_short_parameters(document)


def commit_info(config: pytest.Config) -> dict[str, Any]:
    info: dict[str, Any] = config.hook.pytest_benchmark_generate_commit_info(config=config)
    config.hook.pytest_benchmark_update_commit_info(config=config, commit_info=info)
    return info


NOT_CALLED = (
    "this test asks for the roofline fixture and never called it: nothing was measured. "
    "Call roofline(model, *inputs) in it, skip it, or leave the fixture out."
)


def _called(item: pytest.Item) -> bool:
    """Whether the test measured, or tried to. True for a test whose fixture was never made: that has its own error."""
    fixture = getattr(item, "funcargs", {}).get("roofline")
    return fixture is None or bool(fixture.called)


def _is_measured_well(call: pytest.CallInfo[None]) -> bool:
    """Whether the test failed only because its case isn't as expected: its number is right."""
    return call.excinfo is not None and isinstance(call.excinfo.value, NotAsExpected)


def case_name(item: pytest.Item) -> str:
    """The id of a suite's case (its parameter ``case``), or the test's own name."""
    callspec = getattr(item, "callspec", None)
    return str(callspec.id) if callspec is not None and "case" in callspec.params else item.name


def why(report: pytest.TestReport, call: pytest.CallInfo[None]) -> tuple[Any, str]:
    """The outcome of a report that didn't pass, and its reason in one line."""
    if report.skipped and isinstance(report.longrepr, tuple):
        return "skipped", str(report.longrepr[2]).removeprefix("Skipped: ")
    error = call.excinfo
    if error is None and isinstance(report.longrepr, str):
        return "failed", report.longrepr.strip()
    text = error.exconly(tryshort=True).splitlines()[0] if error is not None else "no reason was given"
    if error is not None and error.typename == "OutOfMemoryError":
        return "out_of_memory", text
    return ("failed" if report.when == "call" else "error"), text


def nothing_measured(run: Run) -> str:
    reasons = sorted({f"{entry.outcome}: {entry.reason}" for entry in run.not_measured})
    if not reasons:
        return "No test called the roofline fixture."
    return f"{len(run.not_measured)} case(s) were given up. " + "; ".join(reasons[:3])


def nothing_expected(run: Run) -> str:
    device = run.machine.device
    return (
        f"Nothing is expected of the cases measured on this device: {device.kind}, {device.name!r}, label"
        f" {run.machine.label!r}. Write it down with `roofline lock`."
    )


def _width(config: pytest.Config) -> int:
    reporter = config.pluginmanager.getplugin("terminalreporter")
    # pytest's own width is the full one less a column, which Windows needs.
    return int(reporter._tw.fullwidth) if reporter is not None else 80
