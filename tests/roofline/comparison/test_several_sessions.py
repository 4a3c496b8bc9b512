"""What some of a side's sessions lack: the gate was meant to see all of them, and what is left may not be enough."""

from __future__ import annotations

import copy
import math
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from roofline.schema.record import KEY
from tests.roofline.comparison import sessions
from tests.roofline.comparison.sessions import ID, TIMES, disproved, errored, record_of, remove, row_of
from tests.roofline.conftest import Run

Change = Callable[[dict[str, Any]], object]

SESSIONS = 5


@pytest.fixture
def base(tmp_path: Path) -> list[Path]:
    return sessions.side(tmp_path / "base", TIMES, count=SESSIONS)


@pytest.fixture
def new(tmp_path: Path) -> list[Path]:
    return sessions.side(tmp_path / "new", TIMES, count=SESSIONS, first=10)


def _not_a_number(content: dict[str, Any]) -> None:
    record_of(content)["timing"]["rounds"]["wall_s"][3] = math.nan


def _failed(content: dict[str, Any]) -> None:
    remove(content)
    content[KEY]["not_measured"] = [{"id": ID, "outcome": "failed", "reason": "assert 1 == 2"}]


_INVALID: dict[str, tuple[Change, str]] = {
    "disproved": (disproved, "precision_disproved: 3 products ran in tf32"),
    "not a number": (_not_a_number, "a round's time in the record is not a time"),
    "failed after it measured": (errored, "test_failed: the test measured, but did not pass"),
}
_MISSING: dict[str, tuple[Change, str]] = {
    "removed": (remove, "not in "),
    "failed": (_failed, "(failed: assert 1 == 2)"),
}


def _line(err: str, kind: str) -> str:
    return next(line for line in err.splitlines() if line.startswith(f"{kind}: ") and ID in line and "sessions" in line)


@pytest.mark.parametrize(("change", "reason"), _INVALID.values(), ids=_INVALID)
def test_invalid_in_most_of_the_new_sessions(
    run: Run, base: list[Path], new: list[Path], change: Change, reason: str
) -> None:
    """3 of 5: the other two are no measurement of the case. Exit code 3, and an error."""
    sessions.edit(new[:3], change)
    code, out, err = run("check", *new, "--baseline", *base, "--width", 400)
    line = _line(err, "Error")
    assert code == 3
    assert "1 matched, 0 new, 0 removed, 1 invalid, 0 not comparable\n" in out
    assert "3 of 5 new sessions invalid" not in out  # as the error says
    assert line.startswith(f"Error: invalid: {ID}: 3 of 5 new sessions invalid: {reason}")
    assert f"({new[0]} and 2 more)" in line


@pytest.mark.parametrize(("change", "reason"), _INVALID.values(), ids=_INVALID)
def test_invalid_in_a_few_of_the_new_sessions(
    run: Run, base: list[Path], new: list[Path], change: Change, reason: str
) -> None:
    """2 of 5: a warning, no "same", and under --strict exit code 3."""
    sessions.edit(new[:2], change)
    options = ("--least-effect", "50%")
    code, out, err = run("check", *new, "--baseline", *base, *options)
    assert code == 0
    assert out.startswith("Passed: no case shown to be slower; 1 of 2 inconclusive (1 inconclusive, 1 same)")
    told = " ".join(out.split())
    assert f"inconclusive: {ID}: no difference that matters, but not in every session: 2 of 5 new" in told
    assert told.count("2 of 5 new sessions invalid") == 1
    assert _line(err, "Warning").startswith(f"Warning: {ID}: 2 of 5 new sessions invalid: {reason}")
    code, _, err = run("check", *new, "--baseline", *base, *options, "--strict")
    assert code == 3
    assert _line(err, "Error").startswith(f"Error: {ID}: 2 of 5 new sessions invalid: {reason}")


