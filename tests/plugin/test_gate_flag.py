"""``--gate`` at a session's end: the exit code that pytest leaves with, and what the run hands to the check."""

from __future__ import annotations

from pathlib import Path
from types import SimpleNamespace
from typing import cast

import pytest
import torch

from pytest_roofline.options import SETTINGS
from pytest_roofline.session.hooks import SessionHooks
from pytest_roofline.session.run import Run
from roofline.schema.record import KEY
from tests.plugin.fake_run import options


class Checked:
    """A run that measured, whose check becomes this exit code."""

    def __init__(self, code: int, *, shown: bool = True) -> None:
        self.printed: list[str] = []
        self.measured = 1
        self.tried = 0
        self.not_called = 0
        self.bounds = None
        self.file = None
        self.earlier = None
        self.records = [{}]
        self.widths: list[int] = []
        self._code = code
        self._shown = shown

    def summarise(self, width: int, _height: int | None = None) -> bool:
        return self._shown and width > 0

    def check(self, width: int) -> int:
        self.widths.append(width)
        return self._code


def finished(run: Checked, exitstatus: int) -> int:
    """The exit code a session is left with."""
    config = cast(pytest.Config, SimpleNamespace(pluginmanager=pytest.PytestPluginManager()))
    session = SimpleNamespace(exitstatus=exitstatus, testsfailed=int(exitstatus == 1))
    SessionHooks(cast(Run, run), config, cases=1).pytest_sessionfinish(cast(pytest.Session, session), exitstatus)
    return session.exitstatus


@pytest.mark.parametrize(
    ("exitstatus", "of_check", "shown", "code"),
    [
        *((0, 0, True, 0), (0, 1, True, 1), (0, 4, True, 4)),
        *((1, 0, True, 1), (1, 1, True, 1), (1, 4, True, 1)),
        *((0, 0, False, 4), (1, 0, False, 1)),
        *((2, 0, True, 2), (3, 0, True, 3), (4, 0, True, 4)),
    ],
)
def test_the_gates_verdict_is_the_exit_code_of_a_green_run(
    exitstatus: int, of_check: int, *, shown: bool, code: int
) -> None:
    """A failed test's stays, and the verdict is shown beside it. Results that can't be shown are no regression: 4 where
    tests passed. A run that was cut short is not judged: it is no sample of what it was to measure, and red already.
    """
    run = Checked(of_check, shown=shown)
    assert finished(run, exitstatus) == code
    assert run.widths == ([80] if exitstatus < 2 else [])


def test_results_that_can_not_be_shown_are_named_without_the_way_back(tmp_path: Path) -> None:
    """The folder may have been given by way of another one. Why they can't is shown, too."""
    (tmp_path / "project").mkdir()
    run = Run(options(results=tmp_path / "project" / ".." / "results", label="here"), torch.device("cpu"), ())
    run.open_results("1a2b3c4d")
    run.stats.append(SimpleNamespace(extra_info={KEY: {}}))
    assert not run.summarise(90)
    assert run.file is not None
    assert run.printed[0].startswith("ERROR: the results could not be shown: ")
    assert run.printed[-1] == f"results: {tmp_path / 'results' / 'here' / run.file.readable.name}"


def test_the_help_writes_the_options_of_a_gate_behind_an_equals_sign() -> None:
    """Without it argparse takes "--strict" for a flag of pytest's, and says no more than "expected one argument"."""
    (setting,) = [setting for setting in SETTINGS if setting.name == "gate_options"]
    assert f"{setting.flag}='--" in setting.help
