"""``--gate BASELINE``: what there is to compare with, found before anything is measured, and the verdict after it.

The judging is ``roofline check``'s, in a process of its own. Here is only what keeps it from judging nothing: the
baseline is a list of files that were there before the run wrote its own, so that none is compared with itself.
"""

from __future__ import annotations

import json
import os
import shlex
import stat
from collections import deque
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path

from pytest_roofline import exit_codes
from pytest_roofline.session import analysis
from roofline.results import journal
from roofline.schema import record

SESSIONS_OF_A_BASELINE = 5
"""What the command that makes a baseline asks for: the gate has to know how far sessions of one code scatter."""


class NoBaseline(ValueError):
    """There is nothing to compare with. The message says why and how to make it."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Baseline:
    """``path`` as `plain` makes it, ``files`` the results there, and ``left_out`` why other files are none of it."""

    path: Path
    files: tuple[Path, ...]
    left_out: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class Gated:
    """What became of it: pytest's exit code for a run whose tests passed, and what to show."""

    code: int
    lines: tuple[str, ...]


def baseline(path: Path) -> Baseline:
    """The result files at ``path``, a file or a folder.

    :raises NoBaseline: none is there that can be compared with; or one of them, or a folder that may hold more of them,
        can't be read: what was measured there would be missing from the verdict without a word.
    """
    if not path.exists():
        raise NoBaseline("no such file or folder")
    path = plain(path)
    if not path.is_dir():
        fault = _fault(path)
        if fault is not None:
            raise NoBaseline(fault)
        return Baseline(path=path, files=(path,))
    faults = {found: _fault(found) for found in _results_under(path)}
    left_out = tuple(f"{found}: {fault}" for found, fault in faults.items() if fault is not None)
    files = tuple(found for found, fault in faults.items() if fault is None)
    broken = tuple(f"{found}: {fault}" for found, fault in faults.items() if fault not in (None, *_LEFT_OUT))
    if broken:
        raise NoBaseline(f"{'; '.join(broken)}. Remove what is broken from the folder, or restore it")
    if not files:
        raise NoBaseline("; ".join(left_out) or "a folder without a result file (*.json)")
    return Baseline(path=path, files=files, left_out=left_out)


def making(path: Path, arguments: Iterable[str], flags: Iterable[str]) -> str:
    """The command that makes a baseline, and which path it then has, as a sentence.

    :param arguments: pytest's command line.
    :param flags: to leave out of it, with their values: the gate's, and those that are set anew.
    """
    folder = path.with_suffix("") if path.suffix == ".json" else path
    command = ["pytest", *_without(arguments, frozenset(flags))]
    command += ["--roofline-sessions", str(SESSIONS_OF_A_BASELINE), "--roofline-results", str(folder)]
    named = "" if folder == path else f" and name that folder: --gate {shlex.quote(str(folder))}"
    return f"Make one with the code that is known to be good: {shlex.join(command)}{named}"


def plain(path: Path) -> Path:
    """A path that is there without ``..``, as people are shown it; but for where that leads elsewhere, as it may behind
    a link.
    """
    shorter = Path(os.path.normpath(path))
    return shorter if shorter.exists() and shorter.samefile(path) else path


def nothing_to_compare(path: Path, plain_benchmarks: int) -> str:
    """Why a run whose tests measure nothing is not held against ``path``, and what to do, as sentences.

    :param plain_benchmarks: how many of its tests use pytest-benchmark's own fixture.
    """
    if not plain_benchmarks:
        return "no test here measures, so there is nothing to compare."
    return (
        "no test here uses the fixture roofline, so there is nothing to compare. For those that use pytest-benchmark's"
        f" own ({plain_benchmarks} here), {comparing_plain_benchmarks(shlex.quote(str(path)))}"
    )


def comparing_plain_benchmarks(baseline: str) -> str:
    """What to do with tests that use pytest-benchmark's own fixture, as the end of a sentence.

    :param baseline: as a word of a command.
    """
    return (
        "let each run write a file, pytest --benchmark-json NEW/1.json, and ask: roofline check NEW --baseline"
        f" {baseline}"
    )


