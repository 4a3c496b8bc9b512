"""Result files in: pytest-benchmark JSON, of this suite or of any other project, old and new.

`read` takes files and folders and returns what could be read and what could not. A file without this project's record
still gives its times. JSON that is not strict is accepted (Python writes NaN and Infinity): such values become None,
and their paths are reported.
"""

from __future__ import annotations

import codecs
import json
import os
import re
import stat
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from roofline import journal
from roofline.paths import files_under, folders_without
from roofline.printable import printable
from roofline.record import KEY, Machine, Record, Session
from roofline.record_json import RecordError, from_json, without_nonfinite
from roofline.step_time import by_median

_WHAT_WE_READ = "Give a file that pytest-benchmark wrote (--benchmark-json or --benchmark-save)."
_UNITS = ("unit", "time_unit")
"""Keys under which other tools' files say what their times are in."""

_NO_COMMIT = "unversioned"
"""What pytest-benchmark writes for a commit outside of a repository."""

_NOTHING_YET = (
    "A run is writing it, or was stopped before its first case; or the copy is incomplete: wait, or run or copy again."
)
_CUT_OFF = "The run that wrote it was probably stopped, or the copy is incomplete: run or copy again."


class ReadError(Exception):
    """A file that can't be used. The message names the file, what is wrong and what to do.

    It is one line, and what a terminal would obey is escaped in it, whatever stands in names; ``details`` have lines of
    their own below it, further in.
    """

    def __init__(self, message: str, *details: str) -> None:
        super().__init__("\n  ".join(map(printable, (message, *details))))


class NoResultError(ReadError):
    """JSON of another tool: nothing says that it was ever meant to be a result."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Stats:
    """pytest-benchmark's own figures of one benchmark, seconds for one iteration. None: missing, or not finite.

    ``round_times_s`` is there where round times were saved; None in it: not finite. ``unit`` is what the file itself
    says the times are in: pytest-benchmark says nothing and means seconds.
    """

    mean_s: float | None
    stddev_s: float | None
    median_s: float | None = None
    min_s: float | None = None
    max_s: float | None = None
    iqr_s: float | None = None
    iterations_per_s: float | None = None
    rounds: float | None = None
    iterations: float | None = None
    round_times_s: tuple[float | None, ...] | None = None
    unit: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Benchmark:
    """One row of the file. ``record`` is None where another project wrote it, or where it can't be read.

    ``fault`` says why a record can't be read: the times stay, and the row counts as invalid. ``params`` are the test's
    parameters as the file has them; None where it has none.
    """

    name: str
    fullname: str
    group: str | None
    stats: Stats
    record: Record | None
    fault: str | None = None
    params: Mapping[str, Any] | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Host:
    """What pytest-benchmark itself says of the machine."""

    node: str | None
    cpu: str | None
    system: str | None
    python: str | None
    cpus: int | None = None
    architecture: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class ResultFile:
    """One run. ``machine`` and ``session`` are None where another project wrote the file.

    ``nonfinite`` lists the paths of values that were NaN or infinite and count as missing.
    """

    path: Path
    host: Host
    machine: Machine | None
    session: Session | None
    benchmarks: tuple[Benchmark, ...]
    written_at: str | None
    commit: str | None
    commit_dirty: bool | None
    pytest_benchmark_version: str | None
    nonfinite: tuple[str, ...]

    @property
    def machine_key(self) -> str:
        """Equal for files of one machine, and for those only: rows of different keys are never pooled."""
        if self.machine is not None:
            return self.machine.fingerprint
        parts = (self.host.node, self.host.cpu, self.host.system)
        return "unproven:" + "|".join(part or "?" for part in parts)

    @property
    def machine_label(self) -> str:
        if self.machine is not None:
            return self.machine.label
        return self.host.node or self.host.cpu or self.path.stem

    @property
    def when(self) -> str:
        """When the run began; of another project's file when it was written. ISO 8601 in UTC, whatever offset the file
        has it in, so that the order of texts is that of times. Empty where no time is told.
        """
        return _in_utc(self.session.started_at if self.session is not None else self.written_at or "")

    @property
    def faults(self) -> tuple[str, ...]:
        """Why records of this file can't be read, with the place of each."""
        return tuple(benchmark.fault for benchmark in self.benchmarks if benchmark.fault is not None)


