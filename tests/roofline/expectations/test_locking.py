"""What is written from good sessions, and what is left out and why."""

from pathlib import Path
from typing import Any

import pytest

from roofline.expectations.judging import check_expectations
from roofline.expectations.locking import lock
from roofline.schema.expected import Expected
from roofline.schema.record import Flag, Record, Rounds
from roofline.schema.session import NotMeasured, Outcome
from tests.roofline import build
from tests.roofline.expectations import build_points
from tests.roofline.expectations.build_points import sessions

ID = "resnet50-train-b32-fp32"


def step(time_s: float, **changes: Any) -> Record:
    return build_points.record(timing=build.timing(time_s, margin=0.0), **changes)


def test_one_session_knows_no_deviation(tmp_path: Path) -> None:
    """A tenth of roof and light, a quarter off: 0.075. A spread of a fifth, 25 % of the fraction, takes half off."""
    ((locked,), left_out) = lock(sessions(tmp_path, step(0.1)))
    assert left_out == []
    assert locked.expected == Expected(
        bound="compute",
        min_fraction_of_roof=0.075,
        min_fraction_of_speed_of_light=0.075,
        case=ID,
        device="epyc-2cpu",
        fingerprint="fingerprint of epyc-2cpu",
        workload_hash=f"hash of {ID}",
        roofs=(("fp32", 1e13), ("dram", 1e11)),
        roofs_source="measured",
        source="locked from 1 session (s0.json)",
    )
    assert locked.evidence == (
        "Locked from 1 session (s0.json).",
        "above the knee: 250 to 1000 FLOP/byte, knee 100 (dram; analytic).",
        "10.0 % of its roof at the lowest; timing ±0 %, by the roofs' worst samples +0 %: 25 % below.",
        "10.0 % of the speed of light at the lowest; timing ±0 %, by the roofs' worst samples +0 %: 25 % below.",
    )
    ((locked,), _) = lock(sessions(tmp_path, step(0.1), spread=0.16))
    assert locked.expected.min_fraction_of_roof == 0.061  # 1/0.84 - 1 = 19.05 %, twice of it off 0.1


def test_several_sessions_tell_the_scatter(tmp_path: Path) -> None:
    """0.1, 0.08 and 0.09: deviation 0.01 of 0.09, so 22.2 % below the lowest: 0.0622, cut to 0.062."""
    ((locked,), _) = lock(sessions(tmp_path, *(step(0.01 / value) for value in (0.1, 0.08, 0.09))))
    assert locked.expected.min_fraction_of_roof == 0.062
    assert locked.expected.source == "locked from 3 sessions (s0.json, s1.json, s2.json)"


def test_the_safety_is_ten_percent_at_least(tmp_path: Path) -> None:
    """Of sessions that agree; or what was asked for."""
    points = sessions(tmp_path, step(0.1), step(0.1), spread=0.3)
    ((locked,), _) = lock(points)
    assert locked.expected.min_fraction_of_roof == 0.09
    ((locked,), _) = lock(points, 0.2)
    assert locked.expected.min_fraction_of_roof == 0.08


def test_what_is_known_too_badly_gets_no_floor(tmp_path: Path) -> None:
    """The bound stays, and the evidence says why."""
    wide = build_points.record(timing=build.timing(margin=0.26))
    ((locked,), _) = lock(sessions(tmp_path, wide))
    assert locked.expected.min_fraction_of_roof is None
    assert locked.expected.min_fraction_of_speed_of_light is None
    assert locked.evidence[-1].endswith("known too badly for a floor.")
    window = build_points.record(timing=build.timing(margin=None, step_time_sd_s=None))
    ((locked,), _) = lock(sessions(tmp_path, window))
    assert locked.evidence[-1] == "10.0 % of the speed of light; one window doesn't tell how well: no floor."


def test_a_floor_above_one_is_none(tmp_path: Path) -> None:
    """The upper end of a range of bytes may lie above the roof."""
    record = build_points.record(work=build_points.memory_work(), timing=build.timing(0.025, margin=0.0))
    ((locked,), _) = lock(sessions(tmp_path, record, record))
    assert locked.expected.min_fraction_of_roof is None
    assert locked.expected.min_fraction_of_speed_of_light == 0.72
    assert "a floor above 1 would say nothing" in locked.evidence[2]


@pytest.mark.parametrize(
    ("record", "why"),
    [
        (None, "no record in s1.json: another project's benchmark"),
        (step(0.1, flags=(Flag(name="loss", evidence="nan", invalid=True),)), "invalid: loss in s1.json"),
        (
            step(0.1, work=build.work(1e11, 5e8, 4e9)),
            "undetermined (range straddles the knee) in s1.json: 25.0 to 200 FLOP/byte, knee 100 (dram; analytic)",
        ),
        (step(0.009), "above_roof in s1.json: attained 111 % of its roof"),
        (step(0.1, work=build_points.memory_work()), "the sessions differ: compute, memory"),
        (
            step(0.1, case=build.case(workload_hash="other")),
            "the sessions are of different workloads under one name",
        ),
    ],
)
def test_bad_sessions_are_left_out_by_name(tmp_path: Path, record: Record | None, why: str) -> None:
    """One is enough: what it shows may come again."""
    good = step(0.1) if record is not None else None
    points = sessions(tmp_path, good, record)
    locked, left_out = lock(points[-1:] if record is None else points)
    assert locked == []
    (line,) = left_out
    assert line.partition(" on epyc-2cpu: ")[2].startswith(why)


