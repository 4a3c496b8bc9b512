"""What the process used between two moments, by counters that the tests set."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from types import SimpleNamespace

import pytest

from pytest_roofline.measuring.process_usage import ProcessUsage


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
    monkeypatch.setattr("pytest_roofline.measuring.process_usage.resource", counters)
    return counters


class Own:
    """The process's folder of a proc file system, in which nothing happens by itself."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.asked = folder / "clear_refs"
        self.asked.touch()
        self.mark(1000)

    def mark(self, size_kib: int) -> None:
        """The kernel marks this largest size."""
        text = f"Name:\tpython\nVmPeak:\t 9000000 kB\nVmHWM:\t{size_kib:8} kB\nVmRSS:\t     500 kB\n"
        (self.folder / "status").write_text(text)


@pytest.fixture
def own(tmp_path: Path) -> Own:
    return Own(tmp_path)


def _usage(own: Own) -> ProcessUsage:
    """Without a quota."""
    return ProcessUsage(dict, own.folder)


def test_only_what_was_used_since_is_counted(counters: Counters, own: Own) -> None:
    """What was used before the usage was opened is not in it, nor what children used."""
    usage = _usage(own)
    counters.user_s, counters.system_s, counters.elapsed_s = 7.5, 3.25, 1002.0
    counters.voluntary, counters.involuntary = 60, 6
    process = usage.stop()
    assert (process.real_s, process.user_s, process.system_s) == (2.0, 0.5, 0.25)
    assert (process.voluntary_switches, process.involuntary_switches) == (20, 1)


def test_a_small_case_after_a_large_one_has_its_own_size(counters: Counters, own: Own) -> None:
    """The mark of the largest resident size is set back before it: 5 is what Linux wants to hear."""
    own.mark(4_000_000)
    counters.max_rss = 4_000_000
    usage = _usage(own)
    assert own.asked.read_text() == "5"
    own.mark(300_000)
    assert usage.stop().max_rss_byte == 300_000 * 1024
    assert usage.missing == {}


@pytest.mark.parametrize(("unit", "size"), [(1024, 3 * 2**20), (1, 3072)], ids=["Linux", "macOS"])
def test_without_a_mark_a_size_that_rose_is_of_the_case(
    counters: Counters, own: Own, monkeypatch: pytest.MonkeyPatch, unit: int, size: int
) -> None:
    """The process had never been as large before. The system tells it in KiB, on macOS in bytes."""
    monkeypatch.setattr("pytest_roofline.measuring.process_usage._RSS_UNIT_BYTE", unit)
    own.asked.unlink()
    usage = _usage(own)
    counters.max_rss = 3072
    assert usage.stop().max_rss_byte == size
    assert usage.missing == {}


def _no_file(own: Own) -> None:
    own.asked.unlink()


def _refused(own: Own) -> None:
    own.asked.unlink()
    own.asked.symlink_to("/dev/full")


def _no_mark(own: Own) -> None:
    (own.folder / "status").write_text("Name:\tpython\nVmRSS:\t     500 kB\n")


@pytest.mark.skipif(not sys.platform.startswith("linux"), reason="/dev/full is Linux's")
@pytest.mark.usefixtures("counters")
@pytest.mark.parametrize(
    ("change", "why"),
    [
        (_no_file, "its mark can't be set back (clear_refs: No such file or directory)"),
        (_refused, "its mark can't be set back (clear_refs: No space left on device)"),
        (_no_mark, "linux has no mark of it that could be set back"),
    ],
)
def test_a_size_from_before_the_case_is_not_the_cases(own: Own, change: Callable[[Own], None], why: str) -> None:
    """None, with the reason: the process was as large before."""
    change(own)
    usage = _usage(own)
    assert usage.stop().max_rss_byte is None
    assert usage.missing == {"process.max_rss_byte": f"the process was larger before (2.10 MB), and {why}"}


@pytest.mark.usefixtures("counters")
def test_a_mark_that_is_gone(own: Own) -> None:
    """It was there when it was set back."""
    usage = _usage(own)
    (own.folder / "status").unlink()
    assert usage.stop().max_rss_byte is None
    assert usage.missing["process.max_rss_byte"].endswith(", and its mark is no longer reported")


@pytest.mark.skipif(not os.access("/proc/self/clear_refs", os.W_OK), reason="this kernel sets no mark back")
def test_the_real_size_of_a_small_case_after_a_large_one() -> None:
    """A block of 64 MiB is seen in its case alone. In a process of its own: what ran before would count, too."""
    program = """if True:
        from pytest_roofline.measuring.process_usage import ProcessUsage

        large = ProcessUsage()
        assert len(b"x" * 2**26) == 2**26
        print(large.stop().max_rss_byte, ProcessUsage().stop().max_rss_byte)
    """
    child = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    large_byte, small_byte = map(int, child.stdout.split())
    assert 1e6 < small_byte < large_byte - 2**25 < 1e12


def test_without_a_resource_module(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """As on Windows: times, and None with a reason for the rest."""
    monkeypatch.setattr("pytest_roofline.measuring.process_usage.resource", None)
    usage = ProcessUsage(dict, tmp_path)
    process = usage.stop()
    assert process.user_s >= 0
    assert (process.max_rss_byte, process.voluntary_switches, process.involuntary_switches) == (None, None, None)
    assert usage.missing == {
        "process.max_rss_byte": f"{sys.platform} doesn't tell it",
        "process.voluntary_switches": f"{sys.platform} doesn't count them",
        "process.involuntary_switches": f"{sys.platform} doesn't count them",
    }


def test_how_long_a_quota_held_it_back(own: Own) -> None:
    """Since the usage was opened, by the group that waited longest; one that came later has no beginning."""
    parent, group, new = Path("/parent"), Path("/parent/own"), Path("/parent/new")
    held = iter([{parent: 5.0, group: 1.0}, {parent: 5.5, group: 3.0, new: 9.0}])
    usage = ProcessUsage(lambda: next(held), own.folder)
    assert usage.stop().throttled_s == 2.0


def test_a_group_that_is_gone_tells_nothing(own: Own) -> None:
    """The process was moved to another one meanwhile."""
    held = iter([{Path("/one"): 1.0}, {Path("/two"): 3.0}])
    usage = ProcessUsage(lambda: next(held), own.folder)
    assert usage.stop().throttled_s is None


def test_without_a_quota_nothing_holds_back(own: Own) -> None:
    """None, not 0: nobody looked."""
    assert _usage(own).stop().throttled_s is None
