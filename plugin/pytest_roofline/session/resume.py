"""Go on with a run that did not come to its end: find its file, and hold it against the run that goes on with it."""

from __future__ import annotations

import json
import os
from collections.abc import Iterator, Mapping
from contextlib import suppress
from dataclasses import dataclass
from functools import partial
from hashlib import sha256
from pathlib import Path
from typing import Any

from pytest_roofline.device.system import run_program
from pytest_roofline.session.results_file import is_held
from roofline.files.writing import sync_folder, write_text
from roofline.results import journal
from roofline.results.benchmark_fields import commit_of
from roofline.results.journal import Journal, JournalError
from roofline.schema.record import KEY, Record
from roofline.schema.record_json import RecordError, from_json
from roofline.schema.session import Machine, NotMeasured, Session
from roofline.text.units import short_commit, some_of


class NotResumed(Exception):
    """A run can't be gone on with. The message says which, why, and what to do."""


@dataclass(frozen=True, slots=True, kw_only=True)
class EarlierRun:
    """What a run that did not come to its end has measured.

    :param journal: the file to which is added.
    :param rows: of its document, as they stand there.
    :param finished: full names of the tests that have ended, those that measured roofs among them.
    :param died_in: the full name of the test in which its process ended without a word; it isn't run again.
    """

    journal: Path
    rows: tuple[dict[str, Any], ...]
    session: Session
    finished: frozenset[str]
    died_in: str | None = None

    def ended(self, test: str) -> bool:
        """Tell whether the test isn't to be run again."""
        return test in self.finished or test == self.died_in


CHANGES = "changes"
"""Of a file's ``commit_info``: the digest of `changes`; None or absent where it isn't known."""


def changes() -> str | None:
    """Digest what differs from the commit of the current folder: tracked files, and Python files that aren't tracked.

    :returns: None without a git repository.
    """
    git = partial(run_program, timeout_s=60, environment=os.environ)
    changed = git(("git", "diff", "--no-ext-diff", "--full-index", "HEAD"))
    code = (":/*.py", ":(exclude,top)*site-packages/*")
    untracked = git(("git", "ls-files", "--others", "--exclude-standard", "-z", "--", *code))
    if changed.code != 0 or untracked.code != 0:
        return None
    digest = sha256(changed.out.encode())
    for name in filter(None, untracked.out.split("\0")):
        digest.update(name.encode())
        with suppress(OSError):  # a link that leads nowhere
            digest.update(Path(name).read_bytes())
    return digest.hexdigest()[:12]


def newest(folder: Path) -> Path:
    """Find the newest results in a machine's folder whose run did not come to its end, and doesn't measure any more.

    :raises NotResumed: there are none.
    """
    measuring: list[Path] = []
    files = [one for ending in (".json", journal.SUFFIX) for one in folder.glob(f"*{ending}")]
    for path in sorted(files, key=lambda one: one.stem, reverse=True):
        if journal.is_superseded(path):
            continue
        try:
            if _session(journal.load(path), path).complete:
                continue
            held = is_held(path)
        except (OSError, ValueError, NotResumed):
            continue  # another tool's file, or one that is empty or damaged: named by itself, it says so
        if not held:
            return path
        measuring.append(path)
    if measuring:
        return measuring[0]  # its file says that it can't be opened
    raise NotResumed(
        f"{folder}: no run in it that did not come to its end. Give the -n that it was begun with, or leave the flag"
        " out to begin one."
    )


def earlier(
    path: Path, machine: Machine, now: Session, commit_info: Mapping[str, Any], planned: Mapping[str, str]
) -> EarlierRun:
    """Read what is to be gone on with. The JSON of a run that was stopped becomes a journal again.

    :param machine: the one that is to go on with it, with its session ``now``.
    :param planned: ids of its cases by the full names of their tests.
    :raises NotResumed: it can't be read or written, has come to its end, or is of another run.
    """
    begun = _begun(path, planned)
    session = _session(begun.document, path)
    if session.complete and begun.finished.issuperset(begun.planned):
        raise NotResumed(f"{path}: its run came to its end. Leave the flag out to measure anew.")
    others = [
        *_other_cases(session, begun.planned, planned),
        *_other_machine(_machine(begun.document, path), machine),
        *_other_code(begun.document.get("commit_info"), commit_info),
        *_differing(session.settings, now.settings, absent="not given"),
    ]
    if others:
        raise NotResumed(
            f"{path} is of another run: {'; '.join(others)}. Go on with it as it was begun, or"
            " measure anew without resuming it."
        )
    rows = _rows(begun.document, path)
    died_in = begun.running if begun.running in planned else None
    return EarlierRun(
        journal=path if journal.is_journal(path) else _journal_again(path, begun),
        rows=rows,
        session=session,
        finished=begun.finished | {row["fullname"] for row in rows},
        died_in=died_in,
    )


def died(earlier: EarlierRun, planned: Mapping[str, str]) -> NotMeasured | None:
    """Say why the case in which the earlier run's process ended has no number; None where it ended in none."""
    if earlier.died_in is None:
        return None
    reason = "the run's process hung, was killed or died while it ran; it was left out when the run was resumed"
    return NotMeasured(id=planned[earlier.died_in], outcome="error", reason=reason)


