"""The committed results: nothing in them contradicts itself."""

from __future__ import annotations

from pathlib import Path

import pytest

from roofline.audits import audit, read_one
from roofline.machine.published import load
from roofline.model.points import points_of
from roofline.results.reader import read_file

FILES = sorted((Path(__file__).parents[1] / "results").rglob("*.json"))


def test_there_are_some() -> None:
    """Else the others would look at nothing."""
    assert FILES


@pytest.mark.parametrize("path", FILES, ids=lambda path: path.stem)
def test_no_case_beats_its_speed_of_light_or_its_roof(path: Path) -> None:
    """Every case that was counted has a speed of light and takes longer; no row is invalid."""
    points = points_of(read_file(path), load())
    cases = [point for point in points if point.mode in ("train", "infer")]
    assert cases
    for point in cases:
        assert point.fraction_of_sol is not None, point.id
        assert 0 < point.fraction_of_sol < 1, point.id
        assert not {flag.name for flag in point.flags} & {"faster_than_sol", "above_roof", "faster_than_peak"}, point.id
    assert all(point.valid for point in points)


@pytest.mark.parametrize("path", FILES, ids=lambda path: path.stem)
def test_the_audit_finds_nothing_that_is_not_explained(path: Path) -> None:
    """It has something to look at. A cliff of the throughput is what was measured where the record says its cause."""
    devices = load()
    found = audit(read_one(path, devices).rows, devices)
    assert found.examined
    flags = [flag for point in points_of(read_file(path), devices) for flag in point.flags]
    explained = {flag.name for flag in flags if "cause: not known" not in flag.evidence} & {"throughput_cliff"}
    assert {result.rule.name for result in found.results if result.contradictions} <= explained
