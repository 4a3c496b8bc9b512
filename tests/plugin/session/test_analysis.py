"""The commands that show and judge results, as the plugin calls them."""

from __future__ import annotations

import os
import warnings
from pathlib import Path

import pytest

from pytest_roofline import pytest_exit_codes
from pytest_roofline.session import analysis
from roofline.cli import program
from tests.roofline.comparison import sessions


def test_whoever_gates_in_pytest_is_told_how_all_lines_are_shown(tmp_path: Path) -> None:
    """By the option that hands ``-v`` on: pytest's own is another."""
    (base,), (new,) = (
        sessions.side(tmp_path / name, {f"net{one}": time_s for one in range(6)}, count=1, first=first)
        for name, time_s, first in (("base", 0.1, 0), ("new", 0.2, 10))
    )
    told = analysis.ask("check", str(new), "--baseline", str(base)).err
    assert " more (--roofline-gate-options=-v shows all)" in told
    assert "shows all" not in analysis.ask("check", str(new), "--baseline", str(base), "-v").err


def test_whoever_runs_pytest_is_told_how_pytest_is_made_wider(tmp_path: Path) -> None:
    """It has no ``--width`` and no ``--format``."""
    (base,), (new,) = (
        sessions.side(tmp_path / name, {"resnet50": 0.1}, count=1, first=first)
        for name, first in (("base", 0), ("new", 10))
    )
    answer = analysis.ask("check", str(new), "--baseline", str(base), "--width", "60")
    told = " ".join(answer.out.split())
    assert "(use the environment variable COLUMNS=" in told
    assert "--width" not in told
    assert "--format" not in told


def test_a_fault_of_the_analysis_is_told_and_raises_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    """What was measured is on disk; neither a pass nor a regression comes of it."""

    def broken(*_: object, **__: object) -> int:
        warnings.warn("old", DeprecationWarning, stacklevel=1)
        raise ZeroDivisionError("by nobody")

    monkeypatch.setattr(program, "main", broken)
    before = dict(os.environ)
    answer = analysis.ask("check", "new.json")
    assert answer.code == analysis.CRASHED
    assert pytest_exit_codes.of_check(answer.code) == pytest_exit_codes.USAGE_ERROR
    assert answer.err.endswith("ZeroDivisionError: by nobody")
    assert dict(os.environ) == before