def _begun(path: Path, planned: Mapping[str, str]) -> Journal:
    try:
        text = path.read_text(encoding="utf-8-sig", errors=journal.ERRORS)
        if journal.is_journal(path):
            return journal.read(text)
        document = json.loads(text)
        session = _session(document, path)
        # It has no names of tests. That its cases are these, each of one test, is looked at with the others.
        left = {*session.not_run}
        cases = {test: case for test, case in planned.items() if session.planned == len(planned)}
        finished = frozenset(test for test, case in cases.items() if case not in left)
        if not left <= {*cases.values()} or len(finished) != session.finished:
            cases = {}
        return Journal(document, cases, finished, None)
    except OSError as error:
        raise NotResumed(f"{path}: can't be read ({error.strerror}).") from error
    except JournalError as error:
        raise NotResumed(f"{path}: {error}. Leave the flag out to measure anew.") from error
    except (ValueError, RecursionError) as error:
        raise NotResumed(f"{path}: no results of a run: {error}") from error


def _journal_again(path: Path, begun: Journal) -> Path:
    """Make the journal of a run from its JSON, which then goes: what is read from now on has all that is added."""
    made = path.with_suffix(journal.SUFFIX)
    first = {"document": {**begun.document, "benchmarks": []}, "planned": begun.planned}
    rows = dict(enumerate(begun.document["benchmarks"]))
    then = {"finished": sorted(begun.finished), "rows": rows, "not_measured": [], "session": {}}
    try:
        write_text(made, "".join(json.dumps(line) + "\n" for line in (first, then)))
        path.unlink()
        sync_folder(path.parent)
    except OSError as error:
        raise NotResumed(f"{made}: can't be written ({error.strerror}).") from error
    return made


def _rows(document: Any, path: Path) -> tuple[dict[str, Any], ...]:
    """:raises NotResumed: one is damaged: a run that goes on would write it anew."""
    try:
        rows = tuple(document["benchmarks"])
        for row in rows:
            from_json(Record, row["extra_info"][KEY], str(row["fullname"]))
    except (KeyError, TypeError, RecordError) as error:
        raise NotResumed(f"{path}: a row of it is damaged ({error}). Leave the flag out to measure anew.") from error
    return rows


def _session(document: Any, path: Path) -> Session:
    try:
        return from_json(Session, document[KEY], path.name)
    except (KeyError, TypeError, RecordError) as error:
        raise NotResumed(f"{path}: no run of this suite wrote it, so nothing says what it was to measure.") from error


def _machine(document: Any, path: Path) -> Machine:
    try:
        return from_json(Machine, document["machine_info"][KEY], path.name)
    except (KeyError, TypeError, RecordError) as error:
        raise NotResumed(f"{path}: it doesn't say which machine it is of.") from error


def _other_cases(session: Session, before: Mapping[str, str], now: Mapping[str, str]) -> Iterator[str]:
    if not before:
        yield f"it was to measure {session.planned} cases, of which this command has not the same {len(now)}"
    elif before != now:
        gone, new = sorted(before.keys() - now.keys()), sorted(now.keys() - before.keys())
        parts = [f"{what} {some_of(tests)}" for what, tests in (("without", gone), ("and in addition", new)) if tests]
        yield f"this command measures other cases ({' '.join(parts) or 'under other names'})"


def _other_machine(before: Machine, now: Machine) -> Iterator[str]:
    if before.fingerprint != now.fingerprint:
        had, has = (one.limits.get("effective_cpus") for one in (before, now))
        yield (
            f"another machine ({before.label})"
            if had == has
            else f"it had {had} CPUs, this has {has} (-n divides them)"
        )
    yield from _differing(before.versions, now.versions)
    for kind, had in before.threads.items():
        if had != (has := now.threads.get(kind)):
            yield f"torch had {had} {kind} threads, has {has}"


def _other_code(before: Any, now: Mapping[str, Any]) -> Iterator[str]:
    known = [commit_of(one if isinstance(one, Mapping) else {}) for one in (before, now)]
    (old, was_dirty), (new, is_dirty) = known
    if old != new:
        was, is_now = (short_commit(one) if one else "not recorded" for one in (old, new))
        yield f"its commit is {was}, this one {is_now}"
    elif bool(was_dirty) != bool(is_dirty):
        yield "one of both has changes beside the commit"
    else:
        had, has = (one.get(CHANGES) if isinstance(one, Mapping) else None for one in (before, now))
        if None not in (had, has) and had != has:
            yield f"the changes beside its commit were others ({had}, now {has})"


def _differing(
    before: Mapping[str, str | None], now: Mapping[str, str | None], *, absent: str = "not recorded"
) -> Iterator[str]:
    for name in sorted({*before, *now}):
        if before.get(name) != now.get(name):
            yield f"{name} was {before.get(name) or absent}, is {now.get(name) or absent}"