def objection(of: Baseline, options: Sequence[str]) -> str | None:
    """What ``roofline check`` has against the options, asked before anything is measured; None if nothing."""
    some = str(of.files[0])
    answer = analysis.ask("check", some, "--baseline", some, *options)
    told = answer.err.rpartition("Error: ")[2]
    # A file that an option names and that can't be used has the code of data: the answer begins with the option.
    return told if answer.code == _USAGE or told.startswith("--") else None


_USAGE = 2
"""The program's exit code for options that make no sense. That a file is held against itself is another one."""


def verdict(of: Baseline, new: Sequence[Path], options: Sequence[str], width: int) -> Gated:
    """Let ``roofline check`` hold a run's result files against the baseline.

    :param options: more of its options.
    """
    before = [argument for path in of.files for argument in ("--baseline", str(path))]
    answer = analysis.ask("check", *map(str, new), *before, *options, "--format", "table", "--width", str(width))
    code = exit_codes.of_check(answer.code)
    lines = [text for text in (answer.out, answer.err) if text]
    lines += [f"left out of the baseline: {reason}" for reason in of.left_out]
    said = {
        exit_codes.PASSED: "passed",
        exit_codes.FAILED: "FAILED: slower than the baseline",
    }.get(code, "FAILED: not all of it could be compared, or settled")
    return Gated(code=code, lines=(*lines, f"gate against {of.path}: {said}"))


_NO_RESULT, _NO_BENCHMARKS, _PROFILED = _LEFT_OUT = (
    "JSON, but no result of pytest-benchmark",
    "no benchmarks in it",
    "measured under a profiler, so it is no side of a comparison",
)
"""Of files that may lie in a folder of results, and are left out of the baseline."""


def _results_under(folder: Path) -> list[Path]:
    """The ``*.json`` of a folder and all below it and behind links, and the journals without one; and folders that
    can't be looked into, as reading them says why. Each folder is looked into once, wherever links lead in a circle.
    """
    closed: list[OSError] = []
    files: list[Path] = []
    entered: set[str] = set()
    pending = deque([folder])
    while pending:
        for place, folders, names in os.walk(pending.popleft(), onerror=closed.append):
            if (real := os.path.realpath(place)) in entered:
                folders.clear()
                continue
            entered.add(real)
            folders.sort()
            found = [Path(place, name) for name in names if name.casefold().endswith((".json", journal.SUFFIX))]
            files += [path for path in found if not journal.is_superseded(path)]
            pending += [link for name in folders if (link := Path(place, name)).is_symlink()]
    return sorted([*files, *(Path(error.filename) for error in closed)])


def _fault(path: Path) -> str | None:
    """Why the file is no result that something can be compared with; None where it may be one."""
    try:
        kind = path.stat().st_mode
        # A folder has an error of its own, which says whether it may be read. A pipe might never end.
        if not (stat.S_ISREG(kind) or stat.S_ISDIR(kind)):
            return "can't be read (no regular file)"
        document = journal.load(path)
    except OSError as error:
        return f"can't be read ({error.strerror or error})"
    except UnicodeDecodeError:
        return "not UTF-8 text"
    except json.JSONDecodeError as error:
        return "empty" if not error.doc.strip() else f"not JSON, or cut off (line {error.lineno}: {error.msg})"
    except journal.JournalError as error:
        return str(error)
    except RecursionError:
        return "JSON that can't be read: too deep"
    rows = document.get("benchmarks") if isinstance(document, dict) else None
    if not isinstance(rows, list):
        return _NO_RESULT
    if not rows:
        return _NO_BENCHMARKS
    return _PROFILED if any(map(_profiled, rows)) else None


def _profiled(row: object) -> bool:
    """Whether the row says that a profiler was around its process: ``roofline check`` takes no file with such a row.

    A row of any other shape is for the check to judge.
    """
    match row:
        case {"extra_info": {record.KEY: {"flags": [*flags]}}}:
            return any(isinstance(flag, dict) and flag.get("name") == "profiled" for flag in flags)
    return False


def _without(arguments: Iterable[str], flags: frozenset[str]) -> list[str]:
    kept = []
    value = False
    for argument in arguments:
        if value:
            value = False
        elif argument in flags:
            value = True
        elif argument.partition("=")[0] not in flags:
            kept.append(argument)
    return kept
