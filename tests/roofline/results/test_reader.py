"""Result files of any pytest-benchmark are read; what can't be is refused with file, fault and remedy."""

import json
import math
import os
import re
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from roofline.files.decoding import ReadError
from roofline.results.reader import read, read_file
from roofline.results.result import ResultFile
from roofline.schema.record import KEY, Record
from roofline.schema.session import NotMeasured
from tests.roofline import build


def test_own_file_gives_machine_session_and_records(tmp_path: Path) -> None:
    """Everything the measuring side wrote is there."""
    path = build.write(tmp_path / "a.json", build.cpu_document())
    result = read_file(path)
    assert result.path == path
    assert result.machine == build.machine()
    assert result.session is not None
    assert len(result.session.roofs) == 5
    assert all(isinstance(benchmark.record, Record) for benchmark in result.benchmarks)
    assert (result.commit, result.commit_dirty) == ("0123456789abcdef", False)
    assert (result.machine_key, result.machine_label) == ("fingerprint of epyc-2cpu", "epyc-2cpu")
    assert result.nonfinite == ()


def test_foreign_file_gives_times(tmp_path: Path) -> None:
    """Without our record the statistics are what there is."""
    content = build.document([None])
    content["machine_info"]["cpu"] = {"brand": "Old CPU"}  # since py-cpuinfo 5 it is called brand_raw
    content["commit_info"] = {"id": "unversioned"}  # pytest-benchmark's word where there is no repository
    result = read_file(build.write(tmp_path / "a.json", content))
    assert (result.host.cpu, result.commit) == ("Old CPU", None)
    (benchmark,) = result.benchmarks
    assert benchmark.record is None
    assert result.machine is None
    assert result.session is None
    assert (benchmark.stats.mean_s, benchmark.stats.stddev_s) == (0.1, pytest.approx(0.002))
    assert result.machine_label == "host"


def test_oldest_schema(tmp_path: Path) -> None:
    """Files of 2015 have no ``extra_info``, no ``cpu``, and other statistics."""
    old = {
        "machine_info": {"processor": "x86_64", "system": "Linux", "node": "minimal", "python_version": "2.7.3"},
        "commit_info": {"id": "0123", "dirty": True},
        "benchmarks": [
            {
                "name": "test_x[0]",
                "fullname": "tests/t.py::test_x[0]",
                "group": None,
                "stats": {"mean": 2e-7, "rounds": 9},
            }
        ],
        "datetime": "2015-08-15T00:01:46",
        "version": "2.5.0",
    }
    result = read_file(build.write(tmp_path / "a.json", old))
    assert result.host.cpu == "x86_64"
    assert result.benchmarks[0].stats.mean_s == 2e-7
    assert result.benchmarks[0].stats.stddev_s is None


def test_nonfinite_values_are_missing_and_reported(tmp_path: Path) -> None:
    """Python's json writes NaN and Infinity: the file is accepted, and the paths are told. Texts stay as they are."""
    content = build.document([None, build.timed(), None])
    content["benchmarks"][1]["extra_info"][KEY]["timing"]["margin"] = float("nan")
    content["benchmarks"][0]["stats"]["mean"] = float("nan")
    content["benchmarks"][2]["extra_info"] = {"ai": float("inf"), "also": [1.0, float("-inf")], "text": _TEXT}
    result = read_file(build.write(tmp_path / "a.json", content))
    assert result.benchmarks[0].stats.mean_s is None
    assert result.benchmarks[2].extra_info == {"ai": None, "also": [1.0, None], "text": _TEXT}
    assert result.nonfinite == (
        "benchmarks[0].stats.mean",
        "benchmarks[1].extra_info.roofline.timing.margin",
        "benchmarks[2].extra_info.ai",
        "benchmarks[2].extra_info.also[1]",
    )


_TEXT = 'a "quoted": NaN, and a backslash \\'


@pytest.mark.parametrize("number", ["NaN", "-Infinity", "1e400", "-1e400"])
def test_a_number_that_no_float_holds_is_missing_wherever_it_stands(tmp_path: Path, number: str) -> None:
    """However it is written, and in the place of a text, too: neither infinite, nor the end of its row or file."""
    content = build.document([build.timed()], of=build.session(), on=build.machine())
    row, session = content["benchmarks"][0], content[KEY]
    content["version"] = content["datetime"] = row["fullname"] = row["unit"] = "HERE"
    session["wall_s"] = row["stats"]["mean"] = "HERE"
    row["extra_info"][KEY]["timing"] |= {"margin": "HERE", "warmup_s": "HERE"}
    path = tmp_path / "a.json"
    path.write_text(json.dumps(content).replace('"HERE"', number))
    result = read_file(path)
    (benchmark,) = result.benchmarks
    assert (result.pytest_benchmark_version, result.written_at, result.session and result.session.wall_s) == (None,) * 3
    assert (benchmark.fullname, benchmark.stats.unit) == (benchmark.name, None)
    assert benchmark.stats.mean_s is None
    assert benchmark.record is not None
    assert benchmark.record.timing is not None
    assert benchmark.record.timing.margin is None
    assert math.isnan(benchmark.record.timing.warmup_s)
    in_row = ("fullname", "unit", "stats.mean")
    in_timing = ("margin", "warmup_s")
    assert sorted(result.nonfinite) == sorted(
        [
            *("version", "datetime", "roofline.wall_s"),
            *(f"benchmarks[0].{name}" for name in in_row),
            *(f"benchmarks[0].extra_info.roofline.timing.{name}" for name in in_timing),
        ]
    )


