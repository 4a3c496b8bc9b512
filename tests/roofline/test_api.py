"""The package as a notebook uses it: files in, pandas frames out."""

from __future__ import annotations

import math
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pandas as pd
import pytest

import roofline as rl
from roofline.frames import Results
from roofline.schema.record import Rounds
from tests.roofline import build
from tests.roofline.comparison import sessions
from tests.roofline.histories.made import UP, nights
from tests.roofline.kernels import profiled


@pytest.fixture
def results(tmp_path: Path) -> Results:
    """A CPU's and a GPU's results."""
    build.two_machines(tmp_path)
    return rl.load(tmp_path)


FRAMES = ("cases", "missing", "rounds", "operations", "kernels", "roofs", "machines")


def test_cases_have_the_columns_of_points_and_metrics(results: Results) -> None:
    """A row a case, with SI units in names and attrs, and a dtype that has a value for what is missing."""
    cases = results.cases
    of_machine = cases.groupby("machine", observed=True)["case"].nunique()
    assert len(cases) == of_machine.sum()
    assert set(of_machine.index) == {"epyc-2cpu", "a100"}
    assert {"step_time_s", "fraction_of_roof_low", "speed_of_light_s", "bound", "peak_reserved_byte"} <= set(cases)
    assert cases.attrs["units"]["attained_flop_per_s"] == "FLOP/s"
    assert cases.attrs["units"]["peak_reserved_byte"] == "B"
    assert "repeat_step_time_s" not in cases.attrs["units"]  # a text, of several times
    dtypes = {name: str(dtype) for name, dtype in cases.dtypes.items()}
    assert (dtypes["batch"], dtypes["step_time_s"], dtypes["valid"]) == ("Int64", "Float64", "boolean")
    assert (dtypes["precision"], dtypes["case"], dtypes["started_at"]) == (
        *("category", "category", "datetime64[us, UTC]"),
    )
    assert set(dtypes.values()) == {"Int64", "Float64", "boolean", "category", "string", "datetime64[us, UTC]"}


def test_a_dtype_does_not_depend_on_what_was_read(tmp_path: Path, results: Results) -> None:
    """So that a sum over nothing is 0 or NA, not an empty text, and frames of several folders go into one."""
    build.result(tmp_path / "b.json", [profiled(), build.timed(build.operation(time_s=0.02))])
    several = (rl.load(tmp_path / "b.json"), results, Results(()))
    for name in FRAMES:
        first, *others = (getattr(one, name).dtypes.astype(str) for one in several)
        for other in others:
            shared = first.index.intersection(other.index)
            assert first[shared].to_dict() == other[shared].to_dict(), name
    assert several[-1].kernels["time_s"].sum() == several[-1].operations["flop"].sum() == 0
    one, other = (build.write(tmp_path / f"{time_s}.json", sessions.document({"m": time_s})) for time_s in (0.1, 0.2))
    verdicts = rl.compare(one, other).cases
    assert pd.isna(verdicts["base_fraction_of_roof"].mean())


def test_files_of_one_name_are_told_apart(tmp_path: Path) -> None:
    """By as much of their paths as differs: frames are joined by the file."""
    for folder, time_s in (("first", 0.1), ("second", 0.2)):
        (tmp_path / folder).mkdir()
        build.write(tmp_path / folder / "a.json", sessions.document({"resnet50": time_s}))
    results = rl.load(tmp_path)
    assert sorted(results.cases["file"]) == ["first/a.json", "second/a.json"]
    rounds = results.rounds
    assert len(rounds.merge(results.cases, on=["case", "machine", "file"])) == len(rounds) > 0


def test_roofs_have_the_time_of_their_measurement(results: Results) -> None:
    """In UTC."""
    assert str(results.roofs["measured_at"].dtype) == "datetime64[us, UTC]"


