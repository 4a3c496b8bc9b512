"""``roofline ab`` once both sides are measured: minutes of turns are not lost because a table can't be shown."""

from __future__ import annotations

import shutil
import sys
from pathlib import Path

import pytest

from roofline.interleaving import turns_file
from tests.roofline.conftest import Run
from tests.roofline.interleaving.made import case, trial, turns

SLOWER = case("a", turns(1.1), turns(1.1))


@pytest.fixture
def sides(tmp_path: Path) -> tuple[str, ...]:
    """The options for two trees."""
    for name in ("old", "young"):
        (tmp_path / name).mkdir()
    return ("--base-path", str(tmp_path / "old"), "--new-path", str(tmp_path / "young"))


def test_the_turns_are_kept_where_the_table_cannot_be_shown(
    sides: tuple[str, ...], run: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """With standard output closed: a usage error, and a file with all turns."""
    monkeypatch.setattr("roofline.commands.ab.hold", lambda *_: trial(SLOWER))
    monkeypatch.setattr(sys, "stdout", None)
    code, _, err = run("ab", *sides, "--results", tmp_path / "kept")
    (file,) = (tmp_path / "kept").iterdir()
    assert turns_file.read(file) == {SLOWER.test: SLOWER.pairs}
    assert code == 2
    assert f"turns: {file}\n" in err
    assert "Standard output is closed" in err


def test_the_table_is_shown_where_the_turns_cannot_be_kept(
    sides: tuple[str, ...], run: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A file has taken the folder's place since it was tried: the verdict is there, and what is lost is told."""
    kept = tmp_path / "kept"

    def hold(*_: object) -> object:
        shutil.rmtree(kept)
        kept.write_text("")
        return trial(SLOWER)

    monkeypatch.setattr("roofline.commands.ab.hold", hold)
    code, out, err = run("ab", *sides, "--results", kept)
    assert out.startswith("the new against the base: 1 slower\n")
    assert code == 2
    assert f"--results {kept}: can't be written (" in err
