"""Every expectation can be held, can fail, and is never passed where it can't be judged."""

from __future__ import annotations

import json
import math
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from roofline.expectations.bounds_table import in_short, message, table
from roofline.expectations.fraction import of_roof
from roofline.expectations.judging import by_counted_work, check_expectations, otherwise_by_counters
from roofline.expectations.outcome import Checked, CheckedBound
from roofline.machine.published import load
from roofline.model.points import Point, place_all
from roofline.results.result import ResultFile
from roofline.schema.expected import Expected
from roofline.schema.record import Counters, Flag, Memory, Record, Rounds
from roofline.schema.session import NotMeasured, Outcome
from tests.roofline import build
from tests.roofline.conftest import Run
from tests.roofline.expectations import build_points

ID = "resnet50-train-b32-fp32"


def expected(**changes: Any) -> Expected:
    return Expected(**{"bound": "compute", "source": "e.toml:3", **changes})


def check(folder: Path, record: Record | None, one: Expected, **more: Any) -> tuple[CheckedBound, Checked]:
    """The only finding."""
    checked = check_expectations(build_points.points(folder, record, **more), [one])
    (finding,) = checked.findings
    return finding, checked


def test_what_is_as_expected_is_held(tmp_path: Path) -> None:
    """Bound and both floors; exit code 0."""
    one = expected(min_fraction_of_roof=0.1, min_fraction_of_speed_of_light=0.099)
    finding, checked = check(tmp_path, build_points.record(), one)
    assert (finding.case, finding.machine, finding.verdict) == (ID, "epyc-2cpu", "held")
    assert [claim.verdict for claim in finding.claims] == ["held", "held", "held"]
    assert build_points.exit_code(checked) == 0
    assert checked.unexpected == ()


def _launches() -> Record:
    calls = build.operation(calls=6000, flop=1e6, byte=1e6, working_set_byte=1e9)
    return build_points.record(operations=(calls,))


def _full() -> Record:
    return build_points.record(memory=Memory(peak_reserved_byte=79 * 10**9, device_total_byte=80 * 10**9))


LAUNCH = build.roof("latency", "launch", 1e-5)
CHANGED = {
    "memory": (build_points.record(work=build_points.memory_work()), "compute"),
    "compute": (build_points.record(), "memory"),
    "launch": (_launches(), "compute"),
    "input": (build_points.record(timing=build.timing(input_wait_s=0.02)), "compute"),
    "capacity": (_full(), "compute"),
}


@pytest.mark.parametrize("got", CHANGED)
def test_another_bound_fails(tmp_path: Path, got: str) -> None:
    """Exit code 1; expected of what it is, the same row is held."""
    record, wrong = CHANGED[got]
    over = (*build_points.roofs(0.03), LAUNCH)
    finding, checked = check(tmp_path, record, expected(bound=wrong), over=over)
    assert finding.verdict == "failed"
    assert finding.claims[0].got.startswith(f"{got}-bound (")
    assert in_short(finding) == f"{got}-bound, not {wrong}-bound"
    assert build_points.exit_code(checked) == 1
    finding, checked = check(tmp_path, record, expected(bound=got), over=over)
    assert (finding.verdict, build_points.exit_code(checked)) == ("held", 0)


@pytest.mark.parametrize("floor", ["min_fraction_of_roof", "min_fraction_of_speed_of_light"])
def test_a_floor_fails_beyond_what_the_measurement_leaves_open(tmp_path: Path, floor: str) -> None:
    """0.1 may be 0.126 by the roofs' worst samples and the margin: a floor just below that isn't shown violated."""
    for value, verdict, code in ((0.1, "held", 0), (0.1259, "held", 0), (0.1261, "failed", 1)):
        finding, checked = check(tmp_path, build_points.record(), expected(bound=None, **{floor: value}))
        assert (finding.verdict, build_points.exit_code(checked)) == (verdict, code)
    assert "at most 12.6 % (timing ±0.80 %, by the roofs' worst samples +25 %)" in message(finding)
    assert in_short(finding).startswith("10.0 % of ")
    assert in_short(finding).endswith(", not 12.61 %")


