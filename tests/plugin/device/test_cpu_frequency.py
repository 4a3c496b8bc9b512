"""How the CPUs' clocks are set, from a made-up sysfs."""

from __future__ import annotations

from pathlib import Path

import pytest

from pytest_roofline.device.cpu_frequency import settings


def _cpu(folder: Path, number: int, **files: str) -> None:
    policy = folder / f"cpu{number}" / "cpufreq"
    policy.mkdir(parents=True)
    for name, text in files.items():
        (policy / name).write_text(text + "\n")


def test_what_is_set(tmp_path: Path) -> None:
    """Governor, driver and limits, from kHz to Hz."""
    _cpu(
        tmp_path,
        0,
        scaling_governor="performance",
        scaling_driver="acpi-cpufreq",
        scaling_min_freq="1500000",
        scaling_max_freq="2450000",
        cpuinfo_max_freq="3500000",
    )
    (tmp_path / "cpufreq").mkdir()
    (tmp_path / "cpufreq" / "boost").write_text("0\n")
    assert settings({0}, tmp_path) == {
        "cpu_governor": "performance",
        "cpu_frequency_driver": "acpi-cpufreq",
        "cpu_scaling_least_hz": 1.5e9,
        "cpu_scaling_most_hz": 2.45e9,
        "cpu_hardware_most_hz": 3.5e9,
        "cpu_boost": False,
    }


def test_cpus_that_differ(tmp_path: Path) -> None:
    """Both words, the lower clock, and nothing of a CPU that the process may not use."""
    _cpu(tmp_path, 0, scaling_governor="powersave", scaling_max_freq="3000000")
    _cpu(tmp_path, 1, scaling_governor="performance", scaling_max_freq="2000000")
    _cpu(tmp_path, 2, scaling_governor="ondemand", scaling_max_freq="1000000")
    assert settings({0, 1}, tmp_path) == {"cpu_governor": "performance, powersave", "cpu_scaling_most_hz": 2e9}


@pytest.mark.parametrize(("no_turbo", "boost"), [("1", False), ("0", True)])
def test_intel_says_it_the_other_way_round(tmp_path: Path, no_turbo: str, boost: bool) -> None:
    """``no_turbo``."""
    (tmp_path / "intel_pstate").mkdir()
    (tmp_path / "intel_pstate" / "no_turbo").write_text(no_turbo + "\n")
    assert settings({0}, tmp_path) == {"cpu_boost": boost}


def test_a_virtual_machine_tells_nothing(tmp_path: Path) -> None:
    """Neither does a file that can't be read as what it should be."""
    assert settings({0, 1}, tmp_path) == {}
    _cpu(tmp_path, 0, scaling_governor="<unknown>", scaling_max_freq="<unsupported>", scaling_driver="")
    assert settings({0}, tmp_path) == {}
