"""Result files in: pytest-benchmark JSON, of this suite or of any other project, old and new.

`read` takes files and folders and returns what could be read and what could not. A file without this project's record
still gives its times. A part that can't be read costs itself alone: a record, a row, the session, the machine. JSON as
Python writes it, with NaN and Infinity, is accepted: such values become None, and their paths are reported.
"""

from __future__ import annotations

import json
import os
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import msgspec

from roofline.files.decoding import ReadError, content_of, decoded
from roofline.files.paths import files_under, folders_without, real_path
from roofline.results import journal, stored_runs
from roofline.results.benchmark_fields import UNITS, commit_of, host_of, mapping, stats_of, string
from roofline.results.nonfinite_json import strict
from roofline.results.result import Benchmark, ResultFile
from roofline.schema.record import KEY, Record
from roofline.schema.record_json import Part, RecordError, decode, without_nonfinite
from roofline.schema.session import Machine, Session
from roofline.timing.step_time import by_median

_WHAT_WE_READ = "Give a file that pytest-benchmark wrote (--benchmark-json or --benchmark-save)."
_NOTHING_YET = (
    "A run is writing it, or was stopped before its first case; or the copy is incomplete: wait, or run or copy again."
)
_CUT_OFF = "The run that wrote it was probably stopped, or the copy is incomplete: run or copy again."


class NoResultError(ReadError):
    """JSON of another tool: nothing says that it was ever meant to be a result."""


class NoBenchmarksError(ReadError):
    """A result in which nothing was measured."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Reading:
    """What came of the paths that were given. ``skipped`` says which files of a folder were left out and why;
    ``unreadable`` are those of them that should be results, and what the files that were read had to leave out.
    """

    files: tuple[ResultFile, ...]
    skipped: tuple[str, ...]
    unreadable: tuple[str, ...] = ()


def read(paths: Iterable[Path]) -> Reading:
    """Read files, recursively the ``*.json`` of folders, and the runs of stores; each once.

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
    unreadable += (reason for file in files.values() for reason in file.left_out)
    return Reading(files=tuple(files.values()), skipped=tuple(skipped), unreadable=tuple(unreadable))


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


def content_of_result(path: Path, advice: str = _WHAT_WE_READ) -> bytes:
    """Read the bytes of a file, or of a run in a store.

    :param advice: what to give instead, for the message.
    :raises ReadError: it can't be read.
    """
    return stored_runs.content_of_run(path) if stored_runs.is_stored(path) else content_of(path, advice)


def read_file(path: Path, content: bytes | None = None) -> ResultFile:
    """Read one file.

    :param content: its bytes, where they have been read.
    :raises ReadError: missing, empty, not UTF-8, truncated, not JSON, not pytest-benchmark's, no benchmarks in it, or
        none with a row that this version reads.
    """
    document = _document(path, content)
    nonfinite: list[str] = []
    left_out: list[str] = []
    machine_info = _parts(document.machine_info)
    try:
        own = machine_info.pop(KEY, None)
        machine = _part(Machine, own, f"{path}: machine_info", f"machine_info.{KEY}", nonfinite, left_out)
        session = _part(Session, document.roofline, f"{path}: {KEY}", KEY, nonfinite, left_out)
        host = host_of(_each(machine_info, "machine_info", nonfinite))
        commit, dirty = commit_of(_each(_parts(document.commit_info), "commit_info", nonfinite))
        written_at = _text(document.datetime, "datetime", nonfinite)
        version = _text(document.version, "version", nonfinite)
    except (ValueError, RecursionError) as error:  # a number of thousands of digits, or nested too deep
        raise _unreadable(path, error) from error
    benchmarks: list[Benchmark] = []
    faults: list[str] = []
    for index, row in enumerate(document.benchmarks):
        try:
            benchmarks.append(_benchmark(row, str(path), index, nonfinite))
            faults += filter(None, [benchmarks[-1].fault])
        except (ReadError, ValueError, RecursionError) as error:
            # One bad row must not hide the others.
            left_out.append(str(error) if isinstance(error, ReadError) else f"{path}: benchmarks[{index}]: {error}")
            faults.append(left_out[-1])
    if faults and len(faults) == len(document.benchmarks):
        more = f" (and {len(faults) - 1} more)" if len(faults) > 1 else ""
        raise ReadError(f"{path}: no usable record in it. {faults[0]}{more}")
    if not benchmarks:
        incomplete = None if session is None else session.why_incomplete
        why = _why_empty(session) if incomplete is None else f" {incomplete[0].upper()}{incomplete[1:]}."
        raise NoBenchmarksError(f"{path}: no benchmarks in it.{why}")
    return ResultFile(
        path=path,
        host=host,
        machine=machine,
        session=session,
        benchmarks=tuple(benchmarks),
        written_at=written_at,
        commit=commit,
        commit_dirty=dirty,
        pytest_benchmark_version=version,
        nonfinite=tuple(nonfinite),
        name=path.name,
        left_out=tuple(left_out),
    )


