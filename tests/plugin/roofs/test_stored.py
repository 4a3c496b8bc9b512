"""The roofs that are kept of a machine: in results, and in the user's cache."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from pytest_roofline.roofs.stored import KeptRoofs, last_roofs
from roofline.schema.record import Flag
from roofline.schema.record_json import to_json
from roofline.schema.session import Machine, Roof, Session
from tests.roofline import build


def machine(fingerprint: str = "here") -> Machine:
    return build.machine(fingerprint=fingerprint, threads={"intra_op": 1}, limits={})


def document(of: Machine, *roofs: Roof) -> str:
    return json.dumps(
        {
            "machine_info": {"roofline": to_json(of)},
            "roofline": to_json(Session(started_at="t", label="m", roofs=roofs)),
            "benchmarks": [row()],
        }
    )


def row(*flags: Flag) -> dict[str, Any]:
    return {"name": "test_a", "extra_info": {"roofline": to_json(build.record(flags=flags))}}


def dram(value: float, **changes: Any) -> Roof:
    return replace(Roof(kind="byte", name="dram", value=value, source="measured", detail="d"), **changes)


def put(folder: Path, files: dict[str, str]) -> None:
    for name, text in files.items():
        (folder / name).parent.mkdir(exist_ok=True)
        (folder / name).write_text(text)


def test_the_last_roofs_are_those_measured_on_the_same_machine(tmp_path: Path) -> None:
    """Newest first; another machine's, taken-over, published and unreadable ones don't count."""
    put(
        tmp_path,
        {
            "a/20260101T000000Z-c.json": document(machine(), dram(1.0)),
            "a/20260102T000000Z-c.json": document(machine(), dram(2.0)),
            "b/20260103T000000Z-c.json": document(machine("elsewhere"), dram(9.0)),
            "a/20260104T000000Z-c.json": document(machine(), dram(3.0, from_file="x")),
            "a/20260105T000000Z-c.json": document(machine(), dram(4.0, source="spec")),
            "a/20260106T000000Z-c.json": "",
            "a/20260107T000000Z-c.json": "[]",
            "a/20260108T000000Z-c.json": "[" * 100_000,
            "a/20260109T000000Z-c.json": document(machine(), dram(-1.0)),
        },
    )
    found = last_roofs(tmp_path, machine())
    assert [(roof.value, roof.from_file) for roof in found] == [(2.0, "20260102T000000Z-c.json")]
    assert last_roofs(tmp_path, machine("nowhere")) == ()
    assert last_roofs(tmp_path / "missing", machine()) == ()


def test_a_cpu_has_other_roofs_with_other_threads_and_instructions(tmp_path: Path) -> None:
    """They are taken over by runs with the same alone, here and from the cache."""
    narrow = replace(machine(), limits={"ONEDNN_MAX_CPU_ISA": "AVX2", "OMP_PLACES": "cores"})
    measured = (machine(), replace(machine(), threads={"intra_op": 2}), narrow)
    for value, of in enumerate(measured, 1):
        put(tmp_path, {f"a/2026010{value}T000000Z-c.json": document(of, dram(float(value)))})
    found = [[roof.value for roof in last_roofs(tmp_path, of)] for of in measured]
    assert found == [[1.0], [2.0], [3.0]]
    assert len({KeptRoofs.of(of).path for of in measured}) == 3
    assert KeptRoofs.of(replace(machine(), limits={"OMP_PLACES": "cores"})) == KeptRoofs.of(machine())
    assert last_roofs(tmp_path, replace(machine(), threads={"intra_op": 4})) == ()


def test_roofs_measured_under_a_profiler_are_no_roofs(tmp_path: Path) -> None:
    """Launches are traced and clocks held down there; nor does a file whose rows are of no form stop the search."""
    flagged, broken = (json.loads(document(machine(), dram(value))) for value in (2.0, 3.0))
    flagged["benchmarks"] = [{}, row(Flag(name="profiled", evidence="ncu", invalid=True))]
    broken["benchmarks"] = ["nothing"]
    put(
        tmp_path,
        {
            "a/20260101T000000Z-c.json": document(machine(), dram(1.0)),
            "a/20260102T000000Z-c.json": json.dumps(flagged),
            "a/20260103T000000Z-c.json": json.dumps(broken),
        },
    )
    assert [roof.value for roof in last_roofs(tmp_path, machine())] == [1.0]


def test_a_folder_that_cannot_be_looked_into_has_no_roofs(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Why it can't be used is told where the results file is made; before Python 3.12 the search itself failed."""

    def refused(*_: object) -> None:
        raise PermissionError(13, "Permission denied")

    monkeypatch.setattr(Path, "glob", refused)
    assert last_roofs(tmp_path, machine()) == ()


def test_a_run_of_one_roof_does_not_hide_the_others(tmp_path: Path) -> None:
    """Each roof is looked up by itself, with the file it stands in."""
    launch = Roof(kind="latency", name="launch", value=1e-6, source="measured", detail="d")
    put(
        tmp_path,
        {
            "a/20260101T000000Z-c.json": document(machine(), dram(1.0), launch),
            "a/20260102T000000Z-c.json": document(machine(), replace(launch, value=2e-6)),
        },
    )
    found = {roof.name: (roof.value, roof.from_file) for roof in last_roofs(tmp_path, machine())}
    assert found == {"launch": (2e-6, "20260102T000000Z-c.json"), "dram": (1.0, "20260101T000000Z-c.json")}
