"""`roofline pairs`: cases that differ in one thing, and in nothing else."""

import csv
import io
from pathlib import Path
from typing import Any

import pytest

from roofline.cli.program import main
from roofline.schema.record import Record, Rounds
from tests.roofline import build

PHOTOS = {"data": "sample", "config": {"loader": {"workers": 1}, "threads": 1}}


def _record(name: str, step_s: float, margin: float | None = 0.01, **changes: Any) -> Record:
    timing = build.timing(step_s, rounds=Rounds(steps=1, wall_s=(step_s,)), margin=margin)
    return build.record(case=build.case(id=name, **changes), timing=timing)


def _pairs(folder: Path, capsys: pytest.CaptureFixture[str], *records: Record) -> list[str]:
    path = build.write(folder / "a.json", build.document(records))
    assert main(["pairs", str(path), "--format", "csv"]) == 0
    rows = csv.DictReader(io.StringIO(capsys.readouterr().out))
    return [f"{row['what']}: {row['case']}, {row['case_against']}, {row['time_ratio']}, {row['apart']}" for row in rows]


def test_what_differs_names_the_pair(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Several may be held against the same case."""
    assert _pairs(
        tmp_path,
        capsys,
        *(_record("train", 0.3), _record("infer", 0.15, mode="infer", config={"optimizer": None})),
        _record("compiled", 0.15, config={"compile": "default"}),
        _record("last", 0.3, layout="channels_last"),
        _record("photos", 0.6, **PHOTOS),
        *(_record("other", 0.25, model="vgg16"), _record("a", 0.5, model="vgg16", **{**PHOTOS, "data": "x"})),
        *(
            _record("b", 0.5, model="vgg16", **{**PHOTOS, "data": "y"}),
            _record("half", 0.15, None, precision="bf16", config={"seed": 1}),
        ),
    ) == [
        "training against inference: train, infer, 2.0, yes",
        "compiled against eager: compiled, train, 0.5, yes",
        "channels last against contiguous: last, train, 1.0, no",
        "real against ready data: photos, train, 2.0, yes",
        "real against ready data: a, other, 2.0, yes",
        "real against ready data: b, other, 2.0, yes",
        "another precision against fp32: half, train, 0.5, ",
    ]


@pytest.mark.parametrize(
    ("changes", "more"),
    [
        ({"mode": "infer", "precision": "bf16"}, []),
        ({"precision": "bf16", "config": {"heads": 8}}, []),
        ({"precision": "bf16", "config": {"threads": 1}}, []),
        ({"precision": "bf16", "batch": 16}, []),
        ({"precision": "bf16"}, [_record("again", 0.2)]),
        ({"precision": "bf16"}, [_record("again", 0.2, precision="bf16")]),
    ],
)
def test_what_differs_in_more_or_has_a_second_is_no_pair(
    changes: dict[str, Any], more: list[Record], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """A test's own settings count like all others."""
    records = [_record("train", 0.3), _record("other", 0.2, **changes), *more]
    path = build.write(tmp_path / "a.json", build.document(records))
    assert main(["pairs", str(path)]) == 3
    assert "no two cases that differ in one thing" in capsys.readouterr().err


def test_a_case_that_leaves_threads_to_its_loader_says_so(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Both counts are columns; below the table stands why they differ."""
    records = [_record("ready", 0.1, config={"threads": 2}), _record("photos", 0.2, **PHOTOS)]
    path = build.write(tmp_path / "a.json", build.document(records))
    assert main(["pairs", str(path), "--format", "csv"]) == 0
    (row,) = csv.DictReader(io.StringIO(capsys.readouterr().out))
    assert (row["threads"], row["threads_against"]) == ("1", "2")
    assert main(["pairs", str(path), "--width", "120"]) == 0
    note = "Computes with 1 of 2 threads, for the loader's workers have the rest: photos"
    assert note in capsys.readouterr().out


def test_a_name_of_two_cases_tells_which_is_compiled(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Of a pair that other programs took part in nothing is concluded."""
    compiled = {"config": {"compile": "default"}}
    rounds = Rounds(steps=1, wall_s=(0.1,) * 3, disturbed=("20 ms stolen",) * 3)
    loud = build.record(
        case=build.case(id="net", workload_hash="c", precision="bf16", **compiled),
        timing=build.timing(0.1, rounds=rounds),
    )
    records = [_record("net", 0.2, workload_hash="a"), _record("net", 0.1, workload_hash="b", **compiled), loud]
    path = build.write(tmp_path / "a.json", build.document(records))
    assert main(["pairs", str(path), "--width", "120"]) == 0
    lines = [line.split() for line in capsys.readouterr().out.splitlines()]
    assert [line[:2] for line in lines if line and line[0] == "net"] == [["net", "compiled"]] * 2
    assert " ".join(lines[-1]).startswith("Other programs disturbed most rounds of 1 of 2 pairs (net compiled):")
