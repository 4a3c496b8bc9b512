"""Result files in: pytest-benchmark JSON, of this suite or of any other project, old and new.

`read` takes files and folders and returns what could be read and what could not. A file without this project's record
still gives its times. A record, a session or a machine that can't be read costs itself alone. JSON as Python
writes it, with NaN and Infinity, is accepted: such values become None, and their paths are reported.
"""

from __future__ import annotations

import json
import os
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import msgspec

from roofline.files.decoding import ReadError, content_of, decoded
from roofline.files.paths import files_under, folders_without, real_path
from roofline.results import journal, stored_runs
from roofline.results.benchmark_fields import Document, Row, commit_of, host_of, stats_of, string
from roofline.results.result import Benchmark, ResultFile
from roofline.schema.record import KEY, Record
from roofline.schema.record_json import Part, RecordError, decode, strict
from roofline.schema.session import Machine, Session
from roofline.text.units import some_of
from roofline.timing.step_time import by_median

_WHAT_WE_READ = "Give a file that pytest-benchmark wrote (--benchmark-json or --benchmark-save)."
_OTHER_COMMANDS = " `roofline audit` reads tables, and `roofline ncu` what ncu printed."
_NOTHING_YET = (
    "A run is writing it, or was stopped before its first case; or the copy is incomplete: wait, or run or copy again."
)
_CUT_OFF = "The run that wrote it was probably stopped, or the copy is incomplete: run or copy again."


class NoResultError(ReadError):
    """JSON of another tool: nothing says that it was ever meant to be a result."""

    def __init__(self, path: Path, why: str) -> None:
        super().__init__(f"{path}: {why}")
        self.path = str(path)


class NoBenchmarksError(ReadError):
    """A result in which nothing was measured."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ReadResults:
    """What came of the paths that were given. ``skipped`` says which files of a folder were left out and why;
    ``unreadable`` are those of them that should be results, and what the files that were read had to leave out.
    """

    files: tuple[ResultFile, ...]
    skipped: tuple[str, ...]
    unreadable: tuple[str, ...] = ()


def read(paths: Iterable[Path]) -> ReadResults:
    """Read files, recursively the ``*.json`` of folders, and the runs of stores; each once.

    :raises ReadError: a named file can't be read, or nothing at all could be. A file found in a folder that can't be
        read is skipped with its reason instead: a run that crashed must not block the others.
    """
    files: dict[Path, ResultFile] = {}
    skipped: list[str] = []
    unreadable: list[str] = []
    foreign: list[NoResultError] = []
    paths = tuple(paths)
    for path, named in result_files(paths):
        try:
            files[path] = read_file(path)
        except NoResultError as error:
            if named:
                raise
            foreign.append(error)
        except ReadError as error:
            if named:
                raise
            skipped.append(str(error))
            unreadable.append(str(error))
    skipped += _of_others(foreign)
    if not files:
        searched = ", ".join(map(str, paths)) or "no path given"
        none = "" if skipped else " No file there ends in .json."
        raise ReadError(f"{searched}: no result file to read.{none}", *skipped)
    skipped += (without := folders_without_results(paths))
    unreadable += without
    unreadable += (reason for file in files.values() for reason in file.left_out)
    return ReadResults(files=tuple(files.values()), skipped=tuple(skipped), unreadable=tuple(unreadable))


def _of_others(foreign: Sequence[NoResultError]) -> list[str]:
    """Say which files of folders are of other tools: of a project's own folder these are many."""
    if len(foreign) < 2:
        return [str(error) for error in foreign]
    return [f"{len(foreign)} files that are no pytest-benchmark results: {some_of([error.path for error in foreign])}"]


def named_apart(files: Sequence[ResultFile]) -> tuple[ResultFile, ...]:
    """Give each file a name that no other has: the last parts of its path, as few as do."""
    names, parts = [file.path.name for file in files], 1
    while len({*names}) < len(files):
        parts += 1
        names = ["/".join(file.path.parts[-parts:]) for file in files]
    return tuple(replace(file, name=name) for file, name in zip(files, names, strict=True))


