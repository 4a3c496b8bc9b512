"""What is sent to a terminal and not to a file."""

from __future__ import annotations

import io
import re
import sys
from pathlib import Path

import pandas as pd
import pytest

from tests.roofline.conftest import Run


@pytest.mark.parametrize(
    ("terminal", "term", "bold"),
    [(True, "xterm-256color", True), (True, "", True), (True, "dumb", False), (False, "xterm-256color", False)],
)
def test_headings_are_bold_where_that_can_be_shown(
    run: Run, one: Path, monkeypatch: pytest.MonkeyPatch, terminal: bool, term: str, bold: bool
) -> None:
    """At a terminal that knows bold letters; the text is the same."""
    plain = run("summary", one)[1]
    monkeypatch.setattr(sys.stdout, "isatty", lambda: terminal)
    monkeypatch.setenv("TERM", term)
    out = run("summary", one)[1]
    assert ("\x1b[1m" in out) is bold
    shown = out.replace("\x1b[1m", "").replace("\x1b[0m", "")
    assert [line.rstrip() for line in shown.splitlines()] == plain.splitlines()
    assert "\x1b" not in run("summary", one, "--format", "csv")[1]


def test_what_shows_the_columns_left_out_has_them(run: Run, one: Path) -> None:
    """Of each table: of the roofs, too, which no CSV of the cases holds."""
    for asked, named in ((("summary", one), "--format markdown"), (("report", one, "-o", "all"), "all/report.md")):
        out = run(*asked, "--width", 40)[1]
        assert "Columns not shown" in out.partition("\nRoofs\n")[2]
        notes = " ".join(out.split())
        left_out = re.findall(r"Columns not shown at this width: (.+?)\. Use", notes)
        complete = Path(named).read_text() if asked[0] == "report" else run(*asked, *named.split())[1]
        assert len(left_out) == len(re.findall(rf" or {named}(?= |$)", notes)) == 2
        for title in ", ".join(left_out).split(", "):
            assert f" {title} |" in complete


def test_every_format_for_a_program_has_the_same_rows(run: Run, one: Path) -> None:
    """JSON is read by pandas as it is; Parquet is the frame itself, with its units; notes stand on stderr."""
    out, err = run("points", one, "--format", "json")[1:]
    read = {
        "json": pd.read_json(io.StringIO(out)),
        "csv": pd.read_csv(io.StringIO(run("points", one, "--format", "csv")[1])),
    }
    assert run("points", one, "-o", "points.parquet")[:2] == (0, "")
    read["parquet"] = pd.read_parquet("points.parquet")
    assert read["parquet"].attrs["units"]["step_time_s"] == "s"
    assert read["parquet"]["started_at"].dtype == "datetime64[us, UTC]"
    for form in ("csv", "parquet"):
        assert list(read[form]) == list(read["json"])
        assert read[form]["step_time_s"].to_list() == pytest.approx(read["json"]["step_time_s"].to_list())
    assert err == run("points", one, "--format", "csv")[2]


def test_who_lacks_pyarrow_is_told_what_to_install(run: Run, one: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Exit code 2, and no file."""
    monkeypatch.setitem(sys.modules, "pyarrow", None)
    code, _, err = run("points", one, "-o", "points.parquet")
    assert code == 2
    assert "pip install 'pytest-roofline[store]'" in " ".join(err.split())
    assert not Path("points.parquet").exists()
