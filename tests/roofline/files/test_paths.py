"""Files behind the paths that were named: each once, whatever links lead to it, in an order people expect."""

from __future__ import annotations

from pathlib import Path

from roofline.files.paths import files_under
from tests.roofline import build


def _found(folder: Path) -> list[str]:
    return [path.relative_to(folder).as_posix() for path, _ in files_under([folder])]


def test_linked_folders_are_looked_into(tmp_path: Path) -> None:
    """A folder of results that lies on another disk; each file has one path."""
    build.write(tmp_path / "disk" / "night" / "1.json", {})
    build.write(tmp_path / "results" / "z" / "2.json", {})
    (tmp_path / "results" / "linked").symlink_to(tmp_path / "disk")
    (tmp_path / "results" / "a").symlink_to("z")
    assert _found(tmp_path / "results") == ["a/2.json", "linked/night/1.json"]


def test_links_in_a_circle_end(tmp_path: Path) -> None:
    """To the folder itself, to one above it, and of two folders to each other: each file once."""
    for name in ("a/1.json", "b/2.json"):
        build.write(tmp_path / name, {})
    for link, to in (("self", "."), ("a/up", ".."), ("a/other", "../b"), ("b/other", "../a"), ("gone", "nowhere")):
        (tmp_path / link).symlink_to(to)
    assert _found(tmp_path) == ["a/1.json", "a/other/2.json"]
    (tmp_path / "a" / "from").mkdir()
    assert sorted(path.name for path, _ in files_under([tmp_path / "a"])) == ["1.json", "2.json"]


def test_capital_letters_end_a_name_as_well(tmp_path: Path) -> None:
    """As a camera or Windows writes them."""
    for name in ("a.JSON", "b.Json", "c.json", "d.jsonl", "JSON"):
        build.write(tmp_path / name, {})
    assert _found(tmp_path) == ["a.JSON", "b.Json", "c.json"]


def test_a_folder_is_in_natural_order(tmp_path: Path) -> None:
    """Numbers in names of files and folders count as numbers; of two that are the same number the text decides."""
    names = ("2/z.json", "2/z1.json", "10/a.json", "10/a2.json", "10/a02b.json", "10/a2b.json", "10/a10.json", "a.json")
    for name in names:
        build.write(tmp_path / name, {})
    assert _found(tmp_path) == list(names)
