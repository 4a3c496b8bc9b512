"""The package as a notebook uses it: files in, pandas frames out."""

from __future__ import annotations

from pathlib import Path

import pandas as pd
import pytest

import roofline as rl
from roofline.frames import Results
from tests.roofline import build
from tests.roofline.comparison import sessions


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
    dtypes = {name: str(dtype) for name, dtype in cases.dtypes.items()}
    assert (dtypes["batch"], dtypes["step_time_s"], dtypes["valid"]) == ("Int64", "Float64", "boolean")
    assert (dtypes["precision"], dtypes["case"], dtypes["started_at"]) == (
        *("category", "string", "datetime64[us, UTC]"),
    )
    assert set(dtypes.values()) == {"Int64", "Float64", "boolean", "category", "string", "datetime64[us, UTC]"}


def test_a_missing_value_is_na_with_its_reason(tmp_path: Path) -> None:
    """By row and column, as the record has it; a part's reason covers all in it."""
    record = build.record(missing={"timing.margin": "one round", "memory": "a CPU has no peak"})
    record = build.record(timing=build.timing(margin=None), missing=record.missing)
    build.result(tmp_path / "a.json", [record])
    results = rl.load(tmp_path / "a.json")
    assert pd.isna(results.cases.loc[0, "margin"])
    reasons = results.missing.set_index("column")["reason"]
    assert reasons["margin"] == "one round"
    assert reasons["peak_reserved_byte"] == "a CPU has no peak"
    assert len(results.missing) == int(results.cases.isna().sum().sum())


def test_rounds_hold_every_series_of_each_round(tmp_path: Path) -> None:
    """Also of a benchmark of another project, whose rounds are steps."""
    build.write(tmp_path / "ours.json", sessions.document({"resnet50": 0.1}))
    build.write(tmp_path / "other.json", sessions.foreign({"test_a": (0.1, 0.2)}))
    rounds = rl.load([tmp_path / "ours.json", tmp_path / "other.json"]).rounds
    plain = rounds[rounds["file"] == "other.json"]
    assert plain["step_time_s"].tolist() == [0.1, 0.2]
    assert plain["round"].tolist() == [0, 1]
    ours = rounds[rounds["file"] == "ours.json"]
    assert (ours["step_time_s"] * ours["steps"] - ours["wall_s"]).abs().max() < 1e-12


@pytest.mark.parametrize("name", FRAMES)
def test_parquet_keeps_every_frame(tmp_path: Path, results: Results, name: str) -> None:
    """Values, dtypes, units and notes."""
    pytest.importorskip("pyarrow")
    frame = getattr(results, name)
    frame.to_parquet(tmp_path / "a.parquet")
    back = pd.read_parquet(tmp_path / "a.parquet")
    pd.testing.assert_frame_equal(back, frame)
    assert back.attrs == frame.attrs


def test_csv_keeps_values(tmp_path: Path, results: Results) -> None:
    """Every digit of every number. What has no item and what is missing look the same there."""
    results.cases.to_csv(tmp_path / "a.csv", index=False)
    back = pd.read_csv(tmp_path / "a.csv", dtype=dict(results.cases.dtypes.drop("started_at")))
    back["started_at"] = pd.to_datetime(back["started_at"]).astype("datetime64[us, UTC]")
    written = results.cases.assign(**{name: results.cases[name].replace("", pd.NA) for name in ("flags", "uncovered")})
    pd.testing.assert_frame_equal(back, written, check_exact=True)


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


def test_check_is_the_gate(sides: tuple[Path, Path]) -> None:
    """As the command's exit code has it."""
    base, new = sides
    slower = rl.check(new, baseline=base)
    assert (slower.passed, slower.gate.exit_code) == (False, 1)  # type: ignore[union-attr]
    assert str(slower).startswith("Regression")
    sessions.side(base.parent / "same", {"resnet50": 0.1}, first=20)
    assert rl.check(base.parent / "same", baseline=base).passed is True


def test_errors_are_those_of_the_command(tmp_path: Path) -> None:
    """One class, which says what is wrong and what to do."""
    with pytest.raises(rl.ReadError, match=r"none\.json: can't be read"):
        rl.load(tmp_path / "none.json")
    with pytest.raises(rl.ReadError, match=r"no file matches"):
        rl.load(str(tmp_path / "*.json"))
    with pytest.raises(rl.ReadError, match="no baseline"):
        rl.compare(tmp_path / "base", tmp_path)


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
