"""The gate of a run: a baseline that is there before anything is measured, and a verdict that is the check's."""

from __future__ import annotations

import json
import os
import shlex
from pathlib import Path
from typing import Any

import pytest

from pytest_roofline.session import analysis
from pytest_roofline.session import baseline as baselines
from pytest_roofline.session.analysis import Answer
from pytest_roofline.session.baseline import Baseline, NoBaseline
from roofline.cli import program as cli
from tests.roofline.comparison import sessions

RESULT = json.dumps({"benchmarks": [{"name": "test_a"}]})


def write(path: Path, text: str = RESULT) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text, encoding="utf-8")
    return path


@pytest.mark.parametrize(
    ("text", "why"),
    [
        ("", "empty"),
        (RESULT[:-3], "truncated"),
        ("[1]", "no pytest-benchmark result"),
        ('{"benchmarks": []}', "no benchmarks in it"),
        ("[" * 100_000, "can't be read"),
        ("\udcff", "UTF-8"),
    ],
)
def test_a_file_that_nothing_can_be_compared_with_is_no_baseline(tmp_path: Path, text: str, why: str) -> None:
    """It is refused in words, alone and as all there is in a folder."""
    path = tmp_path / "base" / "a.json"
    path.parent.mkdir()
    path.write_bytes(text.encode(errors="surrogateescape"))
    for place in (path, tmp_path):
        with pytest.raises(NoBaseline) as refused:
            baselines.baseline(place)
        assert why in str(refused.value)
        assert not str(refused.value).endswith(".")
        assert (str(path) in str(refused.value)) == (place == tmp_path)


def test_no_file_and_an_empty_folder_are_no_baseline(tmp_path: Path) -> None:
    """Nor one that holds only other files."""
    write(tmp_path / "notes.txt")
    with pytest.raises(NoBaseline, match="no such file or folder"):
        baselines.baseline(tmp_path / "missing")
    with pytest.raises(NoBaseline, match=r"a folder without a result file \(\*\.json\)"):
        baselines.baseline(tmp_path)


def test_a_folders_results_are_the_baseline_and_what_is_not_is_named(tmp_path: Path) -> None:
    """At any depth. The list is final: a file that is written later is none of it."""
    first, second = write(tmp_path / "a" / "1.json"), write(tmp_path / "2.json")
    other = write(tmp_path / "a" / "other.json", "{}")
    found = baselines.baseline(tmp_path)
    write(tmp_path / "3.json")
    assert set(found.files) == {first, second}
    assert [line.partition(": ")[0] for line in found.left_out] == [str(other)]


def test_what_was_measured_under_a_profiler_is_left_out_of_a_folder(tmp_path: Path) -> None:
    """With the reason, as the check leaves it out; which then takes every file that is left, by its name."""
    base = sessions.side(tmp_path / "base", sessions.TIMES)
    new = sessions.side(tmp_path / "new", sessions.TIMES, first=10)

    def under_a_profiler(content: dict[str, Any]) -> None:
        sessions.record_of(content)["flags"] = [{"name": "profiled", "evidence": "under ncu", "invalid": True}]

    sessions.edited(base[1], under_a_profiler)
    found = baselines.baseline(tmp_path / "base")
    assert found.files == (base[0], *base[2:])
    assert found.left_out == (f"{base[1]}: measured under a profiler, so it is no side of a comparison",)
    assert cli.main(["check", *map(str, new), "--baseline", *map(str, found.files)]) == 0


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="no named pipes on this system")
def test_a_pipe_is_no_baseline(tmp_path: Path) -> None:
    """Reading it would wait for its writer, perhaps for ever."""
    pipe = tmp_path / "1.json"
    os.mkfifo(pipe)
    with pytest.raises(NoBaseline, match="no regular file"):
        baselines.baseline(pipe)
    with pytest.raises(NoBaseline, match="no regular file"):
        baselines.baseline(tmp_path)


def test_one_broken_file_in_a_folder_is_told_before_anything_is_measured(tmp_path: Path) -> None:
    """Whether or not there are others: what it had measured would be missing."""
    write(tmp_path / "1.json")
    cut = write(tmp_path / "cut.json", RESULT[:-3])
    with pytest.raises(NoBaseline, match="Remove what is broken") as told:
        baselines.baseline(tmp_path)
    assert str(told.value).startswith(f"{cut}:")
    write(tmp_path / "more.json", "")
    with pytest.raises(NoBaseline, match=r" \(and 1 more\)\. Remove what is broken from the folder, or restore it$"):
        baselines.baseline(tmp_path)


