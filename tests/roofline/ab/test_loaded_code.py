"""Whose code each side ran."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from roofline.ab.loaded_code import LoadedCode, WrongCode
from roofline.ab.side import Side
from tests.roofline.ab.fakes import side


@pytest.fixture
def trees(tmp_path: Path) -> Path:
    """The user's tree with a package of each layout, and two of its revisions."""
    for name in ("tree", "base", "new"):
        for package in ("package", "src/inner"):
            folder = tmp_path / name / package
            folder.mkdir(parents=True)
            (folder / "__init__.py").write_text(f"# of {name}\n")
    return tmp_path


def watched(trees: Path) -> LoadedCode:
    sides: dict[str, Side] = {
        name: replace(side(name, trees / name), tree=trees / "tree", commit="c0ffee00")
        for name in ("base", "new")  # type: ignore[arg-type]
    }
    return LoadedCode(sides)  # type: ignore[arg-type]


def test_a_side_s_own_code_is_right(trees: Path) -> None:
    """And so is what belongs to neither: Python's, other packages', this plugin's own."""
    code = watched(trees)
    others = ["/opt/lib/plugin/__init__.py", str(trees / "tree/.venv/lib/python3.12/site-packages/torch/__init__.py")]
    code.add("base", [str(trees / "base/package/__init__.py"), str(trees / "base/package/fast.so"), *others])
    code.add("new", [str(trees / "new/package/__init__.py"), "/opt/lib/plugin/__init__.py"])
    first, second = code.lines()
    assert first == f"base: the base, commit c0ffee00; 2 files of {trees / 'base'} loaded"
    assert second.startswith("new: the new")


@pytest.mark.parametrize("place", ["tree", "new"])
def test_code_of_the_other_tree_is_refused(trees: Path, place: str) -> None:
    """As an editable install brings it: the user's tree, which may be the other side's. The way out is told."""
    with pytest.raises(WrongCode) as told:
        watched(trees).add("base", [str(trees / place / "src/inner/__init__.py")])
    assert f"base (the base) loaded {trees / place / 'src/inner/__init__.py'}, which is not in its own tree" in str(
        told.value
    )
    assert "editable mode" in str(told.value)
    assert ("pythonpath = 'src'" in str(told.value)) == (place == "tree")


@pytest.mark.parametrize(
    "installed", ["lib/python3.12/site-packages/package/__init__.py", "dist-packages/inner/__init__.py"]
)
def test_an_installed_copy_of_the_project_is_refused(trees: Path, installed: str) -> None:
    """Wherever it is installed, a virtual environment in the tree included."""
    for root in (Path("/usr"), trees / "tree/.venv", trees / "base/.venv"):
        with pytest.raises(WrongCode, match=r"loaded the installed copy of (package|inner)"):
            watched(trees).add("base", [str(root / installed)])


@pytest.mark.parametrize("name", ["package/__init__.py", "test_it.py"])
def test_a_part_of_another_package_is_no_copy(trees: Path, name: str) -> None:
    """torch has modules and packages of every common name; what they are called in the tree is nothing to them."""
    (trees / "base" / "test_it.py").touch()
    watched(trees).add("base", [f"/usr/lib/site-packages/torch/{name}"])


FAST = "site-packages/fast.cpython-312-x86_64-linux-gnu.so"


@pytest.mark.parametrize("source", ["fast.pyx", "csrc/fast.cpp"])
def test_an_installed_compiled_module_of_the_project_is_refused(trees: Path, source: str) -> None:
    """A revision's tree has its source alone, so both sides load what is installed; unless each has its own Python."""
    sides = watched(trees)._sides
    path = trees / "base" / source
    path.parent.mkdir(exist_ok=True)
    path.write_text("")
    with pytest.raises(WrongCode) as told:
        LoadedCode(sides).add("base", [f"/usr/lib/{FAST}"])
    assert f"base (the base) loaded the compiled module /usr/lib/{FAST}, which was not built in its" in str(told.value)
    assert "(--base-python, --new-python)" in str(told.value)
    LoadedCode({**sides, "base": replace(sides["base"], python="other")}).add("base", [f"/usr/lib/{FAST}"])


@pytest.mark.parametrize("place", [FAST, "site-packages/other/fast.so", "site-packages/fast.py"])
def test_a_compiled_module_of_others_is_none_of_the_project(trees: Path, place: str) -> None:
    """Nothing in the tree is called as it is; or it is a part of another package, or isn't compiled."""
    (trees / "base" / "fast.md").write_text("")
    if place != FAST:
        (trees / "base" / "fast.c").write_text("")
    code = watched(trees)
    code.add("base", [f"/usr/lib/{place}"])
    assert "0 files" in code.lines()[0]


@pytest.mark.parametrize("place", ["tree", "new"])
def test_a_module_that_was_built_in_another_tree_is_refused(trees: Path, place: str) -> None:
    """As an editable install loads it; no path makes it the side's own."""
    with pytest.raises(WrongCode, match=r"loaded the compiled module .*\(--base-path, --new-path\)"):
        watched(trees).add("base", [str(trees / place / "build/cp312/fast.so")])


def test_two_interpreters_share_their_tree(trees: Path) -> None:
    """There the same files are meant."""
    sides = {name: side(name, trees / "tree") for name in ("base", "new")}  # type: ignore[arg-type]
    code = LoadedCode(sides)  # type: ignore[arg-type]
    for name in ("base", "new"):
        code.add(name, [str(trees / "tree/package/__init__.py")])  # type: ignore[arg-type]
    assert len(code.lines()) == 2


def test_a_change_that_was_not_loaded_is_told(trees: Path) -> None:
    """Equal files on both sides: the verdict says nothing of what changed elsewhere."""
    code = watched(trees)
    for name in ("base", "new"):
        (trees / name / "test_a.py").write_text("pass")
        code.add(name, [str(trees / name / "test_a.py")])  # type: ignore[arg-type]
    assert code.lines()[-1].startswith("Every file of the trees that was loaded is the same on both sides")
    code.add("base", [str(trees / "base/package/__init__.py")])
    code.add("new", [str(trees / "new/package/__init__.py")])
    assert not code._alike()
