"""The record survives the way through JSON, which is strict, and refuses what it doesn't know."""

import json
import math
from typing import Any

import msgspec
import pytest

from roofline.schema.record import (
    SCHEMA,
    Check,
    Counters,
    Flag,
    Memory,
    OutsideTime,
    Profile,
    Record,
    Rounds,
    Uncovered,
)
from roofline.schema.record_json import RecordError, from_json, to_json
from roofline.schema.session import Machine, NotMeasured, RoofSample, Session, SessionSet
from tests.roofline import build


def _full() -> Record:
    return build.record(
        checks=(Check(name="device", status="passed", evidence="parameters on cpu"),),
        operations=(build.operation(winograd=True, time_s=0.01), build.operation(name="aten::add")),
        profile=Profile(
            source="operators",
            steps=3,
            step_s=0.02,
            operations_s=0.015,
            outside=(OutsideTime(name="fused_0", calls=2.0, time_s=0.001),),
        ),
        counters=Counters(status="not requested"),
        memory=Memory(peak_reserved_byte=1),
        work=build.work(uncovered=(Uncovered(name="aten::foo", calls=2, time_s=0.001),)),
        flags=(Flag(name="disturbed", evidence="3 rounds"),),
        missing={"energy_j_per_step": "no meter"},
    )


@pytest.mark.parametrize(
    "part",
    [
        pytest.param(_full(), id="record"),
        pytest.param(build.machine(), id="machine"),
        pytest.param(
            build.session(
                [build.roof("flop", "fp32", 1e12, samples=(RoofSample(value=1e12, kernel="mm", at="2026-01-01"),))],
                not_measured=(NotMeasured(id="x", outcome="out_of_memory", reason="2 GB"),),
                set=SessionSet(id="20261120T100000Z-5f3a", index=2, count=5),
            ),
            id="session",
        ),
    ],
)
def test_round_trip(part: Record | Machine | Session) -> None:
    """What was written is read back equal, through strict JSON text."""
    text = json.dumps(to_json(part), allow_nan=False)
    assert from_json(type(part), json.loads(text), "here") == part


def test_a_nonfinite_optional_number_is_null_with_a_reason() -> None:
    """Strict JSON has no NaN: the value is null, and ``missing`` names its path."""
    written = to_json(build.record(timing=build.timing(margin=math.nan, input_wait_s=math.inf)))
    assert written["timing"]["margin"] is None
    assert written["missing"] == {
        "timing.margin": "not a finite number",
        "timing.input_wait_s": "not a finite number",
    }


def test_a_reason_already_given_is_kept() -> None:
    """The measuring side knows better why a value is missing."""
    written = to_json(build.record(timing=build.timing(margin=math.nan), missing={"timing.margin": "one round"}))
    assert written["missing"]["timing.margin"] == "one round"


def test_a_session_notes_a_nonfinite_number() -> None:
    """A session has no ``missing``: the path goes to its notes."""
    written = to_json(build.session([build.roof("flop", "fp32", 1e12, spread=math.nan)]))
    assert written["roofs"][0]["spread"] is None
    assert written["notes"] == ["roofs[0].spread: not a finite number"]


def test_a_required_number_that_was_not_finite_reads_back_as_nan() -> None:
    """One bad number must not make the row, or the file, unreadable: of a field, in a list and in a mapping."""
    timing = build.timing(rounds=Rounds(steps=5, wall_s=(0.5, math.nan, math.inf)))
    record = build.record(work=build.work(flop=math.nan), timing=timing, operations=(build.operation(flop=math.nan),))
    back = from_json(Record, to_json(record), "here")
    assert back.work is not None
    assert back.timing is not None
    assert back.timing.rounds.wall_s[0] == 0.5
    assert all(map(math.isnan, (back.work.flop_per_step, back.work.flop_by_dtype["fp32"])))
    assert all(map(math.isnan, (*back.timing.rounds.wall_s[1:], back.operations[0].flop)))
    assert back.case == build.case()


