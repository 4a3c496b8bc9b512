"""What a report writes beside its figures of the machines."""

from __future__ import annotations

import csv
import errno
import hashlib
import os
from pathlib import Path
from typing import Any

import pytest

from roofline.cli.read_results import plot_report
from roofline.files import writing
from roofline.machine.published import load
from roofline.model.points import points_of
from roofline.report import data_files, folder
from roofline.report.costs import costs_table
from roofline.report.data_files import csv_tables
from roofline.report.folder import Extras
from roofline.report.page.page_files import LacksPageLibraries
from roofline.show.export import LacksPyarrow, csv_of
from tests.roofline import build
from tests.roofline.conftest import Run
from tests.roofline.kernels import profiled

MATMUL = build.operation(time_s=0.1)


def test_of_many_runs_the_newest_are_shown(run: Run, tmp_path: Path) -> None:
    """As on the page: a run of which every case was measured again is left to `roofline summary`."""
    for day in (1, 2, 3):
        of = build.session(build.roofs(), started_at=f"2026-11-0{day}T10:00:00+00:00")
        build.result(tmp_path / f"{day}.json", [build.record()], of=of)
    out = run("report", tmp_path, "-o", "report")[1]
    assert [f"2026-11-0{day}" in out for day in (1, 2, 3)] == [False, False, True]


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
        "no figures of each, and no tables here, of more than 0 machines: the page has all, and a report of the files"
        " of a few has theirs\n"
        "epyc-2cpu: no levels to draw: no hardware counters (none in the record)\n"
        "no Parquet files: Parquet needs pyarrow\n"
    )
    rows = list(csv.DictReader(Path("report/operations.csv").read_text(encoding="utf-8").splitlines()))
    assert {row["case"] for row in rows} == {"resnet50-train-b32-fp32", "mlp-train-b32-fp32"}
    rows = list(csv.DictReader(Path("report/kernels.csv").read_text(encoding="utf-8").splitlines()))
    assert [row["kind"] for row in rows] == ["gemm", "elementwise", "copy"]
    assert run("report", file, "--case", "vgg")[0] == 2


def test_what_the_page_makes_of_cases_has_tables(tmp_path: Path) -> None:
    """The gain of each doubling of the batch, and cases that differ in one thing, with their machine."""
    records = [
        build.record(case=build.case(batch=batch, mode=mode), timing=build.timing(step_time_s))
        for batch, mode, step_time_s in ((8, "train", 0.1), (32, "train", 0.2), (8, "infer", 0.05))
    ]
    points = build.points(tmp_path / "a.json", records)
    texts = {name: csv_of(table) for name, table in csv_tables(points, costs_table(points, {}))}
    (step,) = csv.DictReader(texts["batch_scaling"].splitlines())
    assert (step["machine"], step["from_batch"], step["to_batch"]) == ("epyc-2cpu", "8", "32")
    assert float(step["gain_per_doubling"]) == pytest.approx(2**0.5 - 1)
    (pair,) = csv.DictReader(texts["pairs"].splitlines())
    assert (pair["machine"], pair["what"], pair["time_ratio"]) == ("epyc-2cpu", "training against inference", "2.0")


@pytest.fixture
def few_files(monkeypatch: pytest.MonkeyPatch) -> None:
    """A report without figures and frames, which take their time."""
    monkeypatch.setattr(folder, "MOST_DRAWN", 0)
    monkeypatch.setattr(folder, "parquet_files", lambda _: ())