@pytest.mark.parametrize(
    ("text", "fault", "remedy"),
    [
        ("", "empty", "empty. A run is writing it, or was stopped before its first case; or the copy is incomplete"),
        ("  \n", "empty", "run or copy again"),
        ('{"benchmarks": [{"name": "te', "1: truncated", "run or copy again"),
        ('{"benchmarks": [', "1: truncated", "run or copy again"),
        ('{\n"benchmarks": 1,\n', "3: truncated", "run or copy again"),
        ("name,mean\ntest,1", "1: not JSON", "that pytest-benchmark wrote"),
        ('{"a": 1} x', "1: not JSON", "that pytest-benchmark wrote"),
        ('{"benchmarks": [1-NaN]}', "1: not JSON", "that pytest-benchmark wrote"),
        ('{"n": ' + "9" * 5000 + "}", "can't be read", "that pytest-benchmark wrote"),
        ("[" * 100_000, "can't be read|truncated", "."),
        ('{"a": 1}', "no list 'benchmarks'", "that pytest-benchmark wrote"),
        ("[]", "no list 'benchmarks'", "that pytest-benchmark wrote"),
        ('{"benchmarks": {}}', "no list 'benchmarks'", "that pytest-benchmark wrote"),
        ('{"benchmarks": []}', "no benchmarks in it", "Every test was skipped or failed"),
        (
            '{"benchmarks": [{"stats": {}}]}',
            r"missing required field `name` - at `\$.benchmarks\[0\]`",
            "that pytest-benchmark wrote",
        ),
        (
            '{"benchmarks": ["x"]}',
            r"Expected `object`, got `str` - at `\$.benchmarks\[0\]`",
            "that pytest-benchmark wrote",
        ),
    ],
)
def test_unusable_files(tmp_path: Path, text: str, fault: str, remedy: str) -> None:
    """Each kind of broken file has its own message, which begins with the file."""
    path = tmp_path / "a.json"
    path.write_text(text)
    with pytest.raises(ReadError, match=fault) as error:
        read_file(path)
    assert str(error.value).startswith(str(path))
    assert remedy in str(error.value)


@pytest.mark.parametrize("depth", [3_000, 100_000])
@pytest.mark.parametrize("text", ["", "\\ud800"], ids=["", "half a surrogate pair"])
def test_what_is_nested_too_deep_is_refused(tmp_path: Path, depth: int, text: str) -> None:
    """In a part that nothing reads: no traceback, whichever step over the whole of it is the first to give up."""
    path = tmp_path / "a.json"
    deep = "[" * depth + f'"{text}"' + "]" * depth
    path.write_text(json.dumps({**build.document([None]), "other": 0}).replace('"other": 0', f'"other": {deep}'))
    with pytest.raises(ReadError, match=r"a\.json: JSON that can't be read \(.*recursion"):
        read_file(path)


@pytest.mark.parametrize("part", ["name", "options"])
def test_bytes_that_are_no_text_are_found_in_any_part(tmp_path: Path, part: str) -> None:
    """One that is read and one that is not: the message says which byte of the file."""
    content = build.document([None])
    content["benchmarks"][0][part] = "HERE"
    whole = json.dumps(content).encode()
    path = tmp_path / "a.json"
    path.write_bytes(whole.replace(b"HERE", b"\xff"))
    with pytest.raises(ReadError, match=rf"a\.json: not UTF-8 text \(byte {whole.index(b'HERE')}\)"):
        read_file(path)


def test_newer_schema(tmp_path: Path) -> None:
    """A file of a later version is refused, with the place and the remedy, not half read."""
    content = build.document([build.record()], of=build.session(), on=build.machine())
    for place in (content["benchmarks"][0]["extra_info"], content["machine_info"], content):
        place[KEY]["schema"] = 99
    with pytest.raises(ReadError, match=r"a\.json.*schema is 99.*Upgrade pytest-roofline"):
        read_file(build.write(tmp_path / "a.json", content))


