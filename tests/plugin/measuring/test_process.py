"""What the process used between two moments, by counters that the tests set."""

from __future__ import annotations

import os
import sys
from dataclasses import dataclass
from pathlib import Path
from types import SimpleNamespace

import pytest

from pytest_roofline.measuring.process import ProcessUsage


@dataclass
class Counters:
    """The system's counters of this process."""

    user_s: float = 7.0
    system_s: float = 3.0
    elapsed_s: float = 1000.0
    voluntary: int = 40
    involuntary: int = 5
    max_rss: int = 2048

    RUSAGE_SELF = 0

    def times(self) -> os.times_result:
        return os.times_result((self.user_s, self.system_s, 99.0, 99.0, self.elapsed_s))

    def getrusage(self, who: int) -> SimpleNamespace:
        assert who == self.RUSAGE_SELF
        return SimpleNamespace(ru_nvcsw=self.voluntary, ru_nivcsw=self.involuntary, ru_maxrss=self.max_rss)


@pytest.fixture
def counters(monkeypatch: pytest.MonkeyPatch) -> Counters:
    """Of a process that has run for a while."""
    counters = Counters()
    monkeypatch.setattr(os, "times", counters.times)
    monkeypatch.setattr("pytest_roofline.measuring.process.resource", counters)
    return counters


def test_only_what_was_used_since_is_counted(counters: Counters) -> None:
    """What was used before the usage was opened is not in it, nor what children used."""
    usage = ProcessUsage()
    counters.user_s, counters.system_s, counters.elapsed_s = 7.5, 3.25, 1002.0
    counters.voluntary, counters.involuntary = 60, 6
    process = usage.stop()
    assert (process.real_s, process.user_s, process.system_s) == (2.0, 0.5, 0.25)
    assert (process.voluntary_switches, process.involuntary_switches) == (20, 1)


@pytest.mark.usefixtures("counters")
def test_a_usage_that_stops_at_once_has_used_nothing() -> None:
    """Though the process itself has long used more."""
    process = ProcessUsage().stop()
    assert (process.real_s, process.user_s, process.system_s) == (0.0, 0.0, 0.0)
    assert (process.voluntary_switches, process.involuntary_switches) == (0, 0)


@pytest.mark.parametrize(("unit", "size"), [(1024, 2 * 2**20), (1, 2048)], ids=["Linux", "macOS"])
def test_the_largest_resident_size_is_in_bytes(
    counters: Counters, monkeypatch: pytest.MonkeyPatch, unit: int, size: int
) -> None:
    """That of the whole process: the system tells it in KiB, on macOS in bytes."""
    monkeypatch.setattr("pytest_roofline.measuring.process._RSS_UNIT_BYTE", unit)
    usage = ProcessUsage()
    assert counters.max_rss == 2048
    assert usage.stop().max_rss_byte == size


@pytest.mark.skipif(sys.platform == "win32", reason="Windows has no resource module")
def test_the_real_counters() -> None:
    """They are there and never fall; a Python with pytest takes tens of megabytes, and less than a terabyte."""
    process = ProcessUsage().stop()
    assert process.user_s >= 0
    assert process.system_s >= 0
    assert process.max_rss_byte is not None
    assert 1e7 < process.max_rss_byte < 1e12
    assert process.voluntary_switches is not None
    assert process.voluntary_switches >= 0


def test_without_a_resource_module(monkeypatch: pytest.MonkeyPatch) -> None:
    """As on Windows: times, and None for the rest."""
    monkeypatch.setattr("pytest_roofline.measuring.process.resource", None)
    process = ProcessUsage().stop()
    assert process.user_s >= 0
    assert (process.max_rss_byte, process.voluntary_switches, process.involuntary_switches) == (None, None, None)


def test_how_long_a_quota_held_it_back() -> None:
    """Since the usage was opened, by the group that waited longest; one that came later has no beginning."""
    parent, own, new = Path("/parent"), Path("/parent/own"), Path("/parent/new")
    held = iter([{parent: 5.0, own: 1.0}, {parent: 5.5, own: 3.0, new: 9.0}])
    usage = ProcessUsage(lambda: next(held))
    assert usage.stop().throttled_s == 2.0


def test_a_group_that_is_gone_tells_nothing() -> None:
    """The process was moved to another one meanwhile."""
    held = iter([{Path("/one"): 1.0}, {Path("/two"): 3.0}])
    usage = ProcessUsage(lambda: next(held))
    assert usage.stop().throttled_s is None


def test_without_a_quota_nothing_holds_back() -> None:
    """None, not 0: nobody looked."""
    assert ProcessUsage(dict).stop().throttled_s is None
