"""The journal of a run: what has finished so far, a line for each test, on disk before the next one begins.

The first line holds the pytest-benchmark document without its rows, and of the tests that are planned the full names,
each with the id of its case. Each later line holds what its test added: rows by their place in the document, why a case
has no number, and values of the session that changed; or that a test has begun. A run that ends makes its JSON and
removes the journal; of one that was killed it stays, and `--resume` adds to it.
"""

from __future__ import annotations

import errno
import json
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from roofline.files.writing import write_text
from roofline.schema.record import KEY
from roofline.schema.record_json import strict

SUFFIX = ".journal"

ERRORS = "backslashreplace"
"""How a journal is decoded: a byte that isn't UTF-8 then is no JSON either, and damages its own line alone."""


class JournalError(ValueError):
    """A journal whose first line is missing or damaged: nothing of it can be read."""


def is_journal(path: Path) -> bool:
    return path.suffix.casefold() == SUFFIX


def is_superseded(path: Path) -> bool:
    """Tell whether it is a journal whose JSON has been made."""
    return is_journal(path) and path.with_suffix(".json").exists()


def load(path: Path) -> Any:
    """Load the JSON values of a results file, or of the one that a journal stands for.

    :raises OSError: it can't be read.
    :raises ValueError: it isn't JSON, or no journal.
    """
    if is_journal(path):
        return read(path.read_text(encoding="utf-8-sig", errors=ERRORS)).document
    return json.loads(path.read_text(encoding="utf-8-sig"))


def recover(path: Path) -> Path:
    """Make the JSON that the run of a journal did not come to make, beside it. The journal stays.

    :returns: its path.
    :raises FileExistsError: it has been made. The run itself may have, with more in it.
    :raises OSError: the journal can't be read, or the JSON can't be written.
    :raises ValueError: it is no journal.
    """
    made = path.with_suffix(".json")
    if made.exists():
        raise FileExistsError(errno.EEXIST, "it is there already; remove it to have it made anew", str(made))
    write_text(made, json.dumps(strict(load(path)), indent=1, allow_nan=False))
    return made


@dataclass(frozen=True, slots=True)
class Journal:
    """What a journal holds.

    :param document: the pytest-benchmark document that it stands for. A line that can't be used is named in its notes.
    :param planned: ids of cases by the full names of the tests that measure them.
    :param finished: full names of the tests that have ended.
    :param running: the test that had begun and not ended when the last line was written.
    """

    document: dict[str, Any]
    planned: dict[str, str]
    finished: frozenset[str]
    running: str | None


def read(text: str) -> Journal:
    """Read a journal.

    :raises JournalError: the first line is missing, cut off or damaged.
    """
    first, *rest = text.splitlines() or [""]
    try:
        begun = json.loads(first)
        content, planned = dict(begun["document"]), dict(begun["planned"])
        session = dict(content[KEY])
        not_measured, notes = list(session["not_measured"]), list(session["notes"])
    except (ValueError, KeyError, TypeError) as error:
        raise JournalError("its first line is missing, cut off or damaged, so nothing in it can be used") from error
    rows: dict[int, Any] = {}
    finished: set[str] = set()
    damaged: dict[str, int] = {}
    running: str | None = None
    for number, line in enumerate(rest, 2):
        try:
            added = json.loads(line)
            if "began" in added:
                running = str(added["began"])
                continue
            its_rows = {int(place): row for place, row in added["rows"].items()}
            reasons, changed, ended = list(added["not_measured"]), dict(added["session"]), set(added["finished"])
        except (ValueError, KeyError, TypeError, AttributeError):
            notes.append(f"line {number} of the run's journal is cut off or damaged: what it held is lost")
            if running is not None and running not in finished:
                damaged.setdefault(running, number)
            continue
        rows |= its_rows
        not_measured += reasons
        session |= changed
        finished |= ended
    content["benchmarks"] = [rows[place] for place in sorted(rows)]
    lost = {test: number for test, number in damaged.items() if test in planned and test not in finished}
    not_measured += [_lost(planned[test], number) for test, number in lost.items()]
    content[KEY] = session | progress(planned, finished | lost.keys()) | {"not_measured": not_measured, "notes": notes}
    return Journal(content, planned, frozenset(finished), None if running in finished else running)


def _lost(case: str, line: int) -> dict[str, str]:
    """The reason of a case that had begun before a damaged line, as `roofline.schema.session.NotMeasured` has it."""
    reason = f"it began, and line {line} of the journal, which may have held it, is damaged"
    return {"id": case, "outcome": "error", "reason": reason}


def progress(planned: Mapping[str, str], finished: Iterable[str]) -> dict[str, Any]:
    """Give what a session says of how far its run came, as the fields of `roofline.schema.session.Session`.

    :param planned: ids of cases by the full names of the tests that measure them.
    :param finished: full names of tests that have ended, whatever came of them, and of any others.
    """
    ended = set(finished)
    not_run = [case for test, case in planned.items() if test not in ended]
    return {
        "complete": not not_run,
        "planned": len(planned),
        "finished": len(planned) - len(not_run),
        "not_run": not_run,
    }
