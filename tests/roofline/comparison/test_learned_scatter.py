"""``--learn-from``: earlier sessions of the machine tell how far its sessions scatter."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

import roofline as rl
from tests.roofline.comparison import sessions
from tests.roofline.conftest import Run

TIMES = {f"net{number}": 0.1 for number in range(5)}
SLOWED = {**TIMES, "net3": 0.1 * 1.04}
"""By 4 %, of sessions that hardly scatter."""


@pytest.fixture
def sides(tmp_path: Path) -> tuple[Path, Path]:
    """Five sessions a side."""
    sessions.side(tmp_path / "base", TIMES, count=5, first=1)
    sessions.side(tmp_path / "new", SLOWED, count=5, first=6)
    return tmp_path / "base", tmp_path / "new"


def _earlier(folder: Path, days: int = 6, **machine: object) -> Path:
    """Five sessions a day."""
    for day in range(days):
        for minute in range(5):
            began = f"2026-11-{day + 1:02}T10:{10 * minute:02}:00+00:00"
            sessions.side(folder / f"{day}-{minute}", TIMES, count=1, started_at=began, **machine)
    return folder


def test_what_it_learned_finds_more(run: Run, sides: tuple[Path, Path], tmp_path: Path) -> None:
    """The same results are inconclusive by what is assumed."""
    base, new = sides
    assert run("check", new, "--baseline", base)[0] == 0
    learn = ("--learn-from", _earlier(tmp_path / "earlier"))
    code, out, _ = run("check", new, "--baseline", base, *learn, "--width", 1000)
    assert code == 1
    assert out.startswith("Regression: 1 case slower, of 5 compared")
    (line,) = [line for line in out.splitlines() if "Learned of epyc-2cpu from 30 earlier sessions on 6 days" in line]
    assert "5 sessions a side find a case that alone is 5 % slower in " in line
    by_name = {
        row["case"]: row for row in json.loads(run("compare", base, "--with", new, *learn, "--format", "json")[1])
    }
    assert by_name["net3-train-b32-fp32"]["verdict"] == "slower"
    assert rl.check(new, base, learn_from=tmp_path / "earlier").passed is False
    assert rl.compare(base, new, learn_from=tmp_path / "earlier").cases["verdict"].tolist().count("slower") == 1


def test_files_that_can_not_be_read_are_counted(run: Run, sides: tuple[Path, Path], tmp_path: Path) -> None:
    """Where it tells what was learned, with the reason of the first; the exit code is the verdict's."""
    base, new = sides
    earlier = _earlier(tmp_path / "earlier")
    (earlier / "a.json").write_text("{")
    (earlier / "b.json").write_text("[]")
    code, out, _ = run("check", new, "--baseline", base, "--learn-from", earlier, "--width", 1000)
    assert code == 1
    (line,) = [line for line in out.splitlines() if "from 30 earlier sessions" in line]
    assert f"2 files, the first: {earlier / 'a.json'}:1: truncated" in line


def test_sessions_of_the_sides_tell_nothing_twice(run: Run, sides: tuple[Path, Path]) -> None:
    """A store that holds both has nothing earlier."""
    base, new = sides
    _, out, _ = run("check", new, "--baseline", base, "--learn-from", base, new, "--width", 1000)
    assert "Nothing learned of epyc-2cpu: it has no 5 earlier sessions of one commit" in out


def test_another_machine_tells_nothing(run: Run, sides: tuple[Path, Path], tmp_path: Path) -> None:
    """Each machine has its own scatter."""
    base, new = sides
    earlier = _earlier(tmp_path / "earlier", days=1, fingerprint="f" * 16)
    code, out, _ = run("check", new, "--baseline", base, "--learn-from", earlier, "--width", 1000)
    assert (code, "Nothing learned of epyc-2cpu" in out) == (0, True)


def test_of_a_store_no_other_machine_is_read(run: Run, sides: tuple[Path, Path], tmp_path: Path) -> None:
    """What is damaged there is in nobody's way."""
    pytest.importorskip("pyarrow")
    base, new = sides
    store, other = tmp_path / "store", "f" * 16
    folders = _earlier(tmp_path / "earlier"), _earlier(tmp_path / "other", days=1, fingerprint=other)
    assert run("store", "add", store, *folders)[0] == 0
    (batch,) = (store / "runs" / f"fingerprint={other}").rglob("*.parquet")
    batch.write_bytes(b"damaged")
    code, out, _ = run("check", new, "--baseline", base, "--learn-from", store, "--width", 1000)
    assert (code, "from 30 earlier sessions on 6 days" in out) == (1, True)


def test_an_hour_that_scatters_more_is_judged_by_what_is_assumed(run: Run, tmp_path: Path) -> None:
    """Of what was learned in quiet hours nothing holds in it."""
    for number, by in enumerate([0.95, 1.0, 1.05, 0.96, 1.04, 1.0, 1.05, 1.1, 1.01, 1.09]):
        side = "base" if number < 5 else "new"
        sessions.side(tmp_path / side, {name: time * by for name, time in TIMES.items()}, count=1, first=number)
    learn = ("--learn-from", _earlier(tmp_path / "earlier"))
    code, out, _ = run("check", tmp_path / "new", "--baseline", tmp_path / "base", *learn, "--width", 1000)
    assert code == 0
    assert "Not used: the sessions compared scatter more" in out


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (("--by", "roof"), "by roof nothing is learned"),
        (("--figure", "flop"), "scatter is learned of what scatters, and flop doesn't"),
    ],
)
def test_where_nothing_can_be_learned(
    run: Run, sides: tuple[Path, Path], arguments: tuple[str, ...], said: str
) -> None:
    """A comparison to which it means nothing refuses it."""
    base, new = sides
    code, _, err = run("check", new, "--baseline", base, "--learn-from", base, *arguments)
    assert code == 2
    assert said in err


def test_a_path_that_is_not_there(run: Run, sides: tuple[Path, Path], tmp_path: Path) -> None:
    base, new = sides
    code, _, err = run("check", new, "--baseline", base, "--learn-from", tmp_path / "none")
    assert code == 3
    assert "nothing to learn from" in err