def _part(
    kind: type[Part],
    part: msgspec.Raw | msgspec.UnsetType | None,
    where: str,
    place: str,
    nonfinite: list[str],
    left_out: list[str],
) -> Part | None:
    """The session or the machine; None where there is none, or where it can't be read: why is added to ``left_out``."""
    if part is None or part is msgspec.UNSET:
        return None
    try:
        return decode(kind, part, where, nonfinite, place)
    except RecordError as error:
        left_out.append(str(error))
        return None


_NOTHING = msgspec.Raw(b"{}")
_NULL = msgspec.Raw(b"null")


class _Row(msgspec.Struct):
    """The parts of a benchmark, each still JSON text: what is wrong in one doesn't touch the others."""

    name: msgspec.Raw = _NULL
    fullname: msgspec.Raw = _NULL
    group: msgspec.Raw = _NULL
    stats: msgspec.Raw = _NOTHING
    extra_info: dict[str, msgspec.Raw] | None = None
    params: dict[str, msgspec.Raw] | None = None
    unit: msgspec.Raw = _NULL
    time_unit: msgspec.Raw = _NULL


class _Head(msgspec.Struct, kw_only=True):
    """The same of a file without its benchmarks."""

    machine_info: msgspec.Raw = _NOTHING
    commit_info: msgspec.Raw = _NOTHING
    roofline: msgspec.Raw | msgspec.UnsetType = msgspec.UNSET
    datetime: msgspec.Raw = _NULL
    version: msgspec.Raw = _NULL


class _Document(_Head, kw_only=True):
    """The same of a file."""

    benchmarks: list[_Row]


class _AnyDocument(_Head, kw_only=True):
    """A file in which an item may be no benchmark."""

    benchmarks: list[msgspec.Raw]


_DOCUMENT = msgspec.json.Decoder(_Document)
_ANY_DOCUMENT = msgspec.json.Decoder(_AnyDocument)
_ROW = msgspec.json.Decoder(_Row)
_PARTS = msgspec.json.Decoder(dict[str, msgspec.Raw])


def _document_of(content: bytes) -> _Document:
    """:raises msgspec.DecodeError: no JSON, or no list of benchmarks in it."""
    try:
        return _DOCUMENT.decode(content)  # all of it at once
    except msgspec.ValidationError:
        found = _ANY_DOCUMENT.decode(content)
        head = {name: getattr(found, name) for name in _Head.__struct_fields__}
        return _Document(benchmarks=[*map(_row, found.benchmarks)], **head)


def _row(item: msgspec.Raw) -> _Row:
    """The parts of an item, as far as it has those of a benchmark."""
    try:
        return _ROW.decode(item)
    except msgspec.ValidationError:
        parts: dict[str, Any] = {name: part for name, part in _parts(item).items() if name in _Row.__struct_fields__}
        objects: dict[str, Any] = {name: _parts(parts[name]) for name in ("extra_info", "params") if name in parts}
        return _Row(**parts | objects)


def _document(path: Path, content: bytes | None) -> _Document:
    """The parts of a file; of a journal, those of the file that its run would have made.

    :raises ReadError: missing, empty, not UTF-8, truncated, not JSON, or not pytest-benchmark's.
    """
    content = _content_of(path) if content is None else content
    if content.isascii() and not journal.is_journal(path):  # as Python's json writes it: nothing to decode
        with suppress(msgspec.DecodeError, RecursionError):
            return _document_of(content)
    content = _json_of(path, content)
    try:
        return _document_of(content)
    except (msgspec.DecodeError, RecursionError):
        pass
    try:
        return _document_of(strict(content))
    except (msgspec.DecodeError, RecursionError) as error:
        raise _why_not(path, content) or _unreadable(path, error) from error


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
    """The JSON of a file in UTF-8, without a byte order mark.

    :raises ReadError: empty, not UTF-8, or a journal of which nothing can be used.
    """
    if not content.strip():
        raise ReadError(f"{path}: empty. {_NOTHING_YET}")
    if not journal.is_journal(path):
        return decoded(path, content, _WHAT_WE_READ).encode()
    try:
        return json.dumps(journal.read(decoded(path, content, _WHAT_WE_READ, journal.ERRORS)).document).encode()
    except journal.JournalError as error:
        raise ReadError(f"{path}: {error}. Run again.") from error
    except (ValueError, RecursionError) as error:
        raise _unreadable(path, error) from error


