"""`roofline history`: levels and changes of files, its gate, its figure."""

from __future__ import annotations

import json
import sys
from datetime import timedelta
from pathlib import Path
from random import Random
from typing import Any

import pytest

from roofline.schema.session import SessionSet
from tests.roofline import build
from tests.roofline.ab.repository import Project
from tests.roofline.comparison import sessions
from tests.roofline.comparison.sessions import ID
from tests.roofline.conftest import Run
from tests.roofline.histories.made import BEGAN, UP, commit, nights, write

pytest.importorskip("ruptures", reason="needs the extra history")

OTHER = "resnet18-train-b32-fp32"


UP_AND_DOWN = [1.0] * 12 + [1.1] * 8 + [1.0] * 8


@pytest.fixture
def up(tmp_path: Path) -> Path:
    """Slower by 10 % since the thirteenth night."""
    return nights(tmp_path / "up", UP)


def rows(run: Run, *arguments: object) -> list[dict[str, Any]]:
    code, out, err = run("history", *arguments, "--format", "json")
    assert code == 0, err
    found: list[dict[str, Any]] = json.loads(out)
    return found


def test_a_row_for_each_level_with_the_commits_between(run: Run, up: Path) -> None:
    """What changed stands first; what is steady is one level."""
    first, second, steady = rows(run, up)
    assert (first["case"], first["verdict"], first["change"], first["points"]) == (ID, None, None, 12)
    assert (second["case"], second["verdict"], second["points"], second["lasts"]) == (ID, "slower", 8, True)
    assert second["change_low"] < 0.1 < second["change_high"]
    assert second["change"] == pytest.approx(0.1, abs=0.02)
    assert (second["before_commit"], second["commit"], second["last_commit"]) == (commit(11), commit(12), commit(19))
    assert second["surely_after_commit"] <= commit(11)
    assert second["surely_by_commit"] >= commit(12)
    assert second["started_at"] == "2026-01-13T00:00:00+00:00"
    assert second["step_time_s"] == pytest.approx(0.11, rel=0.01)
    assert (steady["case"], steady["verdict"], steady["points"]) == (OTHER, "steady", 20)
    assert 0.02 < steady["least_detectable"] < 0.1


def test_the_table_names_the_commits(run: Run, up: Path) -> None:
    """As git takes them, shorter where space is; the machine only where there are several."""
    for width, digits in ((200, 10), (80, 7)):
        code, out, _ = run("history", up, "--width", width)
        assert code == 0
        assert out.startswith("History of 2 cases: 1 became slower\n")
        assert f" {commit(11)[:digits]}..{commit(12)[:digits]} " in out
        assert "epyc" not in out
    nights(up, UP[:8], label="other")
    assert f" {commit(11)[:7]}..{commit(12)[:7]}\n" in run("history", up, "--width", 80)[1]


def test_a_case_may_follow_the_files(run: Run, up: Path) -> None:
    """An id or a part; a word that is neither case nor file is refused, and says both."""
    assert {row["case"] for row in rows(run, up, "resnet50")} == {ID}
    assert {row["case"] for row in rows(run, *sorted(up.iterdir()), "RESNET18")} == {OTHER}
    code, _, err = run("history", up, "restnet50")
    assert code == 2
    assert "There is no file of this name, either." in " ".join(err.split())
    assert run("history", "resnet50")[0] == 3


def test_a_row_for_each_point(run: Run, up: Path) -> None:
    """With the level it belongs to, and the change where one began."""
    points = rows(run, up, "resnet50", "--by", "point")
    assert [row["commit"] for row in points] == [commit(number) for number in range(20)]
    assert [place for place, row in enumerate(points) if row["change"] is not None] == [12]
    assert points[11]["level_s"] < 0.103 < points[12]["level_s"]


def test_the_sessions_of_a_set_are_one_point(run: Run, tmp_path: Path) -> None:
    """Else what an hour adds to all of them would look like a change."""
    for number in range(8):
        for index in (1, 2, 3):
            place = SessionSet(id=f"set {number}", index=index, count=3)
            write(tmp_path / "sets", number, {"resnet50": 0.1 * (1 + 0.02 * (-1) ** number)}, place=place)
    (level,) = rows(run, tmp_path / "sets")
    assert (level["points"], level["verdict"]) == (8, "steady")
    assert {row["sessions"] for row in rows(run, tmp_path / "sets", "--by", "point")} == {3}


def test_machines_are_never_pooled(run: Run, tmp_path: Path) -> None:
    """A faster one that takes over is no change."""
    nights(tmp_path / "a", [1.0] * 8, label="a")
    nights(tmp_path / "b", [0.5] * 8, label="b")
    found = rows(run, tmp_path / "a", tmp_path / "b")
    assert [(row["verdict"], row["points"]) for row in found] == [("steady", 8)] * 4
    assert {row["machine"] for row in found} == {"a", "b"}
    assert " machine " in run("history", tmp_path / "a", tmp_path / "b", "--width", 80)[1]