def test_a_missing_value_is_na_with_its_reason(tmp_path: Path) -> None:
    """By row and column, as the record has it; a part's reason covers all in it."""
    record = build.record(missing={"timing.margin": "one round", "memory": "a CPU has no peak"})
    record = build.record(timing=build.timing(margin=None), missing=record.missing)
    build.result(tmp_path / "a.json", [record])
    results = rl.load(tmp_path / "a.json")
    assert pd.isna(results.cases.loc[0, "margin"])
    reasons = _reasons(results, "cases")
    assert reasons["margin"] == "one round"
    assert reasons["peak_reserved_byte"] == "a CPU has no peak"
    assert reasons["energy_j_per_sample"] == "no energy was read"  # nothing in the record says so


def _reasons(results: Results, table: str) -> dict[str, str]:
    missing = results.missing[results.missing["table"] == table]
    return dict(zip(missing["column"], missing["reason"], strict=True))


@pytest.mark.parametrize(
    ("compile_s", "reason"),
    [(None, "steps run eagerly: nothing is compiled"), (3.0, "not looked at when this was measured")],
)
def test_an_older_record_does_not_know_of_caches(tmp_path: Path, compile_s: float | None, reason: str) -> None:
    build.result(tmp_path / "a.json", [build.record(timing=build.timing(compile_s=compile_s))])
    missing = rl.load(tmp_path).missing
    assert set(missing[missing["column"] == "compiled_from_cache"]["reason"]) == {reason}


def test_each_missing_value_of_each_frame_has_a_reason(tmp_path: Path, results: Results) -> None:
    """One for all of a case's rounds, which says as well where there is rightly nothing."""
    session = build.session(build.roofs(), noted={"zone": "us-east1-b"})
    rounds = Rounds(steps=1, wall_s=(0.1, 0.1), disturbed=(None, "a backup"))
    record = build.record(
        timing=build.timing(rounds=rounds), missing={"timing.rounds.power_w": "not read for cpu"}, counters=None
    )
    build.result(tmp_path / "b.json", [record, profiled(), None], of=session)
    for one in (results, rl.load(tmp_path / "b.json")):
        for name in set(FRAMES) - {"missing"}:
            of_frame = one.missing[one.missing["table"] == name]
            named = [column for column in getattr(one, name) if not column.startswith("note_")]
            assert of_frame["rows"].sum() == getattr(one, name)[named].isna().sum().sum(), name
            assert len(of_frame.drop_duplicates(["row", "column"])) == len(of_frame)
        assert one.missing[["table", "row", "rows", "column", "reason"]].notna().all(axis=None)
    assert _reasons(one, "rounds")["power_w"] == "no such reading was taken"
    missing = one.missing[(one.missing["table"] == "rounds") & (one.missing["case"] == record.case.id)]
    of_rounds = missing.drop_duplicates("column").set_index("column")
    assert of_rounds.loc["power_w", ["row", "rows", "reason"]].tolist() == [0, 2, "not read for cpu"]
    assert of_rounds.loc["disturbed", ["row", "rows", "reason"]].tolist() == [0, 1, "nothing disturbed the round"]
    assert _reasons(one, "kernels")["flop"] == "the profiler gives times alone"
    of_roofs = one.missing[(one.missing["table"] == "roofs") & (one.missing["column"] == "from_file")]
    assert of_roofs["reason"].tolist() == [
        *("measured in the run of this file", "a published figure: nobody measured it here"),
    ]
    assert _reasons(one, "machines")["compute_capability"] == "the system doesn't tell it"


def test_a_start_that_is_no_time_is_na_with_its_reason(tmp_path: Path) -> None:
    """The frame's dtype has no place for the text, which the commands show."""
    results = rl.load(
        build.write(tmp_path / "a.json", {**build.document([None]), "datetime": "soon", "commit_info": {}})
    )
    assert pd.isna(results.cases.loc[0, "started_at"])
    reasons = _reasons(results, "cases")
    assert reasons["started_at"] == "no time of ISO 8601: soon"
    assert reasons["commit"] == "the file names no commit"


