"""``roofline doctor``: on every machine a line for each thing, and exit code 0."""

from __future__ import annotations

import csv
import json
import tomllib
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner, Result

from pytest_roofline.device.system import Ended, System
from pytest_roofline.profilers.doctor import doctor
from roofline.cli import program as cli
from tests.packaging.test_borders import loaded_by, packages
from tests.plugin.profilers.stubs import Stubs

ROOT = Path(__file__).parents[3]
REPORT = json.dumps({"torch": "2.11.0", "cuda": None, "binding": None, "devices": [], "libraries": []})


@pytest.fixture
def stubs(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Stubs:
    """A machine with what is put there, on which torch loads at once."""
    stubs = Stubs(tmp_path / "path")
    run = System.here().run

    def quick(command: Any, **options: Any) -> Ended:
        return Ended(code=0, out=REPORT) if "-m" in command else run(command, **options)

    machine = stubs.system(run=quick, python=stubs.python())
    monkeypatch.setattr(System, "here", lambda: machine)
    monkeypatch.chdir(tmp_path)
    return stubs


def run(*arguments: str) -> Result:
    result = CliRunner().invoke(doctor, arguments)
    assert result.exit_code == 0, result.output
    return result


def lines(*arguments: str) -> dict[str, dict[str, Any]]:
    return {line["what"]: line for line in json.loads(run("--format", "json", *arguments).stdout)}


def test_each_thing_has_a_line(stubs: Stubs) -> None:
    """What it is, its state, why, and what would help."""
    stubs.ncu("permission")
    stubs.perf()
    found = lines()
    assert all(set(line) == {"what", "state", "why", "remedy"} for line in found.values())
    assert {line["state"] for line in found.values()} <= {"ok", "warning", "no", "not reported"}
    software = {"python", "torch", "driver", "nvml", "ncu", "nsys", "perf", "counters"}
    assert set(found) == software | {"platform", "cpu quota", "affinity", "governor", "steal", "disk"}
    assert (found["perf"]["state"], found["perf"]["remedy"]) == ("ok", None)
    assert found["ncu"]["state"] == "no"
    assert found["ncu"]["why"].endswith("administrators only (ERR_NVGPUCTRPERM)")
    assert f"sudo env ROOFLINE_NCU={stubs.folder / 'ncu'}" in found["ncu"]["remedy"]


def test_who_may_read_counters_is_told_with_the_ncu_that_was_found(stubs: Stubs) -> None:
    """The driver's settings are looked at apart from ncu, and what helps is the same command."""
    ncu = stubs.ncu("permission")
    params = stubs.system().proc / "driver" / "nvidia" / "params"
    params.parent.mkdir(parents=True)
    params.write_text("RmProfilingAdminOnly: 1\n")
    found = lines()
    assert found["counters"]["why"].endswith("administrators only (RmProfilingAdminOnly: 1), and this is none")
    assert f"sudo env ROOFLINE_NCU={ncu} {stubs.folder / 'python'} -m pytest" in found["counters"]["remedy"]


def test_the_table_is_for_reading(stubs: Stubs) -> None:
    """Explanations are broken into lines that fit; remedies stand below, under the names of what they are for."""
    stubs.ncu("permission")
    text = run("--width", "80").output
    assert max(map(len, text.splitlines())) <= 80
    assert "…" not in text
    words = " ".join(text.split())
    assert "ncu: Run as root: sudo env " in words
    assert "nsys no not_found: no nsys on PATH or where it is usually installed" in words


def test_files(stubs: Stubs, tmp_path: Path) -> None:
    """As every command's: the ending decides."""
    stubs.perf("not_supported")
    run("-o", str(tmp_path / "doctor.csv"))
    with (tmp_path / "doctor.csv").open() as file:
        rows = {row["what"]: row for row in csv.DictReader(file)}
    assert rows["perf"]["why"].endswith("this machine counts no processor events, as is usual in a virtual machine")
    assert rows["perf"]["remedy"].startswith("Measure on the machine itself")
    run("-o", str(tmp_path / "doctor.md"))
    assert "| perf | no | " in (tmp_path / "doctor.md").read_text()


@pytest.mark.usefixtures("stubs")
def test_paths_are_handed_on(tmp_path: Path) -> None:
    """Of programs that lie elsewhere, and of the results."""
    elsewhere = Stubs(tmp_path / "elsewhere")
    found = lines(
        *("--ncu-path", str(elsewhere.ncu())),
        *("--nsys-path", str(elsewhere.nsys())),
        *("--perf-path", str(elsewhere.perf())),
        *("--results", str(tmp_path / "here")),
    )
    assert [found[name]["state"] for name in ("ncu", "nsys", "perf")] == ["ok"] * 3
    assert found["disk"]["why"].endswith(f" left for {tmp_path / 'here'}")


def test_a_machine_that_tells_nothing(stubs: Stubs, monkeypatch: pytest.MonkeyPatch) -> None:
    """No program starts, no torch, no /proc, no known platform: lines all the same."""
    gone = Ended(code=None, fault="cannot_start", reason="Operation not permitted")
    stubs.ncu()
    machine = stubs.system(run=lambda *_, **__: gone, platform="sunos5", proc=Path("/none"), uid=None)
    monkeypatch.setattr(System, "here", lambda: machine)
    found = lines()
    assert found["torch"]["state"] == "no"
    assert found["ncu"]["why"] == f"failed: {stubs.folder / 'ncu'} can't be started (Operation not permitted)"


def test_here() -> None:
    """On this machine, with its torch, whatever it has."""
    found = lines()
    assert found["torch"]["state"] == "ok"
    assert found["cpu"]["state"] == "ok"


def test_it_loads_neither_torch_nor_pytest_to_begin_with() -> None:
    """It runs where there is no torch, and in a torch that can't be loaded."""
    code = "import pytest_roofline.profilers.doctor, pytest_roofline.profilers.checkup"
    assert packages(loaded_by(code)) & {"torch", "pytest", "numpy", "rich"} == set()


def test_every_command_of_this_side_has_its_line_in_the_list() -> None:
    """Listing commands loads none, so the lines stand in the program."""
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    assert set(cli._LINES) - set(cli._PLACES) == set(project["entry-points"]["roofline.commands"])