@pytest.mark.parametrize(("change", "reason"), _MISSING.values(), ids=_MISSING)
def test_missing_from_new_sessions(run: Run, base: list[Path], new: list[Path], change: Change, reason: str) -> None:
    """From 2 of 5 a warning, which --strict makes a failure; from 3 as removed, which may be allowed."""
    sessions.edit(new[:2], change)
    code, _, err = run("check", *new, "--baseline", *base)
    line = _line(err, "Warning")
    assert code == 0
    assert line.startswith(f"Warning: {ID}: missing from 2 of 5 new sessions: not in {new[0]} and 1 more")
    assert reason in line
    assert run("check", *new, "--baseline", *base, "--least-effect", "50%")[0] == 0
    assert run("check", *new, "--baseline", *base, "--least-effect", "50%", "--strict")[0] == 3
    sessions.edited(new[2], change)
    code, out, err = run("check", *new, "--baseline", *base)
    assert code == 3
    assert "1 matched, 0 new, 1 removed" in out
    assert _line(err, "Error").startswith(f"Error: removed: {ID}: missing from 3 of 5 new sessions: not in {new[0]}")
    code, _, err = run("check", *new, "--baseline", *base, "--allow-removed")
    assert code == 0
    assert _line(err, "Warning").startswith(f"Warning: removed: {ID}: missing from 3 of 5")


@pytest.mark.parametrize(
    ("change", "told"),
    [(disproved, "4 of 5 baseline sessions invalid"), (remove, "missing from 4 of 5 baseline sessions")],
)
def test_on_the_baselines_side(run: Run, base: list[Path], new: list[Path], change: Change, told: str) -> None:
    """A warning however many, as what is left is compared with less certainty; exit code 3 under --strict."""
    sessions.edit(base[:4], change)
    options = ("--least-effect", "50%")
    code, _, err = run("check", *new, "--baseline", *base, *options)
    assert code == 0
    assert _line(err, "Warning").startswith(f"Warning: {ID}: {told}: ")
    code, _, err = run("check", *new, "--baseline", *base, *options, "--strict")
    assert code == 3
    assert _line(err, "Error").startswith(f"Error: {ID}: {told}: ")


def test_a_regression_is_told_though_sessions_lack_it(run: Run, tmp_path: Path, base: list[Path]) -> None:
    """Four of five sessions show it: exit code 1."""
    new = sessions.side(tmp_path / "new", {**TIMES, "resnet50": 0.1 * sessions.SLOWER}, count=SESSIONS, first=10)
    sessions.edited(new[0], disproved)
    code, _, err = run("check", *new, "--baseline", *base)
    assert code == 1
    assert f"Error: slower: {ID}" in err
    assert _line(err, "Warning").startswith(f"Warning: {ID}: 1 of 5 new sessions invalid")


@pytest.mark.parametrize("where", ["base", "new"])
@pytest.mark.parametrize(
    ("content", "reason"),
    [
        (None, "truncated, the JSON ends in the middle"),
        ('{"benchmarks": []}', "no benchmarks in it"),
    ],
    ids=["truncated", "no benchmarks"],
)
def test_a_file_of_a_folder_that_can_not_be_read(
    run: Run, base: list[Path], new: list[Path], where: str, content: str | None, reason: str
) -> None:
    """Exit code 3 on either side, as of a file that was named; the cases of the others are compared."""
    path = (base if where == "base" else new)[1]
    path.write_text(path.read_text()[:1000] if content is None else content)
    code, out, err = run("check", new[0].parent, "--baseline", base[0].parent, "--width", 400)
    line = next(line for line in err.splitlines() if str(path) in line)
    assert code == 3
    assert line.startswith("Error: not read: ")
    assert reason in line
    assert "2 matched" in out
    assert f"not read: {path}" not in out  # as the error says


def test_another_tools_json_in_a_folder_is_passed_over(run: Run, base: list[Path], new: list[Path]) -> None:
    """Nothing says that it was ever a result; it is told."""
    for content in ("[1, 2]", '{"name": "a package"}'):
        path = new[0].parent / "other.json"
        path.write_text(content)
        code, out, err = run("check", path.parent, "--baseline", base[0].parent, "--width", 400)
        assert code == 0
        assert "Error" not in err
        assert f"{path}: JSON, but no pytest-benchmark result" in out


def test_a_row_that_stands_twice_is_told(run: Run, base: list[Path], new: list[Path]) -> None:
    """The last is taken, as of a test that was run again."""

    def run_again(content: dict[str, Any]) -> None:
        content["benchmarks"].append(copy.deepcopy(row_of(content)))
        disproved(content)

    sessions.edited(new[0], run_again)
    code, out, err = run("check", *new, "--baseline", *base, "--width", 400)
    assert (code, "invalid" in err) == (0, False)
    assert f"{new[0]}: 2 rows of {ID}: the last was taken" in out