def test_plain_benchmarks_have_a_history(run: Run, tmp_path: Path) -> None:
    """By their own times; one that doesn't tell when it was measured has no place in it."""
    for number in range(12):
        rng = Random(number)
        rounds = tuple((0.1 if number < 6 else 0.15) * (1 + rng.gauss(0, 0.004)) for _ in range(10))
        content = sessions.foreign({"test_sort": rounds})
        content["datetime"] = (BEGAN + timedelta(days=number)).isoformat() if number else ""
        build.write(tmp_path / f"{number:02}.json", content)
    first, second = rows(run, tmp_path)
    assert (first["points"], second["points"], second["verdict"]) == (5, 6, "slower")
    assert "no time recorded (1 session left out)" in " ".join(run("history", tmp_path)[1].split())


@pytest.mark.parametrize(
    ("factors", "since", "code"),
    [
        (UP, (), 1),
        (UP, ("--since", commit(11)), 1),
        (UP, ("--since", commit(12)[:9]), 0),
        (UP_AND_DOWN, (), 0),
        ([1.0] * 20, (), 0),
        ([1.0] * 5, (), 3),
        (UP, ("--since", commit(17)), 3),
        ([1.0] * 20, ("--since", commit(1)), 3),
        (UP, ("--since", "f" * 40), 3),
        ([1.0] * 12 + [0.9] * 8, (), 0),
    ],
    ids=[
        *("slower", "after the revision", "before the revision", "undone", "steady", "too short"),
        *("too few since", "too few before", "unknown revision", "faster"),
    ],
)
def test_the_gate(run: Run, tmp_path: Path, factors: list[float], since: tuple[str, ...], code: int) -> None:
    """1 where a case became slower after the revision and still is; 3 where that could not be seen."""
    folder = nights(tmp_path / "nights", factors)
    answer, _, err = run("history", folder, "--fail-on", "slower", *since)
    assert answer == code, err
    assert ("Error: " in err) == (code != 0)
    if code == 1:
        assert f"{commit(11)[:10]}..{commit(12)[:10]}" in err


def test_a_revision_that_is_none_is_told(run: Run, up: Path) -> None:
    """With the commits that there are."""
    assert run("history", up, "--since", "")[0] == 3
    code, _, err = run("history", up, "--since", "f" * 40)
    assert (code, "Results are of" in err, ".. " in " ".join(err.split())) == (3, True, False)


def test_without_a_gate_a_slower_case_is_only_shown(run: Run, up: Path) -> None:
    """And so is one that is too short."""
    assert run("history", up)[0] == 0
    assert run("history", *sorted(up.iterdir())[:3])[0] == 0


def test_a_case_that_is_new_or_ended_is_no_failure(run: Run, tmp_path: Path) -> None:
    """As long as others are judged; the one that ended is named."""
    for number in range(20):
        times = {"resnet50": 0.1, **({"old": 0.1} if number < 8 else {}), **({"new": 0.1} if number > 16 else {})}
        write(tmp_path / "nights", number, times)
    code, _, err = run("history", tmp_path / "nights", "--fail-on", "slower", "--since", commit(10))
    assert code == 0
    assert err == f"Warning: old-train-b32-fp32 on epyc-2cpu: not measured after {commit(10)[:10]}\n"


def test_a_file_that_cannot_be_read_keeps_the_gate_from_passing(run: Run, up: Path) -> None:
    """It may be the slower one."""
    (up / "99.json").write_text("{")
    code, _, err = run("history", up, "resnet18", "--fail-on", "slower")
    assert code == 3
    assert "99.json" in err


