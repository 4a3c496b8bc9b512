"""What a report writes beside its figures of the machines."""

from __future__ import annotations

import csv
from pathlib import Path
from typing import Any

import pytest

from roofline.files import writing
from roofline.frames import Results
from roofline.machine.published import load
from roofline.model.points import points_of
from roofline.report import data_files, folder
from roofline.report.data_files import csv_files
from roofline.results.reader import read_file
from roofline.show.export import LacksPyarrow
from tests.roofline import build
from tests.roofline.conftest import Run
from tests.roofline.kernels import profiled

MATMUL = build.operation(time_s=0.1)


def test_a_case_has_its_own_figures_and_tables_have_all(
    run: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A case is named by a part of its id. What it has none of is told, and so is a package that isn't there."""

    def lacks(_: Any) -> bytes:
        raise LacksPyarrow("Parquet needs pyarrow")

    monkeypatch.setattr(data_files, "as_parquet", lacks)
    monkeypatch.setattr(folder, "MOST_DRAWN", 0)
    file = tmp_path / "a.json"
    build.result(file, [build.timed(MATMUL), profiled(case=build.case(model="mlp"))])
    code, out, err = run("report", file, "-o", "report", "--case", "RESNET50")
    assert code == 0
    figures = [Path(line) for line in out.split() if "resnet50" in Path(line).name and line.startswith("report/")]
    assert [path.name for path in figures] == [
        f"{kind}-epyc-2cpu-resnet50-train-b32-fp32.{form}"
        for kind in ("operations", "rounds")
        for form in ("png", "svg")
    ]
    assert [path.read_bytes()[1:4] for path in figures] == [b"PNG", b"?xm"] * 2
    assert err == (
        "no figures of the machines, more than 0 of them: the page has all (2)\n"
        "epyc-2cpu: no levels of resnet50-train-b32-fp32 to draw: no hardware counters (none in the record)\n"
        "no Parquet files: Parquet needs pyarrow\n"
    )
    rows = list(csv.DictReader(Path("report/operations.csv").read_text(encoding="utf-8").splitlines()))
    assert {row["case"] for row in rows} == {"resnet50-train-b32-fp32", "mlp-train-b32-fp32"}
    rows = list(csv.DictReader(Path("report/kernels.csv").read_text(encoding="utf-8").splitlines()))
    assert [row["kind"] for row in rows] == ["gemm", "elementwise", "copy"]
    assert run("report", file, "--case", "vgg")[0] == 2


def test_figures_are_of_a_few_machines(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Of more of them they would take longer than anybody looks at them, and more room than all else."""
    monkeypatch.setattr(folder, "MOST_DRAWN", 1)
    monkeypatch.setattr(folder, "parquet_files", lambda _: ())
    table = load()
    runs = [(result, points_of(result, table)) for result in map(read_file, build.two_machines(tmp_path))]
    written = folder.write_report(runs, tmp_path / "report", writing.write_bytes)
    assert not [path for path in written.paths if path.suffix in (".png", ".svg")]
    assert written.notes == ("no figures of the machines, more than 1 of them: the page has all (2)",)


def test_where_nothing_was_timed_there_is_no_table_of_it(tmp_path: Path) -> None:
    """Operations, kernels, and machines side by side."""
    points = points_of(build.result(tmp_path / "a.json", [build.record()]), load())
    assert [name for name, _ in csv_files(Results(points))] == ["roofline_points.csv", "metrics.csv"]