UNDETERMINED = {
    "range straddles the knee": build_points.record(work=build.work(1e11, 5e8, 4e9)),
    "within 15 % of the knee": build_points.record(work=build.work(1e11, 0.95e9, 1.05e9)),
    "not placed": build_points.record(work=None),
    "far below its roofs": build_points.record(
        timing=build.timing(10.0), operations=(build.operation(calls=1, flop=1e11),)
    ),
}


@pytest.mark.parametrize("why", UNDETERMINED)
@pytest.mark.parametrize("bound", ["compute", "memory", "launch", "input", "communication", "capacity"])
def test_an_undetermined_bound_is_never_a_pass_nor_a_failure(tmp_path: Path, why: str, bound: str) -> None:
    """Exit code 3, with the reason."""
    over = (*build_points.roofs(), LAUNCH)
    finding, checked = check(tmp_path, UNDETERMINED[why], expected(bound=bound), over=over)
    assert (finding.verdict, build_points.exit_code(checked)) == ("not_evaluable", 3)
    assert f"Got undetermined ({why})" in message(finding)


def test_a_floor_is_judged_whatever_the_bound(tmp_path: Path) -> None:
    """Near the knee a fraction of the speed of light is as good as anywhere: 0.1 of it is at least 0.1 and not 0.2."""
    record = UNDETERMINED["within 15 % of the knee"]
    one = expected(bound=None, min_fraction_of_speed_of_light=0.1)
    assert check(tmp_path, record, one)[0].verdict == "held"
    assert check(tmp_path, record, replace(one, min_fraction_of_speed_of_light=0.2))[0].verdict == "failed"
    assert check(tmp_path, record, replace(one, bound="compute"))[0].verdict == "not_evaluable"


@pytest.mark.parametrize(
    ("record", "over", "told"),
    [
        ({"work": None}, None, "the work was not counted"),
        ({}, (), "that it ran in has no compute roof. Evidence: no roofs: none measured in this"),
        ({"work": build.work(1e11, math.nan, math.nan)}, None, "no fraction of its roof: its bytes are not known"),
    ],
)
def test_without_a_fraction_a_floor_is_not_evaluable(
    tmp_path: Path, record: dict[str, Any], over: tuple[Any, ...] | None, told: str
) -> None:
    """And says why there is none."""
    one = expected(bound=None, min_fraction_of_roof=0.01)
    finding, checked = check(tmp_path, build_points.record(**record), one, over=over)
    assert (finding.verdict, build_points.exit_code(checked)) == ("not_evaluable", 3)
    assert told in message(finding)


def test_without_a_margin_a_floor_holds_or_is_not_evaluable(tmp_path: Path) -> None:
    """A single window that lies below may do so by chance."""
    record = build_points.record(timing=build.timing(margin=None, step_time_sd_s=None))
    assert check(tmp_path, record, expected(min_fraction_of_roof=0.1))[0].verdict == "held"
    finding, checked = check(tmp_path, record, expected(min_fraction_of_roof=0.5))
    assert (finding.verdict, build_points.exit_code(checked)) == ("not_evaluable", 3)
    assert "one window doesn't tell how well its time is known: measure several (--roofline-repeats 3)" in message(
        finding
    )


def test_an_invalid_row_is_not_evaluable(tmp_path: Path) -> None:
    """However well it would do, and however badly."""
    flag = Flag(name="precision", evidence="ran in TF32", invalid=True)
    for floor in (0.01, 0.9):
        one = expected(min_fraction_of_roof=floor)
        finding, checked = check(tmp_path, build_points.record(flags=(flag,)), one)
        assert (finding.verdict, build_points.exit_code(checked)) == ("not_evaluable", 3)
        assert "a.json: the row is invalid: precision: ran in TF32" in message(finding)


def test_a_case_that_was_not_measured_is_named(tmp_path: Path) -> None:
    """With what the file says of it; exit code 3 though all that was measured holds."""
    lost = NotMeasured(id="mlp-train-b1-fp16", outcome="failed", reason="boom")
    points = build_points.points(tmp_path, build_points.record(), session={"not_measured": (lost,)})
    entries = [expected(case=ID), expected(case="mlp-*", source="e.toml:9"), expected(case="vgg*", precision="bf16")]
    checked = check_expectations(points, entries)
    assert [finding.verdict for finding in checked.findings] == ["held", "not_measured", "not_measured"]
    assert build_points.exit_code(checked) == 3
    told = [message(finding) for finding in checked.findings[1:]]
    assert told[0] == (
        "mlp-* on epyc-2cpu: not measured. Expected compute-bound (e.toml:9). mlp-train-b1-fp16: failed: boom."
    )
    assert told[1].startswith("vgg* in bf16 on epyc-2cpu: not measured.")
    assert told[1].endswith("No case of the results is of this pattern.")


