"""Which machine: fingerprint, processor and device; not the host's name, the kernel or a clock's reading."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from roofline.comparison.observations.observed_machine import MachineIdentity, identity_of, machine_difference
from roofline.comparison.observations.runs import (
    ObservedRun,
    before_the_baseline,
    changed_roofs,
    other_code,
    setup_differences,
    setup_of,
)
from roofline.results.reader import read_file
from roofline.results.result import ResultFile
from roofline.schema.record import KEY, Device
from roofline.schema.session import Roof
from tests.roofline import build
from tests.roofline.comparison import sessions
from tests.roofline.conftest import Run as Command


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
    """The processor, how many, the system and the architecture; not the host's name, where a processor is recorded."""
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
        "another machine: fingerprint fingerprint of epyc-2cpu, baseline not recorded"
    )
    assert _apart(_own(tmp_path), _foreign(tmp_path)) == (
        "another machine: fingerprint not recorded, baseline fingerprint of epyc-2cpu"
    )


_NOT_KNOWN = "whether it is the same machine is not known: neither processor nor host is recorded"
_TOLD = {"cpu": {"brand_raw": "AMD EPYC 7B13", "count": 8}}


@pytest.mark.parametrize(
    ("other", "missing"),
    [
        ({"cpu": {"count": 8}, "processor": "", "node": ""}, "processor"),
        ({"cpu": {"brand_raw": "AMD EPYC 7B13"}}, "number of processors"),
        ({"machine": ""}, "architecture"),
        ({"system": "", "release": ""}, "system"),
    ],
)
def test_what_one_side_leaves_open(tmp_path: Path, other: dict[str, Any], missing: str) -> None:
    """It may be anything: that the rest is the same is no proof, whichever side it is."""
    for base, new, side in ((other, {}, "baseline not recorded"), ({}, other, f"{missing} not recorded, baseline ")):
        apart = _apart(_foreign(tmp_path, **{**_TOLD, **base}), _foreign(tmp_path, **{**_TOLD, **new}))
        assert apart is not None
        assert apart.startswith(f"another machine: {missing} ")
        assert side in apart


def test_a_host_is_missing_only_where_no_processor_is_told(tmp_path: Path) -> None:
    """Without either there is nothing by which the same system would be the same machine."""
    named, unnamed = (_foreign(tmp_path, cpu={}, processor="", node=node) for node in ("a", ""))
    assert _apart(unnamed, named) == "another machine: host a, baseline not recorded"
    assert _apart(unnamed, unnamed) == _NOT_KNOWN
    assert _apart(named, _foreign(tmp_path)) is not None
    assert machine_difference(MachineIdentity("a", ()), MachineIdentity("b", ())) == _NOT_KNOWN


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
        "driver 580, baseline not recorded",
    )


def test_setup_of_another_project_s_file(tmp_path: Path) -> None:
    """What pytest-benchmark itself says."""
    assert setup_of(_foreign(tmp_path)) == {
        "python": "3.12.4",
        "pytest-benchmark": "5.3.1",
        "system": "Linux 6.1",
        "host": "host",
    }


def _dated(
    file: str, when: str = "2026-11-20T12:00:00+00:00", commit: str | None = "a" * 40, *, dirty: bool | None = False
) -> ObservedRun:
    machine = MachineIdentity(label="lab", parts=())
    return ObservedRun(file=file, machine=machine, setup={}, when=when, commit=commit, dirty=dirty, not_measured={})


def _at(day: int, hour: int = 12) -> str:
    return f"2026-11-{day:02}T{hour:02}:00:00+00:00"


BASE = [_dated("b1", _at(10)), _dated("b2", _at(11))]


def test_other_code_than_the_newest_session_s_is_named() -> None:
    """In whatever order they were given; changes beside a commit make another code of it."""
    runs = [_dated("new", _at(20)), _dated("old", _at(2), "f" * 40), _dated("changed", _at(19, 13), dirty=True)]
    assert other_code("baseline", runs) == [
        "2 of 3 sessions of the baseline are not of commit aaaaaaaaaa, as the newest is, and taken for the same code:"
        " old (commit ffffffffff), changed (commit aaaaaaaaaa with changes)"
    ]
    untold = [_dated("new", _at(20)), _dated("whether", _at(20), dirty=None), _dated("none", _at(20), None)]
    assert other_code("baseline", untold) == []


@pytest.mark.parametrize(
    ("commit", "dirty", "told"),
    [("a" * 40, False, False), ("a" * 40, None, True), ("a" * 40, True, True), (None, None, True), ("f", False, True)],
)
def test_one_session_from_before_the_baseline(commit: str | None, dirty: bool | None, told: bool) -> None:
    """Told unless it is surely of the newest one's code: then the sides took turns."""
    new = [_dated("old", _at(9, 7), commit, dirty=dirty), _dated("new", _at(12))]
    line = (
        "1 of 2 sessions of the new side began before the baseline (2026-11-10 12:00 UTC): is old (2026-11-09 07:00"
        " UTC) of another run?"
    )
    assert before_the_baseline(BASE, new) == ([line] if told else [])