def test_what_is_null_in_one_operation_is_looked_for_in_all(monkeypatch: pytest.MonkeyPatch) -> None:
    """The record isn't read once more for each: there may be hundreds."""
    operations = tuple(build.operation(flop=math.nan) for _ in range(9))
    value = to_json(build.record(operations=operations))
    tries = []
    convert = msgspec.convert
    monkeypatch.setattr(msgspec, "convert", lambda *given: (tries.append(given), convert(*given))[1])
    back = from_json(Record, value, "here")
    assert [math.isnan(one.flop) for one in back.operations] == [True] * 9
    assert len(tries) == 3  # as it is, with what is null found, and without


def test_unknown_keys_are_ignored() -> None:
    """A later version of the same schema may add fields."""
    value = {**to_json(build.record()), "later": {"x": 1}}
    value["case"]["also"] = 3
    assert from_json(Record, value, "here") == build.record()


@pytest.mark.parametrize("schema", [None, 0, SCHEMA + 1, "1", True, 1.5])
def test_another_schema_is_refused(schema: object) -> None:
    """A newer file may mean something else by the same key."""
    value = {**to_json(build.record()), "schema": schema}
    with pytest.raises(RecordError, match=rf"^there: schema is .*; this version reads 1 to {SCHEMA}\. Upgrade"):
        from_json(Record, value, "there")


@pytest.mark.parametrize("value", [None, [], "record", 3])
def test_no_object_is_refused(value: object) -> None:
    """The key is there and holds something else."""
    with pytest.raises(RecordError, match=r"^there: expected a JSON object, found"):
        from_json(Record, value, "there")


@pytest.mark.parametrize(
    ("path", "bad", "told"),
    [
        (("case", "batch"), "32", "case.batch"),
        (("case", "batch"), 32.5, "case.batch"),
        (("case", "batch"), True, "case.batch"),
        (("case", "model"), 5, "case.model"),
        (("timing", "step_time_s"), "0.1", "timing.step_time_s"),
        (("timing", "step_time_s"), True, "timing.step_time_s"),
        (("timing", "stop_reason"), "tired", "timing.stop_reason"),
        (("timing", "warmup_settled"), 1, "timing.warmup_settled"),
        (("timing", "rounds", "wall_s"), {"a": 1}, "timing.rounds"),
    ],
)
def test_a_wrong_type_is_refused_with_its_path(path: tuple[str, ...], bad: object, told: str) -> None:
    """Nothing is converted silently, and the message says which field."""
    value: Any = to_json(build.record())
    place = value
    for key in path[:-1]:
        place = place[key]
    place[path[-1]] = bad
    with pytest.raises(RecordError, match=f"there.*{told}"):
        from_json(Record, value, "there")


def test_a_missing_field_is_refused_with_its_name() -> None:
    """A field without a default has to be there."""
    value = to_json(build.record())
    del value["case"]["model"]
    with pytest.raises(RecordError, match="model"):
        from_json(Record, value, "there")


def test_a_whole_number_serves_as_a_float() -> None:
    """JSON doesn't tell 1 from 1.0."""
    value = to_json(build.record())
    value["timing"]["step_time_s"] = 1
    back = from_json(Record, value, "here")
    assert back.timing is not None
    assert isinstance(back.timing.step_time_s, float)


@pytest.mark.parametrize(("batch", "fits"), [(2**63 - 1, True), (2**63, False), (10**29, False)])
def test_whole_numbers_have_at_most_64_bits(batch: int, fits: bool) -> None:
    """No count is larger; one that is would overflow where it is divided or drawn."""
    raw = to_json(build.record())
    raw["case"]["batch"] = batch
    if fits:
        assert from_json(Record, raw, "a.json").case.batch == batch
    else:
        with pytest.raises(RecordError, match=r"a\.json.*case\.batch"):
            from_json(Record, raw, "a.json")
