"""The hooks that are there only while a session measures: one object, registered when cases are about to run."""

from __future__ import annotations

import shutil
import signal
import sys
import threading
from collections.abc import Generator, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import replace
from types import FrameType
from typing import Any

import pytest

from pytest_roofline.config import spelled, uses_roofline
from pytest_roofline.session.expected_bounds import not_held
from pytest_roofline.session.results_file import ResultsError, with_short_parameters
from pytest_roofline.session.resume import CHANGES, changes
from pytest_roofline.session.run import Run, new_rows
from roofline.schema.record import KEY
from roofline.schema.record_json import to_json
from roofline.text.units import some_of

_NAMED = 5
"""So many patterns that no case of the run is of are named."""

_TABLE_OPTIONS: Mapping[str, object] = {
    "benchmark_sort": "min",
    "benchmark_group_by": "group",
    "benchmark_columns": None,
    "benchmark_name": "normal",
    "benchmark_time_unit": None,
    "benchmark_verbose": False,
    "benchmark_histogram": [],
    "benchmark_compare": [],
    "benchmark_compare_fail": None,
    "benchmark_cprofile": None,
}
"""pytest-benchmark's options of its table, and of what it shows and judges with that; and their defaults."""


class SessionHooks:
    """Connects a `Run` to pytest and pytest-benchmark."""

    def __init__(self, run: Run, config: pytest.Config, cases: int) -> None:
        """:param cases: how many are to be measured."""
        self._run = run
        self._config = config
        self._middle = max(1, cases // 2)
        self._done = 0
        self._saved: list[Any] = []
        """Of each row, its record as the journal has it."""
        self._before = [] if run.earlier is None else [*run.earlier.rows]
        """Rows of the run that this one goes on with."""
        self._saved_session: Mapping[str, Any] = {}
        self._saved_roofs = () if run.earlier is None else run.earlier.session.roofs
        self._saved_reasons = self._saved_finished = 0
        self._unsaved: str | None = None
        """Why what has finished isn't in the results file, where it isn't."""

    @pytest.hookimpl(wrapper=True)
    def pytest_runtest_protocol(self, item: pytest.Item) -> Generator[None, object, object]:
        # What was added to the test before after it had ended, as hardware counters are.
        self.save()
        if uses_roofline(item):
            self._note_begin(item)
        result = yield
        if uses_roofline(item):
            is_case = item.get_closest_marker("roofs") is None
            self._done += is_case
            self._run.finished.append(item.nodeid)
            self.save()
            if is_case and self._done == self._middle:
                self._run.sample_roofs()
        return result

    @pytest.hookimpl(wrapper=True)
    def pytest_runtestloop(self) -> Generator[None, object, object]:
        with self.measuring():
            return (yield)

    @contextmanager
    def measuring(self) -> Iterator[None]:
        """Keep what is measured meanwhile: the journal from the start, the JSON at the end.

        :raises pytest.UsageError: nothing could be kept.
        """
        for text in self._run.announced:
            self._tell(text)
        self._begin()
        with _stopped_by_sigterm():
            # Here and not at the session's finish: pytest-benchmark saves its own file there, and may fail.
            try:
                yield
                self._run.sample_roofs()
                self._run.ranks.end()
                # After the last case: the device is no warmer for them, and it is known which dtypes they computed in.
                self._run.fill_roofs()
            except (KeyboardInterrupt, pytest.Session.Interrupted, pytest.Session.Failed):
                self._run.fill_roofs(measure=False)
                raise
            finally:
                self._finish()

    @pytest.hookimpl(tryfirst=True)
    def pytest_sessionfinish(self, session: pytest.Session, exitstatus: int) -> None:
        worked = self._run.summarise(_width(self._config), _height(self._config))
        self._tell_plain()
        if self._unsaved is not None:
            self._run.printed.append(f"ERROR: {self._unsaved}")
            session.exitstatus = pytest.ExitCode.USAGE_ERROR
        if exitstatus == pytest.ExitCode.INTERNAL_ERROR:
            self._show()  # pytest has no summary then
        if self._unsaved is not None:
            return
        # A test that only forgot to measure has failed, but there is no other failure that it could hide.
        failed = exitstatus != pytest.ExitCode.NO_TESTS_COLLECTED and session.testsfailed > self._run.not_called
        ended = exitstatus in (pytest.ExitCode.OK, pytest.ExitCode.TESTS_FAILED, pytest.ExitCode.NO_TESTS_COLLECTED)
        run, asks_for_bounds = self._run, self._run.bounds is not None
        wrong = exitstatus == pytest.ExitCode.OK and not worked
        if ended and not failed and not (run.measured or run.tried):
            run.printed.append(f"ERROR: nothing was measured. {nothing_measured(run)}")
            wrong = True
        elif ended and not failed and asks_for_bounds and not run.asserted:
            run.printed.append(f"ERROR: no bound was asserted. {nothing_expected(run)}")
            wrong = True
        elif ended and not failed and asks_for_bounds and not self._tell_not_held():
            wrong = True
        elif exitstatus == pytest.ExitCode.INTERRUPTED and not run.records:
            run.printed.append("no results: the run was stopped before its first case was measured.")
        elif exitstatus == pytest.ExitCode.INTERRUPTED and run.file and (how_far := run.session().why_incomplete):
            run.printed.append(f"{how_far}. {spelled(self._config, 'resume')} goes on with what is left.")
        if wrong:
            session.exitstatus = pytest.ExitCode.USAGE_ERROR
        if exitstatus in (pytest.ExitCode.OK, pytest.ExitCode.TESTS_FAILED):
            # A run that was cut short is no sample of what it was to measure.
            gated = self._run.check(_width(self._config))
            if session.exitstatus == pytest.ExitCode.OK:
                session.exitstatus = gated
        if session.exitstatus == pytest.ExitCode.OK and run.earlier is not None and (lost := _lost(run)):
            # No test of this process failed: those did before it.
            run.printed.append(f"FAILED before the run was resumed, without a number: {some_of(lost, _NAMED)}")
            session.exitstatus = pytest.ExitCode.TESTS_FAILED

    def _tell_plain(self) -> None:
        """Name the benchmarks that the results, and so a gate, lack: those of pytest-benchmark's own fixture."""
        run = self._run
        made = getattr(self._config, "_benchmarksession", None)
        plain = [one.name for one in getattr(made, "benchmarks", ()) if KEY not in one.extra_info]
        if plain and run.file is not None and run.records:
            run.printed.append(
                f"not in these results: {some_of(plain, _NAMED)}, without the fixture roofline. --benchmark-json FILE"
                " writes them, and `roofline check` compares such files."
            )

    def _tell_not_held(self) -> bool:
        """Say which expectations no case was held against. False where one of them should have had a number."""
        without = not_held(self._run)
        self._run.printed += [f"ERROR: no bound was asserted of {one}" for one in without.lost]
        self._run.printed += [f"bound not applicable: {one}" for one in without.not_applicable]
        if without.absent:
            absent = some_of(without.absent, _NAMED)
            self._run.printed.append(f"bounds of no case of this run: {absent}. Was one renamed?")
        self._run.printed += [f"bounds not asserted: {one}" for one in self._run.warned]
        return not without.lost

    def _begin(self) -> None:
        """Write the journal's first line.

        :raises pytest.UsageError: the disk is full now: nothing of what would be measured could be kept.
        """
        config, hook = self._config, self._config.hook
        if self._run.file is None:
            return
        # Once: it takes a second, starts processes and opens files, which may be impossible later.
        self._machine_info = hook.pytest_benchmark_generate_machine_info(config=config)
        hook.pytest_benchmark_update_machine_info(config=config, machine_info=self._machine_info)
        self._commit_info = commit_info(config)
        if self._run.earlier is not None:
            self._saved_session = to_json(self._run.earlier.session)
            return
        self._saved_session = to_json(self._run.session())
        document = {**self._document([]), KEY: self._saved_session}
        try:
            self._run.file.append({"document": document, "planned": self._run.planned})
        except ResultsError as error:
            self._run.file.discard()
            raise pytest.UsageError(f"{error}. Make room there, or choose another folder.") from error

    def _note_begin(self, item: pytest.Item) -> None:
        """Say in the journal which test runs in this process: if that dies in it, nobody else can."""
        elsewhere = self._run.options.isolate and item.get_closest_marker("roofs") is None
        if self._run.file is not None and not elsewhere:
            with suppress(ResultsError):  # a disk that is full is told of when the test has ended
                self._run.file.append({"began": item.nodeid})

    @property
    def saved_rows(self) -> int:
        """Count the rows that the journal has."""
        return len(self._saved)

    def save(self) -> None:
        """Add to the journal what is new. What can't be written now is tried again with the next case."""
        run = self._run
        if run.file is None:
            return
        records = [stats.extra_info[KEY] for stats in run.stats]
        rows = {
            place: row
            for place in new_rows(records, self._saved)
            for row in self._document([run.stats[place]])["benchmarks"]
        }
        state = (len(run.not_measured), len(run.finished), run.roofs.all())
        if not rows and state == (self._saved_reasons, self._saved_finished, self._saved_roofs):
            return
        new = replace(run.session(), not_measured=tuple(run.not_measured[self._saved_reasons :]), not_run=())
        session = to_json(new)
        not_measured = session.pop("not_measured")
        changed = {name: value for name, value in session.items() if self._saved_session.get(name) != value}
        line = {
            "finished": run.finished[self._saved_finished :],
            "rows": {len(self._before) + place: row for place, row in rows.items()},
            "not_measured": not_measured,
            "session": changed,
        }
        try:
            run.file.append(line)
        except ResultsError as error:
            if self._unsaved is None:
                self._tell(f"WARNING: {error}. {self._in_journal()}. Measuring goes on; make room there.")
            self._unsaved = str(error)
            return
        self._unsaved = None
        self._saved, self._saved_session = records, session
        self._saved_reasons, self._saved_finished, self._saved_roofs = state

    def _finish(self) -> None:
        """Make the JSON of the results."""
        self.save()
        if self._run.file is None or not self._run.records:
            return
        document = self.document()
        try:
            self._run.file.write({**document, "benchmarks": [*self._before, *document["benchmarks"]]})
        except ResultsError as error:
            self._unsaved = f"{error}. {self._in_journal()}: `roofline recover` makes the JSON of it."
        else:
            self._unsaved = None

    def _in_journal(self) -> str:
        assert self._run.file is not None
        saved = set(self._run.finished[: self._saved_finished]).intersection(self._run.planned)
        return f"{len(saved)} of {len(self._run.planned)} cases are in {self._run.file.journal}"

    def _tell(self, text: str) -> None:
        reporter: pytest.TerminalReporter | None = self._config.pluginmanager.getplugin("terminalreporter")
        if reporter is not None:
            reporter.ensure_newline()
            writer = self._config.get_terminal_writer()
            if writer.width_of_current_line:  # pytest-xdist's dots
                writer.line()
            reporter.write_line(text)

    def pytest_terminal_summary(self) -> None:
        self._show()

    def _show(self) -> None:
        reporter: pytest.TerminalReporter | None = self._config.pluginmanager.getplugin("terminalreporter")
        if reporter is not None and self._run.printed:
            reporter.section("roofline")
            for text in self._run.printed:
                reporter.write_line(text)

    @pytest.hookimpl(optionalhook=True)
    def pytest_benchmark_update_machine_info(self, machine_info: dict[str, Any]) -> None:
        # The label stands where the host name would.
        machine_info.update({"node": self._run.machine.label, KEY: to_json(self._run.machine)})

    @pytest.hookimpl(optionalhook=True)
    def pytest_benchmark_update_json(self, output_json: dict[str, Any]) -> None:
        output_json[KEY] = to_json(self._run.session())

    @pytest.hookimpl(optionalhook=True, tryfirst=True)
    def pytest_benchmark_group_stats(self, benchmarks: Sequence[Mapping[str, Any]]) -> list[Any] | None:
        """Leave out pytest-benchmark's table where ours has all of its rows, unless the user asks for it.

        Its times are means of all rounds: a second, differing figure of each case.
        """
        option, run = self._config.option, self._run
        asked = option.verbose > 0 or any(
            getattr(option, name, default) != default for name, default in _TABLE_OPTIONS.items()
        )
        shown = run.file is not None and all(KEY in row["extra_info"] for row in benchmarks)
        return [] if shown and not asked else None

    def document(self) -> Mapping[str, Any]:
        """The pytest-benchmark document of what has been measured, through pytest-benchmark's own hooks."""
        document = self._document(self._run.stats)
        self._config.hook.pytest_benchmark_update_json(
            config=self._config, benchmarks=self._run.stats, output_json=document
        )
        return document

    def _document(self, benchmarks: Sequence[Any]) -> dict[str, Any]:
        """The same of some benchmarks, without what other plugins add to the whole."""
        document: dict[str, Any] = self._config.hook.pytest_benchmark_generate_json(
            config=self._config,
            benchmarks=benchmarks,
            include_data=True,
            machine_info=self._machine_info,
            commit_info=self._commit_info,
        )
        return with_short_parameters(document)


@contextmanager
def _stopped_by_sigterm() -> Iterator[None]:
    """Let SIGTERM, which a scheduler sends before it kills, stop the run as Ctrl-C does. A second one is ignored."""
    in_main = threading.current_thread() is threading.main_thread()
    if not in_main or signal.getsignal(signal.SIGTERM) is not signal.SIG_DFL:
        yield
        return

    def stop(_number: int, _frame: FrameType | None) -> None:
        signal.signal(signal.SIGTERM, signal.SIG_IGN)
        raise KeyboardInterrupt

    signal.signal(signal.SIGTERM, stop)
    try:
        yield
    finally:
        signal.signal(signal.SIGTERM, signal.SIG_DFL)


def _lost(run: Run) -> list[str]:
    """The cases that should have a number and have none."""
    return [one.id for one in run.session().not_measured if one.outcome != "skipped"]


def commit_info(config: pytest.Config) -> dict[str, Any]:
    """Give what pytest-benchmark says of the commit, and a digest of the changes beside it."""
    info: dict[str, Any] = config.hook.pytest_benchmark_generate_commit_info(config=config)
    config.hook.pytest_benchmark_update_commit_info(config=config, commit_info=info)
    return {**info, CHANGES: changes()}


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


AROUND_SUMMARY = 6
"""Lines of the screen for what pytest writes before and after a summary: headings, the file, the prompt."""


def _height(config: pytest.Config) -> int | None:
    """Lines that a summary may have; None where it may have any: no terminal, and ``-v``."""
    if not sys.stdout.isatty() or config.option.verbose > 0:
        return None
    return shutil.get_terminal_size().lines - AROUND_SUMMARY


def _width(config: pytest.Config) -> int:
    # pytest's own width is the full one less a column, which Windows needs.
    return config.get_terminal_writer().fullwidth if config.pluginmanager.hasplugin("terminalreporter") else 80
