"""What a check prints: the forms, their order and what each has."""

from __future__ import annotations

import io
from pathlib import Path

import pandas as pd
import pytest

from tests.roofline import build
from tests.roofline.comparison import sessions
from tests.roofline.comparison.sessions import ID, TIMES
from tests.roofline.conftest import Run


def test_age_and_commit_of_the_baseline_are_shown(run: Run, tmp_path: Path) -> None:
    """GATE-07: a baseline may be 400 days old."""
    base = build.write(tmp_path / "base.json", sessions.document(TIMES, started_at="2025-10-16T10:00:00+00:00"))
    new = build.write(tmp_path / "new.json", sessions.document(TIMES, 10))
    _, out, _ = run("check", new, "--baseline", base)
    told = " ".join(out.split())
    assert "Baseline: 1 session of epyc-2cpu, commit 0123456789, 2025-10-16" in told


def test_rows_of_several_machines_name_theirs(run: Run, tmp_path: Path) -> None:
    """In a narrow terminal, too; and a side tells how many machines its sessions are of."""
    base, new = (
        [
            build.write(tmp_path / side / f"{label}.json", sessions.document({"resnet50": 0.1}, hour, label=label))
            for label in ("slow", "fast")
        ]
        for side, hour in (("base", 0), ("new", 1))
    )
    _, out, _ = run("check", *new, "--baseline", *base, "--width", 80)
    rows = [line.split()[:2] for line in out.splitlines() if line.startswith("resnet50")]
    assert sorted(rows) == [["resnet50-train", "fast"], ["resnet50-train", "slow"]]
    assert out.startswith("Undecided: no case shown to be slower, and none to be the same (2 inconclusive)\n")
    assert "Baseline: 2 sessions of 2 machines (slow, fast), commit 0123456789" in " ".join(out.split())


def test_json_is_records_with_what_the_gate_says_beside_them(run: Run, base: list[Path], new: list[Path]) -> None:
    """As pandas reads them, of the columns that CSV has; the exit code and standard error say what came of it."""
    code, out, err = run("check", new[0], "--baseline", base[0], "--strict", "--format", "json")
    made = pd.read_json(io.StringIO(out))
    assert made["case"].to_list() == ["resnet18-train-b32-fp32", ID]
    assert made["base_step_time_s"].to_list() == pytest.approx([0.01, 0.1], rel=0.01)
    assert set(made["verdict"]) == {"inconclusive"}
    failures, *notes = err.splitlines()[::-1]
    assert code == 3
    assert failures.startswith("Error: inconclusive, neither slower nor the same: ")
    assert "Coverage: 2 matched, 0 new, 0 removed, 0 invalid, 0 not comparable" in notes
    assert run("check", new[0], "--baseline", base[0], "--strict", "--format", "csv")[2] == err


def test_markdown_begins_with_the_verdict_and_what_the_gate_says(run: Run, tmp_path: Path, base: list[Path]) -> None:
    """For the summary of a CI run, which is read without standard error."""
    new = sessions.side(tmp_path / "new", {"resnet50": 0.15, "vgg16": 0.2}, first=10)
    code, out, err = run("check", *new, "--baseline", *base, "--format", "markdown")
    assert code == 1
    assert out.startswith("**Regression")
    said = [f"- {line}" for line in err.splitlines()]
    first = out.splitlines().index(said[0])
    assert out.splitlines()[first : first + len(said)] == said


def test_what_settles_inconclusive_cases_stands_below_the_table(run: Run, base: list[Path], new: list[Path]) -> None:
    """In a narrow terminal and in Markdown, of a check and of a comparison; with -v the reason of each case."""
    sides = (*new, "--baseline", *base)
    for words in (("check", *sides), ("check", *sides, "--format", "markdown"), ("compare", *base, "--with", *new)):
        _, out, _ = run(*words, "--width", 80)
        assert out.count("2 cases inconclusive: the least slowdown found") == 1
        assert "would look like this" not in out
        assert "markdown" in words or max(map(len, out.splitlines())) <= 80
    _, out, _ = run("check", *sides, "-v")
    assert "would look like this" in " ".join(out.split())


def test_two_tables_are_not_one(run: Run, base: list[Path], new: list[Path], tmp_path: Path) -> None:
    """They were one below the other in one file, which nothing reads."""
    given = ("check", new[0], "--baseline", base[0], "--expect")
    for more in (("--format", "csv"), ("--format", "json"), ("-o", tmp_path / "both.csv")):
        code, out, err = run(*given, *more)
        assert (code, out) == (2, "")
        assert "--baseline and --expect give two tables" in err


def test_what_is_not_as_expected_is_in_the_title(run: Run, base: list[Path], new: list[Path], tmp_path: Path) -> None:
    """Though no case is slower: the exit code is 1, and no form begins with "passed"."""
    file = tmp_path / "e.toml"
    file.write_text(f"[[expected]]\ncase = '{ID}'\nbound = 'capacity'\n")
    code, out, err = run("check", *new, "--baseline", *base, "--expect", file)
    assert code != 0
    assert out.startswith("Not ")
    assert err.splitlines()[-1].startswith("Error: Expected bounds: 1 ")
