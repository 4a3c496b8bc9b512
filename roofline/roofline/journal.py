"""The journal of a run: what has finished so far, a line for each test, on disk before the next one begins.

The first line holds the pytest-benchmark document without its rows, and of the tests that are planned the full names,
each with the id of its case.
Each later line holds what its test added: rows by their place in the document, why a case has no number, and values of
the session that changed. A run that ends makes its JSON and removes the journal; of one that was killed it stays.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

from roofline.record import KEY
from roofline.written_files import write_text

SUFFIX = ".journal"


class JournalError(ValueError):
    """A journal without its first line: nothing of it can be read."""


def is_journal(path: Path) -> bool:
    return path.suffix.casefold() == SUFFIX


def is_superseded(path: Path) -> bool:
    """Whether it is a journal whose JSON has been made."""
    return is_journal(path) and path.with_suffix(".json").exists()


def load(path: Path) -> Any:
    """Load the JSON values of a results file, or of the one that a journal stands for.

    :raises OSError: it can't be read.
    :raises ValueError: it isn't JSON, or no journal.
    """
    text = path.read_text(encoding="utf-8-sig")
    return document(text) if is_journal(path) else json.loads(text)


def recover(path: Path) -> Path:
    """Make the JSON that the run of a journal did not come to make, beside it. The journal stays.

    :returns: its path.
    :raises OSError: the journal can't be read, or the JSON can't be written.
    :raises ValueError: it is no journal.
    """
    made = path.with_suffix(".json")
    write_text(made, json.dumps(load(path), indent=1, allow_nan=False))
    return made


def document(text: str) -> dict[str, Any]:
    """Build the pytest-benchmark document that a journal stands for. A line that is cut off is told in its notes.

    :raises JournalError: the first line is missing or cut off.
    """
    first, *rest = text.splitlines() or [""]
    try:
        begun = json.loads(first)
        content, planned = begun["document"], begun["planned"]
        session = content[KEY]
    except (ValueError, KeyError, TypeError) as error:
        raise JournalError("its first line is missing or cut off, so nothing in it can be used") from error
    rows: dict[int, Any] = {}
    finished: list[str] = []
    cut_off = []
    for number, line in enumerate(rest, 2):
        try:
            added = json.loads(line)
        except ValueError:
            cut_off.append(f"line {number} of the run's journal is cut off: what it held is lost")
            continue
        rows |= {int(place): row for place, row in added["rows"].items()}
        session["not_measured"] += added["not_measured"]
        session |= added["session"]
        finished += added["finished"]
    content["benchmarks"] = [rows[place] for place in sorted(rows)]
    session |= progress(planned, finished)
    session["notes"] = [*session["notes"], *cut_off]
    return dict(content)


def progress(planned: Mapping[str, str], finished: Iterable[str]) -> dict[str, Any]:
    """What a session says of how far its run came, as the fields of `roofline.record.Session`.

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
