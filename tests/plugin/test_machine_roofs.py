"""Roofs that no test of a run measures: measured once, kept for each machine, and never in the way of a run."""

from __future__ import annotations

import json
from collections.abc import Callable
from contextlib import nullcontext
from pathlib import Path

import pytest
import torch
from click.testing import CliRunner

from pytest_roofline import kept_roofs, machine_roofs, roofs
from pytest_roofline.devices import CpuInstruments
from pytest_roofline.kept_roofs import KeptRoofs
from pytest_roofline.roofs_command import command
from roofline.commands.plain import show
from roofline.record import KEY, Device, Roof, Session
from roofline.record_json import from_json
from tests.plugin.foreign import QUICK
from tests.roofline import build

SMALL = """
    import torch
    from torch import nn
    from pytest_roofline import roofs

    roofs.WINDOW_S, roofs._MATRIX_SIZES, roofs._CONVOLUTIONS = 0.001, (64,), ()

    def test_mine(roofline):
        roofline(nn.Linear(8, 4), torch.randn(2, 8))
"""
AUTO = (*QUICK, "--roofline-device", "cpu", "--roofline-roofs", "auto")


@pytest.fixture
def cache(project: pytest.Pytester, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A cache folder of the test's own, and a project whose roofs are measured quickly."""
    folder = project.path / "cache"
    monkeypatch.setenv(kept_roofs.VARIABLE, str(folder))
    project.makepyfile(SMALL)
    return folder


def _roofs(folder: Path) -> dict[str, Roof]:
    (path,) = folder.glob("*/*.json")
    session = from_json(Session, json.loads(path.read_text())[KEY], path.name)
    return {roof.name: roof for roof in session.roofs}


def test_a_run_without_roof_tests_measures_what_its_cases_need_once(project: pytest.Pytester, cache: Path) -> None:
    """The second run takes them from the cache, and its file says so."""
    first = project.runpytest_subprocess(*AUTO, "--roofline-results", "first")
    first.assert_outcomes(passed=1)
    assert first.stdout.str().count("roofs: measured") == 1
    measured = _roofs(project.path / "first")
    assert set(measured) - {"llc"} == {"fp32", "dram", "launch"}
    assert {(roof.source, roof.from_file) for roof in measured.values()} == {("measured", None)}
    assert all(len(roof.samples) == 2 for roof in measured.values())
    (kept,) = (cache / "roofs").iterdir()
    second = project.runpytest_subprocess(*AUTO, "--roofline-results", "second")
    second.assert_outcomes(passed=1)
    assert "roofs: measured" not in second.stdout.str()
    taken = _roofs(project.path / "second")
    assert {name: roof.value for name, roof in taken.items()} == {name: roof.value for name, roof in measured.items()}
    assert {roof.from_file for roof in taken.values()} == {f"cache/{kept.name}"}


@pytest.mark.parametrize(
    "arguments",
    [
        (),
        ("--benchmark-disable",),
        ("--collect-only", "--roofline-results", "results"),
        ("--roofline-roofs", "off", "--roofline-results", "results"),
    ],
)
def test_nothing_is_measured_where_no_file_takes_it(
    project: pytest.Pytester, cache: Path, arguments: tuple[str, ...]
) -> None:
    """Or where the user wants none."""
    assert project.runpytest_subprocess(*AUTO, *arguments).ret == 0
    assert not cache.exists()


def test_roofs_that_tests_measure_are_enough(project: pytest.Pytester, cache: Path) -> None:
    """Nothing is added to them."""
    project.makepyfile(test_roofs="def test_launch(roofline):\n    roofline.roof('launch')\n")
    project.runpytest_subprocess(*AUTO, "--roofline-results", "results").assert_outcomes(passed=2)
    assert set(_roofs(project.path / "results")) == {"launch"}
    assert not cache.exists()


def test_a_roof_that_can_not_be_measured_ends_no_run(project: pytest.Pytester, cache: Path) -> None:
    """A line says which and why; a cache that can't be written is another."""
    cache.write_text("a file")
    project.makeconftest(
        """
        from pytest_roofline import roofs
        plan = roofs.plan
        def failing(name, *rest):
            if name == "dram":
                raise RuntimeError("out of memory somewhere")
            return plan(name, *rest)
        roofs.plan = failing
        """
    )
    run = project.runpytest_subprocess(*AUTO, "--roofline-results", "results")
    run.assert_outcomes(passed=1)
    run.stdout.fnmatch_lines(["roofs: no dram: out of memory somewhere", "roofs: measured *not kept*ROOFLINE_CACHE*"])
    assert "dram" not in _roofs(project.path / "results")


def test_a_bad_value_of_the_variable_is_named(project: pytest.Pytester, monkeypatch: pytest.MonkeyPatch) -> None:
    """With where it came from and what is allowed."""
    monkeypatch.setenv("ROOFLINE_ROOFS", "maybe")
    run = project.runpytest_subprocess("--co")
    run.stderr.fnmatch_lines(["*variable ROOFLINE_ROOFS: 'maybe' is not allowed: use auto, measure or off*"])


def test_only_roofs_that_cases_need() -> None:
    """The dtypes they computed in, memory, and the launch; none for rows that tell no work."""
    gpu = Device(kind="cuda", name="x", last_level_cache_byte=2**25)
    case = build.record(work=build.work(dtype="bf16"))
    assert machine_roofs.needed([case], gpu) == ("bf16", "dram", "llc", "launch")
    assert machine_roofs.needed([case], Device(kind="mps", name="x")) == ("bf16", "dram", "launch")
    assert machine_roofs.needed([build.record(work=None)], gpu) == ()


def test_a_roof_not_tried_in_time_is_left_out(monkeypatch: pytest.MonkeyPatch) -> None:
    """Its best kernel may not have been tried, so that it would be too low."""
    now = 0.0

    def prepare() -> Callable[[], None]:
        def call() -> None:
            nonlocal now
            now += 25.0

        return call

    def plan(name: str, *_: object) -> roofs.RoofPlan:
        return roofs.RoofPlan("flop", name, "how", "fp32", (roofs.Candidate(name, 1e9, prepare),) * 1)

    monkeypatch.setattr(roofs, "plan", plan)
    found = machine_roofs.measure(
        ("fp32", "bf16"), torch.device("cpu"), None, CpuInstruments(), lambda: now, lambda _: nullcontext()
    )
    assert [roof.name for roof in found.roofs] == ["fp32"]
    assert "time" in found.missing["bf16"]


def test_kept_roofs_are_merged_and_a_damaged_file_holds_none(tmp_path: Path) -> None:
    """Of one name the new value stays."""
    kept = KeptRoofs(tmp_path / "roofs" / "x.json")
    assert kept.read() == ()
    kept.keep(build.roofs(1e12, 1e10))
    kept.keep((build.roof("byte", "dram", 2e10),))
    assert {roof.name: roof.value for roof in kept.read()} == {"fp32": 1e12, "dram": 2e10}
    for damaged in ("{", "[]", "[" * 100_000, '{"roofs": [3]}', '{"roofs": [{"name": 3}]}'):
        kept.path.write_text(damaged)
        assert kept.read() == ()


@pytest.mark.parametrize("value", [0.0, -1.0, float("nan"), 1e308])
def test_a_kept_roof_whose_value_is_none_is_measured_again(tmp_path: Path, value: float) -> None:
    """The others are taken."""
    kept = KeptRoofs(tmp_path / "x.json")
    kept.keep(build.roofs(1e12, value))
    assert {roof.name: roof.value for roof in kept.read()} == {"fp32": 1e12}


def test_the_command_shows_what_it_can_not_keep(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A minute's work isn't lost to a folder that can't be written, and the exit code tells of it."""
    monkeypatch.setattr(machine_roofs, "measure", lambda *_: machine_roofs.Measured(build.roofs(1e12, 1e10), {}, 3.0))
    (tmp_path / "file").touch()
    monkeypatch.setenv(kept_roofs.VARIABLE, str(tmp_path / "file" / "folder"))
    result = CliRunner().invoke(command, ["measure", "--device", "cpu", "--format", "json"], obj=show)
    assert result.exit_code == 2
    assert {row["roof"]: row["value"] for row in json.loads(result.stdout)["rows"]} == {"fp32": 1e12, "dram": 1e10}
    assert kept_roofs.VARIABLE in result.stderr


def test_the_command_ends_with_3_where_no_roof_can_be_measured(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Why is told of each, and what was kept before stays."""
    monkeypatch.setattr(machine_roofs, "measure", lambda *_: machine_roofs.Measured((), {"dram": "no memory"}, 3.0))
    monkeypatch.setenv(kept_roofs.VARIABLE, str(tmp_path))
    result = CliRunner().invoke(command, ["measure", "--device", "cpu"], obj=show)
    assert (result.exit_code, "no dram: no memory" in result.stderr) == (3, True)
    assert not list(tmp_path.iterdir())


def test_the_command_measures_shows_and_forgets(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Through the table of every command."""
    asked: list[tuple[str, ...]] = []

    def measured(names: tuple[str, ...], *_: object) -> machine_roofs.Measured:
        asked.append(names)
        return machine_roofs.Measured(build.roofs(1e12, 1e10), {"llc": "its size is unknown"}, 3.0)

    monkeypatch.setattr(machine_roofs, "measure", measured)
    monkeypatch.setenv(kept_roofs.VARIABLE, str(tmp_path))

    def run(*arguments: str) -> str:
        result = CliRunner().invoke(command, [*arguments, "--device", "cpu"], obj=show)
        assert result.exit_code == 0, result.output
        return result.output

    def rows() -> dict[str, float]:
        return {row["roof"]: row["value"] for row in json.loads(run("show", "--format", "json"))["rows"]}

    assert rows() == {}
    assert "no llc: its size is unknown" in run("measure", "--precision", "fp32")
    assert asked == [("fp32", "dram", "llc", "launch")]
    assert rows() == {"fp32": 1e12, "dram": 1e10}
    run("forget")
    assert rows() == {}


def test_the_command_refuses_a_device_that_is_none() -> None:
    """With what is allowed."""
    result = CliRunner().invoke(command, ["show", "--device", "tpu"], obj=show)
    assert result.exit_code == 2
    assert "use auto, cpu, cuda, cuda:N or mps" in result.output
