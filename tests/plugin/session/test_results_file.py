"""The files of a run: a journal from the start, strict JSON at the end, whole at every moment."""

from __future__ import annotations

import json
import os
from collections.abc import Callable
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch

from pytest_roofline.roofs.stored import KeptRoofs
from pytest_roofline.session import results_file
from pytest_roofline.session.results_file import ResultsError, ResultsFile
from roofline.schema.record import Flag
from roofline.schema.record_json import to_json
from roofline.schema.session import Machine, Roof, Session
from tests.roofline import build
from tests.roofline.full_disk import nearly_full

NOON = datetime(2026, 1, 2, 12, 0, 0, tzinfo=UTC)


def test_the_name_says_machine_time_and_commit(tmp_path: Path) -> None:
    """results/<machine label>/<UTC time>-<commit>.json"""
    file = ResultsFile(tmp_path, "a-label", "1a2b3c4d", NOON)
    assert file.path == tmp_path / "a-label" / "20260102T120000Z-1a2b3c4d.json"
    assert file.readable.read_bytes() == b""
    assert file.beside("x.csv") == tmp_path / "a-label" / "20260102T120000Z-1a2b3c4d.x.csv"


def test_two_runs_in_one_second_keep_both(tmp_path: Path) -> None:
    """No run overwrites another: not one that measures, not one that has ended, not one that was killed."""
    measuring, ended = ResultsFile(tmp_path, "m", "c", NOON), ResultsFile(tmp_path, "m", "c", NOON)
    ended.write({"a": 1})
    third = ResultsFile(tmp_path, "m", "c", NOON)
    names = [file.path.name for file in (measuring, ended, third)]
    assert names == [f"20260102T120000Z-c{suffix}.json" for suffix in ("", "-2", "-3")]
    assert json.loads(ended.path.read_text()) == {"a": 1}