def test_a_revision_is_what_git_calls_it(run: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Also one that wasn't measured: the newest before it counts."""
    project = Project(tmp_path / "project")
    for number in range(20):
        sha = project.commit({"a.txt": str(number)})
        if number != 11:
            write(tmp_path / "nights", number, {"resnet50": 0.1 if number < 11 else 0.11}, sha=sha)
    monkeypatch.chdir(project.root)
    assert run("history", tmp_path / "nights", "--fail-on", "slower", "--since", "HEAD~9")[0] == 1
    assert run("history", tmp_path / "nights", "--fail-on", "slower", "--since", "HEAD~8")[0] == 1
    assert run("history", tmp_path / "nights", "--fail-on", "slower", "--since", "HEAD~7")[0] == 0
    code, _, err = run("history", tmp_path / "nights", "--fail-on", "slower", "--since", "v9")
    assert code == 3
    assert "no commit 'v9'" in " ".join(err.split())


def test_a_machine_without_a_result_of_the_revision_has_those_before_it(
    run: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """As git tells; each machine by its own: the other one's results of it are no others."""
    project = Project(tmp_path / "project")
    for number in range(20):
        sha = project.commit({"a.txt": str(number)})
        write(tmp_path / "nights" / "a", number, {"resnet50": 0.1}, sha=sha, label="a")
        if number < 8:
            write(tmp_path / "nights" / "b", number, {"resnet50": 0.1}, sha=sha, label="b")
    monkeypatch.chdir(project.root)
    code, _, err = run("history", tmp_path / "nights", "--fail-on", "slower", "--since", "HEAD~9")
    revision = f"HEAD~9 ({project.git('rev-parse', 'HEAD~9')[:10]})"
    assert (code, err) == (0, f"Warning: resnet50-train-b32-fp32 on b: not measured after {revision}\n")


def test_nothing_after_the_revision_is_no_want_of_change(run: Run, up: Path) -> None:
    """The revision is named, and what changed before it is not asked about."""
    code, out, err = run("history", up, "--fail-on", "slower", "--since", commit(19))
    name = commit(19)[:10]
    assert (code, out.splitlines()[0]) == (3, f"History of 2 cases after {name}: 2 not measured (1 change before it)")
    assert err.startswith(f"Error: nothing was measured after {name}: ")
    out = run("history", up, "--since", commit(15))[1]
    assert out.startswith(f"History of 2 cases after {commit(15)[:10]}: no change (1 change before it)\n")
    out = run("history", up, "--since", commit(17))[1]
    assert out.startswith(f"History of 2 cases after {commit(17)[:10]}: 2 not judged (1 change before it)\n")


def test_cases_that_are_too_short_are_counted(run: Run, tmp_path: Path) -> None:
    """``-v`` shows a row of each, and a program gets them all."""
    nights(tmp_path, [1.0] * 5)
    shown = run("history", tmp_path)[1]
    assert shown.startswith("History of 2 cases: 2 too short\n")
    assert ID not in shown
    assert ID in run("history", tmp_path, "-v", "--width", 200)[1]
    assert [row["verdict"] for row in rows(run, tmp_path)] == ["too short"] * 2
    assert len(rows(run, tmp_path, "--by", "point")) == 10


def test_what_differs_between_machines_of_one_label_is_said(run: Run, tmp_path: Path) -> None:
    """Their keys alone say nothing."""
    for fingerprint, cpu in (("a" * 16, "EPYC 1"), ("b" * 16, "EPYC 2")):
        nights(tmp_path / cpu, [1.0] * 8, fingerprint=fingerprint, cpu=cpu)
    out = " ".join(run("history", tmp_path)[1].split())
    assert "(AMD EPYC 7B13) [bbbbbb]: processor EPYC 1 v EPYC 2 " in out


def test_what_a_machine_s_cases_share_is_said(run: Run, tmp_path: Path) -> None:
    """And what else changed there: it may be that, and not the code."""
    for number in range(16):
        times = {f"model{index}": 0.1 * (1 if number < 8 else 1.2) for index in range(4)}
        torch = "2.14.1" if number < 8 else "2.15.0"
        write(tmp_path / "nights", number, times, versions={"torch": torch})
    text = " ".join(run("history", tmp_path / "nights", "--width", 200)[1].split())
    assert "4 of 4 cases of epyc-2cpu changed together about 2026-01-09 00:00, by +" in text
    assert "torch 2.15.0, baseline 2.14.1" in text


def test_a_change_that_was_undone_is_said(run: Run, tmp_path: Path) -> None:
    """The first of the two doesn't last, the second does."""
    folder = nights(tmp_path / "nights", UP_AND_DOWN)
    assert [row["lasts"] for row in rows(run, folder, "resnet50")] == [None, False, True]
    assert "Undone by later changes" in run("history", folder)[1]


def test_many_cases_must_be_surer_than_one(run: Run, tmp_path: Path) -> None:
    """A change that would be told of a case alone is none among forty that are steady, and is one among others."""
    levels = {}
    for others, factor in ((0, 1.0), (40, 1.0), (40, 1.5)):
        folder = tmp_path / f"{others} {factor}"
        for number in range(14):
            times = {f"other{index}": 0.01 * (factor if number > 6 else 1) for index in range(others)}
            write(folder, number, {"resnet50": 0.1 * (1.064 if number > 6 else 1), **times})
        levels[others, factor] = sum(row["case"] == ID for row in rows(run, folder))
    assert levels == {(0, 1.0): 2, (40, 1.0): 1, (40, 1.5): 2}


@pytest.mark.parametrize("form", ["png", "svg"])
def test_a_figure_stands_beside_the_table(run: Run, up: Path, form: str) -> None:
    """The same bytes each time."""
    code, out, err = run("history", up, "-o", f"history.{form}")
    assert (code, err) == (0, f"wrote history.{form}\n")
    assert out.startswith("History of 2 cases")
    made = Path(f"history.{form}").read_bytes()
    assert made.startswith(b"\x89PNG" if form == "png" else b"<?xml")
    run("history", up, "-o", f"history.{form}")
    assert Path(f"history.{form}").read_bytes() == made


def test_without_ruptures_it_says_how_to_install_it(run: Run, up: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Nothing passes for want of it."""
    monkeypatch.setitem(sys.modules, "ruptures", None)
    code, out, err = run("history", up, "--fail-on", "slower")
    assert (code, out) == (2, "")
    assert "pip install 'pytest-roofline[history]'" in err