def test_bounds_of_skipped_cases_are_not_applicable(tmp_path: Path) -> None:
    """As where the machine can't run their precision: the rest decides. With nothing else, nothing was expected; beside
    one that failed, the entry's cases are not measured.
    """
    entries = [expected(case=ID), expected(case="mlp-*", precision="amp_bf16")]
    skipped = NotMeasured(id="mlp-b1-bf16", outcome="skipped", reason="amp_bf16 is not native on cpu")
    failed = NotMeasured(id="mlp-b8-bf16", outcome="failed", reason="boom")
    points = build_points.points(tmp_path, build_points.record(), session={"not_measured": (skipped,)})
    checked = check_expectations(points, entries)
    assert [finding.verdict for finding in checked.findings] == ["held", "not_applicable"]
    assert build_points.exit_code(checked) == 0
    assert message(checked.findings[1]).endswith("mlp-b1-bf16: skipped: amp_bf16 is not native on cpu.")
    assert build_points.exit_code(check_expectations(points, entries[1:])) == 3
    points = build_points.points(tmp_path, build_points.record(), name="b", session={"not_measured": (skipped, failed)})
    checked = check_expectations(points, entries)
    assert ([finding.verdict for finding in checked.findings], build_points.exit_code(checked)) == (
        ["held", "not_measured"],
        3,
    )


CUDA: dict[str, Any] = {"label": "h100", "device": build.CUDA}


def _lost(id_: str, outcome: Outcome = "out_of_memory") -> dict[str, Any]:
    return {"not_measured": (NotMeasured(id=id_, outcome=outcome, reason="CUDA out of memory"),)}


@pytest.mark.parametrize("device", ["h100", "cuda", build.CUDA.name, "*"])
@pytest.mark.parametrize("mode", ["roof", None])
def test_a_device_without_a_case_lacks_all_of_them(tmp_path: Path, device: str, mode: str | None) -> None:
    """A file of roofs alone, or of another plugin's rows, beside one that holds: what it should have is told."""
    here = build_points.points(tmp_path, build_points.record())
    row = None if mode is None else build_points.record(case=build.case(id="roof-fp32", mode=mode), device=build.CUDA)
    there = build_points.points(tmp_path, row, name="b", machine=CUDA, session=_lost("vgg16-train-b8-fp32"))
    entries = [expected(case=ID, device="cpu"), expected(case="vgg16-*", device=device)]
    checked = check_expectations([*here, *there], entries)
    of_h100 = [finding for finding in checked.findings if finding.machine == "h100"]
    assert [(finding.case, finding.verdict) for finding in of_h100] == [("vgg16-*", "not_measured")]
    assert of_h100[0].why == "vgg16-train-b8-fp32: out of memory: CUDA out of memory"
    assert build_points.exit_code(checked) == 3
    assert checked.for_others == ()
    assert not any("roof" in finding.case for finding in checked.findings)


@pytest.mark.parametrize(("outcome", "code"), [("failed", 3), ("error", 3), ("out_of_memory", 3), ("skipped", 0)])
def test_a_case_that_failed_is_missed_beside_others_of_its_pattern(tmp_path: Path, outcome: Outcome, code: int) -> None:
    """One that was skipped was not to be measured here; one that another session has is judged by that."""
    entries = [expected(case="resnet50-*")]
    lost = "resnet50-train-b64-fp32"
    points = build_points.points(tmp_path, build_points.record(), session=_lost(lost, outcome))
    checked = check_expectations(points, entries)
    assert build_points.exit_code(checked) == code
    assert [(finding.case, finding.verdict) for finding in checked.findings] == [
        (ID, "held"),
        *([(lost, "not_measured")] if code else []),
    ]
    other = build_points.points(tmp_path, build_points.record(), session=_lost("vgg16-train-b8-fp32"))
    assert build_points.exit_code(check_expectations(other, entries)) == 0
    have = [
        point
        for number in "123"
        for point in build_points.points(tmp_path, build_points.record(case=build.case(batch=64)), name=number)
    ]
    assert build_points.exit_code(check_expectations([*points, *have], entries)) == 0