def test_a_folder_that_must_not_be_written_is_an_error(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """With the system's reason, whoever runs this: root may write everything, so the refusal is made up."""

    def refuse(*_: object, **__: object) -> None:
        raise PermissionError(13, "Permission denied")

    monkeypatch.setattr(os, "open", refuse)
    with pytest.raises(ResultsError, match=r"can't write results to .*m: Permission denied. Choose another folder"):
        ResultsFile(tmp_path, "m", "c", NOON)


def test_a_line_is_in_the_journal_whole_or_not_at_all(tmp_path: Path) -> None:
    """A disk that is full takes no part of a line, and the next one that fits stands where that would have stood."""
    file = ResultsFile(tmp_path, "m", "c", NOON)
    file.append({"a": 1})
    with nearly_full(), pytest.raises(ResultsError, match="File too large"):
        file.append({"b": "x" * 10_000})
    file.append({"c": 3})
    assert file.journal.read_text() == '{"a": 1}\n{"c": 3}\n'


def test_a_journal_stays_until_the_json_is_there(tmp_path: Path) -> None:
    """A disk that is too full for the JSON still has the journal, and nothing else."""
    file = ResultsFile(tmp_path, "m", "c", NOON)
    file.append({"a": 1})
    with nearly_full(), pytest.raises(ResultsError, match="File too large"):
        file.write({"a": "x" * 10_000})
    assert [path.name for path in file.path.parent.iterdir()] == [file.readable.name] == [file.journal.name]
    file.write({"a": 1})
    assert [path.name for path in file.path.parent.iterdir()] == [file.readable.name] == [file.path.name]


def test_what_is_written_is_on_disk_before_what_relies_on_it(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A power cut may lose whatever isn't synchronised, names in a folder included."""
    calls: list[str] = []

    def note(name: str, done: Callable[..., Any]) -> Callable[..., Any]:
        def noted(*arguments: Any, **keywords: Any) -> Any:
            calls.append(name)
            return done(*arguments, **keywords)

        return noted

    file = ResultsFile(tmp_path, "m", "c", NOON)
    monkeypatch.setattr(os, "write", note("write", os.write))
    monkeypatch.setattr(os, "fsync", note("fsync", os.fsync))
    monkeypatch.setattr(Path, "replace", note("rename", Path.replace))
    monkeypatch.setattr(Path, "unlink", note("unlink", Path.unlink))
    file.append({"a": 1})
    assert calls == ["write", "fsync"]
    calls.clear()
    file.write({"a": 1})
    assert calls[:3] == ["fsync", "rename", "fsync"]
    assert "unlink" not in calls[:3]


def test_a_run_that_measured_nothing_leaves_nothing(tmp_path: Path) -> None:
    """One that wrote its JSON leaves that."""
    empty, full = ResultsFile(tmp_path, "m", "a", NOON), ResultsFile(tmp_path, "m", "b", NOON)
    full.write({})
    empty.discard()
    full.discard()
    assert list((tmp_path / "m").iterdir()) == [full.path]


def test_json_is_strict() -> None:
    """No NaN, and no object with its memory address."""

    def refuse(name: str) -> Any:
        raise AssertionError(name)

    text = results_file.dumps({"nan": float("nan"), "deep": [{"inf": -float("inf")}], "object": object()})
    assert json.loads(text, parse_constant=refuse) == {
        "nan": None,
        "deep": [{"inf": None}],
        "object": "<object object>",
    }


def test_a_parameter_takes_little_room() -> None:
    """Numbers and short texts stay; of anything long its beginning."""
    values = {"batch": 4, "lr": 0.1, "on": True, "none": None, "name": "x" * 200, "list": [0] * 200_000, "o": object()}
    bare = {"name": "t", "params": None}
    document = {"benchmarks": [{"name": "s", "params": {**values, "long": "y" * 201}}, bare], "version": "5"}
    (row, same) = results_file.with_short_parameters(document)["benchmarks"]
    assert same == bare
    assert {name: row["params"][name] for name in ("batch", "lr", "on", "none", "name")} == {
        name: values[name] for name in ("batch", "lr", "on", "none", "name")
    }
    assert row["params"]["long"] == "y" * 200 + "..."
    assert row["params"]["list"].startswith("[0, 0, ")
    assert len(row["params"]["list"]) < 210


class Unnamed:
    """Python shows it by where it lies in memory."""


@pytest.mark.parametrize(
    ("value", "text"),
    [
        (torch.float16, "float16"),
        (torch.bfloat16, "bfloat16"),
        (torch.device("cuda:1"), "cuda:1"),
        (torch.channels_last, "channels_last"),
        (torch.tensor(3), 3),
        (np.float32(0.5), 0.5),
        (np.float32, "float32"),
        (np.dtype("int8"), "int8"),
        ((3, "a"), "(3, 'a')"),
        (torch.zeros(2), "tensor([0., 0.])"),
        (torch.nn.Linear, "Linear"),
        (len, "len"),
        (torch.nn.ReLU(), "ReLU()"),
        (Unnamed(), "<tests.plugin.session.test_results_file.Unnamed object>"),
    ],
)
def test_a_value_that_json_does_not_know_is_named(value: Any, text: Any) -> None:
    """Two dtypes are two texts, and so are two classes; no text differs from run to run."""
    assert results_file.shown(value) == text


@pytest.mark.parametrize(
    ("info", "name"),
    [
        ({"id": "1a2b3c4d5e6f", "dirty": False}, "1a2b3c4d"),
        ({"id": "1a2b3c4d5e6f", "dirty": True}, "1a2b3c4d-dirty"),
        ({"id": "unversioned"}, "nogit"),
        ({}, "nogit"),
    ],
)
def test_the_commit_of_the_file_name(info: dict[str, Any], name: str) -> None:
    """Changed files show; outside git it says so."""
    assert results_file.commit_of(info) == name


def machine(fingerprint: str = "here") -> Machine:
    return build.machine(fingerprint=fingerprint, threads={"intra_op": 1}, limits={})


def document(of: Machine, *roofs: Roof) -> str:
    return json.dumps(
        {
            "machine_info": {"roofline": to_json(of)},
            "roofline": to_json(Session(started_at="t", label="m", roofs=roofs)),
            "benchmarks": [row()],
        }
    )


def row(*flags: Flag) -> dict[str, Any]:
    return {"name": "test_a", "extra_info": {"roofline": to_json(build.record(flags=flags))}}


def dram(value: float, **changes: Any) -> Roof:
    return replace(Roof(kind="byte", name="dram", value=value, source="measured", detail="d"), **changes)


def put(folder: Path, files: dict[str, str]) -> None:
    for name, text in files.items():
        (folder / name).parent.mkdir(exist_ok=True)
        (folder / name).write_text(text)


def test_the_last_roofs_are_those_measured_on_the_same_machine(tmp_path: Path) -> None:
    """Newest first; another machine's, taken-over, published and unreadable ones don't count."""
    put(
        tmp_path,
        {
            "a/20260101T000000Z-c.json": document(machine(), dram(1.0)),
            "a/20260102T000000Z-c.json": document(machine(), dram(2.0)),
            "b/20260103T000000Z-c.json": document(machine("elsewhere"), dram(9.0)),
            "a/20260104T000000Z-c.json": document(machine(), dram(3.0, from_file="x")),
            "a/20260105T000000Z-c.json": document(machine(), dram(4.0, source="spec")),
            "a/20260106T000000Z-c.json": "",
            "a/20260107T000000Z-c.json": "[]",
            "a/20260108T000000Z-c.json": "[" * 100_000,
            "a/20260109T000000Z-c.json": document(machine(), dram(-1.0)),
        },
    )
    found = results_file.last_roofs(tmp_path, machine())
    assert [(roof.value, roof.from_file) for roof in found] == [(2.0, "20260102T000000Z-c.json")]
    assert results_file.last_roofs(tmp_path, machine("nowhere")) == ()
    assert results_file.last_roofs(tmp_path / "missing", machine()) == ()


def test_a_cpu_has_other_roofs_with_other_threads_and_instructions(tmp_path: Path) -> None:
    """They are taken over by runs with the same alone, here and from the cache."""
    narrow = replace(machine(), limits={"ONEDNN_MAX_CPU_ISA": "AVX2", "OMP_PLACES": "cores"})
    measured = (machine(), replace(machine(), threads={"intra_op": 2}), narrow)
    for value, of in enumerate(measured, 1):
        put(tmp_path, {f"a/2026010{value}T000000Z-c.json": document(of, dram(float(value)))})
    found = [[roof.value for roof in results_file.last_roofs(tmp_path, of)] for of in measured]
    assert found == [[1.0], [2.0], [3.0]]
    assert len({KeptRoofs.of(of).path for of in measured}) == 3
    assert KeptRoofs.of(replace(machine(), limits={"OMP_PLACES": "cores"})) == KeptRoofs.of(machine())
    assert results_file.last_roofs(tmp_path, replace(machine(), threads={"intra_op": 4})) == ()


def test_roofs_measured_under_a_profiler_are_no_roofs(tmp_path: Path) -> None:
    """Launches are traced and clocks held down there; nor does a file whose rows are of no form stop the search."""
    flagged, broken = (json.loads(document(machine(), dram(value))) for value in (2.0, 3.0))
    flagged["benchmarks"] = [{}, row(Flag(name="profiled", evidence="ncu", invalid=True))]
    broken["benchmarks"] = ["nothing"]
    put(
        tmp_path,
        {
            "a/20260101T000000Z-c.json": document(machine(), dram(1.0)),
            "a/20260102T000000Z-c.json": json.dumps(flagged),
            "a/20260103T000000Z-c.json": json.dumps(broken),
        },
    )
    assert [roof.value for roof in results_file.last_roofs(tmp_path, machine())] == [1.0]


def test_a_folder_that_cannot_be_looked_into_has_no_roofs(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Why it can't be used is told where the results file is made; before Python 3.12 the search itself failed."""

    def refused(*_: object) -> None:
        raise PermissionError(13, "Permission denied")

    monkeypatch.setattr(Path, "glob", refused)
    assert results_file.last_roofs(tmp_path, machine()) == ()


def test_a_run_of_one_roof_does_not_hide_the_others(tmp_path: Path) -> None:
    """Each roof is looked up by itself, with the file it stands in."""
    launch = Roof(kind="latency", name="launch", value=1e-6, source="measured", detail="d")
    put(
        tmp_path,
        {
            "a/20260101T000000Z-c.json": document(machine(), dram(1.0), launch),
            "a/20260102T000000Z-c.json": document(machine(), replace(launch, value=2e-6)),
        },
    )
    found = {roof.name: (roof.value, roof.from_file) for roof in results_file.last_roofs(tmp_path, machine())}
    assert found == {"launch": (2e-6, "20260102T000000Z-c.json"), "dram": (1.0, "20260101T000000Z-c.json")}
