"""``--gate BASELINE``: what there is to compare with, found before anything is measured, and the verdict after it.

The judging is ``roofline check``'s. Here is only what keeps it from judging nothing: the baseline is a list of files
that were there before the run wrote its own, so that none is compared with itself.
"""

from __future__ import annotations

import os
import re
import shlex
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path

from pytest_roofline import pytest_exit_codes
from pytest_roofline.session import analysis

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

    Files of a folder that are no result, have no benchmarks or were measured under a profiler are left out of it.

    :raises NoBaseline: none is there that can be compared with; or one of them, or a folder that may hold more of them,
        can't be read: what was measured there would be missing from the verdict without a word.
    """
    from roofline.files.text import ReadError
    from roofline.results.reader import NoBenchmarksError, NoResultError, read_file, result_files

    if not path.exists():
        raise NoBaseline("no such file or folder")
    path = plain(path)
    files: list[Path] = []
    left_out: list[str] = []
    broken: list[str] = []
    for found, named in result_files([path]):
        try:
            records = [row.record for row in read_file(found).benchmarks]
            if any(flag.name == "profiled" for record in records if record is not None for flag in record.flags):
                raise NoResultError(f"{found}: measured under a profiler, so it is no side of a comparison")
        except ReadError as error:
            if named:
                raise NoBaseline(re.sub(r"^(:\d+)?: ", "", _first([str(error)]).removeprefix(str(found)))) from error
            kept_apart = isinstance(error, NoResultError | NoBenchmarksError)
            (left_out if kept_apart else broken).append(str(error))
        else:
            files.append(found)
    if broken:
        raise NoBaseline(f"{_first(broken)}. Remove what is broken from the folder, or restore it")
    if not files:
        raise NoBaseline(_first(left_out) or "a folder without a result file (*.json)")
    return Baseline(path=path, files=tuple(files), left_out=tuple(left_out))


def _first(reasons: Sequence[str]) -> str:
    """The first of them, and how many more there are, without the full stop at the end."""
    more = f" (and {len(reasons) - 1} more)" if len(reasons) > 1 else ""
    return f"{reasons[0].removesuffix('.')}{more}" if reasons else ""


def making(path: Path, arguments: Iterable[str], flags: Iterable[str]) -> str:
    """The command that makes a baseline, and which path it then has, as a sentence.

    :param arguments: pytest's command line.
    :param flags: to leave out of it, with their values: the gate's, and those that are set anew.
    """
    folder = path.with_suffix("") if path.suffix == ".json" or path.is_file() else path
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
    import click

    from roofline.cli.check import check
    from roofline.cli.inputs import device_table
    from roofline.schema.expected_file import ExpectedFileError, read

    some = str(of.files[0])
    try:
        given = check.make_context("check", [some, "--baseline", some, *options]).params
        device_table(given["devices"])
        if given["expect"]:
            read(Path(given["expect"]))
    except click.ClickException as error:
        return error.format_message()
    except ExpectedFileError as error:
        return f"--expect: {error}"
    except click.exceptions.Exit:
        return "asking for help is no check"
    return None


def verdict(of: Baseline, new: Sequence[Path], options: Sequence[str], width: int) -> Gated:
    """Let ``roofline check`` hold a run's result files against the baseline.

    :param options: more of its options.
    """
    before = [argument for path in of.files for argument in ("--baseline", str(path))]
    answer = analysis.ask("check", *map(str, new), *before, *options, "--format", "table", "--width", str(width))
    code = pytest_exit_codes.of_check(answer.code)
    lines = [text for text in (answer.out, answer.err) if text]
    lines += [f"left out of the baseline: {reason}" for reason in of.left_out]
    said = {
        pytest_exit_codes.PASSED: "passed",
        pytest_exit_codes.FAILED: "FAILED: slower than the baseline",
    }.get(code, "FAILED: not all of it could be compared, or settled")
    return Gated(code=code, lines=(*lines, f"gate against {of.path}: {said}"))


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
