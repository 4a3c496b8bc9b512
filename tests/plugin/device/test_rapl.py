"""The energy of processor packages, from a made-up powercap folder."""

from __future__ import annotations

from pathlib import Path

import pytest

from pytest_roofline.device.instruments import Rapl


def _zone(folder: Path, zone: str, name: str, energy_uj: int | str, wraps_at: int = 10**9) -> Path:
    path = folder / zone
    path.mkdir(parents=True, exist_ok=True)
    (path / "name").write_text(f"{name}\n")
    (path / "energy_uj").write_text(f"{energy_uj}\n")
    (path / "max_energy_range_uj").write_text(f"{wraps_at}\n")
    return path / "energy_uj"


def test_packages_are_added_up_from_the_making_on(tmp_path: Path) -> None:
    """Cores and memory are parts of a package or beside it, and psys is all of the machine: none is added."""
    first = _zone(tmp_path, "intel-rapl:0", "package-0", 5_000_000)
    second = _zone(tmp_path, "intel-rapl:1", "package-1", 7_000_000)
    parts = [_zone(tmp_path, "intel-rapl:0:0", "core", 1), _zone(tmp_path, "intel-rapl:2", "psys", 1)]
    rapl = Rapl(tmp_path)
    assert rapl.energy_j() == 0.0
    first.write_text("6500000\n")
    second.write_text("9000000\n")
    for part in parts:
        part.write_text("900000000\n")
    assert rapl.energy_j() == 3.5
    assert rapl.missing == {}


def test_a_counter_that_started_again(tmp_path: Path) -> None:
    """Beyond its range it begins at 0; what was used before is kept."""
    counter = _zone(tmp_path, "intel-rapl:0", "package-0", 8_000_000, wraps_at=10_000_000)
    rapl = Rapl(tmp_path)
    for value in ("9000000", "500000", "1500000"):
        counter.write_text(value)
        rapl.energy_j()
    assert rapl.energy_j() == 3.5


def test_a_machine_without_counters(tmp_path: Path) -> None:
    """As a virtual machine, or a system that isn't Linux."""
    rapl = Rapl(tmp_path / "nowhere")
    assert rapl.energy_j() is None
    assert rapl.missing == {"energy_j": "the system tells no energy of its processors (no RAPL in powercap)"}


def test_counters_for_root_alone(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """As Linux has them; the reason says who may read them."""
    _zone(tmp_path, "intel-rapl:0", "package-0", 1)
    read = Path.read_text

    def refuse(path: Path) -> str:
        if path.name == "energy_uj":
            raise PermissionError
        return read(path)

    monkeypatch.setattr(Path, "read_text", refuse)
    rapl = Rapl(tmp_path)
    assert rapl.energy_j() is None
    assert rapl.missing == {"energy_j": "root alone may read the processors' energy (energy_uj in powercap)"}


def test_counters_that_become_unreadable(tmp_path: Path) -> None:
    """None from then on, with the reason: a part of the energy is no energy."""
    _zone(tmp_path, "intel-rapl:0", "package-0", 1)
    counter = _zone(tmp_path, "intel-rapl:1", "package-1", 1)
    rapl = Rapl(tmp_path)
    assert rapl.energy_j() == 0.0
    counter.write_text("garbage")
    assert rapl.energy_j() is None
    counter.write_text("5")
    assert rapl.energy_j() is None
    assert rapl.missing == {"energy_j": "the processors' energy can't be read (energy_uj in powercap)"}
