"""``roofline store``: files in, SQL and the other commands on it, the same files out."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pandas as pd
import pytest

import roofline as rl
from roofline.files import places
from roofline.frames import FRAMES
from roofline.report import folder as report_folder
from roofline.results.stored_runs import MARKER, run_paths
from roofline.store import adding, batches
from tests.roofline import build
from tests.roofline.comparison import sessions
from tests.roofline.conftest import Run
from tests.roofline.kernels import profiled

pytest.importorskip("pyarrow")
pytest.importorskip("duckdb")


@pytest.fixture
def store(run: Run, results: Path, tmp_path: Path) -> Path:
    """A store with a run of each of two machines."""
    assert run("store", "add", tmp_path / "store", results)[0] == 0
    return tmp_path / "store"


def rows(run: Run, store: Path | str, sql: str) -> list[dict[str, object]]:
    """What a query gives."""
    code, out, err = run("store", "query", store, sql, "--format", "json")
    assert code == 0, err
    found: list[dict[str, object]] = json.loads(out)
    return found


def count(run: Run, store: Path | str, table: str = "cases") -> object:
    """How many rows a table has."""
    return rows(run, store, f"SELECT count(*) AS n FROM {table}")[0]["n"]


def test_each_table_is_its_frame(run: Run, tmp_path: Path) -> None:
    """Value by value, with the run, machine and day of each row; and each is Parquet that pandas reads."""
    build.two_machines(tmp_path / "results")
    build.result(
        tmp_path / "results" / "c.json",
        [profiled(), build.timed(build.operation(time_s=0.02)), None],
        on=build.machine("c"),
    )
    results, store = rl.load(tmp_path / "results"), tmp_path / "store"
    assert run("store", "add", store, tmp_path / "results")[0] == 0
    assert not (store / "operations").exists()  # made when it is asked for, and told
    assert "making operations" in run("store", "query", store, "SELECT count(*) FROM operations")[2]
    for name in FRAMES:
        run("store", "query", store, f"SELECT * FROM {name}", "-o", tmp_path / "table.parquet")
        frame, stored = getattr(results, name), pd.read_parquet(tmp_path / "table.parquet")
        if name == "missing":  # a machine lacks no version that only others have
            frame, stored = (one[one["table"] != "machines"] for one in (frame, stored))
        assert {"fingerprint", "day"} - {*stored} == ({"day"} if name == "machines" else set())
        shared = [column for column in frame if column != "row"]
        first, second = (
            one[shared].astype("string").sort_values(shared).reset_index(drop=True) for one in (frame, stored)
        )
        pd.testing.assert_frame_equal(first, second, obj=name)
        assert len(pd.read_parquet(store / name)) >= len(frame)
    joined = "SELECT count(*) AS n FROM rounds JOIN runs USING (run, fingerprint, day)"
    assert rows(run, store, joined) == [{"n": len(results.rounds)}]
    assert {one["name"] for one in rows(run, store, "SHOW TABLES")} == {*FRAMES, "runs"}


@pytest.mark.parametrize(
    "command",
    [
        *("points {}", "metrics {}", "summary {}", "ops {}", "machines {}", "sessions {}", "audit {}", "env {}"),
        "compare {} --with {new}",
        "check {new} --baseline {}",
    ],
)
def test_commands_take_a_store_as_a_folder(run: Run, tmp_path: Path, command: str) -> None:
    """With the same rows and the same exit code."""
    old, new = tmp_path / "old", tmp_path / "new"
    sessions.side(old, {"resnet50": 0.1})
    build.result(old / "timed.json", [build.timed(build.operation(time_s=0.02))], on=build.machine())
    sessions.side(new, {"resnet50": 0.1 * sessions.SLOWER}, first=10)
    run("store", "add", tmp_path / "store", old)
    form = [] if command.startswith("env") else ["--format", "json"]
    of_folder, of_store = (run(*command.format(side, new=new).split(), *form) for side in (old, tmp_path / "store"))
    assert of_folder[0] == of_store[0]
    if form:
        assert [*map(_named, json.loads(of_store[1]))] == [*map(_named, json.loads(of_folder[1]))]
    else:
        assert of_store[1] == of_folder[1]


def _named(row: dict[str, object]) -> dict[str, object]:
    """A row without the places of its files."""
    return {name: value for name, value in row.items() if ".json" not in str(value)}


def test_frames_and_report_of_a_store(
    run: Run, results: Path, store: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """As of the folder that was added. The report's figures are tried elsewhere."""
    monkeypatch.setattr(report_folder, "MOST_DRAWN", 0)
    of_folder, of_store = rl.load(results), rl.load(store)
    for name in FRAMES:
        shared = [column for column in getattr(of_folder, name) if column != "row"]
        first, second = (
            getattr(one, name)[shared].astype("string").sort_values(shared).reset_index(drop=True)
            for one in (of_folder, of_store)
        )
        pd.testing.assert_frame_equal(first, second, obj=name)
    assert run("report", store, "-o", tmp_path / "report")[0] == 0
    assert (tmp_path / "report" / "metrics.csv").exists()