@pytest.mark.parametrize(
    ("values", "dtype"),
    [
        ((8, 32), "Int64"),
        ((0.5, 2), "Float64"),
        ((True, False), "boolean"),
        (("a", 8), "string"),
        (([3, 4], None), "string"),
        ((10**30, 8), "string"),
    ],
)
def test_a_parameter_has_the_dtype_of_its_values(tmp_path: Path, values: tuple[object, object], dtype: str) -> None:
    """Numbers are sorted as numbers; what no dtype holds stays as text."""
    content = build.document([None, None])
    for row, value in zip(content["benchmarks"], values, strict=True):
        row["params"] = {"case": value}
    cases = rl.load(build.write(tmp_path / "a.json", content)).cases
    assert str(cases["param_case"].dtype) == dtype
    shown = [pd.NA if one is None else one for one in cases["param_case"].astype("string")]
    assert shown == [pd.NA if one is None else str(float(one) if dtype == "Float64" else one) for one in values]  # type: ignore[arg-type]


def test_rounds_hold_every_series_of_each_round(tmp_path: Path) -> None:
    """Also of a benchmark of another project, whose rounds are steps."""
    build.write(tmp_path / "ours.json", sessions.document({"resnet50": 0.1}))
    build.write(tmp_path / "other.json", sessions.foreign({"test_a": (0.1, 0.2)}))
    rounds = rl.load([tmp_path / "ours.json", tmp_path / "other.json"]).rounds
    other = rl.load(tmp_path / "other.json")
    assert [len(getattr(other, name)) for name in ("cases", "rounds", "operations", "kernels")] == [1, 2, 0, 0]
    plain = rounds[rounds["file"] == "other.json"]
    assert plain["step_time_s"].tolist() == [0.1, 0.2]
    assert plain["round"].tolist() == [0, 1]
    ours = rounds[rounds["file"] == "ours.json"]
    assert (ours["step_time_s"] * ours["steps"] - ours["wall_s"]).abs().max() < 1e-12


def test_what_a_file_lacks_is_in_the_notes_and_with_its_reason(tmp_path: Path) -> None:
    """The notes are those that the commands print; of a number that is no time, the reason says which it was."""
    content = build.document([build.record(), build.record()], of=build.session())
    for row, time_s in zip(content["benchmarks"], (float("inf"), -1.0), strict=True):
        row["extra_info"]["roofline"]["timing"]["step_time_s"] = time_s
    path = build.write(tmp_path / "a.json", content)
    (tmp_path / "b.json").write_text("")
    results = rl.load(tmp_path)
    skipped, not_finite = results.cases.attrs["notes"]
    assert skipped.startswith(f"skipped {tmp_path / 'b.json'}: empty. ")
    place = "benchmarks[0].extra_info.roofline.timing.step_time_s"
    assert not_finite == f"{path}: not finite, taken as missing: {place}"
    reasons = results.missing.query("table == 'cases' and column == 'step_time_s'")["reason"]
    assert reasons.tolist() == [
        "its step time is missing or not finite",
        "its step time is -1 s, which is not a time",
    ]


def test_what_was_noted_of_a_run_is_in_the_frames_of_its_cases(tmp_path: Path) -> None:
    """Of each round, operation, kernel and roof as well; a machine may have runs with other notes."""
    session = build.session(build.roofs(), noted={"zone": "us-east1-b"})
    build.result(tmp_path / "a.json", [profiled(timing=build.timing(0.1))], of=session)
    made = rl.load(tmp_path)
    for name in ("cases", "rounds", "operations", "kernels", "roofs"):
        assert set(getattr(made, name)["note_zone"]) == {"us-east1-b"}, name
    assert "note_zone" not in made.machines


@pytest.mark.parametrize("name", FRAMES)
def test_parquet_keeps_every_frame(tmp_path: Path, results: Results, name: str) -> None:
    """Values, dtypes, units and notes."""
    pytest.importorskip("pyarrow")
    frame = getattr(results, name)
    frame.to_parquet(tmp_path / "a.parquet")
    back = pd.read_parquet(tmp_path / "a.parquet")
    # pandas reads categories of which there is none as objects, and until 3 so does a column of them.
    held = [name for name in frame if frame[name].dtype != "category" or len(frame[name].cat.categories)]
    assert back.columns.equals(frame.columns)
    assert back[held].dtypes.astype(str).equals(frame[held].dtypes.astype(str))
    pd.testing.assert_frame_equal(back[held], frame[held], check_categorical=False, check_index_type=False)
    assert back.attrs == frame.attrs


