"""Work that both sides declare the same and count otherwise: told of the case, which is judged all the same."""

from __future__ import annotations

import csv
import io
import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest

from roofline.compare.counted import TOLERANCE
from roofline.compare.matching import match
from roofline.compare.sides import By, read_side
from roofline.devices import load
from roofline.record import KEY
from tests.roofline.compare import sessions
from tests.roofline.compare.sessions import ID, TIMES
from tests.roofline.conftest import Run


def _count(paths: Sequence[Path], **work: Any) -> None:
    """Let the sessions have counted this of each case."""

    def change(content: dict[str, Any]) -> None:
        for row in content["benchmarks"]:
            row["extra_info"][KEY]["work"].update(work)

    for path in paths:
        sessions.edited(path, change)


def _told(base: Sequence[Path], new: Sequence[Path], by: By = "time") -> str:
    """What is told of resnet50."""
    matching = match(read_side(base, by, load()), read_side(new, by, load()), by)
    (pair,) = (pair for pair in matching.pairs if pair.id == ID)
    assert pair.standing == "matched"
    return pair.counted


def test_the_same_count_is_no_note(run: Run, base: list[Path], new: list[Path]) -> None:
    """Nor is one that differs by what floats lose; nor a side that has none."""
    assert _told(base, new) == ""
    _count(new, flop_per_step=1e11 * (1 + TOLERANCE / 10))
    assert _told(base, new) == ""
    code, out, _ = run("check", *new, "--baseline", *base)
    assert (code, "Other work" in out) == (0, False)
    for path in new:
        sessions.edited(path, lambda content: sessions.record_of(content).update(work=None))
    assert _told(base, new) == ""


@pytest.mark.parametrize(("slower", "code"), [(1.0, 0), (sessions.SLOWER, 1)])
def test_other_work_is_told_and_gated(run: Run, tmp_path: Path, base: list[Path], slower: float, code: int) -> None:
    """A tenth of the FLOP saved may be what was meant: the times decide, and each form has both counts."""
    new = sessions.side(tmp_path / "new", {**TIMES, "resnet50": 0.1 * slower}, first=10)
    for path in new:
        sessions.edited(path, lambda content: sessions.record_of(content)["work"].update(flop_per_step=9e10))
    told = (
        "counted 100 GFLOP a step in the baseline, 90.0 GFLOP in new: the model's computation changed, or how it is"
        " counted (torch 2.14.1 on both sides)"
    )
    got, out, _ = run("check", *new, "--baseline", *base)
    assert got == code
    assert f"Other work: {ID}: {told}" in " ".join(out.split())
    _, out, _ = run("check", *new, "--baseline", *base, "--format", "json")
    document = json.loads(out)
    assert {row["case"]: row["counted_otherwise"] for row in document["rows"]} == {
        ID: told,
        "resnet18-train-b32-fp32": None,
    }
    assert f"Other work: {ID}: {told}" in document["notes"]
    _, out, _ = run("compare", *base, "--with", *new, "--format", "csv")
    assert [row["counted_otherwise"] for row in csv.DictReader(io.StringIO(out)) if row["case"] == ID] == [told]
    _, out, _ = run("compare", *base, "--with", *new, "--format", "markdown")
    assert f"\n- Other work: {ID}: {told}\n" in out


def test_versions_that_differ_are_told(tmp_path: Path, base: list[Path]) -> None:
    """Those that decide what is computed and counted, and no others."""
    versions = {"python": "3.13.0", "torch": "2.11.0", "pytest-roofline": "0.2.0"}
    new = sessions.side(tmp_path / "new", TIMES, first=10, versions=versions)
    _count(new, flop_per_step=2e11)
    assert _told(base, new) == (
        "counted 100 GFLOP a step in the baseline, 200 GFLOP in new: the model's computation changed, or another"
        " version counts otherwise (torch 2.11.0, baseline 2.14.1; pytest-roofline 0.2.0, baseline not told)"
    )


@pytest.mark.parametrize(
    ("work", "before", "now"),
    [
        ({"byte_low_per_step": 1.1e9}, "1.00 GB to 4.00 GB", "1.10 GB to 4.00 GB"),
        ({"byte_high_per_step": 3e9}, "1.00 GB to 4.00 GB", "1.00 GB to 3.00 GB"),
        ({"byte_high_per_step": 3e9, "flop_per_step": 9e10}, "100 GFLOP", "90.0 GFLOP"),
        ({"flop_per_step": 0.0}, "100 GFLOP", "0 FLOP"),
        ({"flop_per_step": 1.00004e11}, "100.0000 GFLOP", "100.0040 GFLOP"),
    ],
)
def test_bytes_where_the_flop_are_the_same_and_digits_that_show_it(
    base: list[Path], new: list[Path], work: dict[str, float], before: str, now: str
) -> None:
    """Either edge of the bytes counts; two counts never look the same."""
    _count(new, **work)
    assert _told(base, new).startswith(f"counted {before} a step in the baseline, {now} in new: ")


def test_a_side_of_several_counts_has_all_of_them(base: list[Path], new: list[Path]) -> None:
    """Sessions of several versions were taken for one code."""
    _count(base[2:], flop_per_step=8e10)
    assert _told(base, new).startswith("counted 100 GFLOP and 80.0 GFLOP a step in the baseline, 100 GFLOP in new: ")


def test_by_roof_bytes_are_not_held_against_each_other(base: list[Path], new: list[Path]) -> None:
    """Those of another machine hang on its cache; FLOP don't. By them the least time is worked out that the case is
    judged by, so with others it isn't judged.
    """
    _count(new, byte_low_per_step=1.1e9)
    assert _told(base, new, "roof") == ""
    _count(new, flop_per_step=9e10)
    matching = match(read_side(base, "roof", load()), read_side(new, "roof", load()), "roof")
    (pair,) = (pair for pair in matching.pairs if pair.id == ID)
    assert pair.standing == "not comparable"
    assert pair.why.startswith("other work: counted 100 GFLOP a step in the baseline, 90.0 GFLOP in new: ")


def test_of_many_cases_some_are_named(run: Run, tmp_path: Path) -> None:
    """The rest is counted."""
    times = {f"net{number}": 0.1 for number in range(7)}
    base = sessions.side(tmp_path / "base", times, count=1)
    new = sessions.side(tmp_path / "new", times, count=1, first=10)
    _count(new, flop_per_step=9e10)
    _, out, _ = run("compare", *base, "--with", *new, "--format", "json")
    notes = [note for note in json.loads(out)["notes"] if note.startswith("Other work: ")]
    assert len(notes) == 6
    assert notes[-1] == "Other work: 2 cases more, in the column counted_otherwise of --format csv"