def _why_not(path: Path, content: bytes) -> ReadError | None:
    """Say what is wrong with JSON that is no result file; None where Python's reader finds nothing wrong.

    :raises ReadError: it isn't text.
    """
    text = decoded(path, content, _WHAT_WE_READ)
    try:
        found = json.loads(text)
    except json.JSONDecodeError as error:
        if error.pos >= len(text.rstrip()) or error.msg.startswith("Unterminated string"):
            return ReadError(f"{path}:{error.lineno}: truncated, the JSON ends in the middle. {_CUT_OFF}")
        return ReadError(f"{path}:{error.lineno}: not JSON ({error.msg}). {_WHAT_WE_READ}")
    except (ValueError, RecursionError) as error:
        return _unreadable(path, error)
    if isinstance(found, dict) and isinstance(found.get("benchmarks"), list):
        return None
    return NoResultError(f"{path}: JSON, but no pytest-benchmark result (no list 'benchmarks'). {_WHAT_WE_READ}")


def _unreadable(path: Path, error: Exception) -> ReadError:
    return ReadError(f"{path}: JSON that can't be read ({error}). {_WHAT_WE_READ}")


def _parts(part: msgspec.Raw) -> dict[str, msgspec.Raw]:
    """The values of an object by their keys, each still JSON text; none of what is no object."""
    try:
        return _PARTS.decode(part)
    except msgspec.ValidationError:
        return {}


def _each(parts: Mapping[str, msgspec.Raw], place: str, nonfinite: list[str]) -> dict[str, Any]:
    return {key: _values(part, f"{place}.{key}", nonfinite) for key, part in parts.items()}


def _values(part: msgspec.Raw, place: str, nonfinite: list[str]) -> Any:
    """The JSON values of a part. The paths of those that aren't finite are added to ``nonfinite``."""
    try:
        return msgspec.json.decode(part)
    except msgspec.ValidationError:  # a number that no float holds
        return without_nonfinite(json.loads(bytes(part)), nonfinite, place)


def _text(part: msgspec.Raw, place: str, nonfinite: list[str]) -> str | None:
    """The text of a part; None where it is empty or anything else."""
    return string(_values(part, place, nonfinite))


def _benchmark(row: _Row, path: str, index: int, nonfinite: list[str]) -> Benchmark:
    place = f"benchmarks[{index}]"
    name = _text(row.name, f"{place}.name", nonfinite)
    if name is None:
        raise ReadError(f"{path}: {place}: a benchmark without a name. {_WHAT_WE_READ}")
    extra = row.extra_info or {}
    record: Record | None = None
    fault: str | None = None
    if (own := extra.pop(KEY, None)) is not None:
        try:
            read = decode(Record, own, f"{path}: {place} ({name})", nonfinite, f"{place}.extra_info.{KEY}")
            record = by_median(read)
        except RecordError as error:
            fault = str(error)
    stats = mapping(_values(row.stats, f"{place}.stats", nonfinite))
    if record is not None:
        # Its rounds have the same times, with all that is known of them.
        stats = {name: value for name, value in stats.items() if name != "data"}
    units = (_text(getattr(row, key), f"{place}.{key}", nonfinite) for key in UNITS)
    return Benchmark(
        name=name,
        fullname=_text(row.fullname, f"{place}.fullname", nonfinite) or name,
        group=_text(row.group, f"{place}.group", nonfinite),
        stats=stats_of(stats, units),
        record=record,
        fault=fault,
        params=_each(row.params or {}, f"{place}.params", nonfinite) or None,
        extra_info=_each(extra, f"{place}.extra_info", nonfinite),
        index=index,
    )


def _why_empty(session: Session | None) -> str:
    if session is None or not session.not_measured:
        return " Every test was skipped or failed before it measured, or none used the benchmark fixture."
    shown = "; ".join(f"{case.id}: {case.why}" for case in session.not_measured[:3])
    more = len(session.not_measured) - 3
    return f" Not measured: {shown}" + (f"; and {more} more." if more > 0 else ".")