def test_a_file_is_added_once(run: Run, store: Path, results: Path, tmp_path: Path) -> None:
    """By its content, whatever it is called, also from another store."""
    before = sorted(store.rglob("*"))
    for again in (results, store):
        code, _, err = run("store", "add", store, again)
        assert code == 0
        assert "0 runs with 0 cases added; 2 runs there already" in err
    assert sorted(store.rglob("*")) == before
    run("store", "add", tmp_path / "other", store)
    assert {path.name for path in run_paths(tmp_path / "other")} == {path.name for path in results.rglob("*.json")}
    assert count(run, tmp_path / "other") == count(run, store)


def test_a_writer_that_is_stopped_leaves_nothing_half(
    run: Run, one: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Whichever file it came to: no table has a row of the run, and adding it again completes it."""
    store, whole = tmp_path / "store", tmp_path / "whole"
    build.result(tmp_path / "first.json", [None])
    run("store", "add", store, tmp_path / "first.json")
    run("store", "add", whole, tmp_path / "first.json", one)
    before = {table: count(run, store, table) for table in FRAMES}
    written: list[Path] = []

    def write_some(path: Path, data: bytes) -> None:
        if len(written) == stop:
            raise KeyboardInterrupt
        written.append(path)
        places.write_whole(path, data)

    stop = 0
    while True:
        written.clear()
        monkeypatch.setattr(batches, "write_whole", write_some)
        stopped = run("store", "add", store, one)[0] != 0
        monkeypatch.undo()
        monkeypatch.setenv("COLUMNS", "100")
        if not stopped:
            break
        stop += 1
        assert {table: count(run, store, table) for table in FRAMES} == before
    assert stop > 3
    assert {table: count(run, store, table) for table in FRAMES} == {
        table: count(run, whole, table) for table in FRAMES
    }


def test_two_writers_of_the_same_runs(run: Run, tmp_path: Path) -> None:
    """At the same time, in other company each: a run counts once."""
    sessions.side(tmp_path / "new", dict.fromkeys(sessions.TIMES, 0.1), count=6)
    files = sorted((tmp_path / "new").iterdir())
    command = [sys.executable, "-m", "roofline", "store", "add", str(tmp_path / "store")]
    writers = [subprocess.Popen([*command, *map(str, some)]) for some in (files[:4], files[2:])]
    assert [writer.wait(timeout=120) for writer in writers] == [0, 0]
    assert len([*run_paths(tmp_path / "store")]) == count(run, tmp_path / "store", "runs") == 6
    results = rl.load(tmp_path / "new")
    for name in ("cases", "rounds", "roofs", "machines"):
        assert count(run, tmp_path / "store", name) == len(getattr(results, name)), name


def test_a_run_that_two_batches_have_counts_once(run: Run, store: Path, results: Path, tmp_path: Path) -> None:
    """In every table, and for the commands that read files."""
    tables = {table: count(run, store, table) for table in (*FRAMES, "runs")}
    cpu = next((results / "epyc-2cpu").iterdir())
    second = build.write(cpu.with_name("second.json"), {**json.loads(cpu.read_text()), "version": "another file"})
    run("store", "add", tmp_path / "both", cpu, second)
    for table in (*FRAMES, "runs", "files"):
        for file in (tmp_path / "both" / table).rglob("*.parquet"):
            target = store / file.relative_to(tmp_path / "both")
            target.parent.mkdir(parents=True, exist_ok=True)
            target.write_bytes(file.read_bytes())
    assert len([*run_paths(store)]) == count(run, store, "runs") == 3
    of_cpu = len(json.loads(cpu.read_text())["benchmarks"])
    assert count(run, store) == int(str(tables["cases"])) + of_cpu
    assert len(rl.load(store).cases) == count(run, store)


def test_many_files_are_added_by_several_processes(run: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Each batch by one of them; what can't be read in one is told."""
    sessions.side(tmp_path / "new", {"resnet50": 0.1}, count=3)
    (tmp_path / "new" / "broken.json").write_text('{"benchmarks": [{')
    monkeypatch.setattr(adding, "CHUNK_BYTE", 1)
    code, _, err = run("store", "add", tmp_path / "store", tmp_path / "new")
    assert code == 0
    assert "3 runs with 3 cases added" in err
    assert "broken.json:1: truncated" in err
    assert count(run, tmp_path / "store") == 3


@pytest.mark.parametrize("terminal", [True, False])
def test_how_far_it_is_shows_at_a_terminal(
    run: Run, results: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, terminal: bool
) -> None:
    """In a log the line that tells what was added is all."""
    monkeypatch.setattr(sys.stderr, "isatty", lambda: terminal)
    monkeypatch.setenv("TERM", "xterm")
    code, out, err = run("store", "add", tmp_path / "store", results)
    assert (code, out, "2/2" in err, len(err.splitlines()) == 1) == (0, "", terminal, not terminal)


def test_what_cannot_be_read_does_not_keep_out_the_rest(run: Run, one: Path, tmp_path: Path) -> None:
    """The exit code says that something that was named is missing."""
    code, _, err = run("store", "add", tmp_path / "store", tmp_path / "none.json", one)
    assert code == 3
    assert "none.json: can't be read" in err
    assert "1 run with" in err
    assert len([*run_paths(tmp_path / "store")]) == 1


@pytest.mark.parametrize(
    ("arguments", "code", "told"),
    [
        (("add", "{results}", "{one}"), 2, "{results}: no store, and not empty."),
        (("add", "{one}", "{one}"), 2, "{one}: "),
        (("add", "{new}", "{empty}"), 3, "no result to add"),
        (("add", "nothing-knows://x", "{one}"), 3, "nothing-knows"),
        (("query", "{results}", "SELECT 1"), 3, "{results}: no store."),
        (("query", "{store}", "SELECT nothing FROM cases"), 2, 'Referenced column "nothing" not found'),
        (("query", "{store}", "SELEC"), 2, "syntax error"),
        (("query", "{store}", "SELECT case, model FROM cases"), 2, 'The column "case" has to stand in double quotes.'),
        (("query", "{store}", "DROP VIEW cases"), 2, "give one SELECT: a store is only read."),
        (("query", "{store}", "SELECT 1; SELECT 2"), 2, "give one SELECT"),
        (("query", "{store}", ""), 2, "give one SELECT"),
        (("query", "{store}", "COPY cases TO 'x.csv'"), 2, "give one SELECT"),
        (("query", "{store}", "SELECT 1 AS a, 2 AS a"), 2, "two columns are called 'a'"),
        (("query", "{broken}", "SELECT 1"), 3, "{broken}: can't be read"),
        (("query", "{newer}", "SELECT 1"), 3, "a store of version '3'"),
        (("export", "{store}", "{new}", "--where", "nothing = 1"), 2, "nothing"),
        (("export", "{store}", "{new}", "--where", "false"), 3, "no run has a case"),
        (("export", "{results}", "{new}"), 3, "{results}: no store."),
    ],
)
def test_errors(
    run: Run, results: Path, one: Path, store: Path, tmp_path: Path, arguments: tuple[str, ...], code: int, told: str
) -> None:
    """Usage errors end with 2, data that can't be used with 3, and nothing is written."""
    names = {name: tmp_path / name for name in ("new", "empty", "broken", "newer")}
    names["empty"].mkdir()
    (names["newer"] / "runs").mkdir(parents=True)
    (names["newer"] / MARKER).write_text("3\n")
    (names["broken"] / "runs").mkdir(parents=True)
    (names["broken"] / MARKER).write_text("2\n")
    (names["broken"] / "runs" / "x.parquet").write_text("no Parquet")
    places_of = {**names, "results": results, "one": one, "store": store}
    answer, out, err = run("store", *(argument.format(**places_of) for argument in arguments))
    assert (answer, out) == (code, "")
    assert told.format(**places_of) in err
    assert "Traceback" not in err
    assert not names["new"].exists()


def cut_off(file: Path) -> None:
    """As a full disk leaves a copy."""
    file.write_bytes(file.read_bytes()[:-100])


@pytest.mark.parametrize(
    "damage", [Path.unlink, cut_off, lambda file: file.write_bytes(b"")], ids=["gone", "cut", "empty"]
)
@pytest.mark.parametrize("table", ["cases", "machines", "operations"])
def test_a_damaged_table_is_no_short_answer(
    run: Run, store: Path, tmp_path: Path, table: str, damage: Callable[[Path], object]
) -> None:
    """A query of it ends with 3 and says what to do, which makes a whole store of the files in it."""
    sql = f"SELECT * FROM {table} ORDER BY ALL"
    before = rows(run, store, sql)
    file = next((store / table).rglob("*.parquet"))
    damage(file)
    if file.exists() or table != "operations":  # which a query makes where they are missing
        code, out, err = run("store", "query", str(store), sql)
        assert (code, out) == (3, "")
        assert f"`roofline store add NEW {store}`" in " ".join(err.split())
        assert "LINE 1" not in err
        assert run("store", "add", tmp_path / "new", store)[0] == 0
        store = tmp_path / "new"
    assert rows(run, store, sql) == before


def test_runs_that_are_cut_off_are_told(run: Run, store: Path, results: Path) -> None:
    """Nothing else has them: their results are added again, once somebody has deleted the file."""
    before = count(run, store)
    file = next((store / "runs").rglob("*.parquet"))
    cut_off(file)
    code, _, err = run("store", "add", store, results)
    assert (code, f"{file}: can't be read" in " ".join(err.split())) == (3, True)
    assert f"delete {file} and add its results again" in " ".join(err.split())
    file.unlink()
    assert "1 run with" in run("store", "add", store, results)[2]
    assert count(run, store) == before


def test_a_query_is_shown_as_other_tables_are(run: Run, store: Path) -> None:
    """A figure of a case with its heading and unit; what SQL worked out by the unit in its name."""
    sql = (
        'SELECT "case", samples_per_s, 2 * step_time_s AS twice_s, batch / 3 AS third, day, started_at FROM cases'
        " WHERE model = 'resnet18' AND precision = 'fp32' AND batch = 16 AND mode = 'train' ORDER BY day"
    )
    heads, _, *cells = [
        [cell.strip() for cell in line.strip("|").split("|")]
        for line in run("store", "query", store, sql, "--format", "markdown")[1].splitlines()
        if line.startswith("|")
    ]
    assert heads == ["case", "samples/s", "twice_s", "third", "day", "started_at"]
    assert len(cells) == 2
    assert [(one[2].split()[1], one[3]) for one in cells] == [("s", "5.333"), ("ms", "5.333")]
    first = rows(run, store, sql)[0]
    assert (first["day"], first["started_at"]) == ("2026-11-20", "2026-11-20T10:00:00+00:00")
    assert isinstance(first["third"], float)


def test_values_of_sql_become_plain(run: Run, store: Path, tmp_path: Path) -> None:
    """Sums beyond 64 bits, decimals, lists, structs and bytes."""
    sql = (
        "SELECT sum(batch) AS s, 1.50 AS d, [1, 2] AS l, {'a': DATE '2026-01-01'} AS t,"
        " 'x'::BLOB AS b, 'nan'::DOUBLE AS n, TIME '10:00:00' AS o FROM cases"
    )
    (row,) = rows(run, store, sql)
    assert isinstance(row.pop("s"), int)
    assert row == {"d": 1.5, "l": [1, 2], "t": {"a": "2026-01-01"}, "b": "78", "n": None, "o": "10:00:00"}
    for form in ("csv", "markdown", "table"):
        assert run("store", "query", store, sql, "--format", form)[0] == 0
    assert run("store", "query", store, sql, "-o", tmp_path / "x.parquet")[0] == 0


def test_export_gives_the_files_again(run: Run, store: Path, results: Path, tmp_path: Path) -> None:
    """Byte by byte, by machine; those that are there stay."""
    out = tmp_path / "out"
    assert run("store", "export", store, out)[0] == 0
    for path in results.rglob("*.json"):
        assert (out / path.relative_to(results)).read_bytes() == path.read_bytes()
    assert "0 files written; 2 files there already" in run("store", "export", store, out)[2]
    (out / "a100" / "20261121T090000Z-01234567.json").write_text("mine")
    code, _, err = run("store", "export", store, out)
    assert code == 2
    assert "another file than that of the store" in err


def test_export_of_some_runs(run: Run, tmp_path: Path) -> None:
    """Those with a case for which the condition holds; two files of one name get names of their own."""
    for folder, model in (("a", "resnet50"), ("b", "resnet50"), ("c", "vgg16")):
        build.write(tmp_path / folder / "x.json", sessions.document({model: 0.1}, ord(folder) % 24))
    run("store", "add", tmp_path / "store", *(tmp_path / folder for folder in "abc"))
    run("store", "export", tmp_path / "store", tmp_path / "out", "--where", "model = 'resnet50' -- mine")
    written = sorted((tmp_path / "out").rglob("*.json"))
    assert [path.read_bytes() for path in written] != []
    assert {path.read_bytes() for path in written} == {(tmp_path / one / "x.json").read_bytes() for one in "ab"}


def test_foreign_files_and_journals(run: Run, tmp_path: Path) -> None:
    """Without a machine, a day or a record."""
    content = sessions.foreign({"test_a": (0.1, 0.2)}, node="a|b/c 'd'")
    del content["datetime"]
    build.write(tmp_path / "in" / "foreign.json", content)
    document = build.document([], of=build.session(), on=build.machine())
    row = build.document([build.record()])["benchmarks"][0]
    lines = [
        {"document": document, "planned": {row["fullname"]: row["name"]}},
        {"finished": [row["fullname"]], "rows": {"0": row}, "not_measured": [], "session": {}},
    ]
    (tmp_path / "in" / "killed.journal").write_text("".join(json.dumps(line) + "\n" for line in lines))
    assert run("store", "add", tmp_path / "store", tmp_path / "in")[0] == 0
    found = rows(run, tmp_path / "store", "SELECT file, fingerprint, day FROM cases ORDER BY file")
    unproven = rl.load(tmp_path / "in" / "foreign.json").cases["fingerprint"][0]
    assert found == [
        {"file": "foreign.json", "fingerprint": unproven, "day": None},
        {"file": "killed.journal", "fingerprint": build.machine().fingerprint, "day": "2026-11-20"},
    ]
    assert len(rl.load(tmp_path / "store").cases) == 2


def test_a_store_behind_a_url(run: Run, results: Path, tmp_path: Path) -> None:
    """fsspec's file system in memory stands for an object store."""
    pytest.importorskip("fsspec")
    url = f"memory://{tmp_path.name}/store"
    assert run("store", "add", url, results)[0] == 0
    err = run("store", "add", url, results)[2]
    assert f"{url}: " in err
    assert "2 runs there already" in err
    assert count(run, url) == len(rl.load(results).cases) == len(rl.load(url).cases)
    assert run("points", url, "--format", "csv")[1].count("\n") == len(rl.load(results).cases) + 1
    assert run("store", "export", url, tmp_path / "out")[0] == 0
    code, _, err = run("store", "query", f"memory://{tmp_path.name}/none", "SELECT 1")
    assert (code, f"memory://{tmp_path.name}/none: no store" in " ".join(err.split())) == (3, True)


@pytest.mark.parametrize("lacking", ["pyarrow", "duckdb"])
def test_what_is_not_installed_is_named(run: Run, store: Path, monkeypatch: pytest.MonkeyPatch, lacking: str) -> None:
    """With how to install it."""
    for name in [name for name in sys.modules if name.partition(".")[0] == lacking]:
        monkeypatch.delitem(sys.modules, name)
    monkeypatch.setitem(sys.modules, lacking, None)
    code, _, err = run("store", "query", store, "SELECT 1")
    assert code == 3
    assert "pip install 'pytest-roofline[store]'" in err


def test_nothing_is_added_without_pyarrow(
    run: Run, results: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It is told before a store is made."""
    monkeypatch.setitem(sys.modules, "pyarrow", None)
    code, _, err = run("store", "add", tmp_path / "new", results)
    assert code == 2
    assert "pip install 'pytest-roofline[store]'" in err
    assert not (tmp_path / "new").exists()
