"""What the process used between two moments."""

from __future__ import annotations

import sys
import time

import pytest

from pytest_roofline.measuring.process import ProcessUsage

unix = pytest.mark.skipif(sys.platform == "win32", reason="Windows has no resource module")


def test_only_what_was_used_since_is_counted() -> None:
    """CPU time spent before the usage was opened is not in it, time spent after is."""
    _spend(0.05)
    usage = ProcessUsage()
    _spend(0.1)
    process = usage.stop()
    # os.times counts in ticks of 10 ms.
    assert process.user_s + process.system_s >= 0.08


def test_a_usage_that_stops_at_once_has_used_nothing() -> None:
    """Within the ticks of the counter; the process itself has long used more."""
    _spend(0.1)
    process = ProcessUsage().stop()
    assert process.user_s + process.system_s <= 0.02


@unix
def test_the_largest_resident_size_is_in_bytes() -> None:
    """A Python with pytest takes tens of megabytes, and less than a terabyte."""
    size = ProcessUsage().stop().max_rss_byte
    assert size is not None
    assert 1e7 < size < 1e12


@unix
def test_giving_up_the_cpu_is_a_voluntary_switch() -> None:
    """Sleeping twenty times is at least as many."""
    usage = ProcessUsage()
    for _ in range(20):
        time.sleep(1e-4)
    process = usage.stop()
    assert process.voluntary_switches is not None
    assert process.voluntary_switches >= 20
    assert process.involuntary_switches is not None


def test_without_a_resource_module(monkeypatch: pytest.MonkeyPatch) -> None:
    """As on Windows: times, and None for the rest."""
    monkeypatch.setattr("pytest_roofline.measuring.process.resource", None)
    process = ProcessUsage().stop()
    assert process.user_s >= 0
    assert (process.max_rss_byte, process.voluntary_switches, process.involuntary_switches) == (None, None, None)


def _spend(seconds: float) -> None:
    start = time.process_time()
    while time.process_time() - start < seconds:
        pass
