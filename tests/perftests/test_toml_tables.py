"""TOML tables that know their lines."""

import os
from pathlib import Path

import pytest

from perftests import toml_tables
from perftests.toml_tables import TomlError


@pytest.fixture(autouse=True)
def _here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)


def _write(text: str) -> Path:
    path = Path("m.toml")
    path.write_text(text)
    return path


def test_tables_are_read_in_order_with_their_lines() -> None:
    """Header and keys each have the line they stand on, also behind a multi-line value and a comment."""
    path = _write("# c\n[[a]]\nx = [\n  1,\n]\n\n[['b']]\ny = 2\n[[a]] # again\n\"x\" = 3\n")
    tables = toml_tables.read(path)
    assert list(tables) == ["a", "b"]
    assert [table.values for table in tables["a"]] == [{"x": [1]}, {"x": 3}]
    assert [table.where() for table in tables["a"]] == ["m.toml:2", "m.toml:9"]
    assert [table.where("x") for table in tables["a"]] == ["m.toml:3", "m.toml:10"]
    assert tables["b"][0].where("y") == "m.toml:8"


def test_a_key_that_is_not_there_is_at_the_header() -> None:
    """What is missing is reported where the table begins."""
    assert toml_tables.read(_write("\n[[a]]\nx = 1\n"))["a"][0].where("z") == "m.toml:2"


def test_tables_written_inline_are_read_without_lines() -> None:
    """Valid TOML is never refused for its spelling; its errors point at the file's beginning."""
    table = toml_tables.read(_write("\na = [{x = 1}]\n"))["a"][0]
    assert (table.values, table.where("x")) == ({"x": 1}, "m.toml:1")


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("[[a]]\nx = \n", "m.toml:2: Invalid value"),
        ("[[a]]\nx = 1\nx = 2\n", "m.toml:3: Cannot overwrite a value"),
        ("[[a]]\nx = [1,", "m.toml:2: Invalid value"),
        ("[[a]]\n\n[a]\n", "m.toml:3: Cannot declare ('a',) twice"),
        ("\n[a]\nx = 1\n", "m.toml:2: 'a' is not a list of tables; begin each with [[a]]"),
        ("x = 1\n[[a]]\n", "m.toml:1: 'x' is not a list of tables; begin each with [[x]]"),
        ("a = []\n", "m.toml:1: 'a' is not a list of tables; begin each with [[a]]"),
        (f"[[a]]\nx = 1\ny = {'9' * 5000}\n", "m.toml:3: a number of too many digits"),
        (f"[[a]]\nx = {'[' * 5000}{']' * 5000}\n", "m.toml:1: lists or tables are nested too deeply"),
        ("# nothing\n", "m.toml:1: holds no table; begin each with [[NAME]]"),
    ],
)
def test_an_error_reads_path_line_message(text: str, message: str) -> None:
    """A broken file and a file of another shape are refused with the line."""
    with pytest.raises(TomlError) as error:
        toml_tables.read(_write(text))
    assert str(error.value) == message


def test_a_file_that_is_no_text_is_refused() -> None:
    """The byte that isn't UTF-8 is named."""
    Path("m.toml").write_bytes(b"[[a]]\n\xff")
    with pytest.raises(TomlError, match=r"^m.toml:1: not UTF-8 text \(byte 6\)$"):
        toml_tables.read(Path("m.toml"))


def test_a_byte_order_mark_is_no_part_of_the_text() -> None:
    """Some editors begin a file with one."""
    Path("m.toml").write_bytes(b"\xef\xbb\xbf[[a]]\nx = 1\n")
    table = toml_tables.read(Path("m.toml"))["a"][0]
    assert (table.values, table.where("x")) == ({"x": 1}, "m.toml:2")


def test_an_absolute_path_is_shown_from_here(tmp_path: Path) -> None:
    """Messages hold no machine's folders where it can be helped."""
    _write("x")
    with pytest.raises(TomlError, match=r"^m\.toml:1: "):
        toml_tables.read(tmp_path / "m.toml")


def test_a_pipe_is_refused() -> None:
    """Reading it would wait for its writer."""
    os.mkfifo("m.toml")
    with pytest.raises(TomlError, match=r"^m\.toml: can't be read \(no regular file\); give a TOML file$"):
        toml_tables.read(Path("m.toml"))
