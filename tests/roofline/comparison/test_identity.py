"""Which machine: fingerprint, processor and device; not the host's name, the kernel or a clock's reading."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from roofline.comparison.runs import Identity, identity_of, machine_difference, setup_differences, setup_of
from roofline.results.reader import ResultFile, read_file
from roofline.schema.record import Device
from tests.roofline import build


def _own(tmp_path: Path, **machine: Any) -> ResultFile:
    return build.result(tmp_path / "own.json", [build.record()], on=build.machine(**machine))


def _foreign(tmp_path: Path, **host: Any) -> ResultFile:
    content = build.document([None])
    content["machine_info"] |= {"machine": "x86_64", **host}
    return read_file(build.write(tmp_path / "foreign.json", content))


def _apart(base: ResultFile, new: ResultFile) -> str | None:
    return machine_difference(identity_of(base), identity_of(new))


@pytest.mark.parametrize(
    ("change", "expected"),
    [
        ({"os": "Linux 6.9"}, None),
        ({"versions": {"torch": "2.11"}}, None),
        ({"fingerprint": "1"}, "another machine: fingerprint 1, baseline fingerprint of epyc-2cpu"),
        ({"cpu_count": 64}, None),  # nor is what a fingerprint is made from, where that is the same
        ({"cpu_count": 64, "fingerprint": "1"}, "another machine: processors 64, baseline 2"),
        ({"limits": {"effective_cpus": 1}, "fingerprint": "1"}, "another machine: processors 1, baseline 2"),
        (
            {"device": replace(build.CPU, last_level_cache_byte=16 * 2**20), "fingerprint": "1"},
            "another machine: last-level cache 16777216 byte, baseline 33554432 byte",
        ),
        ({"cpu": "Xeon", "fingerprint": "1"}, "another machine: processor Xeon, baseline AMD EPYC 7B13"),
        (
            {"device": Device(kind="cuda", name="NVIDIA L4")},
            "another machine: device NVIDIA L4 (cuda), baseline AMD EPYC 7B13 (cpu)",
        ),
    ],
)
def test_own_files(tmp_path: Path, change: dict[str, Any], expected: str | None) -> None:
    """What is told of them differs in words; the fingerprint is named where nothing else tells them apart."""
    assert _apart(_own(tmp_path), _own(tmp_path, **change)) == expected


@pytest.mark.parametrize(
    ("change", "expected"),
    [
        ({"node": "runner-2", "release": "6.9", "python_version": "3.13.0"}, None),
        ({"cpu": {"brand_raw": "Xeon"}}, "another machine: processor Xeon, baseline AMD EPYC 7B13"),
        ({"system": "Darwin"}, "another machine: system Darwin, baseline Linux"),
        ({"machine": "arm64"}, "another machine: architecture arm64, baseline x86_64"),
    ],
)
def test_other_projects_files(tmp_path: Path, change: dict[str, Any], expected: str | None) -> None:
    """The processor, how many, the system and the architecture; not the host's name, where a processor is told."""
    assert _apart(_foreign(tmp_path), _foreign(tmp_path, **change)) == expected


def test_the_number_of_processors(tmp_path: Path) -> None:
    """A larger runner of the same kind is another machine."""
    four, eight = ({"brand_raw": "Xeon", "count": count} for count in (4, 8))
    assert _apart(_foreign(tmp_path, cpu=four), _foreign(tmp_path, cpu=eight)) == (
        "another machine: number of processors 8, baseline 4"
    )


def test_without_a_processor_the_host_s_name_stands_in(tmp_path: Path) -> None:
    """It is all there is."""
    one, other = (_foreign(tmp_path, cpu={}, processor="", node=node) for node in ("a", "b"))
    assert _apart(one, one) is None
    assert _apart(one, other) == "another machine: host b, baseline a"