def test_operations_kernels_roofs_and_machines(results: Results) -> None:
    """Each machine's roofs with their source; of cases without timed operations the reason."""
    roofs = results.roofs
    assert set(roofs["machine"]) == {"epyc-2cpu", "a100"}
    assert set(roofs["source"]) <= {"measured", "spec"}
    assert set(results.machines["machine"]) == {"epyc-2cpu", "a100"}
    assert results.operations.attrs["left_out"].keys() | set(results.operations["case"]) == set(results.cases["case"])
    assert {"case", "kernel", "launches", "time_s"} <= set(results.kernels)


@pytest.fixture
def sides(tmp_path: Path) -> tuple[Path, Path]:
    """Some sessions a side, the new ones slower."""
    sessions.side(tmp_path / "base", {"resnet50": 0.1})
    sessions.side(tmp_path / "new", {"resnet50": 0.1 * sessions.SLOWER}, first=10)
    return tmp_path / "base", tmp_path / "new"


def test_compare_gives_a_verdict_a_case(sides: tuple[Path, Path]) -> None:
    """With the change and its interval; nothing is gated."""
    found = rl.compare(*sides)
    assert set(found.cases["verdict"]) == {"slower"}
    assert found.cases["change"].between(0.48, 0.52).all()
    assert found.passed is None


def test_a_comparison_of_nothing_says_why(tmp_path: Path) -> None:
    """Case by case, as the command shows before it ends with 3."""
    sessions.side(tmp_path / "base", {"resnet50": 0.1})
    sessions.side(tmp_path / "new", {"vgg16": 0.1}, first=10)
    found = rl.compare(tmp_path / "base", tmp_path / "new")
    assert set(found.cases["verdict"]) == {"removed", "new"}
    assert str(found).startswith("0 of 2 cases compared")


def test_check_is_the_gate(sides: tuple[Path, Path]) -> None:
    """As the command's exit code has it."""
    base, new = sides
    slower = rl.check(new, baseline=base)
    assert (slower.passed, slower.gate.exit_code) == (False, 1)  # type: ignore[union-attr]
    assert str(slower).startswith("Regression")
    sessions.side(base.parent / "same", {"resnet50": 0.1}, first=20)
    assert rl.check(base.parent / "same", baseline=base).passed is True


def test_a_history_has_a_row_for_each_level_and_for_each_point(tmp_path: Path) -> None:
    """Of the command's table, with the dtypes of a frame."""
    pytest.importorskip("ruptures", reason="needs the extra history")
    folder = nights(tmp_path, UP)
    found = rl.history(folder)
    assert str(found) == "History of 2 cases: 1 became slower"
    levels, points = found.levels, found.points
    assert levels["verdict"].astype("string").fillna("").tolist() == ["", "slower", "steady"]
    assert levels["change"].dropna().between(0.09, 0.11).tolist() == [True]
    assert str(points["started_at"].dtype) == "datetime64[us, UTC]"
    assert len(points) == 40
    with pytest.raises(ValueError, match=r"^confidence is 99: give "):
        rl.history(folder, confidence=99)


def test_errors_are_those_of_the_command(tmp_path: Path) -> None:
    """One class, which says what is wrong and what to do."""
    with pytest.raises(rl.ReadError, match=r"none\.json: can't be read"):
        rl.load(tmp_path / "none.json")
    with pytest.raises(rl.ReadError, match=r"no file matches"):
        rl.load(str(tmp_path / "*.json"))
    with pytest.raises(rl.ReadError, match="no baseline"):
        rl.compare(tmp_path / "base", tmp_path)


