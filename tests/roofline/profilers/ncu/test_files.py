"""Files of one program are joined launch by launch; what is not of ncu is told what it is."""

from __future__ import annotations

import gzip
from pathlib import Path

import pytest

from roofline.files.text import ReadError
from roofline.profilers.ncu.kernels import read, read_all
from tests.roofline.profilers.ncu_made import READ, TIME, WRITE, details, raw, row, summary, written

FMA = ("smsp__sass_thread_inst_executed_op_ffma_pred_on.sum", "inst", "5,000,000,000")


def test_a_bytes_run_and_a_flop_run(tmp_path: Path) -> None:
    """One is a raw page, the other a details page: each launch has the metrics of both."""
    units = {READ[0]: "byte", TIME[0]: "ns"}
    first = written(tmp_path / "bytes.csv", raw(units, [("f", ("1", "2")), ("g", ("3", "4"))]))
    second = written(tmp_path / "flop.csv", details([("f", [FMA]), ("g", [FMA])]))
    capture = read_all([first, second])
    assert [(one.name, dict(one.metrics)) for one in capture.launches] == [
        ("f", {READ[0]: 1.0, TIME[0]: 2e-9, FMA[0]: 5e9}),
        ("g", {READ[0]: 3.0, TIME[0]: 4e-9, FMA[0]: 5e9}),
    ]
    assert capture.source == f"{first} + {second}"
    assert capture.notes == ()


def test_of_one_metric_in_two_files_the_first_counts(tmp_path: Path) -> None:
    """The bytes run has the better time; a file that adds nothing is told, and what one lacks the other has."""
    lacking = (READ[0], "byte", "n/a")
    first = written(tmp_path / "a.csv", details([("f", [TIME, lacking])]))
    second = written(tmp_path / "b.csv", details([("f", [(TIME[0], "us", "9.00"), READ])]))
    (launch,) = read_all([first, second]).launches
    assert launch.metrics == {TIME[0]: 4896e-9, READ[0]: 2e6}
    assert launch.absent == {}
    again = read_all([second, first])
    assert again.launches[0].metrics[TIME[0]] == 9e-6
    assert again.notes == (f"{first} has no metric that {second} lacks: nothing of it is used.",)


def test_three_files(tmp_path: Path) -> None:
    """As many as there are."""
    paths = [written(tmp_path / f"{one[0]}.csv", details([("f", [one])])) for one in (TIME, READ, WRITE)]
    assert len(read_all(paths).launches[0].metrics) == 3


def test_passes_of_each_file(tmp_path: Path) -> None:
    """Of the launches together the most of any; None of a file that doesn't tell."""
    said = '==PROF== Profiling "f" - 0: 0%....50%....100% - {} passes\n'
    pages = {"a": said.format(1), "b": said.format(5), "c": ""}
    metrics = (READ, FMA, TIME)
    paths = [
        written(tmp_path / f"{name}.csv", said + details([("f", [metric])]))
        for (name, said), metric in zip(pages.items(), metrics, strict=True)
    ]
    capture = read_all(paths)
    assert capture.passes == 5
    assert capture.passes_by_file == {str(path): passes for path, passes in zip(paths, (1, 5, None), strict=True)}


@pytest.mark.parametrize(
    ("other", "told"),
    [
        (
            details([("f", [READ]), ("h", [READ])]),
            ("has 'g' (grid (64, 1, 1), block (128, 1, 1)) as launch 2", "has 'h'"),
        ),
        (details([("f", [READ])]), ("has 'g'", "this file has only 1 launches")),
        (details([("f", [READ]), ("g", [READ]), ("g", [READ])]), ("has only 2 launches", "has 'g'")),
        (details([("f", [READ]), ("g", [READ])]).replace("(64, 1, 1)", "(32, 1, 1)"), ("(grid (64", "(grid (32")),
        (summary([("f", 2, [READ]), ("g", 1, [READ])]), ("has 'f'",)),
    ],
)
def test_other_launches_are_refused(tmp_path: Path, other: str, told: tuple[str, ...]) -> None:
    """The first difference is named, on both sides, with what to do."""
    first = written(tmp_path / "a.csv", details([("f", [TIME]), ("g", [TIME])]))
    second = written(tmp_path / "b.csv", other)
    with pytest.raises(ReadError) as caught:
        read_all([first, second])
    said = str(caught.value)
    assert said.startswith(f"{second}: not the launches of {first}")
    assert "one file at a time" in said
    for part in told:
        assert part in said


def test_files_of_two_chips_are_refused(tmp_path: Path) -> None:
    """Time of one and bytes of the other are of nothing; of a file that doesn't tell, nothing is known against it."""
    first = written(tmp_path / "a.csv", details([("f", [TIME])], cc="8.0"))
    second = written(tmp_path / "b.csv", details([("f", [READ])], cc="9.0"))
    with pytest.raises(ReadError) as caught:
        read_all([first, second])
    said = str(caught.value)
    assert said.startswith(
        f"{second}: of another chip than {first}: launch 1 ran on compute capability 9.0 here and 8.0"
    )
    assert "one file at a time" in said
    silent = written(tmp_path / "c.csv", details([("f", [READ])]).replace('"CC"', '"x"'))
    assert read_all([first, silent]).launches[0].compute_capability == "8.0"


@pytest.mark.parametrize(
    ("content", "told"),
    [
        (b"SQLite format 3\0" + bytes(80), "roofline nsys FILE"),
        (gzip.compress(b"{}", mtime=0), "roofline trace FILE"),
        (b'\n{"traceEvents": []}', "roofline trace FILE"),
        (b"PK\x03\x04", "a spreadsheet"),
    ],
)
def test_files_of_other_programs(tmp_path: Path, content: bytes, told: str) -> None:
    """By their content, whatever their name."""
    path = tmp_path / "f.csv"
    path.write_bytes(content)
    with pytest.raises(ReadError) as caught:
        read(path)
    assert str(caught.value).startswith(f"{path}: not of ncu: ")
    assert told in str(caught.value)


def test_what_powershell_wrote(tmp_path: Path) -> None:
    """UTF-16 with a mark in front."""
    path = tmp_path / "f.csv"
    path.write_bytes(details([("k", [TIME])]).encode("utf-16"))
    assert len(read(path).launches) == 1


def test_a_report_is_known_by_its_content(tmp_path: Path) -> None:
    """Or by its name; without NVIDIA's module the message has the command that prints it."""
    for name, content in (("r.ncu-rep", b""), ("r.bin", b"NVR\0\1\2")):
        (tmp_path / name).write_bytes(content)
        with pytest.raises(ReadError, match="ncu --import"):
            read(tmp_path / name)


def test_rows_of_one_launch_may_stand_apart(tmp_path: Path) -> None:
    """A page that somebody sorted by metric."""
    text = details([("f", [TIME]), ("g", [TIME])]) + row(0, READ, "f")
    first, second = read(written(tmp_path / "f.csv", text)).launches
    assert (len(first.metrics), len(second.metrics)) == (2, 1)
