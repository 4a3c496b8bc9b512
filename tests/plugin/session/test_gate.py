"""The gate of a run: a baseline that is there before anything is measured, and a verdict that is the check's."""

from __future__ import annotations

import json
import os
import shlex
from pathlib import Path
from typing import Any

import pytest

from pytest_roofline.session import analysis, gate
from pytest_roofline.session.analysis import Answer
from roofline.cli import program as cli
from roofline.schema.record import KEY
from tests.roofline.comparison import sessions

RESULT = json.dumps({"benchmarks": [{"name": "test_a"}]})


def result(*extra_info: Any) -> str:
    """A row for each of these."""
    return json.dumps({"benchmarks": [{"name": "test_a", "extra_info": extra} for extra in extra_info]})


UNDER_A_PROFILER = {KEY: {"flags": [{"name": "denormals"}, {"name": "profiled", "invalid": True}]}}
PROFILED = result({}, UNDER_A_PROFILER)


def write(path: Path, text: str = RESULT) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text, encoding="utf-8")
    return path


@pytest.mark.parametrize(
    ("text", "why"),
    [
        ("", "empty"),
        (" \n", "empty"),
        (RESULT[:-3], "not JSON, or cut off (line 1: "),
        ("[1]", "JSON, but no result of pytest-benchmark"),
        ('{"benchmarks": 1}', "JSON, but no result of pytest-benchmark"),
        ('{"benchmarks": []}', "no benchmarks in it"),
        ("[" * 100_000, "JSON that can't be read: too deep"),
        (PROFILED, "measured under a profiler, so it is no side of a comparison"),
    ],
)
def test_a_file_that_nothing_can_be_compared_with_is_no_baseline(tmp_path: Path, text: str, why: str) -> None:
    """It is refused in words, alone and as all there is in a folder."""
    path = write(tmp_path / "base" / "a.json", text)
    with pytest.raises(gate.NoBaseline) as alone:
        gate.baseline(path)
    assert str(alone.value).startswith(why)
    with pytest.raises(gate.NoBaseline) as folder:
        gate.baseline(tmp_path)
    assert str(folder.value).startswith(f"{path}: {why}")


def test_a_file_that_is_no_text_is_no_baseline(tmp_path: Path) -> None:
    """Such as a compressed one."""
    path = tmp_path / "a.json"
    path.write_bytes(b"\x1f\x8b\xff")
    with pytest.raises(gate.NoBaseline, match="not UTF-8 text"):
        gate.baseline(path)


def test_no_file_and_an_empty_folder_are_no_baseline(tmp_path: Path) -> None:
    """Nor one that holds only other files."""
    write(tmp_path / "notes.txt")
    with pytest.raises(gate.NoBaseline, match="no such file or folder"):
        gate.baseline(tmp_path / "missing")
    with pytest.raises(gate.NoBaseline, match=r"a folder without a result file \(\*\.json\)"):
        gate.baseline(tmp_path)


def test_a_folders_results_are_the_baseline_and_what_is_not_is_named(tmp_path: Path) -> None:
    """At any depth. The list is final: a file that is written later is none of it."""
    first, second = write(tmp_path / "a" / "1.json"), write(tmp_path / "2.json")
    other = write(tmp_path / "a" / "other.json", "{}")
    found = gate.baseline(tmp_path)
    write(tmp_path / "3.json")
    assert set(found.files) == {first, second}
    assert [line.partition(": ")[0] for line in found.left_out] == [str(other)]


def test_linked_folders_and_capital_letters_are_of_the_baseline(tmp_path: Path) -> None:
    """As the check finds them; links in a circle end."""
    first, second = write(tmp_path / "disk" / "1.json"), write(tmp_path / "base" / "2.JSON")
    (tmp_path / "base" / "linked").symlink_to(tmp_path / "disk")
    (tmp_path / "disk" / "back").symlink_to(tmp_path / "base")
    (tmp_path / "base" / "self").symlink_to(".")
    found = gate.baseline(tmp_path / "base").files
    assert found == (second, tmp_path / "base" / "linked" / "1.json")
    assert found[1].samefile(first)