def _run(*roofs: Roof, fingerprint: str | None = "1") -> ObservedRun:
    parts = (("processor", "Xeon"),) if fingerprint is None else (("fingerprint", fingerprint),)
    machine = MachineIdentity(label="lab", parts=parts)
    return ObservedRun(
        file="a", machine=machine, setup={}, when="", commit=None, dirty=None, not_measured={}, roofs=tuple(roofs)
    )


def _dram(value: float, spread: float | None = 0.1) -> Roof:
    return build.roof("byte", "dram", value, spread=spread)


@pytest.mark.parametrize(
    ("base", "new", "apart"),
    [
        ([_dram(100e9)], [_dram(100e9)], False),
        ([_dram(100e9)], [_dram(91e9)], False),
        ([_dram(100e9)], [_dram(89e9)], True),
        ([_dram(89e9)], [_dram(100e9)], True),
        ([_dram(100e9, None)], [_dram(99e9, None)], True),
        ([_dram(100e9), _dram(80e9)], [_dram(89e9)], False),
        ([_dram(100e9)], [_dram(80e9), _dram(95e9)], False),
        ([_dram(100e9, 7.0)], [_dram(1e9)], False),
        ([_dram(100e9)], [build.roof("flop", "fp32", 1e9)], False),
    ],
)
def test_beyond_what_samples_scattered(base: list[Roof], new: list[Roof], apart: bool) -> None:
    """Where all samples of all sessions of one side lie below the other's; whichever side it is."""
    assert bool(changed_roofs([_run(roof) for roof in base], [_run(roof) for roof in new])) is apart


def test_each_roof_with_both_values() -> None:
    """Compute and memory; a link or a launch bounds no step here."""
    link, launch = (
        [build.roof(kind, name, value, spread=0.0) for value in (1e10, 1e9)]
        for kind, name in (("byte", "host_to_device"), ("latency", "launch"))
    )
    base = _run(build.roof("flop", "fp32", 2e12), _dram(100e9), launch[0])
    new = _run(build.roof("flop", "fp32", 1e12), _dram(50e9), launch[1])
    assert changed_roofs([base], [new]) == [
        "fp32 1.00 TFLOP/s, baseline 2.00 TFLOP/s",
        "dram 50.0 GB/s, baseline 100 GB/s",
    ]
    assert changed_roofs([_run(launch[0])], [_run(launch[1])]) == []
    assert changed_roofs([_run(link[0])], [_run(link[1])]) == []


@pytest.mark.parametrize(("base", "new"), [("1", "2"), (None, None), (None, "1")])
def test_other_machines_have_other_roofs(base: str | None, new: str | None) -> None:
    """Nor is anything told where no fingerprint shows that they are one."""
    assert changed_roofs([_run(_dram(100e9), fingerprint=base)], [_run(_dram(50e9), fingerprint=new)]) == []


def test_it_is_a_note_of_a_comparison_by_roof(run: Command, base: list[Path], new: list[Path]) -> None:
    """And of none by time."""
    given = ("compare", *base, "--with", *new, "--width", 400)
    assert "own roofs differ" not in run(*given, "--by", "roof")[1]
    sessions.edit(new, lambda content: content[KEY]["roofs"][1].update(value=5e10))
    assert "(dram 50.0 GB/s, baseline 100 GB/s)" in run(*given, "--by", "roof")[1]
    assert "own roofs differ" not in run(*given)[1]


def test_a_difference_that_only_the_roofs_made_is_no_regression(
    run: Command, base: list[Path], new: list[Path]
) -> None:
    """The step times agree: nothing can be compared by these roofs, and nothing is slower."""
    sessions.edit(new, lambda content: [roof.update(value=roof["value"] * 2) for roof in content[KEY]["roofs"]])
    code, out, _ = run("check", *new, "--baseline", *base, "--by", "roof", "--format", "json")
    rows = json.loads(out)
    assert code == 3
    assert {row["verdict"] for row in rows} == {"not comparable"}
    assert all("the roofs changed, not the case" in row["why"] for row in rows)
    assert run("check", *new, "--baseline", *base, "--width", 400)[0] == 0


def test_a_bound_not_held_names_the_roofs_that_changed(
    run: Command, tmp_path: Path, base: list[Path], new: list[Path]
) -> None:
    """Though the times are compared: a bound is judged under the roofs of the new side."""
    expected = tmp_path / "expected.toml"
    expected.write_text('[[expected]]\ndevice = "cpu"\ncase = "*"\nmin_fraction_of_roof = 1.0\n')
    given = ("check", *new, "--baseline", *base, "--expect", expected, "--width", 400)
    assert "by the roofs alone" not in run(*given)[2]
    sessions.edit(new, lambda content: [roof.update(value=roof["value"] * 2) for roof in content[KEY]["roofs"]])
    code, _, err = run(*given)
    assert code == 1
    assert "(fp32 20.0 TFLOP/s, baseline 10.0 TFLOP/s; dram 200 GB/s, baseline 100 GB/s)" in err
    assert "by the roofs alone" in err
