"""A name that no device has is told; one that another machine may have isn't."""

from pathlib import Path
from typing import Any

import pytest

from roofline.expectations.outcome import unknown_devices
from roofline.machine.published import load
from roofline.schema.expected import Expected
from tests.roofline import build
from tests.roofline.expectations import build_points

HERE = "fingerprint of epyc-2cpu"


def _unknown(folder: Path, **of: Any) -> tuple[str, ...]:
    roof = build_points.record(case=build.case(id="roof-fp32", mode="roof"), device=build.CUDA)
    points = [
        *build_points.points(folder, build_points.record()),
        *build_points.points(folder, roof, name="b", machine={"label": "lab-3", "device": build.CUDA}),
    ]
    return tuple(unknown_devices([Expected(bound="compute", source="e.toml:3", **of)], points, load()))


@pytest.mark.parametrize(
    "device",
    [
        *("*", "cpu", "CUDA", "mps", "m*"),  # kinds
        *("epyc-2cpu", "AMD EPYC 7B13", "lab-*"),  # of the results
        *("NVIDIA H100 PCIe", "nvidia h100*", "NVIDIA GeForce RTX 4060", "NVIDIA B300", "Tesla*"),  # published
    ],
)
def test_a_device_that_may_be_meant_is_known(tmp_path: Path, device: str) -> None:
    """Here or elsewhere: kinds, what the results are of (by their roofs, too), and the table with its aliases."""
    assert _unknown(tmp_path, device=device) == ()


@pytest.mark.parametrize("device", ["cpuu", "epyc", "AMD EPYC", "H100 80", "any"])
def test_a_device_that_nobody_has_is_told(tmp_path: Path, device: str) -> None:
    """With its place, and what is known."""
    (told,) = _unknown(tmp_path, device=device)
    assert told.startswith(f"device {device!r} (e.toml:3): no such device is known: a typo? These results are of ")


def test_what_was_locked_elsewhere_is_of_a_machine_that_there_is(tmp_path: Path) -> None:
    """Its fingerprint tells so. With a fingerprint of these results the name has to be one of that machine's."""
    assert _unknown(tmp_path, device="lab-4", fingerprint="0123abcd") == ()
    assert _unknown(tmp_path, device="epyc-2cpu", fingerprint=HERE) == ()
    for device in ("cpuu", "cuda-box"):
        (told,) = _unknown(tmp_path, device=device, fingerprint=HERE)
        assert told.startswith(f"device {device!r} (e.toml:3): no such device is known")


def test_a_machine_that_was_locked_is_known_to_the_whole_file(tmp_path: Path) -> None:
    """An entry by hand of the same machine needs no fingerprint."""
    points = build_points.points(tmp_path, build_points.record())
    by_hand = Expected(bound="compute", device="lab-4", source="e.toml:3")
    locked = Expected(bound="compute", device="lab-4", fingerprint="0123abcd", source="e.toml:7")
    assert unknown_devices([by_hand, locked], points, load()) == {}
    assert len(unknown_devices([by_hand], points, load())) == 1


def test_entries_of_one_name_are_told_once(tmp_path: Path) -> None:
    """With the place of the first."""
    points = build_points.points(tmp_path, build_points.record())
    entries = [Expected(bound="compute", device="cpuu", source=f"e.toml:{line}") for line in (3, 7, 11)]
    ((told, found),) = unknown_devices(entries, points, load()).items()
    assert found == entries
    assert told.startswith("device 'cpuu' (e.toml:3 and 2 more): no such device is known")
