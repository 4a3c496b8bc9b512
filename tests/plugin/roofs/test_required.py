"""Roofs that no test of a run measures: measured once, kept for each machine, and never in the way of a run."""

from __future__ import annotations

import io
import json
from collections.abc import Callable, Mapping, Sequence
from contextlib import nullcontext
from pathlib import Path
from typing import Any

import pytest
import torch
from click.testing import CliRunner

from pytest_roofline.ab import worker
from pytest_roofline.config import options_of
from pytest_roofline.device.instruments import CpuInstruments
from pytest_roofline.measuring.host_telemetry import Reading
from pytest_roofline.profilers.ncu import child as ncu_child
from pytest_roofline.profilers.ncu.child_request import StepRequest
from pytest_roofline.roofs import kernels as roofs
from pytest_roofline.roofs import required, stored
from pytest_roofline.roofs.roofs_command import command
from pytest_roofline.roofs.stored import KeptRoofs
from roofline.ab.messages import PIPES
from roofline.results import journal
from roofline.schema.record import KEY, Device
from roofline.schema.session import Roof, RoofKind
from tests.plugin.foreign import MEASURES, QUICK, session_of
from tests.roofline import build

SMALL_ROOFS = """
    import os
    from pytest_roofline.roofs import required
    from pytest_roofline.roofs import kernels as roofs

    roofs.find_best = lambda plan, *_, **__: plan.candidates[0]
    roofs.sample = lambda *_: 1e9
    required.disturbances = lambda rounds: (os.environ.get("DISTURBED"),)
"""

SMALL = SMALL_ROOFS + MEASURES
AUTO = (*QUICK, "--roofline-device", "cpu", "--roofline-roofs", "auto")