def test_what_was_measured_under_a_profiler_is_left_out_of_a_folder(tmp_path: Path) -> None:
    """With the reason, as the check leaves it out; which then takes every file that is left, by its name."""
    base = sessions.side(tmp_path / "base", sessions.TIMES)
    new = sessions.side(tmp_path / "new", sessions.TIMES, first=10)

    def under_a_profiler(content: dict[str, Any]) -> None:
        sessions.record_of(content)["flags"] = [{"name": "profiled", "evidence": "under ncu", "invalid": True}]

    sessions.edited(base[1], under_a_profiler)
    found = gate.baseline(tmp_path / "base")
    assert found.files == (base[0], *base[2:])
    assert found.left_out == (f"{base[1]}: measured under a profiler, so it is no side of a comparison",)
    assert cli.main(["check", *map(str, new), "--baseline", *map(str, found.files)]) == 0


@pytest.mark.parametrize(
    "extra_info",
    [
        {KEY: {"flags": [{"name": "denormals"}]}},
        {KEY: {"flags": [None, "profiled"]}},
        {KEY: {"flags": "profiled"}},
        {KEY: {}},
        {KEY: None},
        {"another tool": {"flags": [{"name": "profiled"}]}},
        None,
    ],
)
def test_only_the_record_s_own_flag_tells_of_a_profiler(tmp_path: Path, extra_info: Any) -> None:
    """What is wrong with a row of another shape is for the check to say."""
    path = write(tmp_path / "1.json", result(extra_info))
    assert gate.baseline(tmp_path) == gate.Baseline(path=tmp_path, files=(path,))


def test_a_folder_that_can_not_be_looked_into_is_told(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """What may lie in it would be missing from the verdict."""
    write(tmp_path / "1.json")
    closed = tmp_path / "closed"
    closed.mkdir()
    look = os.scandir

    def refused(path: str) -> Any:
        if Path(path) == closed:
            raise PermissionError(13, "Permission denied", str(path))
        return look(path)

    monkeypatch.setattr(os, "scandir", refused)
    with pytest.raises(gate.NoBaseline) as told:
        gate.baseline(tmp_path)
    # Opened, a folder has an error of its own; for who may not read it: permission denied.
    assert str(told.value).startswith(f"{closed}: can't be read (")


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="no named pipes on this system")
def test_a_pipe_is_no_baseline(tmp_path: Path) -> None:
    """Reading it would wait for its writer, perhaps for ever."""
    pipe = tmp_path / "1.json"
    os.mkfifo(pipe)
    with pytest.raises(gate.NoBaseline, match="no regular file"):
        gate.baseline(pipe)
    with pytest.raises(gate.NoBaseline, match="no regular file"):
        gate.baseline(tmp_path)


def test_one_broken_file_in_a_folder_is_told_before_anything_is_measured(tmp_path: Path) -> None:
    """Whether or not there are others: what it had measured would be missing."""
    write(tmp_path / "1.json")
    cut = write(tmp_path / "cut.json", RESULT[:-3])
    with pytest.raises(gate.NoBaseline) as told:
        gate.baseline(tmp_path)
    assert str(told.value).startswith(f"{cut}: not JSON, or cut off")
    assert str(told.value).endswith("Remove what is broken from the folder, or restore it")


FLAGS = ("--gate", "--roofline-gate", "--sessions", "--results")


@pytest.mark.parametrize(
    "arguments", [("-k", "a b", "--gate", "base"), ("--gate=base", "-k", "a b"), ("--sessions", "9", "-k", "a b")]
)
def test_the_command_that_makes_a_baseline(arguments: tuple[str, ...]) -> None:
    """Is the run itself without the gate, into the folder that the gate named, several sessions of it."""
    said = gate.making(Path("base"), arguments, FLAGS)
    prefix = "Make one with the code that is known to be good: "
    assert said.startswith(prefix)
    assert shlex.split(said.removeprefix(prefix)) == [
        *("pytest", "-k", "a b", "--roofline-sessions", "5", "--roofline-results", "base")
    ]


