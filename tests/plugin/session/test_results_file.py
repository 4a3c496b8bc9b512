"""The files of a run: a journal from the start, strict JSON at the end, whole at every moment."""

from __future__ import annotations

import json
import os
from collections.abc import Callable
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch

from pytest_roofline.session import results_file
from pytest_roofline.session.results_file import ResultsError, ResultsFile
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
    """No file, and no folder that was made for it. One that wrote its JSON leaves that."""
    empty, full = ResultsFile(tmp_path, "m", "a", NOON), ResultsFile(tmp_path, "m", "b", NOON)
    alone = ResultsFile(tmp_path / "new" / "results", "m", "a", NOON)
    full.write({})
    for file in (empty, full, alone):
        file.discard()
    assert list((tmp_path / "m").iterdir()) == [full.path]
    assert list(tmp_path.iterdir()) == [tmp_path / "m"]


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
