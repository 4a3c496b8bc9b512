"""How Linux sets the clocks of the process's CPUs: governor, driver, limits, turbo (cpufreq in sysfs)."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path

CPUS = Path("/sys/devices/system/cpu")

_WORDS = {"cpu_governor": "scaling_governor", "cpu_frequency_driver": "scaling_driver"}
_KILOHERTZ = {
    "cpu_scaling_least_hz": "scaling_min_freq",
    "cpu_scaling_most_hz": "scaling_max_freq",
    "cpu_hardware_most_hz": "cpuinfo_max_freq",
}


def settings(cpus: Iterable[int], folder: Path = CPUS) -> dict[str, str | float | bool]:
    """Read what the system tells of it, in most virtual machines nothing.

    Where CPUs differ, words are listed, and clocks are the lowest.

    :param cpus: numbers of those to look at.
    """
    policies = [folder / f"cpu{number}" / "cpufreq" for number in sorted(cpus)]
    found: dict[str, str | float | bool] = {}
    for name, file in _WORDS.items():
        words = {word for policy in policies if (word := _text(policy / file)) is not None}
        if words:
            found[name] = ", ".join(sorted(words))
    for name, file in _KILOHERTZ.items():
        clocks = [int(text) for policy in policies if (text := _text(policy / file)) is not None and text.isdecimal()]
        if clocks:
            found[name] = 1e3 * min(clocks)
    boost = _boost(folder)
    if boost is not None:
        found["cpu_boost"] = boost
    return found


def _boost(folder: Path) -> bool | None:
    """Tell whether clocks may go above the rated one: intel_pstate says whether they may not."""
    forbidden, allowed = _text(folder / "intel_pstate" / "no_turbo"), _text(folder / "cpufreq" / "boost")
    if forbidden is not None:
        return forbidden == "0"
    return None if allowed is None else allowed == "1"


def _text(path: Path) -> str | None:
    """The contents; None where there are none, or they may not be read (some drivers answer ``<unknown>``)."""
    try:
        text = path.read_text().strip()
    except (OSError, UnicodeDecodeError):
        return None
    return None if text in ("", "<unknown>") else text
