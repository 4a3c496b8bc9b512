"""What tests of the plugin in somebody else's project share."""

from __future__ import annotations

import json
from typing import Any

import pytest

from roofline.schema.record import KEY, Record
from roofline.schema.record_json import from_json
from roofline.schema.session import Session

MEASURES = """
    import pytest, torch
    from torch import nn

    def test_mine(roofline):
        roofline(nn.Linear(8, 4), torch.randn(2, 8))
"""

NOBODY_ELSE = """
    import time
    from pytest_roofline.measuring import rounds
    from pytest_roofline.measuring.host_telemetry import Reading

    class Alone:
        missing = {}

        def read(self):
            return Reading(process_cpu_s=time.process_time(), involuntary_switches=0, steal_s=0.0, others_cpu_s=0.0)

    rounds.HostTelemetry = Alone
"""
"""A conftest by which no other program is seen: a set of which every session was disturbed doesn't pass."""

HANGS = """
    import faulthandler, time

    later, limits = faulthandler.dump_traceback_later, []
    faulthandler.dump_traceback_later = lambda seconds, **how: limits.append((seconds, how))

    def hang(sleep=time.sleep):
        seconds, how = limits[-1]
        later(seconds / 100, **how)
        sleep(600)
"""
"""Tests whose process has a limit of time: of one that hangs it is up a hundred times as soon, of others never."""

QUICK = ("--roofline-device", "cpu", "--roofline-warmup", "1", "--roofline-steps", "4", "--roofline-max-time", "0.001")


def results(pytester: pytest.Pytester) -> dict[str, Any]:
    """The only results file below ``results``."""
    (path,) = (pytester.path / "results").rglob("*.json")
    document: dict[str, Any] = json.loads(path.read_text(), parse_constant=pytest.fail)
    return document


def session_of(document: dict[str, Any]) -> Session:
    return from_json(Session, document[KEY], "the file")


def records(document: dict[str, Any]) -> dict[str, Record]:
    return {
        bench["name"]: from_json(Record, bench["extra_info"][KEY], bench["name"]) for bench in document["benchmarks"]
    }