def test_a_case_without_any_fraction_is_left_out(tmp_path: Path) -> None:
    """It is bound by its input; of its work nothing is known, so there is neither roof nor speed of light."""
    record = build_points.record(work=None, operations=(), timing=build.timing(input_wait_s=0.02))
    points = sessions(tmp_path, record)
    assert points[0].bound.kind == "input"
    locked, left_out = lock(points)
    assert (locked, len(left_out)) == ([], 1)


@pytest.mark.parametrize(("outcome", "written"), [("out_of_memory", 0), ("failed", 0), ("error", 0), ("skipped", 1)])
def test_a_session_in_which_it_failed_is_a_bad_one(tmp_path: Path, outcome: Outcome, written: int) -> None:
    """Though it left no row, as one does that failed after it was measured. One that was skipped wasn't to be there; a
    case of another machine is none of this one's.
    """
    other = build_points.record(case=build.case(id="roof-fp32", mode="roof"))
    session = {"not_measured": (NotMeasured(id=ID, outcome=outcome, reason="boom"),)}
    good = sessions(tmp_path, step(0.1), step(0.1))
    locked, left_out = lock([*good, *build_points.points(tmp_path, other, name="c", session=session)])
    assert len(locked) == written
    line = f"{ID} on epyc-2cpu: not measured in c.json: {outcome.replace('_', ' ')}: boom"
    assert left_out == [line] * (1 - written)
    far = build_points.points(tmp_path, other, name="d", session=session, machine={"fingerprint": "far"})
    assert len(lock([*good, *far])[0]) == 1


def test_roofs_are_not_locked_and_machines_are_told_apart(tmp_path: Path) -> None:
    """By label and case, whatever order the files come in."""
    roof = build_points.record(case=build.case(id="roof-fp32", mode="roof"))
    other = build_points.record(case=build.case(model="alexnet"))
    here = build_points.points(tmp_path, build_points.record(), roof, other)
    there = build_points.points(
        tmp_path, build_points.record(), name="b", machine={"label": "a100", "fingerprint": "a100"}
    )
    for points in ([*here, *there], [*there, *here]):
        locked, left_out = lock(points)
        assert [(one.expected.device, one.expected.case) for one in locked] == [
            ("a100", ID),
            ("epyc-2cpu", "alexnet-train-b32-fp32"),
            ("epyc-2cpu", ID),
        ]
        assert left_out == []


def test_sessions_that_others_disturbed_are_locked_with_a_warning(tmp_path: Path) -> None:
    """And with no floor; half of the rounds left alone are enough, as they are in a comparison."""

    def record(disturbed: int) -> Record:
        marks = (*("steal",) * disturbed, *(None,) * (4 - disturbed))
        rounds = Rounds(steps=1, wall_s=(0.1,) * 4, disturbed=marks)
        return build_points.record(timing=build.timing(0.1, margin=0.0, rounds=rounds))

    ((locked,), _) = lock(sessions(tmp_path, record(2)))
    assert (locked.warning, locked.expected.min_fraction_of_roof) == ("", 0.075)
    ((locked,), left_out) = lock(sessions(tmp_path, record(2), record(4), record(3)))
    assert left_out == []
    assert (locked.expected.bound, locked.expected.min_fraction_of_roof) == ("compute", None)
    assert locked.warning == (
        "4 of 4 rounds were disturbed from outside in s1.json, and most of them in 1 more of 3 sessions: no floor comes"
        " from such a time. Lock the case from sessions of a quiet hour"
    )
    assert f"{locked.warning}." in locked.evidence
    assert locked.evidence[-1] == "10.0 % of the speed of light; a disturbed time doesn't tell how well: no floor."
    ((locked,), _) = lock(sessions(tmp_path, record(3)))
    assert locked.warning.startswith("3 of 4 rounds were disturbed from outside in s0.json: no floor comes")


def test_what_was_locked_is_of_its_machine_and_work_alone(tmp_path: Path) -> None:
    """Of another machine with the same label, or of another work under the same id, nothing is shown."""
    (locked, *_), _ = lock(sessions(tmp_path, step(0.1)))
    expected = [locked.expected]
    other_machine = build_points.points(tmp_path, step(0.1), machine={"fingerprint": "another"})
    other_work = build_points.points(tmp_path, step(0.1, case=build.case(workload_hash="another")))
    for points in (other_machine, other_work):
        assert build_points.exit_code(check_expectations(points, expected)) == 3
    assert build_points.exit_code(check_expectations(build_points.points(tmp_path, step(0.1)), expected)) == 0


def test_what_was_locked_holds_and_can_fail(tmp_path: Path) -> None:
    """The sessions themselves pass; the same at half the speed don't."""
    points = sessions(tmp_path, *(step(0.01 / value) for value in (0.1, 0.08, 0.09)))
    locked, _ = lock(points)
    expected = [one.expected for one in locked]
    assert build_points.exit_code(check_expectations(points, expected)) == 0
    for point in points:
        assert build_points.exit_code(check_expectations([point], expected)) == 0
    assert build_points.exit_code(check_expectations(sessions(tmp_path, step(0.2)), expected)) == 1
