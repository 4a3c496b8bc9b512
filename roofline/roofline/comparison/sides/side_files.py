"""One side of a comparison: files and folders in, what each session says of each case out.

Files are read one after the other, and of a row nothing is kept but its observation: a thousand sessions fit.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from collections.abc import Set as AbstractSet
from dataclasses import dataclass, field, replace
from pathlib import Path

from roofline.comparison.observations.observed_machine import MachineIdentity
from roofline.comparison.observations.runs import ObservedRun, run_of
from roofline.comparison.sides.compared_figures import FigureName
from roofline.comparison.sides.session_results import By, SessionResult, session_results
from roofline.files.decoding import ReadError
from roofline.files.paths import from_here, real_path
from roofline.machine.published import DeviceTable
from roofline.results.reader import NoResultError, folders_without_results, read_file, result_files
from roofline.results.result import ResultFile
from roofline.results.same_session import Sessions, same_as
from roofline.schema.record import Case
from roofline.text.units import some_of


@dataclass(frozen=True, slots=True, kw_only=True)
class Side:
    """``skipped`` files are left out: those of a folder that are no results or none of this side, and second files of
    a session. ``unreadable`` ones of a folder, and parts of a file, should be results and can't be read. ``repeated``
    tells of rows that stand in a file several times. With file and reason. ``figure`` is what was read of each row.
    """

    results: tuple[SessionResult, ...]
    runs: tuple[ObservedRun, ...]
    skipped: tuple[str, ...]
    unreadable: tuple[str, ...] = ()
    repeated: tuple[str, ...] = ()
    sessions: Sessions = field(default_factory=Sessions)
    figure: FigureName = "step_time"

    @property
    def machines(self) -> tuple[MachineIdentity, ...]:
        return tuple(dict.fromkeys(run.machine for run in self.runs))


def read_side(
    paths: Iterable[Path],
    by: By,
    devices: DeviceTable,
    without: AbstractSet[Path] = frozenset(),
    others: Sessions | None = None,
    figure: FigureName = "step_time",
) -> Side:
    """Read the sessions of one side.

    :param without: files of the other side: a folder that holds both sides is read without them.
    :param others: sessions of the other side. Of those of this side that stand in several files one is taken.
    :raises ReadError: a file that was named can't be read, is of a session of the other side, or was measured under a
        profiler, or there is none to read.
    """
    paths = tuple(paths)
    sessions = Sessions()
    seen: list[SessionResult] = []
    runs: list[ObservedRun] = []
    skipped: list[str] = []
    unreadable: list[str] = []
    repeated: list[str] = []
    cases: dict[str, Case] = {}
    for found, named in result_files(paths):
        path = from_here(found)
        try:
            if real_path(path) in without:
                raise _NotOfThisSide(f"{path}: on both sides. A result is not slower than itself.")
            result = read_file(path)
            refuse_profiled(result)
            other = None if others is None else others.find(result)
            if other is not None:
                raise ReadError(
                    f"{path}: the same session as {other} of the other side. Its times are the same to the last bit,"
                    " and a result is not slower than itself: give the files of the two runs."
                )
        except (NoResultError, _NotOfThisSide) as error:
            if named:
                raise
            skipped.append(str(error))
            continue
        except ReadError as error:
            if named:
                raise
            unreadable.append(str(error))
            continue
        if (first := sessions.find(result)) is not None:
            skipped.append(f"{path}: {same_as(first)}")
            continue
        sessions.add(result)
        unreadable += result.left_out
        run = run_of(result)
        runs.append(run)
        rows = [_shared(one, cases) for one in session_results(result, run, by, devices, figure)]
        # Of a test that was measured again, as after a failure, the last: its rows are no sessions of their own.
        seen += {(row.id, row.test): row for row in rows}.values()
        repeated += _repeated(run, rows)
    if not runs:
        reasons = (*skipped, *unreadable)
        none = "" if reasons else " No file there ends in .json."
        raise ReadError(f"{', '.join(map(str, paths))}: no result file to read.{none}", *reasons)
    return Side(
        results=tuple(seen),
        runs=tuple(runs),
        skipped=tuple(skipped),
        unreadable=(*unreadable, *folders_without_results(paths)),
        repeated=tuple(repeated),
        sessions=sessions,
        figure=figure,
    )


class _NotOfThisSide(ReadError):
    """A result that can be read and is left out: of the other side, or measured under a profiler."""


def refuse_profiled(result: ResultFile) -> None:
    """All of it, for a profiler is around a process and not around a case: neither side may be made of such times.

    :raises _NotOfThisSide: a row says that it was.
    """
    for benchmark in result.benchmarks:
        flags = () if benchmark.record is None else benchmark.record.flags
        profiled = next((flag for flag in flags if flag.name == "profiled"), None)
        if profiled is not None:
            raise _NotOfThisSide(
                f"{result.path}: measured under a profiler, so it is no side of a comparison: {profiled.evidence}."
            )


def _shared(seen: SessionResult, cases: dict[str, Case]) -> SessionResult:
    """With the case of an earlier session, where it is the same: of a thousand sessions one copy is kept."""
    if seen.case is None:
        return seen
    known = cases.setdefault(seen.id, seen.case)
    return replace(seen, case=known) if known == seen.case else seen


def _repeated(run: ObservedRun, rows: Sequence[SessionResult]) -> Iterable[str]:
    """A line for the rows of a file that stand there more than once."""
    again = [
        f"{count} rows of {name}"
        for (name, _), count in Counter((row.id, row.test) for row in rows).items()
        if count > 1
    ]
    if again:
        yield f"{run.file}: {some_of(again, 1)}: the last was taken"