@pytest.mark.parametrize("function", [rl.load, rl.history, rl.ncu, rl.nsys, rl.trace, rl.audit])
@pytest.mark.parametrize(
    ("given", "error", "message"),
    [
        ([], rl.ReadError, "no path given"),
        ("", rl.ReadError, "an empty name is no path"),
        ("x" * 5000, rl.ReadError, "xxx"),
        *((one, TypeError, r"is no path\. Give a file, a folder or a glob") for one in (None, 3, b"a", [["a"]])),
    ],
    ids=lambda one: repr(one)[:20],
)
def test_what_is_no_path_is_refused(
    function: Callable[[Any], object], given: Any, error: type[Exception], message: str
) -> None:
    """As a list that came out empty, or an unset variable: what lies here is nobody's choice."""
    with pytest.raises(error, match=message):
        function(given)


def test_a_folder_has_the_files_that_the_command_finds_there(tmp_path: Path) -> None:
    """Of what profilers wrote, too; one without any says what was looked for."""
    for function, told in (
        (rl.nsys, r"no file there ends in \.sqlite"),
        (rl.trace, r"no file there ends in \.json or \.json\.gz"),
        (rl.audit, rf"{tmp_path.name}: nothing to read; looked for"),
    ):
        with pytest.raises(rl.ReadError, match=told):
            function(tmp_path)


@pytest.mark.parametrize(
    "setting",
    [
        *({"confidence": value} for value in (99, 1, 0.4, math.nan)),
        *({"least_effect": value} for value in (2, 1, 0, -0.1, math.nan, "2%")),
        *({"floor_s": value} for value in (-1, math.inf, math.nan)),
        {"by": "time_s"},
    ],
)
def test_a_setting_out_of_its_range_passes_nothing(sides: tuple[Path, Path], setting: dict[str, Any]) -> None:
    """With 99 for 99 % no case would ever be shown to be slower, and with 2 for 2 % every check would pass."""
    base, new = sides
    (name,) = setting
    with pytest.raises(ValueError, match=rf"^{name} is .*: give "):
        rl.check(new, base, **setting)
    with pytest.raises(ValueError, match=rf"^{name} is .*: give "):
        rl.compare(base, new, **setting)


def test_globs_and_folders_are_read(tmp_path: Path) -> None:
    """What a folder has that isn't a result is named."""
    build.two_machines(tmp_path)
    (tmp_path / "a100" / "broken.json").write_text("{")
    assert len(rl.load(str(tmp_path / "*" / "2026*.json")).machines) == 2
    assert "broken.json" in rl.load(tmp_path).skipped[0]


def test_devices_are_a_frame() -> None:
    """A row for each figure, in SI units."""
    dram = rl.devices().query("roof == 'dram'").set_index("device")
    assert dram.loc["NVIDIA A100-PCIE-40GB", ["value", "unit"]].tolist() == [1.555e12, "B/s"]


def test_audit_gives_contradictions(tmp_path: Path) -> None:
    """Images per second times the seconds of a step are the batch."""
    table = tmp_path / "table.csv"
    table.write_text("model,batch,images_per_s,step_time_ms\nresnet50,32,100,320\nresnet50,64,100,320\n")
    assert len(rl.audit(table)) == 1


def test_a_trace_gives_its_operators(tmp_path: Path) -> None:
    """Of what ran without a GPU."""
    event = {"ph": "X", "cat": "cpu_op", "name": "aten::mm", "pid": 1, "tid": 1, "ts": 0, "dur": 10}
    frame = rl.trace(build.write(tmp_path / "t.json", {"traceEvents": [event, {**event, "ts": 20}]}))
    assert frame.loc[0, "name"] == "aten::mm"
    assert "t.json" in frame.loc[0, "file"]
    assert rl.trace(tmp_path).equals(frame)
    kernel = {**event, "cat": "kernel", "args": {"device": 0, "stream": 7}}
    build.write(tmp_path / "u.json", {"traceEvents": [kernel]})
    kernels = rl.trace(tmp_path)
    assert len(kernels) == 1
    assert f"{tmp_path / 't.json'}: its operators are not here" in kernels.attrs["notes"][-1]