@pytest.fixture
def cache(project: pytest.Pytester, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A cache folder of the test's own, and a project whose roofs are measured quickly."""
    folder = project.path / "cache"
    monkeypatch.setenv(stored.VARIABLE, str(folder))
    project.makepyfile(SMALL)
    return folder


def _roofs(folder: Path) -> dict[str, Roof]:
    (path,) = folder.glob("*/*.json")
    session = session_of(json.loads(path.read_text()))
    return {roof.name: roof for roof in session.roofs}


def test_each_setting_measures_takes_or_does_neither(project: pytest.Pytester, cache: Path) -> None:
    """The first run measures what its cases need; later ones take that, measure anew, or have none of it.

    ``off`` takes those of earlier results all the same, as --help has it. The files say where roofs are from. A run
    that is stopped takes what is kept.
    """

    def run(setting: str, folder: str) -> tuple[bool, dict[str, Roof]]:
        arguments = (*AUTO[:-1], setting, "--roofline-results", folder)
        result = project.runpytest_subprocess(*arguments)
        result.assert_outcomes(passed=1)
        said = result.stdout.str()
        assert ("measured earlier" in said) == (setting == "auto" and folder != "first")
        return "roofs: measured" in said, _roofs(project.path / folder)

    measures, measured = run("auto", "first")
    assert measures
    assert set(measured) - {"llc"} == {"fp32", "dram", "launch"}
    assert {(roof.source, roof.from_file) for roof in measured.values()} == {("measured", None)}
    assert all(len(roof.samples) == 2 for roof in measured.values())
    (path,) = (cache / "roofs").iterdir()
    kept = path.read_text()
    measures, taken = run("auto", "second")
    assert not measures
    assert {name: roof.value for name, roof in taken.items()} == {name: roof.value for name, roof in measured.items()}
    assert {roof.from_file for roof in taken.values()} == {f"cache/{path.name}"}
    assert run("off", "third") == (False, {})
    assert path.read_text() == kept
    measures, anew = run("measure", "fourth")
    assert measures
    assert {roof.from_file for roof in anew.values()} == {None}
    (earlier,) = (project.path / "first").glob("*/*.json")
    arguments = (*AUTO[:-1], "off", "--roofline-results", "first")
    project.runpytest_subprocess(*arguments).assert_outcomes(passed=1)
    earlier.rename(project.path / earlier.name)
    assert {roof.from_file for roof in _roofs(project.path / "first").values()} == {earlier.name}
    project.makepyfile(test_stop="def test_stop(roofline):\n    raise KeyboardInterrupt\n")
    assert project.runpytest_subprocess(*AUTO, "--roofline-results", "stopped").ret == 2
    assert {roof.from_file for roof in _roofs(project.path / "stopped").values()} == {f"cache/{path.name}"}


@pytest.mark.parametrize("child", [worker, ncu_child])
def test_processes_that_measure_for_another_run_measure_no_roofs(
    pytester: pytest.Pytester, monkeypatch: pytest.MonkeyPatch, child: Any
) -> None:
    """The turns of an interleaved comparison and the step that ncu counts, though the user's command asks for them."""
    config = pytester.parseconfig("--roofline-device", "cpu", "--roofline-roofs", "auto")
    assert options_of(config).roofs == "auto"
    monkeypatch.setenv(PIPES, "0,0")
    monkeypatch.setattr(worker, "_end", lambda *_: io.BytesIO())
    monkeypatch.setattr(worker, "end_with_parent", lambda: None)
    for name, value in (
        StepRequest(test="test_it.py::test_it", file=None, answer=pytester.path / "answer").environment().items()
    ):
        monkeypatch.setenv(name, value)
    start = child.pytest_cmdline_main(config)
    next(start)
    assert options_of(config).roofs == "off"


@pytest.mark.parametrize(
    "arguments",
    [
        (),
        ("--benchmark-disable",),
        ("--collect-only", "--roofline-results", "results"),
    ],
)
def test_nothing_is_measured_where_no_file_takes_it(
    project: pytest.Pytester, cache: Path, arguments: tuple[str, ...]
) -> None:
    """Without results, where nothing is timed, where nothing is run."""
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
        from pytest_roofline.roofs import kernels as roofs
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


@pytest.mark.usefixtures("cache")
def test_a_disk_that_is_full_at_the_end_leaves_the_roofs_in_the_journal(project: pytest.Pytester) -> None:
    """They are measured after the last case, and are there for whoever reads, recovers or resumes the run."""
    project.makeconftest(
        """
        import errno
        from pytest_roofline.session import results_file
        def full(*_):
            raise OSError(errno.ENOSPC, "No space left on device")
        results_file.write_text = full
        """
    )
    run = project.runpytest_subprocess(*AUTO, "--roofline-results", "results")
    assert run.ret == 4
    run.stdout.fnmatch_lines(["ERROR: can't write *.json: No space left on device. 1 of 1 cases are in *.journal: *"])
    (path,) = (project.path / "results").rglob("*.journal")
    session = session_of(journal.load(path))
    assert {roof.source for roof in session.roofs} == {"measured"}
    assert "dram" in {roof.name for roof in session.roofs}


def test_a_bad_value_of_the_variable_is_named(project: pytest.Pytester, monkeypatch: pytest.MonkeyPatch) -> None:
    """With where it came from and what is allowed."""
    monkeypatch.setenv("ROOFLINE_ROOFS", "maybe")
    run = project.runpytest_subprocess("--co")
    run.stderr.fnmatch_lines(["*variable ROOFLINE_ROOFS: 'maybe' is not allowed: use auto, measure or off*"])


def test_only_roofs_that_cases_need() -> None:
    """The dtypes they computed in, memory, and the launch; none for rows that tell no work."""
    gpu = Device(kind="cuda", name="x", last_level_cache_byte=2**25)
    case = build.record(work=build.work(dtype="bf16"))
    assert required.needed([case], gpu) == ("bf16", "dram", "llc", "launch")
    assert required.needed([case], Device(kind="mps", name="x")) == ("bf16", "dram", "launch")
    assert required.needed([build.record(work=None)], gpu) == ()


class Host:
    """A clock that roofs' kernels advance, and other programs that take CPUs while some roofs are measured.

    :param stolen: whether time is stolen during each measurement in turn; none after the last.
    """

    missing: Mapping[str, str] = {}

    def __init__(self, *stolen: bool, call_s: float = 0.5) -> None:
        self.now, self.measured = 0.0, 0
        self._stolen, self._call_s = stolen, call_s
        self._stolen_s = 0.0

    def plan(self, name: str, *_: object) -> roofs.RoofPlan:
        kind: RoofKind = "byte" if name in ("dram", "llc") else "flop"
        return roofs.RoofPlan(kind, name, "how", "fp32", (roofs.Candidate(name, 1e9, self._prepare),))

    def _prepare(self) -> Callable[[], None]:
        return self._call

    def _call(self) -> None:
        self.now += self._call_s

    def clock(self) -> float:
        return self.now

    def read(self) -> Reading:
        turn, after = divmod(self.measured, 2)
        self.measured += 1
        if after and turn < len(self._stolen) and self._stolen[turn]:
            self._stolen_s += 9.0
        return Reading(process_cpu_s=0.0, involuntary_switches=0, steal_s=self._stolen_s)

    def measure(self, *names: str, beside: Sequence[Roof] = ()) -> required.MeasuredRoofs:
        return required.measure(
            names,
            required.Equipment(
                device=torch.device("cpu"),
                described=Device(kind="cpu", name="x"),
                instruments=CpuInstruments(),
                clock=self.clock,
                conditions=lambda _: nullcontext(),
                telemetry=self,
            ),
            beside,
        )


@pytest.mark.parametrize(
    ("stolen", "call_s", "times", "disturbed"),
    [
        ((), 0.5, 1, None),
        ((True,), 0.5, 2, None),
        ((True, True, True), 0.5, 3, "9000 ms stolen by the hypervisor"),
        ((True, True, True), 20.0, 1, "9000 ms stolen by the hypervisor"),
    ],
    ids=["quiet", "quiet again", "never quiet", "the time is up"],
)
def test_a_disturbed_roof_is_measured_again(
    stolen: tuple[bool, ...], call_s: float, times: int, disturbed: str | None, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Up to three times in a minute; what still was disturbed then is used, and says so."""
    host = Host(*stolen, call_s=call_s)
    monkeypatch.setattr(roofs, "plan", host.plan)
    found = host.measure("fp32")
    assert [roof.disturbed for roof in found.roofs] == [disturbed]
    assert found.doubtful == ({} if disturbed is None else {"fp32": disturbed})
    assert host.measured == 2 * times


def test_a_roof_that_contradicts_another_is_measured_again(monkeypatch: pytest.MonkeyPatch) -> None:
    """Here a cache of 2 GB/s beside a memory of 3 GB/s that was measured before."""
    host = Host()
    monkeypatch.setattr(roofs, "plan", host.plan)
    found = host.measure("llc", beside=(build.roof("byte", "dram", 3e9),))
    assert found.doubtful == {"llc": "2.00 GB/s, less than dram's 3.00 GB/s"}
    assert host.measured == 6


@pytest.mark.usefixtures("cache")
def test_what_the_next_run_measures_again_is_said_wherever_roofs_are_seen(
    project: pytest.Pytester, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Kept roofs that were disturbed are replaced by the next run that is not, and taken from then on."""
    monkeypatch.setenv("DISTURBED", "20 ms stolen")
    first = project.runpytest_subprocess(*AUTO, "--roofline-results", "first")
    first.stdout.fnmatch_lines(["roofs: measured*Doubtful, so that the next run measures them again: fp32*"])
    first.stdout.fnmatch_lines(["*Doubtful roofs, to be measured again on an idle machine: fp32*"])
    assert {roof.disturbed for roof in _roofs(project.path / "first").values()} == {"20 ms stolen"}
    shown = CliRunner().invoke(command, ["show", "--device", "cpu", "--format", "json"])
    assert {row["doubtful"] for row in json.loads(shown.stdout)} == {"20 ms stolen"}
    monkeypatch.delenv("DISTURBED")
    # In the folder of the first, whose results hold roofs, too.
    for measures in (True, False):
        run = project.runpytest_subprocess(*AUTO, "--roofline-results", "first")
        assert ("roofs: measured" in run.stdout.str(), "oubtful" in run.stdout.str()) == (measures, False)


@pytest.mark.usefixtures("forked_children")
def test_workers_of_xdist_leave_roofs_to_the_controller(project: pytest.Pytester, cache: Path) -> None:
    """It measures them once, when all cases have ended."""
    project.makeconftest(SMALL_ROOFS)
    run = project.runpytest_subprocess(*AUTO, "-n", "1", "--roofline-results", "results")
    assert run.stdout.str().count("roofs: measured") == 1
    assert cache.exists()


@pytest.mark.usefixtures("cache", "forked_children")
def test_only_the_first_session_of_a_set_measures_roofs(project: pytest.Pytester) -> None:
    """Whatever the setting: the others take what it measured."""
    arguments = ("--roofline-sessions", "2", "--roofline-roofs", "measure", "--roofline-results", "results")
    run = project.runpytest_subprocess(*QUICK, *arguments)
    assert run.stdout.str().count("roofs: measured") == 1
    files = {json.loads(path.read_text())[KEY]["set"]["index"]: path for path in project.path.glob("results/*/*.json")}
    measured, taken = (
        {roof["from_file"] for roof in json.loads(files[index].read_text())[KEY]["roofs"]} for index in (1, 2)
    )
    assert (measured, taken) == ({None}, {files[1].name})


def test_a_roof_not_tried_in_time_is_left_out(monkeypatch: pytest.MonkeyPatch) -> None:
    """Its best kernel may not have been tried, so that it would be too low."""
    host = Host(call_s=25.0)
    monkeypatch.setattr(roofs, "plan", host.plan)
    found = host.measure("fp32", "bf16")
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


@pytest.mark.parametrize(
    ("environment", "platform", "expected"),
    [
        ({"ROOFLINE_CACHE": "/fast/here", "XDG_CACHE_HOME": "/x"}, "linux", "/fast/here"),
        ({"XDG_CACHE_HOME": "/x"}, "linux", "/x/pytest-roofline"),
        ({"ROOFLINE_CACHE": "", "XDG_CACHE_HOME": ""}, "linux", "~/.cache/pytest-roofline"),
        ({}, "darwin", "~/Library/Caches/pytest-roofline"),
        ({"LOCALAPPDATA": "/local"}, "win32", "/local/pytest-roofline"),
        ({}, "win32", "~/AppData/Local/pytest-roofline"),
    ],
)
def test_the_folder_is_the_users_wish_or_the_platforms_habit(
    environment: dict[str, str], platform: str, expected: str
) -> None:
    """ROOFLINE_CACHE wins; an empty variable is none."""
    assert stored.folder(environment, platform) == Path(expected).expanduser()


@pytest.mark.parametrize("variable", ["ROOFLINE_CACHE", "XDG_CACHE_HOME"])
def test_a_home_folder_that_is_not_known_is_refused(variable: str) -> None:
    """With the way out."""
    with pytest.raises(
        stored.CacheError, match=r"^ROOFLINE_CACHE: .*~nosuchuser/c, and ~nosuchuser is no known home folder"
    ):
        stored.folder({variable: "~nosuchuser/c"}, "linux")


def test_the_command_shows_what_it_can_not_keep(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A minute's work isn't lost to a folder that can't be written, and the exit code tells of it."""
    monkeypatch.setattr(required, "measure", lambda *_: required.MeasuredRoofs(build.roofs(1e12, 1e10), {}, 3.0))
    (tmp_path / "file").touch()
    monkeypatch.setenv(stored.VARIABLE, str(tmp_path / "file" / "folder"))
    result = CliRunner().invoke(command, ["measure", "--device", "cpu", "--format", "json"])
    assert result.exit_code == 2
    assert {row["roof"]: row["value"] for row in json.loads(result.stdout)} == {"fp32": 1e12, "dram": 1e10}
    assert stored.VARIABLE in result.stderr


@pytest.mark.parametrize("name", ["show", "forget"])
def test_a_cache_that_is_a_file_is_no_empty_one(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, name: str) -> None:
    """What is wrong is said, and which variable to set."""
    (tmp_path / "file").touch()
    monkeypatch.setenv(stored.VARIABLE, str(tmp_path / "file"))
    result = CliRunner().invoke(command, [name, "--device", "cpu"])
    assert (result.exit_code, result.stdout) == (2, "")
    assert "Not a directory. Set ROOFLINE_CACHE to a folder that can be written." in result.stderr


def test_the_command_ends_with_3_where_no_roof_can_be_measured(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Why is told of each, and what was kept before stays."""
    monkeypatch.setattr(required, "measure", lambda *_: required.MeasuredRoofs((), {"dram": "no memory"}, 3.0))
    monkeypatch.setenv(stored.VARIABLE, str(tmp_path))
    result = CliRunner().invoke(command, ["measure", "--device", "cpu"])
    assert (result.exit_code, "no dram: no memory" in result.stderr) == (3, True)
    assert not list(tmp_path.iterdir())


def test_the_command_measures_shows_and_forgets(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Through the table of every command."""
    asked: list[tuple[str, ...]] = []

    def measured(names: tuple[str, ...], *_: object) -> required.MeasuredRoofs:
        asked.append(names)
        return required.MeasuredRoofs(build.roofs(1e12, 1e10), {"llc": "its size is unknown"}, 3.0)

    monkeypatch.setattr(required, "measure", measured)
    monkeypatch.setenv(stored.VARIABLE, str(tmp_path))

    def run(*arguments: str) -> str:
        result = CliRunner().invoke(command, [*arguments, "--device", "cpu"])
        assert result.exit_code == 0, result.output
        return result.stdout

    def rows() -> dict[str, float]:
        return {row["roof"]: row["value"] for row in json.loads(run("show", "--format", "json"))}

    assert rows() == {}
    assert "no llc: its size is unknown" in run("measure", "--precision", "fp32")
    assert asked == [("fp32", "dram", "llc", "launch")]
    assert rows() == {"fp32": 1e12, "dram": 1e10}
    run("forget")
    assert rows() == {}


def test_the_command_refuses_a_device_that_is_none() -> None:
    """With what is allowed."""
    result = CliRunner().invoke(command, ["show", "--device", "tpu"])
    assert result.exit_code == 2
    assert "use auto, cpu, cuda, cuda:N or mps" in result.output