@pytest.mark.usefixtures("few_files")
def test_an_earlier_report_leaves_nothing_behind(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """What it wrote and this one doesn't is removed; what a person put there or changed stays."""
    report = tmp_path / "r"
    result = build.result(tmp_path / "a.json", [build.record(), build.record(case=build.case(model="vgg"))])
    runs = [(result, points_of(result, load()))]
    priced = Extras(dashboards=True, prices={"epyc-2cpu": 1.0})
    assert folder.write_report(runs, report, writing.write_bytes, priced).notes[1:] == ()
    (report / "mine.md").write_text("mine")
    (report / "bencher-epyc-2cpu.json").write_text("{}")

    def lacks(*_: Any) -> list[Path]:
        raise LacksPageLibraries("plotly")

    monkeypatch.setattr(folder, "write_page", lacks)
    monkeypatch.setattr(folder, "MOST_ROWS", 1)
    *_, long, removed = folder.write_report(runs, report, writing.write_bytes).notes
    names = "roofline_points.csv, metrics.csv, roofs.csv"
    assert long == f"no {names}, of more than 1 rows each: frames/ has their figures as Parquet"
    first = "costs.csv, github-action-benchmark-epyc-2cpu.json, index.html, metrics.csv, page/charts.js"
    assert f" files of an earlier report in {report}: {first} and " in removed
    assert sorted(path.name for path in report.iterdir()) == [
        *(".roofline-report", "bencher-epyc-2cpu.json", "env.md", "mine.md", "report.md")
    ]


@pytest.mark.usefixtures("few_files")
def test_a_file_of_somebodys_own_stays(run: Run, tmp_path: Path) -> None:
    """Nothing is written where one would be lost: of a folder without a report, and one that was changed since."""
    build.result(tmp_path / "a.json", [build.record()])
    Path("r").mkdir()
    Path("r/index.html").write_text("mine")
    code, _, err = run("report", tmp_path / "a.json", "-o", "r")
    assert (code, [path.name for path in Path("r").iterdir()]) == (2, ["index.html"])
    assert err.endswith(
        "Error: r: nothing was written, for the report would replace index.html, which no report wrote or which was"
        " changed since. Move what you want to keep, or name another folder.\n"
    )
    Path("r/index.html").unlink()
    assert [run("report", tmp_path / "a.json", "-o", "r")[0] for _ in range(2)] == [0, 0]
    with Path("r/report.md").open("a") as report:
        report.write("mine")
    assert "would replace report.md, which" in run("report", tmp_path / "a.json", "-o", "r")[2]


@pytest.mark.usefixtures("few_files")
def test_a_price_that_costs_nothing_is_told(tmp_path: Path) -> None:
    """Without a record nothing says how many samples a step has."""
    result = build.result(tmp_path / "a.json", [None])
    priced = Extras(prices={"epyc-2cpu": 1.0})
    written = folder.write_report([(result, points_of(result, load()))], tmp_path / "r", writing.write_bytes, priced)
    assert written.notes[1:] == (
        "--price epyc-2cpu: no costs: no valid case on it has a record with its samples per second, or another machine"
        " of the case has no price",
    )


@pytest.mark.usefixtures("few_files")
def test_a_list_names_no_file_elsewhere(tmp_path: Path) -> None:
    """A folder may come from somebody else."""
    outside, digest = tmp_path / "outside.txt", hashlib.sha256(b"").hexdigest()
    outside.touch()
    (tmp_path / "r").mkdir()
    (tmp_path / "r" / ".roofline-report").write_text(f"{digest}  ../outside.txt\n{digest}  {outside}\nx\n")
    result = build.result(tmp_path / "a.json", [build.record()])
    folder.write_report([(result, points_of(result, load()))], tmp_path / "r", writing.write_bytes)
    assert outside.exists()


@pytest.mark.usefixtures("few_files")
def test_a_full_disk_is_told(run: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """By the file that found no room, with how many stand; the next report knows them."""
    build.result(tmp_path / "a.json", [build.record()])

    def full(path: Path, data: bytes) -> None:
        if path.name == "metrics.csv":
            raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
        writing.write_bytes(path, data)

    monkeypatch.setattr(plot_report, "write_free", full)
    code, out, err = run("report", tmp_path / "a.json", "-o", "r")
    listed = Path("r/.roofline-report").read_text().splitlines()
    assert (code, out) == (2, "")
    assert err.endswith(
        f"Error: r/metrics.csv: can't be written (No space left on device). {len(listed)} of the report's files were"
        " written before it, and the others weren't. Make room, or name another folder.\n"
    )