def test_a_file_without_fingerprint_beside_one_with_it(tmp_path: Path) -> None:
    """Not known is not the same."""
    assert _apart(_foreign(tmp_path), _own(tmp_path)) == (
        "whether it is the same machine is not known: of the baseline no fingerprint is told"
    )
    assert _apart(_own(tmp_path), _foreign(tmp_path)) == (
        "whether it is the same machine is not known: of the new results no fingerprint is told"
    )


_NOT_KNOWN = "whether it is the same machine is not known: "


@pytest.mark.parametrize(
    ("other", "missing"),
    [
        ({"cpu": {"count": 8}, "processor": ""}, "no processor"),
        ({"cpu": {"count": 8}, "processor": "", "node": ""}, "no processor"),
        ({"cpu": {}, "processor": ""}, "no processor and no number of processors"),
        ({"cpu": {"brand_raw": "AMD EPYC 7B13"}}, "no number of processors"),
        ({"machine": ""}, "no architecture"),
        ({"system": "", "release": "", "machine": ""}, "no system and no architecture"),
    ],
)
def test_what_one_side_leaves_open(tmp_path: Path, other: dict[str, Any], missing: str) -> None:
    """It may be anything: that the rest is the same is no proof, whichever side it is."""
    told = _foreign(tmp_path, cpu={"brand_raw": "AMD EPYC 7B13", "count": 8})
    other = {"cpu": {"brand_raw": "AMD EPYC 7B13", "count": 8}, **other}
    assert _apart(_foreign(tmp_path, **other), told) == f"{_NOT_KNOWN}of the baseline {missing} is told"
    assert _apart(told, _foreign(tmp_path, **other)) == f"{_NOT_KNOWN}of the new results {missing} is told"


def test_a_host_is_missing_only_where_no_processor_is_told(tmp_path: Path) -> None:
    """Without either there is nothing by which the same system would be the same machine."""
    named, unnamed = (_foreign(tmp_path, cpu={}, processor="", node=node) for node in ("a", ""))
    assert _apart(unnamed, named) == f"{_NOT_KNOWN}of the baseline no host is told"
    assert _apart(unnamed, unnamed) == f"{_NOT_KNOWN}neither processor nor host is told"
    assert _apart(named, _foreign(tmp_path)) == f"{_NOT_KNOWN}of the baseline no processor is told"
    assert machine_difference(Identity("a", ()), Identity("b", ())) == f"{_NOT_KNOWN}neither processor nor host is told"


@pytest.mark.parametrize(("processor", "machine"), [("aarch64", "aarch64"), ("i386", "x86_64"), ("arm", "arm64")])
def test_an_architecture_is_no_processor(tmp_path: Path, processor: str, machine: str) -> None:
    """As Linux and a Mac have it where nothing else is told: then the host's name decides."""
    host = {"cpu": {}, "processor": processor, "machine": machine}
    one, other = (_foreign(tmp_path, **host, node=node) for node in ("a", "b"))
    assert _apart(one, one) is None
    assert _apart(one, other) == "another machine: host b, baseline a"


def test_setup_differences(tmp_path: Path) -> None:
    """Versions, threads and limits that one side has and the other hasn't, with all the values of a side."""
    base = [setup_of(_own(tmp_path)), setup_of(_own(tmp_path, threads={"intra_op": 4, "inter_op": 2}))]
    new = [setup_of(_own(tmp_path, versions={"python": "3.12.4", "torch": "2.11.0", "driver": "580"}))]
    assert setup_differences(base, new) == (
        "torch 2.11.0, baseline 2.14.1",
        "threads (intra op) 2, baseline 2 and 4",
        "driver 580, baseline not told",
    )


def test_setup_of_another_project_s_file(tmp_path: Path) -> None:
    """What pytest-benchmark itself says."""
    assert setup_of(_foreign(tmp_path)) == {
        "python": "3.12.4",
        "pytest-benchmark": "5.3.1",
        "system": "Linux 6.1",
        "host": "host",
    }
