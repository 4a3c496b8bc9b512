"""Expectations are of the counted work: a run that reads hardware counters is judged as one that doesn't."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from roofline.expectations.fraction import of_roof
from roofline.expectations.judging import by_counted_work, otherwise_by_counters
from roofline.machine.published import load
from roofline.model.points import place_all
from roofline.results.reader import ResultFile
from roofline.schema.record import Counters
from tests.roofline import build
from tests.roofline.conftest import Run
from tests.roofline.expectations import build_points

ID = "resnet50-train-b32-fp32"

MEMORY = Counters(status="ok", flop=1e11, dram_byte=5e9)
"""20 FLOP/byte under a knee of 100, where 250 to 1000 are counted."""

TOLD = (
    f"By hardware counters, which not every run reads, {ID} on epyc-2cpu is memory-bound (below the knee (DRAM)); what"
    " is expected is held against the counted work, by which it is compute-bound (above the knee)"
)


def _result(path: Path, **changes: Any) -> ResultFile:
    return build.result(path, [build_points.record(**changes), None], of=build.session(build_points.roofs()))


def test_counters_change_neither_bound_nor_fraction(tmp_path: Path) -> None:
    """They would both: without them the points are those of a run that read none."""
    seen, never = _result(tmp_path / "seen.json", counters=MEMORY), _result(tmp_path / "never.json")
    (with_them, _), (without, _) = place_all([seen], load()), place_all(by_counted_work([seen]), load())
    assert (with_them.bound.kind, without.bound.kind) == ("memory", "compute")
    assert of_roof([with_them]) != of_roof([without])
    expected, _ = place_all([never], load())
    assert (without.bound, of_roof([without])) == (expected.bound, of_roof([expected]))


def test_a_bound_that_they_see_otherwise_is_told_once(tmp_path: Path) -> None:
    """However many sessions see it; nothing where they agree, failed, or weren't asked for."""
    two = [_result(tmp_path / f"{name}.json", counters=MEMORY) for name in ("a", "b")]
    assert otherwise_by_counters(two, load()) == (TOLD,)
    for counters in (None, Counters(status="permission_denied"), Counters(status="ok", flop=1e11, dram_byte=2e8)):
        assert otherwise_by_counters([_result(tmp_path / "c.json", counters=counters)], load()) == ()


@pytest.mark.parametrize(("bound", "code"), [("compute", 0), ("memory", 1)])
def test_check_judges_by_the_count_and_tells(run: Run, tmp_path: Path, bound: str, code: int) -> None:
    """Bound and evidence of the row are what it was judged by."""
    path = _result(tmp_path / "a.json", counters=MEMORY).path
    (tmp_path / "e.toml").write_text(f"[[expected]]\ncase = '{ID}'\nbound = '{bound}'\n")
    got, out, _ = run("check", path, "--expect", tmp_path / "e.toml", "--format", "json")
    document = json.loads(out)
    assert (got, document["rows"][0]["bound"]) == (code, "compute")
    assert document["rows"][0]["bound_evidence"].endswith("(dram; analytic)")
    assert TOLD in document["notes"]