def test_entries_for_other_devices_and_precisions_are_left_alone(tmp_path: Path) -> None:
    """Named as looked past; where nothing else is expected, that is no pass."""
    points = build_points.points(tmp_path, build_points.record())
    other = expected(device="cuda", bound="memory")
    checked = check_expectations(points, [other])
    assert (checked.findings, checked.for_others, build_points.exit_code(checked)) == ((), (other,), 3)
    assert checked.unexpected == (ID,)
    checked = check_expectations(points, [other, expected(device="AMD EPYC*"), expected(device="epyc-2cpu")])
    assert [finding.verdict for finding in checked.findings] == ["held", "held"]
    marked = build_points.record(expected=(expected(precision="bf16", bound="memory"), expected()))
    checked = check_expectations(build_points.points(tmp_path, marked))
    assert [finding.verdict for finding in checked.findings] == ["held"]


@pytest.mark.parametrize(
    ("changes", "told"),
    [
        ({"min_fraction_of_roof": 0.0}, "at least 0 % of its roof (the marker). It can't be judged: min_fraction"),
        ({"min_fraction_of_speed_of_light": 5.0}, "judged: min_fraction_of_speed_of_light is 5.0; use a number"),
        ({}, "Expected nothing (the marker). It can't be judged: nothing is expected; give a bound, min_fraction_of"),
    ],
)
def test_an_expectation_that_was_edited_is_no_pass(tmp_path: Path, changes: dict[str, Any], told: str) -> None:
    """A floor that nothing can miss, or nothing reach, is none that a marker may have."""
    marked = build_points.record(expected=(expected(**{"bound": None, "source": "the marker", **changes}),))
    checked = check_expectations(build_points.points(tmp_path, marked))
    (finding,) = checked.findings
    assert (finding.verdict, build_points.exit_code(checked)) == ("not_evaluable", 3)
    assert told in message(finding)


