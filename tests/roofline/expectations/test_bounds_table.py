"""Findings as people and programs read them."""

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from roofline.comparison.gate import Gate, judge
from roofline.expectations.bounds_table import found_in, message, reason, table
from roofline.expectations.judging import check_expectations
from roofline.expectations.outcome import Checked
from roofline.schema.expected import Expected
from roofline.schema.record import Flag, Record
from roofline.show.render import render
from tests.roofline import build
from tests.roofline.expectations import build_points


def _expected(case: str, **changes: object) -> Expected:
    return Expected(**{"bound": "compute", "case": case, "source": "e.toml:3", **changes})  # type: ignore[arg-type]


def test_the_message_tells_expected_got_evidence_and_likely_reason(tmp_path: Path) -> None:
    """All of it, in one sentence after the other."""
    record = build_points.record(timing=build.timing(input_wait_s=0.02))
    points = build_points.points(tmp_path, record, over=build_points.roofs(0.03))
    one = _expected("*", min_fraction_of_roof=0.5, min_fraction_of_speed_of_light=0.05)
    (finding,) = check_expectations(points, [one]).findings
    assert message(finding) == (
        "resnet50-train-b32-fp32 on epyc-2cpu: failed. Expected compute-bound, at least 50 % of its roof, at least 5 %"
        " of the speed of light (e.toml:3). Got input-bound (waits for data); 10.0 % of its roof, at most 10.4 %"
        " (timing ±0.80 %, by the roofs' worst samples +3.1 %); 10.0 % of the speed of light. Evidence: 20 % of the"
        " step is spent waiting for the next batch. Of a step: arithmetic at the roofs 10 %, traffic at the roofs 1.0"
        f" %, waiting for input 20 %. Likely: `roofline ops {tmp_path / 'a.json'}` says in which operations the"
        " time goes."
    )


def test_the_worst_come_first_and_the_rest_is_counted(tmp_path: Path) -> None:
    """Failed, not evaluable, not measured, held; then what nothing is expected of, and other devices."""
    records = [
        build_points.record(case=build.case(model="held")),
        build_points.record(case=build.case(model="near"), work=build.work(1e11, 1e9, 1e9)),
        build_points.record(case=build.case(model="failed"), work=build_points.memory_work()),
        *(build_points.record(case=build.case(model=f"free{number}")) for number in range(10)),
    ]
    entries = [
        *(_expected(f"{name}*") for name in ("held", "gone", "near", "failed")),
        _expected("*", device="cuda"),
        _expected("a*", device="mps"),
        _expected("b*", device="mps"),
    ]
    shown = table(check_expectations(build_points.points(tmp_path, *records), entries), verbose=False)
    assert shown.title == "Expected bounds: 1 failed, 1 not evaluable, 1 not measured, 1 held"
    assert [row.verdict for row in shown.rows] == ["failed", "not_evaluable", "not_measured", "held"]
    assert shown.notes[-2:] == [
        "Nothing is expected of: free0-train-b32-fp32, free1-train-b32-fp32 and 8 more",
        "Expectations for other devices or machines, not looked at: cuda (1), mps (2)",
    ]
    assert len(shown.notes) == 5


def test_a_floor_that_is_only_not_shown_violated_is_told(tmp_path: Path) -> None:
    """It holds, but not by what was measured."""
    points = build_points.points(tmp_path, build_points.record())
    shown = table(check_expectations(points, [_expected("*", min_fraction_of_roof=0.12)]))
    assert list(shown.notes) == [
        "resnet50-train-b32-fp32 on epyc-2cpu: at least 12 % of its roof; got 10.0 % of its roof, which may be 12.6 %"
        " (timing ±0.80 %, by the roofs' worst samples +25 %): not shown to be below."
    ]


def test_sessions_of_several_commits_are_told(tmp_path: Path) -> None:
    """Of one commit nothing is said; where another's session is judged with it, both are named."""
    points = build_points.sessions(tmp_path, *[build_points.record()] * 3)
    entries = [_expected("*")]
    assert list(table(check_expectations(points, entries)).notes) == []
    points[0] = replace(points[0], result=replace(points[0].result, commit="fedcba9876543210"))
    points[1] = replace(points[1], result=replace(points[1].result, commit=None))
    assert list(table(check_expectations(points, entries)).notes) == [
        "Sessions of several commits are judged together: 0123456789, fedcba9876. Give those of one at a time."
    ]