@pytest.mark.parametrize("value", ["x", {"schema": 99}, {"schema": 2}])
def test_a_broken_session_or_machine_costs_itself(tmp_path: Path, value: object) -> None:
    """The rows stay, with what the file says of both kept apart from theirs."""
    content = build.document([build.record()], of=build.session(), on=build.machine())
    content[KEY] = content["machine_info"][KEY] = value
    result = read_file(build.write(tmp_path / "a.json", content))
    assert (result.machine, result.session, result.benchmarks[0].record) == (None, None, build.record())
    assert [reason.split(": ")[1] for reason in result.left_out] == ["machine_info", KEY]


def test_a_broken_record_names_its_benchmark(tmp_path: Path) -> None:
    """Among hundreds of rows the one at fault is named."""
    content = build.document([build.record(), build.record()])
    content["benchmarks"][1]["extra_info"][KEY]["case"]["batch"] = "many"
    result = read_file(build.write(tmp_path / "a.json", content))
    good, bad = result.benchmarks
    assert (good.record, good.fault) == (build.record(), None)
    assert (bad.record, bad.stats.mean_s) == (None, 0.1)
    assert bad.fault is not None
    assert re.search(r"a\.json: benchmarks\[1\] \(test_case.*batch", bad.fault)
    assert result.faults == (bad.fault,)


def test_a_file_without_a_usable_record_is_refused(tmp_path: Path) -> None:
    """Nothing of it could be placed, and the first fault says why."""
    content = build.document([build.record(), build.record()])
    for row in content["benchmarks"]:
        row["extra_info"][KEY]["case"]["batch"] = 10**29
    with pytest.raises(ReadError, match=r"no usable record.*benchmarks\[0\].*case\.batch: .* \(and 1 more\)"):
        read_file(build.write(tmp_path / "a.json", content))


def test_a_file_that_must_not_be_read_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """With the system's reason, whoever runs this: root may read everything, so the refusal is made up."""

    def refuse(*_: object, **__: object) -> None:
        raise PermissionError(13, "Permission denied")

    path = build.write(tmp_path / "a.json", build.document([None]))
    monkeypatch.setattr(Path, "read_bytes", refuse)
    with pytest.raises(ReadError, match=r"a\.json: can't be read \(Permission denied\)\.$"):
        read_file(path)


def test_a_link_to_itself_in_a_folder_is_skipped(tmp_path: Path) -> None:
    """It is named with the system's reason, and the other files are read."""
    build.write(tmp_path / "good.json", build.document([None]))
    (tmp_path / "circle.json").symlink_to("circle.json")
    reading = read([tmp_path])
    assert [result.path.name for result in reading.files] == ["good.json"]
    assert reading.skipped == (f"{tmp_path / 'circle.json'}: can't be read (Too many levels of symbolic links).",)


def test_half_a_surrogate_pair_is_spelled_out(tmp_path: Path) -> None:
    """No font draws it and no file holds it; a whole pair is a character like any other."""
    item = build.record(case=build.case(model="half\ud800", id="whole\U0001f600"))
    result = build.result(tmp_path / "a.json", [item])
    record = result.benchmarks[0].record
    assert record is not None
    assert (record.case.model, record.case.id) == ("half\\ud800", "whole\U0001f600")


def test_no_benchmarks_tells_why_none_was_measured(tmp_path: Path) -> None:
    """The session says what happened to each case."""
    cases = tuple(NotMeasured(id=f"case{index}", outcome="skipped", reason="no bf16") for index in range(5))
    content = build.document([], of=build.session(not_measured=cases))
    with pytest.raises(ReadError, match=r"case0: skipped: no bf16; .*case2.*; and 2 more\.$"):
        read_file(build.write(tmp_path / "a.json", content))


def test_a_folder_is_read_recursively_and_each_file_once(tmp_path: Path) -> None:
    """A file given twice, by name and by folder, counts once."""
    first, second = build.two_machines(tmp_path)
    reading = read([first, tmp_path])
    assert [result.path for result in reading.files] == [first, second]
    assert reading.skipped == ()
    # A run that crashed must not block the rest; who names its file wants that file.
    (tmp_path / "crashed.json").write_text("")
    reading = read([tmp_path])
    assert len(reading.files) == 2
    assert ["crashed.json: empty" in reason for reason in reading.skipped] == [True]
    with pytest.raises(ReadError, match="empty"):
        read([first, tmp_path / "crashed.json"])