def test_of_many_entries_each_is_held_against_its_own_case(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A file that was locked has one of each case: with n of both nothing is done n times n times."""
    points = build_points.points(tmp_path, *(build_points.record(case=build.case(model=f"m{n}")) for n in range(30)))
    asked: list[object] = []
    is_for = Expected.is_for

    def counted(self: Expected, **of: str) -> bool:
        asked.append(self)
        return is_for(self, **of)

    monkeypatch.setattr(Expected, "is_for", counted)
    checked = check_expectations(points, [expected(case=point.id) for point in points])
    assert [finding.verdict for finding in checked.findings] == ["held"] * 30
    assert len(asked) <= 2 * 30


def test_nothing_expected_is_no_pass(tmp_path: Path) -> None:
    """Nor are no points, nor another project's rows."""
    checked = check_expectations(build_points.points(tmp_path, build_points.record()))
    assert build_points.exit_code(checked) == 3
    assert build_points.exit_code(check_expectations([])) == 3
    checked = check_expectations(build_points.points(tmp_path, None), [expected()])
    assert [finding.verdict for finding in checked.findings] == ["not_measured"]


def test_sessions_of_a_case_are_judged_together(tmp_path: Path) -> None:
    """Of 0.1, 0.05 and 0.075 the median; the highest and its margin leave 0.101 open."""
    points = build_points.sessions(
        tmp_path, *(build_points.record(timing=build.timing(step, margin=0.01)) for step in (0.1, 0.2, 0.4 / 3))
    )
    for floor, verdict in ((0.1, "held"), (0.1009, "held"), (0.1011, "failed")):
        (finding,) = check_expectations(points, [expected(min_fraction_of_roof=floor)]).findings
        assert (finding.verdict, len(finding.points)) == (verdict, 3)


@pytest.mark.parametrize(
    ("margin", "spread", "floor", "verdict", "told"),
    [
        (1e9, 0.0, 0.12, "not_evaluable", "Likely: the time is known to no better than itself: leave the"),
        (1e9, 0.0, 0.05, "not_evaluable", "Likely: the time is known to no better than itself: leave the"),
        (0.008, 0.9999, 0.12, "not_evaluable", "Likely: the roofs were measured on a busy machine (their"),
        (0.008, 0.9999, 0.05, "held", None),
        (0.008, 0.6, 0.9, "failed", None),
    ],
)
def test_what_may_be_anything_is_not_held(
    tmp_path: Path, margin: float, spread: float, floor: float, verdict: str, told: str | None
) -> None:
    """Where more is left open than was found, a missed floor isn't held; a reached one is, unless its time is no time.
    What is missed however it may be is failed.
    """
    record = build_points.record(timing=build.timing(margin=margin))
    one = expected(min_fraction_of_roof=floor)
    finding, _ = check(tmp_path, record, one, over=build_points.roofs(spread))
    assert finding.verdict == verdict
    if told is not None:
        assert told in message(finding)
        assert "at most " in message(finding)


def test_sessions_that_differ_are_not_evaluable(tmp_path: Path) -> None:
    """One compute-bound and one memory-bound is neither; two memory-bound ones are a failure."""
    compute, memory = build_points.record(), build_points.record(work=build_points.memory_work())
    (finding,) = check_expectations(build_points.sessions(tmp_path, compute, memory), [expected()]).findings
    assert finding.verdict == "not_evaluable"
    assert "compute-bound (above the knee) in 1 of 2, memory-bound (below the knee (DRAM)) in 1 of 2" in message(
        finding
    )
    (finding,) = check_expectations(build_points.sessions(tmp_path, memory, memory), [expected()]).findings
    assert finding.verdict == "failed"


def test_machines_and_workloads_are_told_apart(tmp_path: Path) -> None:
    """The same id on two machines is two findings; with another hash, too; what one lacks is not measured there."""
    here = build_points.points(
        tmp_path, build_points.record(), build_points.record(case=build.case(workload_hash="other"))
    )
    there = build_points.points(
        tmp_path, build_points.record(), name="b", machine={"label": "far", "fingerprint": "far"}
    )
    found = check_expectations([*here, *there], [expected()]).findings
    assert [finding.machine for finding in found] == ["epyc-2cpu", "epyc-2cpu", "far"]
    only_here = build_points.points(tmp_path, build_points.record(case=build.case(model="mlp")), name="c")
    found = check_expectations([*only_here, *there], [expected(case="mlp*")]).findings
    assert [(finding.machine, finding.verdict) for finding in found] == [("epyc-2cpu", "held"), ("far", "not_measured")]


HERE = "fingerprint of epyc-2cpu"


@pytest.mark.parametrize(
    ("of", "told"),
    [
        (
            {"fingerprint": "another"},
            f"It is of another machine of that name (fingerprint another, here {HERE}): lock it anew from good",
        ),
        (
            {"workload_hash": "another"},
            f"It is of another workload under that id (workload_hash another, here hash of {ID}): see what changed in",
        ),
    ],
)
@pytest.mark.parametrize("bound", ["compute", "memory"])
def test_what_is_of_another_machine_or_work_says_nothing(
    tmp_path: Path, of: dict[str, str], told: str, bound: str
) -> None:
    """Whether it would hold or fail: exit code 3, with both values; the right ones are judged."""
    floor = {"bound": bound, "min_fraction_of_roof": 0.01}
    finding, checked = check(tmp_path, build_points.record(), expected(**floor, **of))
    assert (finding.verdict, finding.claims, build_points.exit_code(checked)) == ("not_evaluable", (), 3)
    assert checked.for_others == ()
    assert told in message(finding)
    right = expected(**floor, fingerprint=HERE, workload_hash=f"hash of {ID}")
    assert check(tmp_path, build_points.record(), right)[0].verdict == ("held" if bound == "compute" else "failed")


def test_what_is_of_a_machine_is_missed_there_alone(tmp_path: Path) -> None:
    """A case that another machine of the name has to have is none of this one's, and no reason to pass, either."""
    here = build_points.points(tmp_path, build_points.record())
    other = build_points.record(case=build.case(model="vgg16"))
    there = build_points.points(tmp_path, other, name="b", machine={"fingerprint": "far"})
    entries = [expected(case=ID, fingerprint=HERE), expected(case="vgg16*", fingerprint="far")]
    checked = check_expectations([*here, *there], entries)
    assert [finding.verdict for finding in checked.findings] == ["held", "held"]
    assert build_points.exit_code(checked) == 0
    checked = check_expectations(here, entries)
    assert [(finding.verdict, finding.case) for finding in checked.findings] == [("held", ID)]
    assert (checked.for_others, build_points.exit_code(checked)) == ((entries[1],), 0)
    checked = check_expectations(here, entries[1:])
    assert (checked.findings, checked.for_others, build_points.exit_code(checked)) == ((), (entries[1],), 3)
    checked = check_expectations(here, [expected(case="mlp*", fingerprint=HERE), entries[1]])
    assert [(finding.verdict, finding.case) for finding in checked.findings] == [("not_measured", "mlp*")]


def test_a_file_that_knows_the_machine_expects_nothing_of_it_by_its_namesakes(tmp_path: Path) -> None:
    """What was locked on the other may be undetermined here. Where it knows neither, it says why nothing fits."""
    here = build_points.points(tmp_path, build_points.record(), build_points.record(case=build.case(model="vgg16")))
    own, other = expected(case=ID, fingerprint=HERE), expected(case="vgg16*", fingerprint="far", bound="memory")
    checked = check_expectations(here, [other, own])
    assert [(finding.expected, finding.verdict) for finding in checked.findings] == [(own, "held")]
    assert (checked.unexpected, checked.for_others, build_points.exit_code(checked)) == (
        ("vgg16-train-b32-fp32",),
        (other,),
        0,
    )
    checked = check_expectations(here, [other, expected(case=ID)])
    assert [finding.verdict for finding in checked.findings] == ["held", "not_evaluable"]
    assert (checked.for_others, build_points.exit_code(checked)) == ((), 3)


def test_roofs_are_no_cases(tmp_path: Path) -> None:
    """Ceilings are not under themselves; of a loader alone nothing needs to be expected."""
    roof = build_points.record(case=build.case(id="roof-fp32", mode="roof"))
    loader = build_points.record(case=build.case(id="loader", mode="input"), work=None)
    checked = check_expectations(build_points.points(tmp_path, roof, loader))
    assert (checked.findings, checked.unexpected) == ((), ())


def _spoilt_sessions(folder: Path, bad: int, record: Record | None) -> tuple[Point, ...]:
    """Five, of which so many hold ``record`` instead of the case, or where that is None don't have it at all."""
    other = build_points.record(case=build.case(model="resnet18"))
    held = NotMeasured(id=ID, outcome="failed", reason="assert 1 == 2")
    points: list[Point] = []
    for number in range(5):
        spoilt = number < bad
        session: dict[str, Any] = {"started_at": f"2026-11-20T{number:02}:00:00+00:00"}
        if spoilt and record is None:
            session["not_measured"] = (held,)
        case = [record] if spoilt and record is not None else [] if spoilt else [build_points.record()]
        points += build_points.points(folder, other, *case, name=str(number), session=session)
    return tuple(points)


@pytest.mark.parametrize(
    ("record", "told"),
    [
        (
            build_points.record(flags=(Flag(name="test_failed", evidence="it did not pass", invalid=True),)),
            "the row is invalid: test_failed: it did not pass",
        ),
        (None, "not measured: failed: assert 1 == 2"),
    ],
    ids=["invalid", "not measured"],
)
@pytest.mark.parametrize("floor", [0.05, 0.9])
def test_what_is_left_of_the_sessions_is_no_pass(
    tmp_path: Path, record: Record | None, told: str, floor: float
) -> None:
    """Where three of five have no usable row, two don't speak for the case: exit code 3, whatever they say. Two of five
    are left out, which is told of what is held, too.
    """
    one = expected(case=ID, min_fraction_of_roof=floor)
    checked = check_expectations(_spoilt_sessions(tmp_path / "3", 3, record), [one])
    (finding,) = checked.findings
    assert (finding.verdict, build_points.exit_code(checked)) == ("not_evaluable", 3)
    assert f"3 of 5 sessions have no usable row: 0.json: {told}" in message(finding)
    checked = check_expectations(_spoilt_sessions(tmp_path / "2", 2, record), [one])
    (finding,) = checked.findings
    assert (finding.verdict, len(finding.points)) == ("held" if floor == 0.05 else "failed", 3)
    (note,) = [note for note in table(checked).notes if "2 of 5 sessions have no usable row" in note]
    assert f"0.json: {told}" in note


def test_a_session_of_roofs_alone_lacks_what_it_tells_of(tmp_path: Path) -> None:
    """A run with roofs of which the only case failed has rows all the same, of no case."""
    roof = build_points.record(case=build.case(model="roof", mode="roof"))
    lost = NotMeasured(id=ID, outcome="failed", reason="boom")
    points = [*build_points.points(tmp_path, build_points.record(), name="0")]
    for number in range(1, 5):
        points += build_points.points(tmp_path, roof, name=str(number), session={"not_measured": (lost,)})
    (finding,) = check_expectations(points, [expected(case=ID)]).findings
    assert finding.verdict == "not_evaluable"
    assert "4 of 5 sessions have no usable row: 1.json: not measured: failed: boom" in message(finding)


def test_tests_in_parts_lose_nothing(tmp_path: Path) -> None:
    """A session that was not to have the case is none that lacks it."""
    other = build_points.record(case=build.case(model="resnet18"))
    points = (
        *build_points.points(tmp_path, other, name="other"),
        *build_points.points(tmp_path, build_points.record(), name="own"),
    )
    checked = check_expectations(points, [expected(case=ID)])
    assert [(finding.verdict, finding.why) for finding in checked.findings] == [("held", "")]


@pytest.mark.parametrize(("disturbed", "verdict", "code"), [(9, "failed", 1), (11, "not_evaluable", 3)])
def test_a_floor_is_not_missed_by_a_session_of_a_busy_machine(
    tmp_path: Path, disturbed: int, verdict: str, code: int
) -> None:
    """Where most of twenty rounds were disturbed from outside, the time says nothing of the code: measure again."""
    marks = ("steal",) * disturbed + (None,) * (20 - disturbed)
    rounds = Rounds(steps=1, wall_s=(0.1,) * 20, disturbed=marks)
    record = build_points.record(timing=build.timing(rounds=rounds, margin=None))
    finding, checked = check(tmp_path, record, expected(bound=None, min_fraction_of_roof=0.9))
    assert (finding.verdict, build_points.exit_code(checked)) == (verdict, code)
    busy = "Likely: something else used the machine: 11 of 20 rounds were disturbed from outside: measure again"
    assert (busy in message(finding)) is (code == 3)


def test_rows_of_another_project_beside_ours_lack_no_case(tmp_path: Path) -> None:
    """They are of the same device. One whose record can't be read may be the case that is asked for."""
    points = build_points.points(tmp_path, build_points.record(), None)
    for entry in (expected(), expected(case=ID, device="epyc-2cpu")):
        checked = check_expectations(points, [entry])
        assert ([finding.verdict for finding in checked.findings], build_points.exit_code(checked)) == (["held"], 0)
        assert checked.unexpected == (points[1].id,)
    broken = replace(points[1], benchmark=replace(points[1].benchmark, fault="cut off"))
    assert build_points.exit_code(check_expectations([points[0], broken], [expected()])) == 3


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
    assert of_roof([with_them], {}) != of_roof([without], {})
    expected, _ = place_all([never], load())
    assert (without.bound, of_roof([without], {})) == (expected.bound, of_roof([expected], {}))


def test_a_bound_that_they_see_otherwise_is_told_once(tmp_path: Path) -> None:
    """However many sessions see it; nothing where they agree, failed, or weren't asked for."""
    two = [_result(tmp_path / f"{name}.json", counters=MEMORY) for name in ("a", "b")]
    assert otherwise_by_counters(two, load()) == (TOLD,)
    for counters in (None, Counters(status="permission_denied"), Counters(status="ok", flop=1e11, dram_byte=2e8)):
        assert otherwise_by_counters([_result(tmp_path / "c.json", counters=counters)], load()) == ()
    assert otherwise_by_counters([build.result(tmp_path / "d.json", [None])], load()) == ()


@pytest.mark.parametrize(("bound", "code"), [("compute", 0), ("memory", 1)])
def test_check_judges_by_the_count_and_tells(run: Run, tmp_path: Path, bound: str, code: int) -> None:
    """Bound and evidence of the row are what it was judged by."""
    path = _result(tmp_path / "a.json", counters=MEMORY).path
    (tmp_path / "e.toml").write_text(f"[[expected]]\ncase = '{ID}'\nbound = '{bound}'\n")
    got, out, err = run("check", path, "--expect", tmp_path / "e.toml", "--format", "json")
    (row,) = json.loads(out)
    assert (got, row["bound"]) == (code, "compute")
    assert row["bound_evidence"].endswith("(dram; analytic)")
    assert TOLD in err.splitlines()