def _in_utc(time: str) -> str:
    """ISO 8601; a time without an offset is taken for UTC. Empty for what is no time."""
    try:
        moment = datetime.fromisoformat(time)
        return (moment if moment.tzinfo is not None else moment.replace(tzinfo=UTC)).astimezone(UTC).isoformat()
    except (ValueError, OverflowError):  # the second: at either end of the calendar
        return ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Reading:
    """What came of the paths that were given. ``skipped`` says which files of a folder were left out and why;
    ``unreadable`` are those of them that should be results.
    """

    files: tuple[ResultFile, ...]
    skipped: tuple[str, ...]
    unreadable: tuple[str, ...] = ()


def read(paths: Iterable[Path]) -> Reading:
    """Read files and, recursively, the ``*.json`` of folders; each file once.

    :raises ReadError: a named file can't be read, or nothing at all could be. A file found in a folder that can't be
        read is skipped with its reason instead: a run that crashed must not block the others.
    """
    files: dict[Path, ResultFile] = {}
    skipped: list[str] = []
    unreadable: list[str] = []
    paths = tuple(paths)
    for path, named in result_files(paths):
        try:
            files[path] = read_file(path)
        except ReadError as error:
            if named:
                raise
            skipped.append(str(error))
            unreadable += [] if isinstance(error, NoResultError) else [str(error)]
    if not files:
        searched = ", ".join(map(str, paths)) or "no path given"
        none = "" if skipped else " No file there ends in .json."
        raise ReadError(f"{searched}: no result file to read.{none}", *skipped)
    skipped += (without := folders_without_results(paths))
    unreadable += without
    return Reading(files=tuple(files.values()), skipped=tuple(skipped), unreadable=tuple(unreadable))


_RESULTS = (".json", journal.SUFFIX)


def result_files(paths: Iterable[Path]) -> Iterator[tuple[Path, bool]]:
    """As `roofline.paths.files_under`: results, and the journals in folders whose runs have not made their JSON."""
    for path, named in files_under(paths, _RESULTS):
        if named or not journal.is_superseded(path):
            yield path, named


def folders_without_results(paths: Iterable[Path]) -> list[str]:
    """Say of each named folder in which there is none that it adds nothing."""
    return folders_without(paths, _RESULTS)


def read_file(path: Path) -> ResultFile:
    """Read one file.

    :raises ReadError: missing, empty, not UTF-8, truncated, not JSON, not pytest-benchmark's, no benchmarks in it, or
        a record that this version doesn't read.
    """
    nonfinite: list[str] = []
    content = raw(path, nonfinite)
    if not isinstance(content, Mapping) or not isinstance(content.get("benchmarks"), list):
        raise NoResultError(f"{path}: JSON, but no pytest-benchmark result (no list 'benchmarks'). {_WHAT_WE_READ}")
    machine_info = _mapping(content.get("machine_info"))
    commit, dirty = commit_of(_mapping(content.get("commit_info")))
    try:
        machine = from_json(Machine, machine_info[KEY], f"{path}: machine_info") if KEY in machine_info else None
        session = from_json(Session, content[KEY], str(path)) if KEY in content else None
        benchmarks = tuple(
            _benchmark(item, f"{path}: benchmarks[{index}]") for index, item in enumerate(content["benchmarks"])
        )
    except RecordError as error:
        raise ReadError(str(error)) from error
    faults = [benchmark.fault for benchmark in benchmarks if benchmark.fault is not None]
    if faults and len(faults) == len(benchmarks):
        more = f" (and {len(faults) - 1} more)" if len(faults) > 1 else ""
        raise ReadError(f"{path}: no usable record in it. {faults[0]}{more}")
    if not benchmarks:
        incomplete = None if session is None else session.why_incomplete
        why = _why_empty(session) if incomplete is None else f" {incomplete[0].upper()}{incomplete[1:]}."
        raise ReadError(f"{path}: no benchmarks in it.{why}")
    return ResultFile(
        path=path,
        host=host_of(machine_info),
        machine=machine,
        session=session,
        benchmarks=benchmarks,
        written_at=_string(content.get("datetime")),
        commit=commit,
        commit_dirty=dirty,
        pytest_benchmark_version=_string(content.get("version")),
        nonfinite=tuple(nonfinite),
    )