def test_every_form_is_written(tmp_path: Path) -> None:
    """JSON has numbers and the message; 80 columns have the verdict."""
    points = build_points.points(tmp_path, build_points.record())
    shown = table(check_expectations(points, [_expected("*", min_fraction_of_roof=0.5), _expected("x")]))
    failed, gone = json.loads(render(shown, "json", 80))
    assert failed["verdict"] == "failed"
    assert failed["min_fraction_of_roof"] == 0.5
    assert round(failed["fraction_of_roof"], 9) == 0.1
    assert failed["message"].startswith("resnet50-train-b32-fp32 on epyc-2cpu: failed.")
    assert failed["test"] == "perftests/test_models.py::test_case[resnet50-train-b32-fp32]"
    assert (gone["verdict"], gone["bound"], gone["test"], gone["sessions"]) == ("not_measured", None, None, 0)
    assert "not measured" in render(shown, "table", 80)
    assert "| failed |" in render(shown, "markdown", 80)
    assert max(map(len, render(shown, "table", 80).splitlines())) <= 80


def _checked(folder: Path, *bounds: str) -> Checked:
    entries = [Expected(bound=bound, source="e.toml:3") for bound in bounds]  # type: ignore[arg-type]
    return check_expectations(build_points.points(folder, build_points.record()), entries)


def test_findings_are_told_in_one_line(tmp_path: Path) -> None:
    """A failed one is exit code 1, nothing expected 3."""
    checked = _checked(tmp_path, "compute", "memory")
    assert judge(found_in(checked), strict=False) == Gate(exit_code=1, failures=("Expected bounds: 1 failed, 1 held",))
    told = "Expected bounds: nothing is expected of these results"
    assert judge(found_in(_checked(tmp_path)), strict=False) == Gate(exit_code=3, failures=(told,))


def test_a_file_that_can_not_be_read_is_told(tmp_path: Path) -> None:
    """All findings hold, so they are not in the way; the title says that it is no pass all the same."""
    checked = replace(_checked(tmp_path, "compute"), unreadable=("a.json: can't be read",))
    outcome = judge(found_in(checked), strict=False)
    assert outcome == Gate(exit_code=3, failures=("not read: a.json: can't be read",))
    assert table(checked, passed=False).title == "Expected bounds: not passed: 1 held, 1 file not read"


DISTURBED = build_points.record(flags=(Flag(name="disturbed", evidence="5 of 20 rounds, first by steal"),))


@pytest.mark.parametrize("expected", [{"bound": "memory"}, {"min_fraction_of_roof": 0.9}])
@pytest.mark.parametrize(
    ("record", "spread", "words"),
    [
        (DISTURBED, 0.4, "the roofs were measured on a busy machine (their samples differ: fp32 by 40 %, dram by"),
        (DISTURBED, 0.03, "something else used the machine: 5 of 20 rounds, first by steal"),
        (build_points.record(), 0.03, "`roofline ops {folder}/a.json` says in which operations"),
    ],
)
def test_what_speaks_for_the_machine_is_named_before_the_case(
    tmp_path: Path, record: Record, spread: float, words: str, expected: dict[str, Any]
) -> None:
    """Of a failed bound and of a failed floor: a busy machine is no fault of the code."""
    points = build_points.points(tmp_path, record, over=build_points.roofs(spread))
    (finding,) = check_expectations(points, [Expected(source="e.toml:3", **expected)]).findings
    told = reason(finding)
    assert told is not None
    assert told.startswith(words.format(folder=tmp_path))


@pytest.mark.parametrize("compute", [1e13, 4.1e12])
def test_a_bound_that_another_device_table_moves_says_so(tmp_path: Path, compute: float) -> None:
    """The same results are bound otherwise under another peak: undetermined, or on the other side of the knee."""
    roofs = (
        build.roof("flop", "fp32", compute, source="spec", detail="data sheet, 2024"),
        build.roof("byte", "dram", 1e11, source="spec", detail="data sheet, 2024"),
    )
    work = build.work(4e11, 8e9, 8e9)
    points = build_points.points(tmp_path, build_points.record(work=work), over=roofs)
    bound = "memory" if points[-1].bound.kind == "compute" else "compute"
    (finding,) = check_expectations(points, [Expected(bound=bound, source="e.toml:3")]).findings
    told = reason(finding)
    assert told is not None
    assert "device table" in told
    assert "data sheet, 2024" in told