_RESULTS = (".json", journal.SUFFIX)


def result_files(
    paths: Iterable[Path], endings: tuple[str, ...] = _RESULTS, machines: Collection[str] | None = None
) -> Iterator[tuple[Path, bool]]:
    """As `files_under`: results, the journals in folders whose runs have not made their JSON, and the runs of stores.

    :param machines: the keys of those whose runs in stores are asked for. Default: all.
    :raises ReadError: a store can't be read.
    """
    seen: set[Path] = set()
    for path in paths:
        if stored_runs.is_store(path):
            found = ((run, False) for run in stored_runs.run_paths(path, machines))
        else:
            found = (one for one in files_under([path], endings) if one[1] or not journal.is_superseded(one[0]))
        for one, named in found:
            if (file := real_path(one)) not in seen:
                seen.add(file)
                yield one, named


def folders_without_results(paths: Iterable[Path]) -> list[str]:
    """Say of each named folder in which there is none that it adds nothing."""
    return folders_without([path for path in paths if not stored_runs.is_store(path)], _RESULTS)


def content_of_result(path: Path) -> bytes:
    """Read the bytes of a file, or of a run in a store.

    :raises ReadError: it can't be read.
    """
    return stored_runs.content_of_run(path) if stored_runs.is_stored(path) else content_of(path)


def read_file(path: Path, content: bytes | None = None) -> ResultFile:
    """Read one file.

    :param content: its bytes, where they have been read.
    :raises ReadError: missing, empty, not UTF-8, truncated, not JSON, not pytest-benchmark's, no benchmarks in it, or
        none with a record that this version reads.
    """
    content = _content_of(path) if content is None else content
    nonfinite: list[str] = []
    try:
        content = _json_of(path, content)
        try:
            document = _DOCUMENT.decode(content)
        except msgspec.DecodeError:
            document = _document_of(path, content, nonfinite)
        return _result(path, document, tuple(nonfinite))
    except (msgspec.DecodeError, ValueError, RecursionError) as error:  # nested too deep, or a number of 5000 digits
        raise ReadError(f"{path}: JSON that can't be read ({error}). {_WHAT_WE_READ}") from error


def _document_of(path: Path, content: bytes, nonfinite: list[str]) -> Document:
    """Read JSON as Python writes it, with NaN, Infinity and halves of surrogate pairs.

    :param nonfinite: the paths of values that aren't finite, and so count as null, are added to it.
    :raises ReadError: truncated, not JSON, or not pytest-benchmark's.
    """
    text = content.decode()
    try:
        value = json.loads(text)
    except json.JSONDecodeError as error:
        if error.pos >= len(text.rstrip()) or error.msg.startswith("Unterminated string"):
            raise ReadError(f"{path}:{error.lineno}: truncated, the JSON ends in the middle. {_CUT_OFF}") from error
        other = _OTHER_COMMANDS if path.suffix.lower() == ".csv" else ""
        raise ReadError(f"{path}:{error.lineno}: not JSON ({error.msg}). {_WHAT_WE_READ}{other}") from error
    if not (isinstance(value, dict) and isinstance(value.get("benchmarks"), list)):
        raise NoResultError(path, f"JSON, but no pytest-benchmark result (no list 'benchmarks'). {_WHAT_WE_READ}")
    return _DOCUMENT.decode(json.dumps(strict(value, nonfinite)))


