"""One measuring session: its device, roofs, results file, and what became of every case."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping, Sequence
from contextlib import AbstractContextManager, nullcontext
from dataclasses import replace
from pathlib import Path
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, NoReturn, Protocol

import pytest

from pytest_roofline.device.device_memory import release
from pytest_roofline.device.host import describe_machine
from pytest_roofline.device.instruments import Instruments, instruments
from pytest_roofline.measuring.plan import Measured, Pace
from pytest_roofline.measuring.rounds import Alone, Clock, Step
from pytest_roofline.options import Options, shaping
from pytest_roofline.roofs import required
from pytest_roofline.roofs.kernels import RoofPlan, now
from pytest_roofline.roofs.run_roofs import RunRoofs
from pytest_roofline.roofs.stored import last_roofs
from pytest_roofline.session import results_file
from pytest_roofline.session.gating import analysis
from pytest_roofline.session.gating.baseline import Baseline, verdict
from pytest_roofline.session.resume import EarlierRun, died
from pytest_roofline.workload.precision import PRECISIONS
from pytest_roofline.workload.step import Workload
from roofline.results import journal
from roofline.schema.record import KEY, Case, Counters, Flag, HostCounters, Record
from roofline.schema.record_json import from_json, to_json
from roofline.schema.session import Machine, NotMeasured, Outcome, Roof, Session, SessionSet, Shard

if TYPE_CHECKING:
    import torch

    from pytest_roofline.session.progress import Progress
    from roofline.schema.expected_file import SuiteBounds


class TakesTurns(Protocol):
    """Lets the rounds of a case take turns with those of another process."""

    last: bool
    """Whether the model won't be built anew after this: then it is proven."""

    def pace(self, case: Case) -> Pace:
        """When the rounds of a case may be taken."""
        ...

    def slowed(self, step: Step, instruments: Instruments, clock: Clock) -> Step:
        """The step, longer by as much as a trial of the alarm asks for."""
        ...


class CountsStep(Protocol):
    """Takes one step of a workload for its hardware counters."""

    def take(self, workload: Workload, case: str) -> NoReturn:
        """Take it, and end the test."""
        ...


class CountsEvents(Protocol):
    """Counts events of a case's steps on the host's cores."""

    def count(self, step: Step, measured: Measured, instruments: Instruments) -> HostCounters:
        """Take more steps than were timed, and count during them."""
        ...


RUN: pytest.StashKey[Run] = pytest.StashKey()
"""The session's run, in pytest's stash."""


def run_of(config: pytest.Config) -> Run | None:
    """The session's run; None before it is collected, and where nothing is to be measured."""
    return config.stash.get(RUN, None)


