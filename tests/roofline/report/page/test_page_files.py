"""The files of the page, as `roofline report` writes them."""

from __future__ import annotations

import gzip
import json
import re
import sys
from pathlib import Path

import pytest

from roofline.machine.published import load
from roofline.model.points import points_of
from roofline.report.page.page_files import packed, script_of, write_page
from tests.roofline import build
from tests.roofline.conftest import Run


def test_nothing_in_data_ends_a_script() -> None:
    """Data are 15 bits a character in it, whatever a name holds; half a surrogate pair, too, which UTF-8 has no bytes
    for.
    """
    name = "</script><!--\u2028\udc80"
    script = script_of("overview", {"name": name}).decode("utf-16")
    found = re.fullmatch(r'roofline\.add\("overview", (\d+), "([\u3400-\ub3ff]+)"\);\n', script)
    assert found is not None
    bits = "".join(f"{ord(character) - 0x3400:015b}" for character in found[2])
    text = gzip.decompress(bytes(int(bits[8 * place : 8 * place + 8], 2) for place in range(int(found[1]))))
    assert json.loads(text) == {"keys": [["name", {"all": True}, {"all": name}]]}


def test_data_are_in_columns() -> None:
    """A value that all have stands once; who lacks a key or is nothing at all is told from who has a value of null."""
    rows = [{"a": 1, "b": [[1, 2], []]}, {"a": 1, "b": None}, None, {"a": 1}]
    assert packed(rows) == {
        "known": {"each": [True, True, False, True]},
        "keys": [
            ("a", {"all": True}, {"all": 1}),
            (
                *("b", {"each": [True, True, False]}),
                {
                    "known": {"each": [True, False]},
                    "lengths": {"all": 2},
                    "items": {"lengths": {"each": [2, 0]}, "items": {"each": [1, 2]}},
                },
            ),
        ],
    }
    assert packed([1, 1.0, True]) == {"each": [1, 1.0, True]}


def test_a_name_in_the_title_is_text(tmp_path: Path) -> None:
    """The label of a machine comes from a file. What would turn the text round is escaped."""
    result = build.result(tmp_path / "one.json", [build.record()], on=build.machine("<img src=x>\u202e"))
    assert write_page(points_of(result, load(None)), tmp_path / "report") == [tmp_path / "report" / "index.html"]
    assert "<h1>Roofline report of &lt;img src=x&gt;\\u202e" in (tmp_path / "report" / "index.html").read_text()


@pytest.mark.parametrize("package", ["jinja2", "plotly"])
def test_who_lacks_a_package_gets_everything_else(
    run: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, package: str
) -> None:
    """With a line that says what to install, and the exit code of a report."""
    build.write(tmp_path / "plain.json", build.document([None]))
    monkeypatch.setitem(sys.modules, package, None)
    code, out, err = run("report", tmp_path / "plain.json", "-o", "report")
    assert code == 0
    assert "no page: The page needs jinja2 and plotly: pip install 'pytest-roofline[report]'\n" in err
    assert "report/env.md" in out
    assert not Path("report/index.html").exists()
