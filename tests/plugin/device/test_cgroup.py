"""Control groups from made-up trees: the quota, and how long it held threads back, in both versions."""

from __future__ import annotations

from pathlib import Path

import pytest

from pytest_roofline.device.cgroup import held_back_s, memory_room_byte, quota_cpus


def _tree(root: Path, files: dict[str, str]) -> Path:
    for name, text in files.items():
        (root / name).parent.mkdir(parents=True, exist_ok=True)
        (root / name).write_text(text + "\n")
    return root


@pytest.mark.parametrize(
    ("files", "quota"),
    [
        ({"cpu.max": "765000 100000"}, 7.65),
        ({"cpu.max": "max 100000"}, None),
        ({"cpu/cpu.cfs_quota_us": "-1", "cpu/cpu.cfs_period_us": "100000"}, None),
        ({"cpu/cpu.cfs_quota_us": "150000", "cpu/cpu.cfs_period_us": "100000"}, 1.5),
        ({"cpu.max": "garbage"}, None),
        ({"cpu.max": "100000 0"}, None),
        ({}, None),
    ],
)
def test_the_quota(tmp_path: Path, files: dict[str, str], quota: float | None) -> None:
    """Version 2 and version 1, with and without a limit."""
    assert quota_cpus(_tree(tmp_path, files), tmp_path / "none") == quota


def test_the_quota_of_the_own_group_and_of_those_above_it(tmp_path: Path) -> None:
    """A systemd slice limits what the root of the tree doesn't show; the least of all counts."""
    files = {
        "own": "0::/system.slice/job.service",
        "cpu.max": "max 100000",
        "system.slice/cpu.max": "150000 100000",
        "system.slice/job.service/cpu.max": "400000 100000",
    }
    assert quota_cpus(_tree(tmp_path, files), tmp_path / "own") == 1.5


@pytest.mark.parametrize(
    ("files", "room"),
    [
        ({"memory.max": "1000", "memory.current": "700", "memory.stat": "anon 300\ninactive_file 250\nfile 400"}, 550),
        ({"memory.max": "max", "memory.current": "700", "memory.stat": "anon 300"}, None),
        ({"memory.max": "100", "memory.current": "700", "memory.stat": "anon 700"}, 0),
        ({f"memory/memory.{name}": "900" for name in ("limit_in_bytes", "usage_in_bytes")}, None),
        (
            {
                "memory/memory.limit_in_bytes": "1000",
                "memory/memory.usage_in_bytes": "900",
                "memory/memory.stat": "active_file 50",
            },
            150,
        ),
        ({}, None),
    ],
)
def test_room_for_memory(tmp_path: Path, files: dict[str, str], room: int | None) -> None:
    """Limit less use, with what the kernel can take back; nothing is said of what can't be read."""
    assert memory_room_byte(_tree(tmp_path, files), tmp_path / "none") == room


def test_a_group_of_version_1_has_a_path_for_each_controller(tmp_path: Path) -> None:
    """That of the CPU counts, under whatever other controllers stand beside it, and those above it."""
    files = {
        "own": "12:memory:/other\n4:cpu,cpuacct:/batch/job:7\n0::/",
        "cpu/batch/cpu.cfs_quota_us": "300000",
        "cpu/batch/cpu.cfs_period_us": "100000",
        "cpu/batch/job:7/cpu.cfs_quota_us": "250000",
        "cpu/batch/job:7/cpu.cfs_period_us": "100000",
        "cpu/other/cpu.cfs_quota_us": "100000",
        "cpu/other/cpu.cfs_period_us": "100000",
    }
    assert quota_cpus(_tree(tmp_path, files), tmp_path / "own") == 2.5


def test_how_long_threads_were_held_back(tmp_path: Path) -> None:
    """In seconds, by group: microseconds in version 2, nanoseconds in version 1."""
    files = {
        "cpu.max": "100000 100000",
        "cpu.stat": "usage_usec 5\nnr_throttled 3\nthrottled_usec 2500000",
        "cpu/cpu.cfs_quota_us": "100000",
        "cpu/cpu.cfs_period_us": "100000",
        "cpu/cpu.stat": "nr_periods 9\nnr_throttled 3\nthrottled_time 1500000000",
    }
    root = _tree(tmp_path, files)
    assert held_back_s(root, tmp_path / "none") == {root: 2.5, root / "cpu": 1.5}


@pytest.mark.parametrize(
    "files",
    [
        {"cpu.max": "max 100000", "cpu.stat": "throttled_usec 0"},
        {"cpu.max": "100000 100000"},
        {"cpu.max": "100000 100000", "cpu.stat": "usage_usec 5"},
        {"cpu.max": "100000 100000", "cpu.stat": "throttled_usec many"},
    ],
    ids=["no quota", "no counts", "no such count", "no number"],
)
def test_nothing_is_told_of_a_group_without_a_quota_or_a_count(tmp_path: Path, files: dict[str, str]) -> None:
    """A group that can't be held back has no zero."""
    assert held_back_s(_tree(tmp_path, files), tmp_path / "none") == {}
