"""What is sent to a terminal and not to a file."""

from __future__ import annotations

import sys
from pathlib import Path

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
    assert out.replace("\x1b[1m", "").replace("\x1b[0m", "") == plain
    assert "\x1b" not in run("summary", one, "--format", "csv")[1]
