"""Any file: read, or refused with a reason. Never a traceback."""

import json
from collections.abc import Sequence
from pathlib import Path

import pytest
from hypothesis import HealthCheck, example, given, settings
from hypothesis import strategies as st

from roofline.audits import audit, read, read_one
from roofline.audits.findings import findings_table
from roofline.audits.layouts import PLAIN, TIMM
from roofline.audits.row import StatedRow
from roofline.files.decoding import ReadError
from roofline.show.render import render
from roofline.show.tables import FORMATS
from tests.roofline.audits.make import KNOWN

fuzzed = settings(max_examples=150, suppress_health_check=[HealthCheck.function_scoped_fixture], deadline=None)

_COLUMNS = sorted(
    {*PLAIN.numbers, *PLAIN.words, *(name for layout in TIMM for name in (*layout.numbers, *layout.words))}
)
_PLAIN = sorted({*PLAIN.numbers, *PLAIN.words})
_ALWAYS = ("model", "device", "batch", "images_per_s", "attained_gflop_per_s")
_NUMBERS = st.one_of(
    st.sampled_from(["", "0", "0.00", "1", "2", "224", "1e30", "1e-30", "1,598.31", "nan", "0.10"]),
    st.floats(1e-30, 1e30).map(str),
    st.floats(1e-3, 1e3).map(lambda value: f"{value:.2f}"),
)
_WORDS = st.sampled_from(["cpu", "cuda", "resnet50", "vgg16", "train", "infer", "fp32", "NVIDIA L4", "", "own"])
_SCALARS = st.one_of(
    st.none(), st.booleans(), st.integers(), st.floats(), st.text(max_size=5), st.sampled_from(["cpu", "cuda", "m"])
)


def _slot(column: str) -> object:
    """Equal for columns of one meaning, of which a table may have one."""
    return PLAIN.numbers[column].slot if column in PLAIN.numbers else PLAIN.words[column]


def _survives(path: Path) -> int:
    """How many rows were read and reported in every format; 0 where the file was refused, by its name."""
    rows: tuple[StatedRow, ...] = ()
    message = str(path)
    try:
        rows = read_one(path, KNOWN.devices).rows
    except ReadError as error:
        message = str(error)
    assert str(path) in message
    table = findings_table(audit(rows, KNOWN.devices))
    for form in FORMATS:
        assert render(table, form, 80)
    return len(rows)


@fuzzed
@given(st.binary(max_size=300))
def test_any_bytes(tmp_path: Path, content: bytes) -> None:
    path = tmp_path / "f"
    path.write_bytes(content)
    _survives(path)


@fuzzed
@given(st.lists(st.sampled_from(_PLAIN), max_size=8, unique_by=_slot), st.data())
def test_any_table_of_known_columns(tmp_path: Path, extra: list[str], data: st.DataObject) -> None:
    """Rules meet zeros, huge and tiny values in every combination, and say something or nothing of them."""
    columns = [*_ALWAYS, *(name for name in extra if _slot(name) not in map(_slot, _ALWAYS))]
    cells = st.tuples(*(_WORDS if column in PLAIN.words else _NUMBERS for column in columns))
    lines = data.draw(st.lists(cells, min_size=1, max_size=6))
    path = tmp_path / "t.csv"
    path.write_text(_csv([columns, *lines]), encoding="utf-8")
    assert _survives(path) == sum(any(line) for line in lines)


