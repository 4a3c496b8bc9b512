"""The results of a run: a journal that is opened before the first case, the JSON that is made at the end, and a CSV of
each case's single steps where there are some.
"""

from __future__ import annotations

import json
import os
import re
import reprlib
import sys
from collections.abc import Mapping
from contextlib import suppress
from datetime import UTC, datetime
from itertools import count
from pathlib import Path
from typing import Any

from pytest_roofline.measuring.plan import Measured
from pytest_roofline.workload.own_model import Scalar, scalar
from roofline.files.writing import sync_folder, write_text
from roofline.results import journal
from roofline.schema.record import KEY, Case
from roofline.schema.record_json import strict


class ResultsError(RuntimeError):
    """A file of results can't be written. The message says which, why and what to do."""


class ResultsFile:
    """The files of one run: a journal from the start, to which each finished test is added, and the JSON at its end.

    An unwritable folder shows before anything is measured. Of a run that is killed the journal stays.
    """

    def __init__(self, folder: Path, label: str, commit: str, now: datetime | None = None) -> None:
        """:raises ResultsError: the journal can't be made."""
        stem = f"{(now or datetime.now(UTC)):%Y%m%dT%H%M%SZ}-{commit}"
        place = Path(os.path.realpath(folder)) / label  # a test may change the current folder
        self._size = 0
        self._made = [one for one in (place, *place.parents) if not one.exists()]
        try:
            place.mkdir(parents=True, exist_ok=True)
            self._open(place, stem)
            sync_folder(place)
        except OSError as error:
            where = folder / label
            raise ResultsError(f"can't write results to {where}: {error.strerror}. Choose another folder.") from error

    def _open(self, place: Path, stem: str) -> None:
        """Make a journal whose name no other run has, whether that still measures, has ended or was killed."""
        for number in count(1):
            self.path = place / f"{stem}{'' if number == 1 else f'-{number}'}.json"
            self.journal = self.path.with_suffix(journal.SUFFIX)
            try:
                self._descriptor = os.open(self.journal, os.O_RDWR | os.O_CREAT | os.O_EXCL, 0o666)
            except FileExistsError:
                continue
            # A run makes its JSON before it removes its journal: one that has just ended is seen by one of the two.
            if not self.path.exists():
                self._lock()
                return
            self._discard_journal()

    @classmethod
    def resumed(cls, path: Path) -> ResultsFile:
        """Go on with the journal of a run that did not end. A last line that is cut off is taken away.

        :raises ResultsError: it can't be opened, or its run still writes it.
        """
        file = cls.__new__(cls)
        file.journal, file.path = path, path.with_suffix(".json")
        file._made = []
        try:
            file._descriptor = os.open(path, os.O_RDWR)
            file._lock()
            file._size = path.read_bytes().rfind(b"\n") + 1
            os.ftruncate(file._descriptor, file._size)
        except BlockingIOError as error:
            raise ResultsError(f"{path}: its run still measures. Wait for its end, or stop it.") from error
        except OSError as error:
            raise ResultsError(f"{path}: can't be written: {error.strerror}") from error
        return file

    def _lock(self) -> None:
        """Hold the journal as long as this process lives.

        :raises BlockingIOError: another process holds it.
        """
        if sys.platform != "win32":
            import fcntl

            try:
                fcntl.flock(self._descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
            except BlockingIOError:
                raise
            except OSError:
                return  # a network file system without locks

    def append(self, line: Mapping[str, Any]) -> None:
        """Add a line to the journal, and return when it is on disk. One that doesn't fit leaves nothing of itself.

        :raises ResultsError: the disk is full, or refuses.
        """
        content = dumps(line).encode() + b"\n"
        try:
            os.lseek(self._descriptor, self._size, os.SEEK_SET)
            written = 0
            while written < len(content):
                written += os.write(self._descriptor, content[written:])
            os.fsync(self._descriptor)
        except OSError as error:
            with suppress(OSError):
                os.ftruncate(self._descriptor, self._size)
            raise _not_written(self.journal, error) from error
        self._size += len(content)

    def write(self, document: Mapping[str, Any]) -> None:
        """Make the JSON, and remove the journal once that is on disk.

        :raises ResultsError: the disk is full or refuses; the journal stays.
        """
        try:
            write_text(self.path, dumps(document, indent=1))
        except OSError as error:
            raise _not_written(self.path, error) from error
        self._discard_journal()

    @property
    def readable(self) -> Path:
        """The JSON, or the journal where that could not be made."""
        return self.path if self.path.exists() else self.journal

    def beside(self, name: str) -> Path:
        """A path beside the file with its stem: ``<stem>.<name>``."""
        return self.path.with_name(f"{self.path.stem}.{name}")

    def discard(self) -> None:
        """Leave no file of a run that measured nothing, nor a folder that was made for it."""
        if not self.path.exists():
            self._discard_journal()
            with suppress(OSError):  # something else is in it
                for folder in self._made:
                    folder.rmdir()

    def _discard_journal(self) -> None:
        with suppress(OSError):
            os.close(self._descriptor)
        with suppress(OSError):
            self.journal.unlink()


def is_held(path: Path) -> bool:
    """Tell whether a run that still measures writes this journal. False where nothing tells.

    :raises OSError: it can't be opened.
    """
    if sys.platform == "win32":
        return False
    import fcntl

    with path.open("rb") as file:
        try:
            fcntl.flock(file, fcntl.LOCK_SH | fcntl.LOCK_NB)
        except BlockingIOError:
            return True
        except OSError:  # a network file system without locks
            return False
    return False


def write_step_log(results: Path, case: Case, measured: Measured, steps: int) -> str:
    """Write the CSV of a case's single steps beside the results.

    :param results: their path.
    :param steps: of a repeat.
    :returns: the line of the run's summary: where it is, or why it isn't.
    """
    lines = ["step,time_s,samples_per_s,utc,repeat,loss"]
    for number, (time_s, end) in enumerate(zip(measured.step_log_s or (), measured.step_ends, strict=True)):
        rate = case.samples_per_step / time_s
        loss = "" if end.loss is None else repr(end.loss)
        lines.append(f"{number},{time_s!r},{rate!r},{end.at.isoformat()},{number // steps + 1},{loss}")
    name = re.sub(r"[^A-Za-z0-9_.=-]+", "_", case.id)
    log = results.with_name(f"{results.stem}.{name}.steps.csv")
    try:
        log.write_text("\n".join(lines) + "\n", encoding="utf-8")
    except OSError as error:
        # Nothing is lost: each step is a round of the record.
        why = f"can't be written ({error.strerror or error}); the results file has each step as a round"
        return f"steps: {log}: {why}"
    return f"steps: {log}"


def _not_written(path: Path, error: OSError) -> ResultsError:
    return ResultsError(f"can't write {path}: {error.strerror}")


def dumps(document: Mapping[str, Any], indent: int | None = None) -> str:
    """Strict JSON: a non-finite number becomes null, a value that JSON doesn't know a text that names it."""
    try:
        return json.dumps(document, allow_nan=False, indent=indent, default=shown)
    except ValueError:  # looking at every number first would take three times as long
        return json.dumps(strict(document), allow_nan=False, indent=indent, default=shown)


def with_short_parameters(document: dict[str, Any]) -> dict[str, Any]:
    """A pytest-benchmark document whose benchmarks hold of each parameter a number or a short text.

    A test may be parametrised with a list of 200,000 numbers; the parameter's id tells the rows apart. A measured case
    has its id as the parameter ``case``, where the test has none of that name: ``pytest-benchmark compare
    --group-by=param:case`` asks each row for it.
    """
    return {**document, "benchmarks": [_with_short_parameters(row) for row in document["benchmarks"]]}


def _with_short_parameters(row: dict[str, Any]) -> dict[str, Any]:
    parameters = {name: shown(value) for name, value in (row.get("params") or {}).items()}
    record = row.get("extra_info", {}).get(KEY)
    if record is not None:
        parameters.setdefault("case", record["case"]["id"])
    return {**row, "params": parameters} if parameters else row


_LONGEST = 200
"""So many characters of a value go into the file."""


class _Short(reprlib.Repr):
    """Shows no more of a value than there is room for, and no more items of a long list than that needs."""

    def __init__(self) -> None:
        super().__init__()
        self.maxdict = self.maxlist = self.maxtuple = self.maxset = 40
        self.maxstring = self.maxother = _LONGEST


def shown(value: object) -> Scalar:
    """A value as JSON, or a short text that names it: a class or function by its name, others as Python shows them."""
    try:
        plain = scalar(value)
    except TypeError:
        name = getattr(value, "__name__", None)
        text = name if isinstance(name, str) else _Short().repr(value)
        # Where an object lies in memory is another with each run.
        plain = re.sub(r" at 0x[0-9a-fA-F]+", "", " ".join(text.split()))
    return f"{plain[:_LONGEST]}..." if isinstance(plain, str) and len(plain) > _LONGEST else plain


def commit_of(commit_info: Mapping[str, Any]) -> str:
    """The part of the file name that says which code was measured: ``1a2b3c4d``, ``1a2b3c4d-dirty`` or ``nogit``."""
    commit = str(commit_info.get("id") or "")
    if commit in ("", "unknown", "unversioned"):
        return "nogit"
    return commit[:8] + ("-dirty" if commit_info.get("dirty") else "")


_ABSOLUTE_PATH = re.compile(r"""(?<![\w.)/])(?:~|[A-Za-z]:)?(?:[/\\][^\s/\\'":,=()]+)+[/\\]?""")


def without_folders(text: str) -> str:
    """A text without the machine's folders, for a file that is published: of an absolute path only the last part."""
    return _ABSOLUTE_PATH.sub(lambda path: re.split(r"[/\\]", path[0].rstrip("/\\"))[-1], text)