def raw(path: Path, nonfinite: list[str] | None = None) -> Any:
    """The JSON values of a file; of a journal, those of the file that its run would have made.

    :param nonfinite: the paths of values that are not finite, and null in what is returned, are added to it.
    :raises ReadError: missing, empty, not UTF-8, truncated or not JSON.
    """
    text = text_of(path, _WHAT_WE_READ, journal.ERRORS if journal.is_journal(path) else "strict")
    if not text.strip():
        raise ReadError(f"{path}: empty. {_NOTHING_YET}")
    try:
        content: object = journal.document(text) if journal.is_journal(path) else json.loads(text)
        whole = _without_half_surrogates(content) if _MAY_HOLD_SURROGATES.search(text) else content
        return without_nonfinite(whole, nonfinite)
    except journal.JournalError as error:
        raise ReadError(f"{path}: {error}. Run again.") from error
    except json.JSONDecodeError as error:
        if error.pos >= len(text.rstrip()) or error.msg.startswith("Unterminated string"):
            raise ReadError(f"{path}:{error.lineno}: truncated, the JSON ends in the middle. {_CUT_OFF}") from error
        raise ReadError(f"{path}:{error.lineno}: not JSON ({error.msg}). {_WHAT_WE_READ}") from error
    except (ValueError, RecursionError) as error:
        # The second, of what is nested too deep, may be that of any of the three.
        raise ReadError(f"{path}: JSON that can't be read ({error}). {_WHAT_WE_READ}") from error


def encoding_of(content: bytes) -> str:
    """Of a text: UTF-16 where its byte order mark says so, as of PowerShell's ``>``, else UTF-8 with or without one."""
    return "utf-16" if content.startswith((codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE)) else "utf-8-sig"


def text_of(path: Path, advice: str, errors: str = "strict") -> str:
    """The text of a regular file, in an encoding of `encoding_of`.

    :param advice: what to give instead, for the message.
    :param errors: what becomes of bytes that are no such text, as of ``bytes.decode``.
    :raises ReadError: it can't be read, isn't such a text, or is a pipe or a device, which might never end.
    """
    try:
        kind = path.stat().st_mode
        # A folder has an error of its own, which says whether it may be read.
        if not (stat.S_ISREG(kind) or stat.S_ISDIR(kind)):
            raise ReadError(f"{path}: can't be read (no regular file). {advice}")
        content = path.read_bytes()
        return content.decode(encoding_of(content), errors)
    except UnicodeDecodeError as error:
        name = "UTF-16" if "16" in error.encoding else "UTF-8"
        raise ReadError(f"{path}: not {name} text (byte {error.start}). {advice}") from error
    except OSError as error:
        left = path.with_suffix(journal.SUFFIX)
        hint = f" Its run did not end and left {left}: give that." if left != path and os.path.exists(left) else ""
        raise ReadError(f"{path}: can't be read ({error.strerror or error}).{hint}") from error


_MAY_HOLD_SURROGATES = re.compile(r"\\u[dD][89a-fA-F]")


