"""``--gate BASELINE``: what there is to compare with, found before anything is measured, and the verdict after it.

The judging is ``roofline check``'s. Here is only what keeps it from judging nothing: the baseline is a list of files
that were there before the run wrote its own, so that none is compared with itself.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from pytest_roofline.session.gating import analysis


class NoBaseline(ValueError):
    """There is nothing to compare with. The message says why."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Baseline:
    """``path`` as it was given, ``files`` the results there, and ``left_out`` why other files are none of it.

    ``options`` are those of `options_of_check` to judge by.
    """

    path: Path
    files: tuple[Path, ...]
    options: Mapping[str, Any]
    left_out: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class Gated:
    """What a gate says: pytest's exit code for a run whose tests passed, and what to show."""

    code: int
    lines: tuple[str, ...]


def baseline(path: Path, options: Mapping[str, Any]) -> Baseline:
    """The result files at ``path``, a file or a folder.

    Files of a folder that are no result, have no benchmarks or were measured under a profiler are left out of it.

    :raises NoBaseline: none is there that can be compared with; or one of them, or a folder that may hold more of them,
        can't be read: what was measured there would be missing from the verdict without a word.
    """
    from roofline.files.decoding import ReadError
    from roofline.results.reader import NoBenchmarksError, NoResultError, read_file, result_files

    if not path.exists():
        raise NoBaseline("no such file or folder")
    files: list[Path] = []
    left_out: list[str] = []
    broken: list[str] = []
    for found, named in result_files([path]):
        try:
            if read_file(found).is_profiled:
                raise NoResultError(found, "measured under a profiler, so it is no side of a comparison")
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
    return Baseline(path=path, files=tuple(files), options=options, left_out=tuple(left_out))


def _first(reasons: Sequence[str]) -> str:
    """The first of them, and how many more there are, without the full stop at the end."""
    more = f" (and {len(reasons) - 1} more)" if len(reasons) > 1 else ""
    return f"{reasons[0].removesuffix('.')}{more}" if reasons else ""


def options_of_check(words: Sequence[str], *, verbose: bool = False) -> dict[str, Any]:
    """Options of ``roofline check`` as its `judge_results` takes them, but for the sides.

    :param verbose: whether pytest was asked for more, by its own ``-v``.
    :raises ValueError: the command has something against them, or they are not for judging.
    """
    import click

    from roofline.cli.compare_and_gate.check import check
    from roofline.cli.compare_and_gate.judging_options import settings_of
    from roofline.schema.expected_file import ExpectedFileError, read

    side = Path("NEW")
    try:
        given = check.make_context("check", [str(side), "--baseline", str(side), *words]).params
        given["settings"] = settings_of(given)
        if given["expect"]:
            read(Path(given["expect"]))
    except click.ClickException as error:
        raise ValueError(f"roofline check says: {error.format_message()}") from error
    except ExpectedFileError as error:
        raise ValueError(f"--expect: {error}") from error
    except click.exceptions.Exit as error:
        raise ValueError("asking for help is no check") from error
    shown = {name: given.pop(name) for name in ("form", "output", "junit")}
    if (given.pop("new"), given.pop("base"), shown["output"] or shown["junit"]) != ((side,), (side,), None):
        raise ValueError(
            "give options alone: the baseline is that of the gate, and `roofline check` itself writes files"
        )
    return {**given, "verbose": given["verbose"] or verbose}


def verdict(of: Baseline, new: Sequence[Path], width: int) -> Gated:
    """Hold a run's result files against the baseline, as ``roofline check`` does."""
    lines: list[str] = []
    code, open_ = int(pytest.ExitCode.USAGE_ERROR), ""
    try:
        with analysis.guarded():
            from roofline.cli.compare_and_gate.check import judge_results
            from roofline.comparison.gate import not_known

            judged = judge_results(new=new, base=of.files, **of.options)
            lines += analysis.rendered(judged.tables(verbose=of.options["verbose"]), width)
            lines += judged.gate.messages
            open_ = "" if judged.comparison is None else not_known(judged.comparison.counts)
            if judged.gate.exit_code in (0, 1):  # pytest's 3 says that pytest itself broke
                code = judged.gate.exit_code
    except analysis.AnalysisError as error:
        lines.append(f"Error: {error}")
    lines += [f"left out of the baseline: {reason}" for reason in of.left_out]
    said = {0: f"passed{open_}", 1: "FAILED: worse than the baseline"}.get(
        code, "FAILED: not all of it could be compared or judged"
    )
    return Gated(code=code, lines=(*lines, f"gate against {of.path}: {said}"))
