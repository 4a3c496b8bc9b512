"""The quick reader says what the reader says, but for what a gate doesn't need; what it can't read the reader reads."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from roofline import quick_reader
from roofline.quick_reader import read_times
from roofline.reader import ReadError, ResultFile, read_file
from roofline.record import KEY, Counters, Flag, KernelCounters, KernelTime, Record
from tests.roofline import build
from tests.roofline.compare import sessions


def _of_a_gate(record: Record) -> Record:
    """What a gate needs of a record."""
    profile, counters = record.profile, record.counters
    return replace(
        record,
        operations=(),
        process=None,
        profile=profile and replace(profile, outside=(), kernels=(), longest_gap_s=None),
        counters=counters and Counters(status=counters.status, flop=counters.flop, dram_byte=counters.dram_byte),
    )


def _without_operations(result: ResultFile) -> ResultFile:
    return replace(
        result,
        benchmarks=tuple(replace(row, record=row.record and _of_a_gate(row.record)) for row in result.benchmarks),
    )


KERNELS = (KernelTime(name="gemm", launches=1.0, time_s=0.02),)
COUNTED = (KernelCounters(name="gemm", launches=1, flop_by_pipe={"fp32": 1e11}),)


@pytest.fixture
def path(tmp_path: Path) -> Path:
    record = build.timed(
        build.operation(time_s=0.05),
        flags=(Flag(name="margin", evidence="2 %"),),
        profile=build.profile(source="kernels", device_busy_s=0.02, longest_gap_s=0.01, kernels=KERNELS),
        counters=Counters(status="ok", flop=1e11, dram_byte=1e9, l2_byte=2e9, kernels=COUNTED),
    )
    content = build.document([record, None], of=build.session(build.roofs()), on=build.machine())
    content["benchmarks"][1]["stats"] = sessions.statistics_of((0.1, 0.2, 0.3))
    return build.write(tmp_path / "result.json", content)


@pytest.fixture
def alone(monkeypatch: pytest.MonkeyPatch) -> None:
    """Without the reader behind it."""

    def never(path: Path) -> ResultFile:
        raise AssertionError(f"{path} was left to the reader")

    monkeypatch.setattr(quick_reader, "read_file", never)


@pytest.mark.usefixtures("alone")
@pytest.mark.parametrize("start", [b"", b"\xef\xbb\xbf"], ids=["plain", "byte order mark"])
def test_the_same_as_the_reader(path: Path, start: bytes) -> None:
    """Machine, session, commit, statistics, rounds and flags; of the record not its operations and kernels."""
    path.write_bytes(start + path.read_bytes())
    assert read_times(path) == _without_operations(read_file(path))


@pytest.mark.usefixtures("alone")
def test_another_project_s_file(tmp_path: Path) -> None:
    """Without any part of ours, with round times, processors and a unit of its own."""
    content = sessions.foreign({"a": (0.1, 0.2)}, machine="x86_64", cpu={"brand_raw": "Xeon", "count": 8})
    content["benchmarks"][0]["time_unit"] = "ms"
    content["commit_info"] = {"id": "unversioned", "dirty": None}
    path = build.write(tmp_path / "a.json", content)
    result = read_times(path)
    assert result == read_file(path)
    assert (result.host.cpus, result.host.architecture, result.commit) == (8, "x86_64", None)
    assert (result.benchmarks[0].stats.unit, result.benchmarks[0].stats.round_times_s) == ("ms", (0.1, 0.2))


def _nan(content: dict[str, Any]) -> None:
    content["benchmarks"][0]["stats"]["mean"] = float("nan")


def _null(content: dict[str, Any]) -> None:
    content["benchmarks"][0]["extra_info"][KEY]["timing"]["step_time_s"] = None


def _wrong_type(content: dict[str, Any]) -> None:
    content["benchmarks"][0]["extra_info"][KEY]["case"]["batch"] = "many"


def _odd_profile(content: dict[str, Any]) -> None:
    content["benchmarks"][0]["extra_info"][KEY]["profile"]["device_busy_s"] = "long"


def _newer(content: dict[str, Any]) -> None:
    content["benchmarks"][0]["extra_info"][KEY]["schema"] = 99


def _odd_statistics(content: dict[str, Any]) -> None:
    content["benchmarks"][0]["stats"] |= {"mean": "0.1 s", "data": ["..."]}


def _too_large(content: dict[str, Any]) -> None:
    content["benchmarks"][0]["extra_info"][KEY]["timing"]["rounds"]["steps"] = 10**400


def _too_much_memory(content: dict[str, Any]) -> None:
    content["benchmarks"][0]["extra_info"][KEY]["memory"] = {"peak_reserved_byte": 10**400}


_BEYOND = [_nan, _null, _wrong_type, _odd_profile, _newer, _odd_statistics, _too_large, _too_much_memory]


@pytest.mark.parametrize("change", _BEYOND)
def test_what_it_can_not_read_is_left_to_the_reader(path: Path, change: Any) -> None:
    """With all that the reader says of it: what wasn't finite, and the faults of records."""
    sessions.edited(path, change)
    # By their texts: a NaN in them is equal to nothing.
    assert repr(read_times(path)) == repr(read_file(path))


@pytest.mark.parametrize("text", ["", "{", "[]", '{"benchmarks": []}', '{"benchmarks": [{"name": ""}]}'])
def test_a_bad_file_has_the_reader_s_message(tmp_path: Path, text: str) -> None:
    """The message has one home."""
    path = tmp_path / "bad.json"
    path.write_text(text)
    with pytest.raises(ReadError) as quick:
        read_times(path)
    with pytest.raises(ReadError) as usual:
        read_file(path)
    assert str(quick.value) == str(usual.value)


def test_what_is_nested_too_deep_is_left_to_the_reader(path: Path) -> None:
    """In a key that nobody asks for: the reader says what is wrong, and there is no traceback."""
    deep = "[" * 100_000 + "]" * 100_000
    path.write_text(json.dumps({**json.loads(path.read_text()), "other": 0}).replace('"other": 0', f'"other": {deep}'))
    with pytest.raises(ReadError, match=r"result\.json: JSON that can't be read \(.*recursion"):
        read_times(path)


def test_a_missing_file(tmp_path: Path) -> None:
    """As the reader says it."""
    with pytest.raises(ReadError, match=r"none\.json: can't be read \(No such file"):
        read_times(tmp_path / "none.json")


def test_half_a_surrogate_pair(path: Path) -> None:
    """No encoding has it: spelled out, as the reader does."""
    path.write_text(json.dumps(json.loads(path.read_text())).replace('"test"', '"te\\ud800"'))
    assert repr(read_times(path)) == repr(read_file(path))
