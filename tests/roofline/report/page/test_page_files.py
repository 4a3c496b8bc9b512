"""The files of the page, as `roofline report` writes them."""

from __future__ import annotations

import json
import sys
from pathlib import Path

import pytest

from roofline.machine.published import load
from roofline.model.points import points_of
from roofline.report.page.page_files import script_of, write_page
from tests.roofline import build
from tests.roofline.conftest import Run


def test_nothing_in_data_ends_a_script() -> None:
    """JSON in which every ``<`` is escaped, and what ended a line of JavaScript before 2019."""
    name = "</script><!--\u2028\u2029"
    script = script_of("overview", {"name": name})
    assert script == ('roofline.add("overview", {"name":"\\u003c/script>\\u003c!--\\u2028\\u2029"});\n')
    assert json.loads(script.removeprefix('roofline.add("overview", ').removesuffix(");\n")) == {"name": name}


def test_a_name_in_the_title_is_text(tmp_path: Path) -> None:
    """The label of a machine comes from a file."""
    result = build.result(tmp_path / "one.json", [build.record()], on=build.machine("<img src=x>"))
    assert write_page(points_of(result, load(None)), tmp_path / "report") == [tmp_path / "report" / "index.html"]
    assert "<h1>Roofline report of &lt;img src=x&gt;" in (tmp_path / "report" / "index.html").read_text()


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
