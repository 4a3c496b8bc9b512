"""The results file: opened before the first case, rewritten as cases are measured: a crash keeps what there is."""

from __future__ import annotations

import json
import os
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from roofline.record import KEY, Machine, Roof, Session
from roofline.record_json import RecordError, from_json, without_nonfinite


class ResultsError(RuntimeError):
    """The results file can't be written. The message says where and what to do."""


class ResultsFile:
    """A new file of one run, there from the start: an unwritable folder shows before anything is measured."""

    def __init__(self, folder: Path, label: str, commit: str, now: datetime | None = None) -> None:
        """:raises ResultsError: the file can't be made."""
        stem = f"{(now or datetime.now(UTC)):%Y%m%dT%H%M%SZ}-{commit}"
        place = folder / label
        self.path = place / f"{stem}.json"
        try:
            place.mkdir(parents=True, exist_ok=True)
            for number in range(2, 100):
                if _create(self.path):
                    break
                self.path = place / f"{stem}-{number}.json"
        except OSError as error:
            raise ResultsError(f"can't write results to {place}: {error.strerror}. Choose another folder.") from error

    def write(self, document: Mapping[str, Any]) -> None:
        """Replace the content in one step: a reader sees the old document or the new one.

        :raises ResultsError: the disk is full or the folder is gone.
        """
        temporary = self.path.with_suffix(".tmp")
        try:
            temporary.write_text(dumps(document), encoding="utf-8")
            os.replace(temporary, self.path)
        except OSError as error:
            with suppress(OSError):
                temporary.unlink()
            raise ResultsError(
                f"can't write {self.path}: {error.strerror}. Make room there, or choose another folder."
            ) from error

    def beside(self, name: str) -> Path:
        """A path beside the file with its stem: ``<stem>.<name>``."""
        return self.path.with_name(f"{self.path.stem}.{name}")

    def discard_if_empty(self) -> None:
        with suppress(OSError):
            if self.path.stat().st_size == 0:
                self.path.unlink()


def _create(path: Path) -> bool:
    try:
        path.touch(exist_ok=False)
    except FileExistsError:
        return False
    return True


def dumps(document: Mapping[str, Any]) -> str:
    """Strict JSON: a non-finite number becomes null, a value that JSON doesn't know the name of its type."""
    return json.dumps(
        without_nonfinite(document), allow_nan=False, indent=1, default=lambda value: f"<{type(value).__name__}>"
    )


_LONGEST_PARAMETER = 200
"""So many characters of a parameter's value go into the file."""


def with_short_parameters(document: dict[str, Any]) -> dict[str, Any]:
    """A pytest-benchmark document whose benchmarks hold of each parameter a number or a short text.

    A test may be parametrised with a list of 200,000 numbers; the parameter's id tells the rows apart.
    """
    rows = [
        {**row, "params": {name: _short(value) for name, value in row["params"].items()}} if row.get("params") else row
        for row in document["benchmarks"]
    ]
    return {**document, "benchmarks": rows}


def _short(value: object) -> object:
    if value is None or isinstance(value, bool | int | float):
        return value
    if isinstance(value, str):
        return value if len(value) <= _LONGEST_PARAMETER else f"{value[:_LONGEST_PARAMETER]}..."
    return f"<{type(value).__name__}>"


def commit_of(commit_info: Mapping[str, Any]) -> str:
    """The part of the file name that says which code was measured: ``1a2b3c4d``, ``1a2b3c4d-dirty`` or ``nogit``."""
    commit = str(commit_info.get("id") or "")
    if commit in ("", "unknown", "unversioned"):
        return "nogit"
    return commit[:8] + ("-dirty" if commit_info.get("dirty") else "")


def last_roofs(folder: Path, fingerprint: str) -> tuple[Roof, ...]:
    """Every roof as it was measured last on the machine with this fingerprint, marked with the file it stands in.

    What was measured under a profiler is no roof of the machine.
    """
    found: dict[tuple[str, str], Roof] = {}
    try:
        paths = sorted(folder.glob("*/*.json"), key=lambda path: path.name, reverse=True)
    except OSError:
        return ()  # `ResultsFile` says what is wrong with the folder
    for path in paths:
        try:
            if not path.is_file():
                continue  # reading a pipe would wait for its writer
            document = json.loads(path.read_text(encoding="utf-8"))
            machine = from_json(Machine, document["machine_info"][KEY], path.name)
            if machine.fingerprint != fingerprint:
                continue
            session = from_json(Session, document[KEY], path.name)
            if _profiled(document):
                continue
        except (OSError, ValueError, KeyError, TypeError, AttributeError, RecordError):
            continue  # another tool's file, or one that is still empty
        for roof in session.roofs:
            if roof.source == "measured" and roof.from_file is None:
                found.setdefault((roof.kind, roof.name), replace(roof, from_file=path.name))
    return tuple(found.values())


def _profiled(document: Mapping[str, Any]) -> bool:
    """Whether a profiler was around the process that wrote it, as `onlookers.profilers` says of each row."""
    records = (row.get("extra_info", {}).get(KEY, {}) for row in document.get("benchmarks", ()))
    return any(flag.get("name") == "profiled" for record in records for flag in record.get("flags", ()))
