"""The roofs that were measured on a machine before: kept in the user's cache folder, and in earlier results."""

from __future__ import annotations

import hashlib
import json
import os
import sys
from collections.abc import Mapping
from dataclasses import dataclass, replace
from pathlib import Path

from pytest_roofline.device.cpus import INSTRUCTIONS
from roofline.files.decoding import ReadError
from roofline.files.writing import write_text
from roofline.results import journal
from roofline.results.reader import read_file
from roofline.schema.amounts import usable
from roofline.schema.record_json import RecordError, from_json, to_json
from roofline.schema.session import Machine, Roof, Session

VARIABLE = "ROOFLINE_CACHE"
"""Environment variable that names another folder."""


class CacheError(RuntimeError):
    """The cache folder can't be used. The message says why and what to do."""


def folder(environment: Mapping[str, str] = os.environ, platform: str = sys.platform) -> Path:
    """``$ROOFLINE_CACHE``, else ``pytest-roofline`` in the platform's cache folder. It may not exist yet.

    :raises CacheError: it is in a home folder that isn't known.
    """
    if environment.get(VARIABLE):
        return _in_home(Path(environment[VARIABLE]))
    if platform == "darwin":
        base = Path("~/Library/Caches")
    elif platform == "win32":
        base = Path(environment.get("LOCALAPPDATA") or "~/AppData/Local")
    else:
        base = Path(environment.get("XDG_CACHE_HOME") or "~/.cache")
    return _in_home(base) / "pytest-roofline"


def _in_home(path: Path) -> Path:
    try:
        return path.expanduser()
    except RuntimeError as error:
        raise CacheError(
            f"{VARIABLE}: the cache would be in {path}, and {path.parts[0]} is no known home folder; "
            f"set {VARIABLE} to a folder that can be written"
        ) from error


def key_of(machine: Machine) -> str:
    """Tell whose roofs are the same: the machine's fingerprint and, of a CPU, the number of torch's threads and the
    variables that keep its kernels from some of the instructions.
    """
    if machine.device.kind != "cpu":
        return machine.fingerprint
    kept_from = {name: machine.limits[name] for name in INSTRUCTIONS if name in machine.limits}
    digest = "-" + hashlib.sha256(json.dumps(kept_from).encode()).hexdigest()[:8] if kept_from else ""
    return f"{machine.fingerprint}-{machine.threads.get('intra_op')}threads{digest}"


@dataclass(frozen=True, slots=True)
class KeptRoofs:
    """The file with one machine's roofs, by `key_of`."""

    path: Path

    @classmethod
    def of(cls, machine: Machine) -> KeptRoofs:
        """:raises CacheError: there is no cache folder."""
        return cls(folder() / "roofs" / f"{key_of(machine)}.json")

    def read(self) -> tuple[Roof, ...]:
        """Read what was kept, each marked with the file. A file that is absent or damaged holds none.

        A roof whose value is none is left out, so that it is measured again.

        :raises CacheError: the file can't be read, as where its folder is no folder.
        """
        try:
            session = from_json(Session, json.loads(self.path.read_text(encoding="utf-8")), self.path.name)
        except FileNotFoundError:
            return ()
        except OSError as error:
            raise self._error("read", error) from error
        except (ValueError, RecursionError, RecordError):
            return ()
        return tuple(
            replace(roof, from_file=f"cache/{self.path.name}")
            for roof in session.roofs
            if roof.source == "measured" and usable(roof.value)
        )

    def keep(self, roofs: tuple[Roof, ...]) -> None:
        """Add roofs; of one name the new one stays.

        :raises CacheError: the file can't be read or written.
        """
        names = {roof.name for roof in roofs}
        older = tuple(replace(roof, from_file=None) for roof in self.read() if roof.name not in names)
        at = max((roof.measured_at or "" for roof in roofs), default="")
        content = to_json(Session(started_at=at, label="kept roofs", roofs=(*roofs, *older)))
        try:
            write_text(self.path, json.dumps(content, indent=1))
        except OSError as error:
            raise self._error("write", error) from error

    def forget(self) -> bool:
        """Delete the file; whether there was one.

        :raises CacheError: it can't be deleted.
        """
        try:
            self.path.unlink()
        except FileNotFoundError:
            return False
        except OSError as error:
            raise self._error("delete", error) from error
        return True

    def _error(self, verb: str, error: OSError) -> CacheError:
        why = error.strerror or error
        return CacheError(f"can't {verb} {self.path}: {why}. Set {VARIABLE} to a folder that can be written.")


def last_roofs(folder: Path, here: Machine) -> tuple[Roof, ...]:
    """Every roof as it was measured last on a machine of the same `key_of`, marked with the file it stands in.

    What was measured under a profiler is no roof of the machine, and a link is one of the ranks that measured it.
    """
    key = key_of(here)
    found: dict[tuple[str, str], Roof] = {}
    try:
        paths = [*folder.glob("*/*.json"), *folder.glob(f"*/*{journal.SUFFIX}")]
    except OSError:
        return ()  # `ResultsFile` says what is wrong with the folder
    for path in sorted(paths, key=lambda path: path.name, reverse=True):
        try:
            result = read_file(path)
        except ReadError:
            continue  # another tool's file, or one that is still empty
        machine, session = result.machine, result.session
        if machine is None or session is None or key_of(machine) != key or result.is_profiled:
            continue
        for roof in session.roofs:
            if roof.source == "measured" and roof.kind != "link" and roof.from_file is None and usable(roof.value):
                found.setdefault((roof.kind, roof.name), replace(roof, from_file=path.name))
    return tuple(found.values())
