"""--roofline-perf-stat in a project of somebody else, with a perf of the test's own."""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Literal

import pytest

from roofline.schema.record import HostCounters
from tests.plugin.foreign import MEASURES, QUICK, records
from tests.plugin.profilers.stubs import Stubs

pytestmark = pytest.mark.skipif(not sys.platform.startswith("linux"), reason="perf counts on Linux")


def _counted(
    project: pytest.Pytester, monkeypatch: pytest.MonkeyPatch, behaviour: Literal["ok", "denied"], *flags: str
) -> tuple[HostCounters, str]:
    """What the record has of the host's events, and what the run printed."""
    stubs = Stubs(project.path / "bin")
    stubs.folder.mkdir()
    stubs.perf(behaviour, values={"cycles": 3e9, "instructions": 6e9})
    monkeypatch.setenv("ROOFLINE_PERF", str(stubs.folder / "perf"))
    project.makepyfile(MEASURES)
    ran = project.runpytest_subprocess(*QUICK, "--roofline-perf-stat", *flags, "--benchmark-json", "out.json")
    ran.assert_outcomes(passed=1)
    (record,) = records(json.loads(Path(project.path, "out.json").read_text())).values()
    assert record.valid
    assert record.host_counters is not None
    return record.host_counters, ran.stdout.str()


def test_events_are_counted(project: pytest.Pytester, monkeypatch: pytest.MonkeyPatch) -> None:
    """Of a step; nothing is said of a tool that works."""
    counters, printed = _counted(project, monkeypatch, "ok")
    assert counters.status == "ok"
    assert counters.steps is not None
    assert (counters.cycles, counters.instructions) == (3e9 / counters.steps, 6e9 / counters.steps)
    assert "permission" not in printed


def test_where_perf_cannot_count_the_run_goes_on(project: pytest.Pytester, monkeypatch: pytest.MonkeyPatch) -> None:
    """One line says why, before any test, and so does every record."""
    counters, printed = _counted(project, monkeypatch, "denied")
    assert counters.status == "permission_denied"
    assert counters.reason
    assert counters.cycles is None
    assert printed.count("permission_denied: ") == 1
    assert printed.index("permission_denied: ") < printed.index("\ntest_")


def test_the_perf_that_was_named_is_replaced_by_no_other(
    project: pytest.Pytester, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Where there is none, that is the reason, though the environment has one that counts."""
    counters, printed = _counted(project, monkeypatch, "ok", "--roofline-perf-path", "gone/perf")
    assert counters.status == "not_found"
    assert counters.reason is not None
    assert counters.reason.startswith("the path given for perf is perf, and there is no such file")
    assert printed.count("not_found: ") == 1