@fuzzed
@given(
    st.dictionaries(
        st.sampled_from(["min", "max", "mean", "stddev", "median", "q1", "q3", "ops", "total", "rounds"]), _SCALARS
    ),
    st.dictionaries(st.sampled_from(_COLUMNS), _SCALARS, max_size=8),
)
@example({"mean": 1e-9}, {"device": "cuda", "model": "resnet50", "batch": 1, "mode": "train"})
def test_any_statistics_and_extra_info(tmp_path: Path, stats: dict[str, object], extra: dict[str, object]) -> None:
    row = {"name": "test_a[cuda]", "fullname": "t.py::test_a[cuda]", "stats": stats, "extra_info": extra}
    twin = {**row, "fullname": "t.py::test_a[cpu]"}
    path = tmp_path / "r.json"
    path.write_text(json.dumps({"benchmarks": [row, twin]}), encoding="utf-8")
    _survives(path)


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (b"", "empty."),
        (b"  \n", "empty."),
        (b"\xff\xfe", "empty."),
        (b"\xff\xfe{", "not UTF-16 text (byte 2)"),
        (b"\xff{", "not UTF-8 text (byte 0)"),
        (b"{", "truncated"),
        (b"[1]", "no pytest-benchmark result"),
        (b"PNG", "a table of an unknown layout. Columns found: PNG."),
    ],
)
def test_refusals(tmp_path: Path, content: bytes, message: str) -> None:
    path = tmp_path / "f"
    path.write_bytes(content)
    with pytest.raises(ReadError) as error:
        read_one(path, KNOWN.devices)
    assert str(error.value).startswith(f"{path}:")
    assert message in str(error.value)


TABLE = "model,throughput,colour\nm,1,red\n"


def _folder(folder: Path) -> Path:
    """A table, one below it, a result, and three files that are neither; a link to a folder and a hidden folder."""
    below = folder / "below.csv"
    below.mkdir(parents=True)
    result = {"benchmarks": [{"name": "test_a", "stats": {"mean": 1.0}}]}
    for path, text in (
        (folder / "a.csv", TABLE),
        (below / "b.CSV", TABLE),
        (folder / "c.json", json.dumps(result)),
        (folder / "d.json", "{}"),
        (folder / "e.csv", "a,b\n1,2\n"),
        (folder / "f.txt", TABLE),
    ):
        path.write_text(text, encoding="utf-8")
    return folder


def test_tables_and_results_are_found_in_a_folder(tmp_path: Path) -> None:
    """At any depth, in order; what is neither is skipped by name, what looks like neither is no matter."""
    folder = _folder(tmp_path / "all")
    reading = read([folder], KNOWN.devices)
    assert [Path(row.file).name for row in reading.rows] == ["a.csv", "b.CSV", "c.json"]
    assert {path.name: file.unknown for path, file in reading.files.items()} == {
        "a.csv": ("colour",),
        "b.CSV": ("colour",),
        "c.json": (),
    }
    assert reading.refused == ()
    unusable, odd = reading.skipped
    assert unusable.startswith(f"{folder / 'd.json'}: JSON, but no pytest-benchmark result")
    assert odd.startswith(f"{folder / 'e.csv'}:1: a table of an unknown layout")


def test_a_named_file_is_refused_where_a_found_one_is_skipped(tmp_path: Path) -> None:
    """Also where it lies in a folder that is given too; and each file is read once."""
    folder = _folder(tmp_path / "all")
    (tmp_path / "link.csv").symlink_to(folder / "a.csv")
    reading = read([folder, folder / "a.csv", folder / "e.csv", tmp_path / "link.csv"], KNOWN.devices)
    assert [Path(row.file).name for row in reading.rows] == ["a.csv", "b.CSV", "c.json"]
    (refused,) = reading.refused
    assert refused.startswith(f"{folder / 'e.csv'}:1:")
    assert [one.partition(":")[0] for one in reading.skipped] == [str(folder / "d.json")]


def test_nothing_in_a_folder_is_nothing_read(tmp_path: Path) -> None:
    (tmp_path / "loop.csv").symlink_to(tmp_path / "loop.csv")
    reading = read([tmp_path], KNOWN.devices)
    assert (reading.rows, reading.refused) == ((), ())
    assert len(reading.skipped) == 1


def _csv(lines: Sequence[Sequence[str]]) -> str:
    return "".join(",".join('"' + cell.replace('"', '""') + '"' for cell in line) + "\n" for line in lines)