FLAGS = ("--gate", "--roofline-gate", "--sessions", "--results")


@pytest.mark.parametrize(
    "arguments", [("-k", "a b", "--gate", "base"), ("--gate=base", "-k", "a b"), ("--sessions", "9", "-k", "a b")]
)
def test_the_command_that_makes_a_baseline(arguments: tuple[str, ...]) -> None:
    """Is the run itself without the gate, into the folder that the gate named, several sessions of it."""
    said = baselines.making(Path("base"), arguments, FLAGS)
    prefix = "Make one with the code that is known to be good: "
    assert said.startswith(prefix)
    assert shlex.split(said.removeprefix(prefix)) == [
        *("pytest", "-k", "a b", "--roofline-sessions", "5", "--roofline-results", "base")
    ]


def test_a_file_becomes_a_folder(tmp_path: Path) -> None:
    """The names of results are not the user's to choose."""
    assert baselines.making(tmp_path / "good.json", (), FLAGS).endswith(
        f"--roofline-results {tmp_path / 'good'} and name that folder: --gate {tmp_path / 'good'}"
    )
    assert baselines.making(write(tmp_path / "a.txt"), (), FLAGS).endswith(f"--gate {tmp_path / 'a'}")


@pytest.fixture
def asked(monkeypatch: pytest.MonkeyPatch) -> list[tuple[str, ...]]:
    """The check answers 1, and what it was asked is noted."""
    calls: list[tuple[str, ...]] = []

    def ask(command: str, *arguments: str) -> Answer:
        calls.append((command, *arguments))
        return Answer(command=command, code=1, out="a table", err="Error: slower")

    monkeypatch.setattr(analysis, "ask", ask)
    return calls


BASELINE = Baseline(path=Path("base"), files=(Path("base/1.json"), Path("base/2.json")), left_out=("x: empty",))


@pytest.mark.usefixtures("asked")
def test_the_verdict_shows_all_that_the_check_said() -> None:
    """Table, warnings, what is no part of the baseline, and in one line how it ended."""
    gated = baselines.verdict(BASELINE, [Path("new.json")], [], 90)
    assert gated.code == 1
    assert gated.lines == (
        "a table",
        "Error: slower",
        "left out of the baseline: x: empty",
        "gate against base: FAILED: slower than the baseline",
    )


@pytest.mark.parametrize(
    ("option", "says"),
    [
        ("--strickt", "No such option"),
        ("--least-effect=x", "--least-effect"),
        ("--devices=none.toml", "none.toml"),
        ("--expect=none.toml", "none.toml"),
        ("--help", "help"),
        ("--strict", None),
    ],
)
def test_options_are_tried_before_anything_is_measured(option: str, says: str | None) -> None:
    """As `roofline check` takes them; nothing is compared."""
    objection = baselines.objection(BASELINE, [option])
    assert (objection is None) if says is None else (says in str(objection))


@pytest.mark.parametrize(
    ("code", "exit_code", "says"),
    [
        (0, 0, "passed"),
        (3, 4, "FAILED: not all of it could be compared, or settled"),
        (2, 4, "FAILED: not all of it could be compared"),
    ],
)
def test_how_it_ended_is_told(monkeypatch: pytest.MonkeyPatch, code: int, exit_code: int, says: str) -> None:
    """A check that could not compare is no pass."""
    monkeypatch.setattr(analysis, "ask", lambda command, *_: Answer(command=command, code=code, out="", err=""))
    gated = baselines.verdict(BASELINE, [Path("new.json")], [], 90)
    assert gated.code == exit_code
    assert gated.lines[-1].startswith(f"gate against base: {says}")


def test_a_path_is_told_without_the_way_back(tmp_path: Path) -> None:
    """As results and baselines beside the project are given; but a `..` behind a link may lead elsewhere."""
    result_file = write(tmp_path / "base" / "1.json")
    (tmp_path / "project").mkdir()
    back = tmp_path / "project" / ".." / "base"
    assert baselines.plain(back) == tmp_path / "base"
    assert baselines.baseline(back) == Baseline(path=tmp_path / "base", files=(result_file,))
    write(tmp_path / "disk" / "base" / "1.json")
    (tmp_path / "disk" / "folder").mkdir()
    (tmp_path / "link").symlink_to(tmp_path / "disk" / "folder")
    elsewhere = tmp_path / "link" / ".." / "base"
    assert baselines.plain(elsewhere) == elsewhere
