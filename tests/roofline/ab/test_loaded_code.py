"""Whose code each side ran."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from roofline.ab.side import CannotMeasure, LoadedCode, MeasuredSide
from roofline.comparison.effects.paired import SIDES, SideName
from tests.roofline.ab.fakes import side


@pytest.fixture
def sides(tmp_path: Path) -> dict[SideName, MeasuredSide]:
    """Two revisions of the user's tree: a package of each layout, a module and the sources of two compiled ones."""
    for name in ("tree", *SIDES):
        root = tmp_path / name
        for source in ("package/__init__.py", "src/inner/__init__.py", "test_it.py", "fast.pyx", "csrc/quick.cpp"):
            (root / source).parent.mkdir(parents=True, exist_ok=True)
            (root / source).touch()
    return {name: replace(side(name, tmp_path / name), tree=tmp_path / "tree", commit="c0ffee00") for name in SIDES}


FAST = "site-packages/fast.cpython-312-x86_64-linux-gnu.so"


@pytest.mark.parametrize(
    "path",
    [
        # As an editable install brings it: of the user's tree, which may be the other side's.
        "tree/src/inner/__init__.py",
        "new/src/inner/__init__.py",
        "tree/build/cp312/fast.so",
        "new/build/cp312/fast.so",
        # An installed copy, wherever it is installed.
        "/usr/lib/python3.12/site-packages/package/__init__.py",
        "tree/.venv/dist-packages/inner/__init__.py",
        "base/.venv/dist-packages/inner/__init__.py",
        # A revision's tree has the sources alone, so both sides load what is installed.
        f"/usr/lib/{FAST}",
        "/usr/lib/site-packages/quick.so",
    ],
)
def test_code_of_the_project_from_elsewhere_is_refused(
    sides: dict[SideName, MeasuredSide], tmp_path: Path, path: str
) -> None:
    with pytest.raises(CannotMeasure) as refused:
        LoadedCode(sides).add("base", [str(tmp_path / path)])
    assert f"base (the base) loaded {tmp_path / path}, which is not of its own tree" in str(refused.value)


@pytest.mark.parametrize(
    ("path", "own"),
    [
        ("base/package/__init__.py", "1 file"),
        ("base/package/fast.so", "1 file"),
        # Of other packages, whatever their parts are called in the tree, and of nobody.
        ("/opt/lib/plugin/__init__.py", "0 files"),
        ("tree/.venv/lib/python3.12/site-packages/torch/__init__.py", "0 files"),
        ("/usr/lib/site-packages/torch/package/__init__.py", "0 files"),
        ("/usr/lib/site-packages/torch/test_it.py", "0 files"),
        ("/usr/lib/site-packages/other/fast.so", "0 files"),
        ("/usr/lib/site-packages/other.so", "0 files"),
        ("/usr/lib/site-packages/fast.py", "0 files"),
    ],
)
def test_other_code_is_right(sides: dict[SideName, MeasuredSide], tmp_path: Path, path: str, own: str) -> None:
    """A side's own files are counted."""
    code = LoadedCode(sides)
    code.add("base", [str(tmp_path / path)])
    assert code.lines()[0] == f"base: the base, commit c0ffee00; {own} of {tmp_path / 'base'} loaded"


def test_what_each_side_is_to_load_of_its_own(sides: dict[SideName, MeasuredSide], tmp_path: Path) -> None:
    """Two Pythons have an installed module each; two of one tree share its files."""
    LoadedCode({**sides, "base": replace(sides["base"], python="other")}).add("base", [f"/usr/lib/{FAST}"])
    code = LoadedCode({name: side(name, tmp_path / "tree") for name in SIDES})
    for name in SIDES:
        code.add(name, [str(tmp_path / "tree/package/__init__.py"), f"/usr/lib/{FAST}"])
    assert [line.partition(";")[2].split()[0] for line in code.lines()] == ["1", "1"]