class Run:
    """Everything that belongs to a session and not to a single case.

    :param device: already tried.
    :param arguments: pytest's command line.
    :param notes: what a reader of the results should know.
    :param place: which session of a set this is.
    :param baseline: what the results are held against at the end.
    :param project_options: what options of the project's own were given other than their defaults, by their flags.
    :param bounds: what the cases are held against as they are measured, beside their markers; None: they aren't.
    """

    def __init__(
        self,
        options: Options,
        device: torch.device,
        arguments: tuple[str, ...],
        notes: tuple[str, ...] = (),
        *,
        place: SessionSet | None = None,
        baseline: Baseline | None = None,
        bounds: SuiteBounds | None = None,
        project_options: Mapping[str, Any] = MappingProxyType({}),
    ) -> None:
        self.options = options
        self.device = device
        self.clock: Callable[[], float] = time.perf_counter
        self.instruments = instruments(device)
        self.machine: Machine = describe_machine(device, options.label)
        self.stats: list[Any] = []
        """pytest-benchmark's results of the cases measured so far."""
        self.not_measured: list[NotMeasured] = []
        self.file: results_file.ResultsFile | None = None
        self.results_path: Path | None = None
        """Of the run, also where another process keeps them: step logs lie beside it."""
        self.earlier: EarlierRun | None = None
        """What a run has measured that this one goes on with."""
        self.turns: TakesTurns | None = None
        """Where this process takes turns with another."""
        self.ranks = Alone()
        """Where other processes measure the same cases at the same time: how they keep in step."""
        self.counting: CountsStep | None = None
        """Where this process runs under ncu: who takes the step that is counted, in place of a measurement."""
        self.planned: Mapping[str, str] = {}
        """Ids of the cases that are to be measured, by the full names of their tests."""
        self.finished: list[str] = []
        """Of the tests that have ended."""
        self.measured = 0
        """Cases with a number whose test did not fail or skip itself after."""
        self.tried = 0
        """Cases of which one step was taken because benchmarks are disabled."""
        self.not_called = 0
        """Tests that asked for the fixture, and never called it."""
        self.neighbours = 0
        """Other processes of this run that measure beside this one, on the same socket."""
        self.alone: Callable[[], AbstractContextManager[None]] = nullcontext
        """Keeps other processes of this run from measuring meanwhile."""
        self.bounds = bounds
        self.asserted = 0
        """Cases of which something was expected, and which were held against it."""
        self.warned: dict[str, None] = {}
        """What is wrong with expectations that no case was held against, such as the name of an unknown device."""
        self.perf_stat: CountsEvents | None = None
        """Counts events of steps where that was asked for."""
        self.progress: Progress | None = None
        """Shows on the terminal how far the run is, where that is wanted."""
        self.measuring_s = 0.0
        """Of warm-up and timed rounds."""
        self.announced: list[str] = []
        """What is shown before the first test."""
        self.printed: list[str] = [f"note: {note}" for note in notes]
        """What the terminal summary shows."""
        self.roofs = RunRoofs(
            self.machine,
            self._measure_roofs,
            self.printed.append,
            anew=options.roofs == "measure",
            later=place is not None and place.index > 1,
        )
        self._arguments = arguments
        self._notes = notes
        self._settings = shaping(options) | {
            flag: results_file.without_folders(str(results_file.shown(value)))
            for flag, value in project_options.items()
        }
        self._place = place
        self._baseline = baseline
        self._shard = None if options.shard is None else Shard(index=options.shard[0], count=options.shard[1])
        self._started = self.clock()
        self._started_at = now()

    def open_results(self, commit: str) -> None:
        """Make the results file, and look up the roofs measured last on this machine.

        :raises results_file.ResultsError: it can't be made.
        """
        folder = self.options.results
        if folder is None:
            return
        self.roofs.earlier = last_roofs(folder, self.machine)
        self.file = results_file.ResultsFile(folder, self.machine.label, commit)
        self.results_path = self.file.path

    def resume(self, earlier: EarlierRun) -> None:
        """Go on with a run, in its file.

        :raises results_file.ResultsError: that can't be opened.
        """
        self.file = results_file.ResultsFile.resumed(earlier.journal)
        self.results_path = self.file.path
        self.earlier = earlier
        self.roofs.begun = earlier.session.roofs
        given_up = died(earlier, self.planned)
        if given_up is not None:
            self.not_measured.append(given_up)
            self.finished.append(str(earlier.died_in))

    def fill_roofs(self, *, measure: bool = True) -> None:
        """Get the roofs that the cases measured so far need.

        :param measure: False for a run that was stopped: it gets what is there at once.
        """
        records = (from_json(Record, record, "a row") for record in self.records)
        self.measuring_s += self.roofs.fill(records, measure=measure)

    def _measure_roofs(self, names: Sequence[str], beside: Sequence[Roof]) -> required.MeasuredRoofs:
        equipment = required.Equipment(
            device=self.device,
            described=self.machine.device,
            instruments=self.instruments,
            clock=self.clock,
            conditions=self._conditions,
        )
        with self.alone(), self._showing_roofs():
            measured = required.measure(names, equipment, beside)
        return replace(
            measured, missing={name: results_file.without_folders(why) for name, why in measured.missing.items()}
        )

    def sample_roofs(self) -> None:
        """Take one more sample of every roof this run measures."""
        if not self.roofs.ledger:
            return
        release(self.device)
        with self.alone(), self._showing_roofs():
            start = self.clock()
            self.roofs.ledger.sample_again(self.instruments, self.ranks.clock(self.clock), self._conditions)
            self.measuring_s += self.clock() - start

    def _showing_roofs(self) -> AbstractContextManager[None]:
        return nullcontext() if self.progress is None else self.progress.aside("measuring the machine's roofs")

    def _conditions(self, plan: RoofPlan) -> AbstractContextManager[None]:
        from pytest_roofline.workload.switches import conditions

        return conditions(PRECISIONS[plan.precision], self.options, self.device, f"roof-{plan.name}")

    def add(self, record: Record, stats: Any) -> None:
        """A case or a roof has been measured."""
        self.measured += self._counts(record)
        if stats is not None:
            self.stats.append(stats)

    def _counts(self, record: Record) -> bool:
        """Tell whether the run is to measure this: a case, or a roof where there are no cases."""
        return record.case.mode != "roof" or not self.planned

    def give_counters(self, stats: Any, counters: Counters, missing: Mapping[str, str]) -> None:
        """Put hardware counters into the record of a case that has been measured.

        :param missing: why values of them are None, by their names, where their reason doesn't say it.
        """
        record = from_json(Record, stats.extra_info[KEY], stats.fullname)
        reason = None if counters.reason is None else results_file.without_folders(counters.reason)
        whys = {f"counters.{name}": results_file.without_folders(why) for name, why in missing.items()}
        stats.extra_info[KEY] = to_json(
            replace(record, counters=replace(counters, reason=reason), missing={**record.missing, **whys})
        )

    def session(self) -> Session:
        session = Session(
            started_at=self._started_at,
            label=self.machine.label,
            roofs=self.roofs.all(),
            not_measured=tuple(self.not_measured),
            wall_s=self.clock() - self._started,
            measuring_s=self.measuring_s,
            arguments=tuple(results_file.without_folders(argument) for argument in self._arguments),
            notes=self._notes,
            noted=dict(self.options.note),
            set=self._place,
            shard=self._shard,
            settings=self._settings,
            **journal.progress(self.planned, self.finished),
        )
        if self.earlier is None:
            return session
        before = self.earlier.session
        return replace(
            session,
            started_at=before.started_at,
            not_measured=(*before.not_measured, *session.not_measured),
            wall_s=(before.wall_s or 0.0) + (session.wall_s or 0.0),
            measuring_s=(before.measuring_s or 0.0) + self.measuring_s,
            notes=tuple(dict.fromkeys((*before.notes, *session.notes))),
            noted={**before.noted, **session.noted},
            segments=(*(before.segments or (before.started_at,)), self._started_at),
            **journal.progress(self.planned, [*self.earlier.finished, *self.finished]),
        )

    @property
    def records(self) -> list[dict[str, Any]]:
        """The records of all rows of the file, as JSON values."""
        before = () if self.earlier is None else self.earlier.rows
        return [*(row["extra_info"][KEY] for row in before), *(stats.extra_info[KEY] for stats in self.stats)]

    def summarise(self, width: int, height: int | None = None) -> bool:
        """Show the file as ``roofline summary`` does, or make the report where one was asked for.

        What is wrong with all rows, a profiler around the process, is said once before.

        :param height: lines that a summary may have; None for any number.
        :returns: whether it did what it was asked for.
        """
        flags = [flag for stats in self.stats for flag in stats.extra_info[KEY].get("flags", ())]
        told = [flag["evidence"] for flag in flags if flag["name"] == "profiled"]
        if told:
            self.printed.append(f"{len(told)} of {len(self.stats)} rows are no measurement: {told[0]}.")
        if self.file is None:
            return True
        if not self.records:
            self.file.discard()
            return True
        path = self.file.readable
        try:
            if self.options.report:
                self.printed += analysis.report(path, self.file.beside("report"), width)
            else:
                self.printed += analysis.summary(path, width, height)
        except analysis.AnalysisError as error:
            self.printed += (f"ERROR: the results could not be shown: {error}", f"results: {path}")
            return False
        self.printed.append(f"results: {path}")
        return True

    def check(self, width: int) -> int:
        """Hold the file against the baseline, where there is one. Nothing measured is no verdict.

        :returns: the exit code of a run whose tests passed.
        """
        if self._baseline is None or self.file is None or not self.records:
            return pytest.ExitCode.OK
        gated = verdict(self._baseline, [self.file.path], width)
        self.printed += gated.lines
        return gated.code

    def case_failed(self, case: str, outcome: Outcome, reason: str, *, test: str) -> None:
        """Keep why a case has no valid number, once: a test can fail in its call and again in its teardown.

        What the test had measured before stays in the file, marked invalid.

        :param test: the test's full name, as pytest-benchmark has it.
        """
        entry = NotMeasured(id=case, outcome=outcome, reason=results_file.without_folders(reason))
        self.give_up(entry)
        # The last one: a test that is run again has a result for each time.
        stats = next((stats for stats in reversed(self.stats) if stats.fullname == test), None)
        if stats is not None:
            self._disown(stats, entry)

    def give_up(self, entry: NotMeasured) -> None:
        """Keep why a case has no valid number: the first reason counts."""
        if all(known.id != entry.id for known in self.not_measured):
            self.not_measured.append(entry)

    def _disown(self, stats: Any, entry: NotMeasured) -> None:
        record = from_json(Record, stats.extra_info[KEY], stats.fullname)
        if record.valid:
            name = "test_skipped" if entry.outcome == "skipped" else "test_failed"
            flag = Flag(name=name, evidence=f"the test measured, but did not pass: {entry.why}", invalid=True)
            stats.extra_info[KEY] = to_json(replace(record, flags=(*record.flags, flag)))
            self.measured -= self._counts(record)
        if record.case.mode == "roof":
            self.roofs.ledger.drop(record.case.id.removeprefix("roof-"))


def new_rows(records: Sequence[Any], seen: Sequence[Any]) -> list[int]:
    """Find the places of records that were added, or replaced, since some were seen."""
    return [place for place, record in enumerate(records) if place >= len(seen) or record is not seen[place]]