def _without_half_surrogates(value: Any) -> Any:
    """``value`` with every half of a surrogate pair spelled out (``\\ud800``): no encoding and no font has it."""
    if isinstance(value, str):
        return value.encode("utf-8", "backslashreplace").decode("utf-8")
    if isinstance(value, dict):
        return {_without_half_surrogates(key): _without_half_surrogates(item) for key, item in value.items()}
    if isinstance(value, list):
        return [_without_half_surrogates(item) for item in value]
    return value


def _benchmark(item: object, where: str) -> Benchmark:
    row = _mapping(item)
    stats = _mapping(row.get("stats"))
    name = _string(row.get("name"))
    if name is None:
        raise ReadError(f"{where}: a benchmark without a name. {_WHAT_WE_READ}")
    extra = _mapping(row.get("extra_info"))
    record: Record | None = None
    fault: str | None = None
    if KEY in extra:
        try:
            record = by_median(from_json(Record, extra[KEY], f"{where} ({name})"))
        except RecordError as error:
            # One bad row must not hide the others.
            fault = str(error)
    return Benchmark(
        name=name,
        fullname=_string(row.get("fullname")) or name,
        group=_string(row.get("group")),
        stats=_stats(row, stats),
        record=record,
        fault=fault,
        params=params if isinstance(params := row.get("params"), Mapping) else None,
    )


def _stats(row: Mapping[str, Any], stats: Mapping[str, Any]) -> Stats:
    """:param stats: of the benchmark ``row``, as the file has them."""
    times = stats.get("data")
    return Stats(
        mean_s=_number(stats.get("mean")),
        stddev_s=_number(stats.get("stddev")),
        median_s=_number(stats.get("median")),
        min_s=_number(stats.get("min")),
        max_s=_number(stats.get("max")),
        iqr_s=_number(stats.get("iqr")),
        iterations_per_s=_number(stats.get("ops")),
        rounds=_number(stats.get("rounds")),
        iterations=_number(stats.get("iterations")),
        round_times_s=tuple(map(_number, times)) if isinstance(times, list) else None,
        unit=next((unit for part in (stats, row) for key in _UNITS if (unit := _string(part.get(key)))), None),
    )


def commit_of(commit_info: Mapping[str, Any]) -> tuple[str | None, bool | None]:
    """The commit, and whether there were changes beside it. None: not told, or no repository.

    :param commit_info: as the file has it.
    """
    commit, dirty = _string(commit_info.get("id")), commit_info.get("dirty")
    return None if commit == _NO_COMMIT else commit, dirty if isinstance(dirty, bool) else None


def host_of(machine_info: Mapping[str, Any]) -> Host:
    """:param machine_info: as the file has it."""
    cpu = _mapping(machine_info.get("cpu"))
    system = " ".join(part for key in ("system", "release") if (part := _string(machine_info.get(key))))
    count = cpu.get("count")
    return Host(
        node=_string(machine_info.get("node")),
        # "brand" until py-cpuinfo 5, "brand_raw" since.
        cpu=_string(cpu.get("brand_raw")) or _string(cpu.get("brand")) or _string(machine_info.get("processor")),
        system=system or None,
        python=_string(machine_info.get("python_version")),
        cpus=count if isinstance(count, int) and not isinstance(count, bool) else None,
        architecture=_string(machine_info.get("machine")),
    )


def _why_empty(session: Session | None) -> str:
    if session is None or not session.not_measured:
        return " Every test was skipped or failed before it measured, or none used the benchmark fixture."
    shown = "; ".join(f"{case.id}: {case.why}" for case in session.not_measured[:3])
    more = len(session.not_measured) - 3
    return f" Not measured: {shown}" + (f"; and {more} more." if more > 0 else ".")


def _mapping(value: object) -> Mapping[str, Any]:
    return value if isinstance(value, Mapping) else {}


def _string(value: object) -> str | None:
    return value if isinstance(value, str) and value else None


def _number(value: object) -> float | None:
    if isinstance(value, bool) or not isinstance(value, int | float):
        return None
    try:
        return float(value)
    except OverflowError:  # a whole number beyond the range of floats
        return None