def _result(path: Path, document: Document, nonfinite: tuple[str, ...]) -> ResultFile:
    left_out: list[str] = []
    own = document.machine_info.pop(KEY, msgspec.UNSET)
    machine = _part(Machine, own, f"{path}: machine_info", left_out)
    session = _part(Session, document.roofline, f"{path}: {KEY}", left_out)
    benchmarks = tuple(_benchmark(row, str(path), index) for index, row in enumerate(document.benchmarks))
    faults = [benchmark.fault for benchmark in benchmarks if benchmark.fault is not None]
    if faults and len(faults) == len(benchmarks):
        more = f" (and {len(faults) - 1} more)" if len(faults) > 1 else ""
        raise ReadError(f"{path}: no usable record in it. {faults[0]}{more}")
    if not benchmarks:
        incomplete = None if session is None else session.why_incomplete
        why = _why_empty(session) if incomplete is None else f" {incomplete[0].upper()}{incomplete[1:]}."
        raise NoBenchmarksError(f"{path}: no benchmarks in it.{why}")
    commit, dirty = commit_of(document.commit_info)
    return ResultFile(
        path=path,
        host=host_of(_values(document.machine_info)),
        machine=machine,
        session=session,
        benchmarks=benchmarks,
        written_at=string(document.datetime),
        commit=commit,
        commit_dirty=dirty,
        pytest_benchmark_version=string(document.version),
        nonfinite=nonfinite,
        name=path.name,
        left_out=tuple(left_out),
    )


def _part(kind: type[Part], part: msgspec.Raw | msgspec.UnsetType, where: str, left_out: list[str]) -> Part | None:
    """The session or the machine; None where there is none, or where it can't be read: why is added to ``left_out``."""
    if part is msgspec.UNSET:
        return None
    try:
        return decode(kind, part, where)
    except RecordError as error:
        left_out.append(str(error))
        return None


def _content_of(path: Path) -> bytes:
    """:raises ReadError: it can't be read."""
    try:
        return content_of_result(path)
    except ReadError as error:
        left = path.with_suffix(journal.SUFFIX)
        if left != path and os.path.exists(left):
            raise ReadError(f"{error} Its run did not end and left {left}: give that.") from error
        raise


def _json_of(path: Path, content: bytes) -> bytes:
    """The JSON of a file in UTF-8, without a byte order mark; of a journal, that of the file that it stands for.

    :raises ReadError: empty, not UTF-8, or a journal of which nothing can be used.
    """
    if not content.strip():
        raise ReadError(f"{path}: empty. {_NOTHING_YET}")
    if not journal.is_journal(path):
        # As Python's json writes it there is nothing to decode.
        return content if content.isascii() else decoded(path, content, _WHAT_WE_READ).encode()
    try:
        return json.dumps(journal.read(decoded(path, content, _WHAT_WE_READ, journal.ERRORS)).document).encode()
    except journal.JournalError as error:
        raise ReadError(f"{path}: {error}. Run again.") from error


def _values(parts: Mapping[str, msgspec.Raw]) -> dict[str, Any]:
    return {key: msgspec.json.decode(part) for key, part in parts.items()}


def _benchmark(row: Row, path: str, index: int) -> Benchmark:
    extra = row.extra_info or {}
    record: Record | None = None
    fault: str | None = None
    if (own := extra.pop(KEY, None)) is not None:
        try:
            record = by_median(decode(Record, own, f"{path}: benchmarks[{index}] ({row.name})"))
        except RecordError as error:
            fault = str(error)
    return Benchmark(
        name=row.name,
        fullname=row.fullname or row.name,
        # The rounds of a record have the same times, with all that is known of them.
        stats=stats_of(row, with_times=record is None),
        record=record,
        fault=fault,
        params=row.params or None,
        extra_info=_values(extra),
        index=index,
    )


_DOCUMENT = msgspec.json.Decoder(Document)


def _why_empty(session: Session | None) -> str:
    if session is None or not session.not_measured:
        return " Every test was skipped or failed before it measured, or none used the benchmark fixture."
    shown = "; ".join(f"{case.id}: {case.why}" for case in session.not_measured[:3])
    more = len(session.not_measured) - 3
    return f" Not measured: {shown}" + (f"; and {more} more." if more > 0 else ".")