def test_a_file_becomes_a_folder(tmp_path: Path) -> None:
    """The names of results are not the user's to choose."""
    assert gate.making(tmp_path / "good.json", (), FLAGS).endswith(
        f"--roofline-results {tmp_path / 'good'} and name that folder: --gate {tmp_path / 'good'}"
    )


@pytest.fixture
def asked(monkeypatch: pytest.MonkeyPatch) -> list[tuple[str, ...]]:
    """The check answers 1, and what it was asked is noted."""
    calls: list[tuple[str, ...]] = []

    def ask(command: str, *arguments: str) -> Answer:
        calls.append((command, *arguments))
        return Answer(command=command, code=1, out="a table", err="Error: slower")

    monkeypatch.setattr(analysis, "ask", ask)
    return calls


BASELINE = gate.Baseline(path=Path("base"), files=(Path("base/1.json"), Path("base/2.json")), left_out=("x: empty",))


def test_the_check_is_asked_of_new_and_old_files(asked: list[tuple[str, ...]]) -> None:
    """With every file by its name, the user's options, and the width of the terminal."""
    gate.verdict(BASELINE, [Path("new.json")], ["--strict"], 90)
    (call,) = asked
    assert shlex.join(call) == (
        "check new.json --baseline base/1.json --baseline base/2.json --strict --format table --width 90"
    )


@pytest.mark.usefixtures("asked")
def test_the_verdict_shows_all_that_the_check_said() -> None:
    """Table, warnings, what is no part of the baseline, and in one line how it ended."""
    gated = gate.verdict(BASELINE, [Path("new.json")], [], 90)
    assert gated.code == 1
    assert gated.lines == (
        "a table",
        "Error: slower",
        "left out of the baseline: x: empty",
        "gate against base: FAILED: slower than the baseline",
    )


def test_options_are_tried_before_anything_is_measured(monkeypatch: pytest.MonkeyPatch) -> None:
    """Only that they make no sense is an objection; the file is held against itself, which the check refuses."""
    answers = iter(
        [(2, "Usage: roofline check\n\nError: No such option: --strickt"), (3, "Error: on both sides"), (0, "")]
    )

    def ask(command: str, *arguments: str) -> Answer:
        assert shlex.join([command, *arguments]) == "check base/1.json --baseline base/1.json --strickt"
        code, err = next(answers)
        return Answer(command=command, code=code, out="", err=err)

    monkeypatch.setattr(analysis, "ask", ask)
    assert gate.objection(BASELINE, ["--strickt"]) == "No such option: --strickt"
    assert gate.objection(BASELINE, ["--strickt"]) is None
    assert gate.objection(BASELINE, ["--strickt"]) is None


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
    gated = gate.verdict(BASELINE, [Path("new.json")], [], 90)
    assert gated.code == exit_code
    assert gated.lines[-1].startswith(f"gate against base: {says}")


def test_a_path_is_told_without_the_way_back(tmp_path: Path) -> None:
    """As results and baselines beside the project are given; but a `..` behind a link may lead elsewhere."""
    result_file = write(tmp_path / "base" / "1.json")
    (tmp_path / "project").mkdir()
    back = tmp_path / "project" / ".." / "base"
    assert gate.plain(back) == tmp_path / "base"
    assert gate.baseline(back) == gate.Baseline(path=tmp_path / "base", files=(result_file,))
    write(tmp_path / "disk" / "base" / "1.json")
    (tmp_path / "disk" / "folder").mkdir()
    (tmp_path / "link").symlink_to(tmp_path / "disk" / "folder")
    elsewhere = tmp_path / "link" / ".." / "base"
    assert gate.plain(elsewhere) == elsewhere


def test_plain_benchmarks_are_told_how_they_are_compared() -> None:
    """They measure, and not in a way that a run could hold against anything."""
    assert gate.nothing_to_compare(Path("base"), 0) == "no test here measures, so there is nothing to compare."
    told = gate.nothing_to_compare(Path("the base"), 3)
    assert told.startswith("no test here uses the fixture roofline, so there is nothing to compare.")
    assert "pytest-benchmark's own (3 here)" in told
    assert told.endswith(": roofline check NEW --baseline 'the base'")