def test_a_folder_that_cannot_be_looked_into_is_told(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """What may lie in it is left out of every table: not in silence."""
    build.two_machines(tmp_path)
    closed = tmp_path / "closed"
    closed.mkdir()
    look = os.scandir

    def refused(path: str) -> object:
        if Path(path) == closed:
            raise PermissionError(13, "Permission denied", str(path))
        return look(path)

    monkeypatch.setattr(os, "scandir", refused)
    reading = read([tmp_path])
    assert len(reading.files) == 2
    (reason,) = reading.skipped
    # Opened, a folder has an error of its own; for who may not read it: permission denied.
    assert reason.startswith(f"{closed}: can't be read (")


def test_a_folder_without_results_beside_another(tmp_path: Path) -> None:
    """It is told, for a session was expected there."""
    good, _ = build.two_machines(tmp_path)
    empty = tmp_path / "empty"
    empty.mkdir()
    reading = read([good, empty])
    assert [file.path for file in reading.files] == [good]
    assert reading.skipped == reading.unreadable == (f"{empty}: no file there ends in .json or .journal",)


@pytest.mark.parametrize("content", [None, ""])
def test_nothing_readable(tmp_path: Path, content: str | None) -> None:
    """An empty folder, or one with broken files alone, is an error and not an empty table."""
    if content is not None:
        (tmp_path / "x.json").write_text(content)
    with pytest.raises(ReadError, match="no result file to read"):
        read([tmp_path])


@pytest.mark.parametrize(
    ("told", "when"),
    [
        ("2026-11-20T10:00:00+00:00", "2026-11-20T10:00:00+00:00"),
        ("2026-11-20T10:00:00Z", "2026-11-20T10:00:00+00:00"),
        ("2026-11-20T10:00:00", "2026-11-20T10:00:00+00:00"),
        ("2026-11-20T02:00:00.5-08:00", "2026-11-20T10:00:00.500000+00:00"),
        ("2026-11-21T00:30:00+14:30", "2026-11-20T10:00:00+00:00"),
        ("0001-01-01T00:00:00+14:00", ""),
        ("soon", ""),
        ("", ""),
    ],
)
def test_when_a_run_began_is_in_utc(tmp_path: Path, told: str, when: str) -> None:
    """Whatever its offset, so that texts are in the order of times; empty where it is no time."""
    own = build.result(tmp_path / "own.json", [build.record()], of=build.session(started_at=told))
    foreign = read_file(build.write(tmp_path / "foreign.json", {**build.document([None]), "datetime": told}))
    assert (own.when, foreign.when) == (when, when)


def test_machines_without_a_fingerprint_are_told_apart(tmp_path: Path) -> None:
    """Another processor is another machine, even under one host name."""
    one, other = build.document([None]), build.document([None])
    other["machine_info"]["cpu"]["brand_raw"] = "Other CPU"
    keys = {
        read_file(build.write(tmp_path / f"{index}.json", content)).machine_key
        for index, content in enumerate((one, other))
    }
    assert len(keys) == 2


_JSON: st.SearchStrategy[Any] = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=5),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=5), inner, max_size=3),
    max_leaves=8,
)


@settings(max_examples=80, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(data=st.data())
def test_any_json_is_read_or_refused(tmp_path: Path, data: st.DataObject) -> None:
    """Whatever stands where a value should, the answer is a result or a ReadError."""
    content = build.document([build.record(), None], of=build.session(build.roofs()), on=build.machine())
    places: list[tuple[Any, Any]] = []
    _collect(content, places)
    for place, key in data.draw(st.lists(st.sampled_from(places), min_size=1, max_size=3, unique_by=id)):
        place[key] = data.draw(_JSON)
    path = tmp_path / "a.json"
    path.write_text(json.dumps(content))
    answer: ResultFile | str
    try:
        answer = read_file(path)
    except ReadError as error:
        answer = str(error)
    assert isinstance(answer, ResultFile) or answer.startswith(str(path))


@settings(max_examples=60, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(cut=st.integers(min_value=0, max_value=3000))
def test_a_file_cut_anywhere_is_refused(tmp_path: Path, cut: int) -> None:
    """No prefix of a file passes for the file."""
    text = json.dumps(build.document([build.record()]))
    path = tmp_path / "a.json"
    path.write_text(text[: min(cut, len(text) - 1)])
    with pytest.raises(ReadError):
        read_file(path)


def _collect(value: Any, places: list[tuple[Any, Any]]) -> None:
    items = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    for key, item in items:
        places.append((value, key))
        _collect(item, places)


def test_what_other_tools_wrote_is_one_line(tmp_path: Path) -> None:
    """A project's own folder has many such files."""
    build.write(tmp_path / "mine.json", build.document([build.record()]))
    for name in "abcd":
        (tmp_path / f"{name}.json").write_text("{}")
    reading = read([tmp_path])
    (skipped,) = reading.skipped
    assert skipped.startswith(f"4 files that are no pytest-benchmark results: {tmp_path / 'a.json'}, ")
    assert skipped.endswith(" and 1 more")
    assert not reading.unreadable
