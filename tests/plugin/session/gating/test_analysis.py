"""What a run shows of its results at its end."""

from __future__ import annotations

from pathlib import Path

import pytest

from pytest_roofline.session.gating.analysis import summary
from roofline.schema.record import Flag
from tests.roofline import build


def test_a_summary_fits_the_screen_that_it_is_for(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """As many cases as there is room for, a line for each flag; all cases where lines don't matter."""
    evidence = "a long story of what was seen, and when it was seen, and for how long: " + 3 * "and so on "
    flags = (Flag(name="unsteady", evidence=evidence, invalid=True), Flag(name="disturbed", evidence="x"))
    records = [
        build.record(case=build.case(batch=batch), timing=build.timing(batch / 10), flags=flags if batch == 7 else ())
        for batch in range(1, 61)
    ]
    monkeypatch.chdir(tmp_path)  # the last line has the path
    path = build.result(Path("a.json"), records).path
    everything = summary(path, 80)
    assert sum("-train-b" in line for line in everything) > 60
    assert summary(path, 80, len(everything)) == everything
    shown = summary(path, 80, 24)
    assert len(shown) == 24
    assert shown[4] == "Need attention"
    assert shown[5] == "  resnet50-train-b7-fp32   10.0 ±0.80%  1.4-5.7     1.4  undetermined  2,3"
    assert shown[-5:] == [
        "  [1] undetermined: range straddles the knee: 7 cases",
        "  [2] unsteady (invalid): 1 case, first resnet50-train-b7-fp32: a long story…",
        "  [3] disturbed: 1 case",
        "  12 of 60 cases. All:",
        "    roofline summary a.json -v",
    ]
