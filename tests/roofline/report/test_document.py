"""report.md: sections and sentences, filled from the data."""

from __future__ import annotations

from pathlib import Path

import pytest

from roofline.machine.published import load
from roofline.model.points import Point, place_all, points_of
from roofline.report.document import sections
from roofline.report.document.conclusions import sentences
from roofline.report.document.document_tables import measurements
from roofline.report.document.sections import document
from roofline.results.reader import read_file
from roofline.schema.record import Flag, Record
from roofline.show.render import render
from roofline.show.tables import Table, number
from tests.roofline import build


def _points(folder: Path, *records: Record | None, name: str = "a.json") -> tuple[Point, ...]:
    session = build.session(build.roofs(), noted={"zone": "us-east1-b"}, arguments=("perftests", "--model", "a b"))
    return build.points(folder / name, records, of=session)


def _case(model: str, batch: int, precision: str, step_time_s: float, **changes: object) -> Record:
    case = build.case(model=model, batch=batch, precision=precision)
    return build.record(case=case, timing=build.timing(step_time_s), **changes)


def test_sections_stand_in_order_with_their_figures(tmp_path: Path) -> None:
    """Those that a report has to have; a picture stands in its section, and what ran can be repeated."""
    text = document(_points(tmp_path, build.record()), (), ["roofline-epyc-2cpu.png", "throughput-epyc-2cpu.png"])
    lines = text.splitlines()
    assert [line for line in lines if line.startswith(("# ", "## "))] == [
        *("# 1 case on 1 machine", "## 1 Experiment design", "## 2 Complexity", "## 3 Measurement", "## 4 Roofline"),
        *("## 5 Analysis", "## 6 Reproducibility", "## Appendix A: every case", "## Appendix B: every run"),
    ]
    assert "Of 1 measurement of a model: 1 undetermined." in lines[2]
    throughput = lines.index("![throughput-epyc-2cpu](throughput-epyc-2cpu.png)")
    roofline = lines.index("![roofline-epyc-2cpu](roofline-epyc-2cpu.png)")
    assert lines.index("## 3 Measurement") < throughput < lines.index("## 4 Roofline") < roofline
    assert "| us-east1-b | epyc-2cpu | resnet50-train-b32-fp32 |" in text
    assert "pytest perftests --model 'a b'" in text


def test_the_analysis_names_its_evidence(tmp_path: Path) -> None:
    """Of a machine: bounds, distances; an invalid row is in none of them."""
    points = _points(
        tmp_path,
        _case("resnet50", 8, "fp32", 0.1),
        _case("vgg16", 8, "tf32", 0.05),
        _case("vgg16", 32, "tf32", 0.199),
        _case("resnet50", 32, "fp32", 0.1),
        _case("resnet50", 32, "amp_bf16", 0.05, flags=(Flag(name="drift", evidence="+8 % over the session"),)),
        _case("vgg16", 32, "fp32", 0.1, flags=(Flag(name="on_cpu", evidence="ran on the CPU", invalid=True),)),
    )
    found = dict(sentences(points))
    assert list(found) == [
        *("Bounds", "Distance to the roofs", "Distance to the speed of light", "Limitations"),
    ]
    assert found["Bounds"] == (
        "5 cases undetermined (range straddles the knee): resnet50-train-b8-fp32, vgg16-train-b8-tf32,"
        " vgg16-train-b32-tf32 and 2 more; resnet50-train-b8-fp32: 25.0 to 100 FLOP/byte, knee 100 (dram; analytic)."
    )
    assert found["Distance to the roofs"] == (
        "Nearest: resnet50-train-b32-amp_bf16 at 20-80 % of its roof; farthest: vgg16-train-b32-tf32 at 5.0-20 % of"
        " its roof."
    )
    assert found["Limitations"] == "Bytes counted from operations, not by hardware counters: 5 cases."


def test_mean_and_deviation_are_of_the_runs(tmp_path: Path) -> None:
    """Of one run, of its rounds; runs of another workload count apart."""
    runs = [
        point
        for index, step_time_s in enumerate((0.1, 0.08))
        for point in _points(tmp_path, _case("a", 8, "fp32", step_time_s), name=f"{index}.json")
    ]
    (row,) = measurements(runs).rows
    assert (row.runs, row.samples_per_s, round(row.sd or 0, 6)) == (2, 90, 14.142136)
    (row,) = measurements(runs[:1]).rows
    assert (row.runs, row.samples_per_s, row.sd) == (1, 80, 1.6)
    assert "| 80.0 ± 1.6 |" in render(measurements(runs[:1]), "markdown", 0)


def test_of_plain_benchmarks_nothing_is_said_that_is_not_known(tmp_path: Path) -> None:
    """Their times, and that no record has their work. Names stay text."""
    content = build.document([None])
    content["benchmarks"][0].update(name="<img src=x>", fullname="t.py::<img src=x>")
    text = document(points_of(read_file(build.write(tmp_path / "a.json", content)), load()), (), ())
    assert "Not known: no case has a record of its work." in text
    assert "the files are plain pytest-benchmark results" in text
    assert "- **Limitations.** Times alone, their work is not known: 1 benchmark." in text
    assert "<img" not in text
    assert "| machine | case | step | sd % |" in text
    assert "No roofs: plain benchmarks alone, without the fixture roofline." in text


def test_machines_stand_side_by_side(tmp_path: Path) -> None:
    """Each with its own analysis, and then together."""
    points = place_all(map(read_file, build.two_machines(tmp_path)), load())
    text = document(points, (), ())
    analysis = text.partition("## 5 Analysis")[2].partition("## 6")[0]
    assert [line for line in analysis.splitlines() if line.startswith("###")] == [
        *("### epyc-2cpu", "### a100", "### Across machines"),
    ]
    assert "Machines side by side" in analysis


def test_a_table_has_the_rows_that_a_document_holds(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """It says how many more there are; tables of each machine share the rows."""
    monkeypatch.setattr(sections, "_MOST_ROWS", 4)
    records = [_case("resnet50", batch, "fp32", 0.1) for batch in (1, 2, 4, 8, 16)]
    files = [build.result(tmp_path / f"{one}.json", records, on=build.machine(one)) for one in ("first", "second")]
    runs = [Table(title="run", columns=[number("n")], rows=[{"n": 1}] * 3)] * 2
    text = document(place_all(files, load()), runs, ())
    of_machines, appendix = (
        text.partition("## 4 Roofline")[2].partition("## 5 Analysis")[0],
        text.partition("B: every")[2],
    )
    assert (of_machines.count("| resnet50"), appendix.count("| 1 |")) == (4, 4)
    assert of_machines.count("- 3 more rows: index.html and the files of tables have all") == 2


def test_a_machine_without_cases_has_its_roofs(tmp_path: Path) -> None:
    """Beside others a section of its own; alone its figure."""
    roof = build.record(case=build.case(id="roof-fp32", mode="roof"), work=None)
    bare = build.points(tmp_path / "b.json", [roof], on=build.machine("bare"))
    text = document([*_points(tmp_path, build.record()), *bare], (), ())
    section = text.partition("### bare")[2].partition("##")[0]
    assert "No case was measured here." in section
    assert "| dram | 100 GB/s |" in section
    alone = document(bare, (), ["roofline-bare.png"])
    assert alone.startswith("# No case was measured\n\nThe results have nothing but roofs.\n\n![roofline-bare]")
