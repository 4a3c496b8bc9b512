"""The plugin in somebody else's project: flags, markers, selection, exit codes and messages."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from perftests import suite_options
from pytest_roofline import plugin
from pytest_roofline.options import SETTINGS
from roofline.results import journal
from tests import forked
from tests.conftest import ROOT
from tests.plugin.foreign import MEASURES, QUICK, records, results, session_of


def test_a_project_that_does_not_use_it_sees_nothing(pytester: pytest.Pytester) -> None:
    """No marker, no section, no results; a foreign test named like a marker is left alone."""
    pytester.makepyfile("def test_plain(): pass")
    run = pytester.runpytest_subprocess("--roofline-results", "results", "--markers")
    assert "cuda" not in run.stdout.str()
    run = pytester.runpytest_subprocess("--roofline-results", "results")
    run.assert_outcomes(passed=1)
    assert "roofline ==" not in run.stdout.str()
    assert not (pytester.path / "results").exists()


def test_markers_are_registered_where_they_are_asked_for(project: pytest.Pytester) -> None:
    """With the ini option, --strict-markers takes them all."""
    shown = project.runpytest_subprocess("--markers").stdout.str()
    for name in ("cpu", "cuda", "mps", "train", "infer", "input"):
        assert f"@pytest.mark.{name}:" in shown


def test_an_option_that_is_no_truth_value_is_named() -> None:
    """pytest says only that 'maybe' is none."""

    def getini(_: str) -> bool:
        raise ValueError("invalid truth value 'maybe'")

    config: Any = SimpleNamespace(getini=getini)
    message = "roofline_markers in the ini file: invalid truth value 'maybe': use true or false"
    with pytest.raises(pytest.UsageError, match=message):
        plugin.pytest_configure(config)


def test_a_project_may_use_the_markers_of_the_plugin_without_asking(project: pytest.Pytester) -> None:
    """Under --strict-markers, too; its own words are left alone, and roofs run first."""
    project.makeini("[pytest]\naddopts = --strict-markers -p no:playwright\nmarkers =\n    cuda: mine\n")
    project.makepyfile(
        """
        import pytest

        @pytest.mark.cuda
        @pytest.mark.roofline(mode="infer")
        @pytest.mark.expected_bound("memory")
        def test_mine(roofline):
            pass

        @pytest.mark.roofs
        def test_launch(roofline):
            pass
        """
    )
    run = project.runpytest_subprocess(*QUICK, "--collect-only", "-q")
    run.stdout.fnmatch_lines(["*::test_launch", "*::test_mine", "2 tests collected*"])


def test_results_are_written_under_label_time_and_commit(project: pytest.Pytester) -> None:
    """Without --benchmark-json the results folder has the file, and the summary shows the case. pytest-benchmark's own
    compare shows it, too.
    """
    project.makepyfile(MEASURES)
    noted = ("--roofline-note", "zone=us-east1-b", "--roofline-note", "image=debian 12")
    run = project.runpytest_subprocess(*QUICK, "--roofline-results", "results", "--roofline-label", "here", *noted)
    run.assert_outcomes(passed=1)
    (path,) = (project.path / "results").rglob("*.json")
    assert path.parent.name == "here"
    assert path.name.endswith("Z-nogit.json")
    session = session_of(results(project))
    assert session.measuring_s is not None
    assert session.wall_s is not None
    assert 0 < session.measuring_s < session.wall_s
    assert session.noted == {"zone": "us-east1-b", "image": "debian 12"}
    run.stdout.fnmatch_lines(["*= roofline =*", "*test_mine*", f"results: *{path.name}"])
    compared = project.run(sys.executable, "-m", "pytest_benchmark", "compare", str(path))
    assert compared.ret == 0
    compared.stdout.fnmatch_lines(["*test_mine*"])


def test_a_test_is_marked_with_the_device_it_runs_on(project: pytest.Pytester) -> None:
    """-m cpu takes it; one that is marked for another device is deselected."""
    project.makepyfile(
        MEASURES
        + """
    @pytest.mark.cuda
    def test_cuda(roofline):
        roofline(nn.Linear(8, 4), torch.randn(2, 8))

    def test_plain():
        pass
"""
    )
    run = project.runpytest_subprocess(*QUICK, "-m", "cpu")
    run.assert_outcomes(passed=1, deselected=2)


def test_a_test_without_values_is_deselected_and_told(project: pytest.Pytester) -> None:
    """pytest puts a place holder for an empty parametrisation: it is no case, and counted as left out."""
    project.makepyfile(
        MEASURES
        + """
    @pytest.mark.parametrize("size", [])
    def test_unset(roofline, size):
        pass
"""
    )
    run = project.runpytest_subprocess(*QUICK, "--collect-only", "-q")
    run.stdout.fnmatch_lines(["*::test_mine", "1/2 tests collected (1 deselected)*"])
    run.stdout.no_fnmatch_line("*test_unset*")
    (module,) = project.path.glob("test_*.py")
    run = project.runpytest_subprocess(*QUICK, f"{module.name}::test_unset")
    assert run.ret == 4
    run.stderr.fnmatch_lines(
        [f"ERROR: no case to measure: there are no values for the parameters of {module.name}::test_unset"]
    )


def test_roofs_run_first(project: pytest.Pytester) -> None:
    """Whatever their file is called: every case is placed on them."""
    project.makepyfile(
        test_a=MEASURES,
        test_z="""
            import pytest
            @pytest.mark.roofs
            def test_launch(roofline):
                roofline.roof("launch")
        """,
    )
    run = project.runpytest_subprocess(*QUICK, "-v", "--roofline-results", "results")
    run.stdout.fnmatch_lines(["test_z.py::test_launch PASSED*", "test_a.py::test_mine PASSED*"])
    session = session_of(results(project))
    (roof,) = session.roofs
    assert (roof.name, roof.source, len(roof.samples)) == ("launch", "measured", 3)


def test_a_run_without_roofs_takes_those_measured_last(project: pytest.Pytester) -> None:
    """Of the same machine, with the file they come from."""
    project.makepyfile(
        test_a=MEASURES,
        test_z="def test_launch(roofline): roofline.roof('launch')",
    )
    arguments = (*QUICK, "--roofline-results", "results")
    project.runpytest_subprocess(*arguments, "test_z.py").assert_outcomes(passed=1)
    (first,) = (project.path / "results").rglob("*.json")
    project.runpytest_subprocess(*arguments, "test_a.py").assert_outcomes(passed=1)
    (second,) = set((project.path / "results").rglob("*.json")) - {first}
    session = session_of(json.loads(second.read_text()))
    assert [(roof.name, roof.from_file) for roof in session.roofs] == [("launch", first.name)]


def test_every_case_without_a_number_has_a_reason(project: pytest.Pytester) -> None:
    """Failed, skipped, out of memory, error in a fixture, a precision that the device hasn't, a second call, no call at
    all: each once, with what was said. What was measured before is in the file.
    """
    project.makepyfile(
        MEASURES
        + """
    def test_failed(roofline):
        raise RuntimeError("no good")

    def test_skipped(roofline):
        pytest.skip("not today")

    def test_memory(roofline):
        raise torch.OutOfMemoryError("CUDA out of memory")

    def test_host_memory(roofline):
        torch.empty(2**60)

    @pytest.fixture
    def broken():
        raise ValueError("broken fixture")

    def test_error(broken, roofline):
        pass

    @pytest.mark.roofline(precision="tf32")
    def test_tf32(roofline):
        roofline(nn.Linear(8, 4), torch.randn(2, 8))

    def test_twice(roofline):
        for _ in range(2):
            roofline(nn.Linear(8, 4), torch.randn(2, 8))

    def test_idle(roofline):
        pass
"""
    )
    run = project.runpytest_subprocess(*QUICK, "--roofline-results", "results")
    run.assert_outcomes(passed=1, failed=5, skipped=2, errors=1)
    found = {entry.id: (entry.outcome, entry.reason) for entry in session_of(results(project)).not_measured}
    outcome, reason = found.pop("test_idle")
    assert outcome == "failed"
    assert reason.startswith("this test asks for the roofline fixture and never called it: nothing was measured.")
    outcome, reason = found.pop("test_host_memory")
    assert outcome == "out_of_memory"
    assert "DefaultCPUAllocator: can't allocate memory" in reason
    assert found == {
        "test_failed": ("failed", "RuntimeError: no good"),
        "test_skipped": ("skipped", "not today"),
        "test_memory": ("out_of_memory", "torch.OutOfMemoryError: CUDA out of memory"),
        "test_error": ("error", "ValueError: broken fixture"),
        "test_tf32": ("skipped", "tf32 is not native on cpu: a CPU has no TF32"),
        "test_twice": (
            "failed",
            "RuntimeError: roofline was called before in this test. Measure once a test; parametrise for more.",
        ),
    }
    assert list(records(results(project))) == ["test_mine", "test_twice"]


def test_an_interrupted_run_keeps_what_it_measured(project: pytest.Pytester) -> None:
    """Ctrl-C in the second test: the first is in the file."""
    project.makepyfile(MEASURES + "\n    def test_stop(roofline):\n        raise KeyboardInterrupt\n")
    run = project.runpytest_subprocess(*QUICK, "--roofline-results", "results")
    assert run.ret == 2
    assert list(records(results(project))) == ["test_mine"]


def test_a_run_that_measured_nothing_is_not_green(project: pytest.Pytester) -> None:
    """Everything skipped: exit code 4, the reason, and no file."""
    project.makepyfile("import pytest\ndef test_a(roofline): pytest.skip('not today')")
    run = project.runpytest_subprocess(*QUICK, "--roofline-results", "results")
    assert run.ret == 4
    run.stdout.fnmatch_lines(["ERROR: nothing was measured. 1 case(s) were given up. skipped: not today"])
    assert not list((project.path / "results").rglob("*.json"))


def test_disabled_benchmarks_run_once_where_no_results_were_asked_for(project: pytest.Pytester) -> None:
    """A smoke test in somebody's CI; with a results folder it is an error."""
    project.makepyfile(MEASURES)
    run = project.runpytest_subprocess(*QUICK, "--benchmark-disable")
    assert (run.ret, run.parseoutcomes()) == (0, {"passed": 1})
    run = project.runpytest_subprocess(*QUICK, "--benchmark-disable", "--roofline-results", "results")
    assert run.ret == 4
    run.stderr.fnmatch_lines(["ERROR: --benchmark-disable: nothing would be measured.*"])


def test_the_report_is_made_on_request(project: pytest.Pytester) -> None:
    """--roofline-report draws and prints the paths."""
    project.makepyfile(MEASURES)
    run = project.runpytest_subprocess(*QUICK, "--roofline-results", "results", "--roofline-report")
    run.assert_outcomes(passed=1)
    made = {path.suffix for path in (project.path / "results").rglob("*") if path.is_file()}
    assert {".json", ".csv", ".md"} <= made
    for path in (project.path / "results").rglob("*.csv"):
        run.stdout.fnmatch_lines([f"*{path.name}*"])


def test_an_unusable_results_folder_is_told_before_anything_runs(project: pytest.Pytester) -> None:
    """The file of that name is in the way."""
    project.makepyfile(MEASURES)
    Path(project.path / "results").touch()
    run = project.runpytest_subprocess(*QUICK, "--roofline-results", "results")
    assert run.ret == 4
    run.stderr.fnmatch_lines(["ERROR: --roofline-results: can't write results to results*"])


def test_a_fixture_of_that_name_in_another_project_is_left_alone(pytester: pytest.Pytester) -> None:
    """A project may call something else its roofline."""
    pytester.makeconftest("import pytest\n@pytest.fixture\ndef roofline(): return 42")
    pytester.makepyfile("def test_a(roofline, benchmark): assert benchmark(lambda: roofline) == 42")
    run = pytester.runpytest_subprocess("-p", "no:playwright", "-p", "no:xdist")
    run.assert_outcomes(passed=1)
    assert run.ret == 0


def test_without_pytest_benchmark_the_reason_is_told(project: pytest.Pytester) -> None:
    """Not an internal error."""
    project.makepyfile(MEASURES)
    run = project.runpytest_subprocess(*QUICK, "-p", "no:benchmark")
    assert run.ret == 4
    run.stderr.fnmatch_lines(["ERROR: -p no:benchmark: measuring needs pytest-benchmark*"])


@pytest.mark.parametrize("device", [(), ("--roofline-device", "cpu")])
def test_without_torch_the_reason_is_told(project: pytest.Pytester, device: tuple[str, ...]) -> None:
    """Not an internal error."""
    project.makeconftest("import sys; sys.modules['torch'] = None")
    project.makepyfile("def test_a(roofline):\n    pass")
    run = project.runpytest_subprocess(*device, "-p", "no:xdist", "-p", "no:playwright")
    assert run.ret == 4
    run.stderr.fnmatch_lines(["ERROR: measuring needs torch *imported: * pip install *"])


def test_a_failure_of_pytest_benchmark_loses_no_result(project: pytest.Pytester) -> None:
    """Its own file can't be written any more; ours was written before it tried."""
    project.makepyfile(MEASURES + "        __import__('os').mkdir('out.json')\n")
    project.runpytest_subprocess(*QUICK, "--roofline-results", "results", "--benchmark-json", "out.json")
    assert list(records(results(project))) == ["test_mine"]


def test_flags_without_effect_say_so(project: pytest.Pytester) -> None:
    """In a line each, and the run goes on. What an ini file says is for all runs."""
    project.makepyfile(MEASURES)
    flags = ("--roofline-nvtx", "--roofline-report", "--roofline-protocol", "window", "--roofline-steps", "2")
    more = ("--roofline-perf-path", "perf", "--roofline-gate-options=word", "-o", "roofline_ncu_timeout=5")
    run = project.runpytest_subprocess(*QUICK, *flags, *more)
    run.assert_outcomes(passed=1)
    idle = [line.partition(": no effect: ")[0] for line in run.outlines if ": no effect: " in line]
    assert sorted(idle) == [
        "--roofline-gate-options",
        "--roofline-max-time",
        "--roofline-nvtx",
        "--roofline-perf-path",
        "--roofline-report",
    ]


def _flags_in_help(folder: Path) -> list[str]:
    command = [sys.executable, "-m", "pytest", "--help", "-p", "no:playwright"]
    environment = {**os.environ, "COLUMNS": "200"}
    shown = subprocess.run(command, cwd=folder, env=environment, capture_output=True, text=True, check=True).stdout
    return re.findall(r"^  (--[a-z-]+)", shown, re.MULTILINE)


def test_help_shows_each_setting_once(tmp_path: Path) -> None:
    """By its long flag in other projects, by the short one in this repository."""
    (tmp_path / "pytest.ini").write_text("[pytest]\n")
    abroad, here = _flags_in_help(tmp_path), _flags_in_help(ROOT)
    assert [abroad.count(setting.flag) for setting in SETTINGS] == [1] * len(SETTINGS)
    assert not any(flag in abroad for flag in ("--device", "--protocol", "--max-time"))
    settings = (*SETTINGS, *suite_options.SETTINGS)
    assert [here.count(setting.short_flag) for setting in settings] == [1] * len(settings)
    assert not any(flag.startswith("--roofline-") for flag in here)


DISK_FULL = """
    import pytest, resource, signal, torch
    from torch import nn

    @pytest.mark.parametrize("number", range(3))
    def test_it(roofline, number):
        hard = resource.getrlimit(resource.RLIMIT_FSIZE)[1]
        if number == 1:
            signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
            resource.setrlimit(resource.RLIMIT_FSIZE, (1000, hard))
        if number == 2 and {room}:
            resource.setrlimit(resource.RLIMIT_FSIZE, (hard, hard))
        roofline(nn.Linear(8, 4), torch.randn(2, 8))
"""


@pytest.mark.parametrize(("room", "code", "kept"), [(False, 4, 1), (True, 0, 3)])
def test_a_disk_that_fills_up_is_told_when_it_happens(
    project: pytest.Pytester, room: bool, code: int, kept: int
) -> None:
    """Once, with how much is in the file; the run goes on and shows its table. What fits later is added then."""
    pytest.importorskip("resource", reason="a limit of a file's size, in place of a full disk")
    project.makepyfile(DISK_FULL.replace("{room}", str(room)))
    # Through a pipe: what pytest shows would not fit into a file, either.
    pipe = project.path / "pipe"
    os.mkfifo(pipe)
    with subprocess.Popen(["cat", pipe], stdout=subprocess.PIPE, text=True) as reader:
        arguments = (*QUICK, "-p", "no:cacheprovider", "--roofline-results", "results")
        ran = forked.run("pytest", arguments, project.path, out=str(pipe))
        shown, _ = reader.communicate()
    assert ran.returncode == code, shown + ran.stderr
    lines = shown.splitlines()
    told = [line for line in lines if line.startswith("WARNING: can't write ")]
    assert len(told) == 1
    assert "File too large. 1 of 3 cases are in" in told[0]
    assert any(line.startswith("test_it[0]") for line in lines)
    (path,) = (path for path in (project.path / "results").rglob("*.j*"))
    assert path.suffix == (".json" if room else ".journal")
    assert [row["name"] for row in journal.load(path)["benchmarks"]] == [f"test_it[{place}]" for place in range(kept)]


def test_running_out_of_open_files_loses_nothing(project: pytest.Pytester) -> None:
    """The journal is open from the start. That its JSON can't be made is an error, and so is its exit code."""
    pytest.importorskip("resource", reason="a limit of open files")
    project.makepyfile(
        MEASURES
        + """
    def test_then(roofline):
        import resource
        resource.setrlimit(resource.RLIMIT_NOFILE, (3, resource.getrlimit(resource.RLIMIT_NOFILE)[1]))
        roofline(nn.Linear(8, 4), torch.randn(2, 8))
"""
    )
    run = project.runpytest_subprocess(*QUICK, "-p", "no:cacheprovider", "--roofline-results", "results")
    assert run.ret != 0
    assert "INTERNALERROR" not in run.stdout.str()
    run.stdout.fnmatch_lines(["ERROR: can't write *: Too many open files. 2 of 2 cases are in *.journal*"])
    (path,) = (project.path / "results").rglob("*.journal")
    assert [row["name"] for row in journal.load(path)["benchmarks"]] == ["test_mine", "test_then"]


@pytest.mark.parametrize(
    ("path", "why"),
    [("taken", "Is a directory"), ("file/out.json", "*"), ("/proc/out.json", "*")],
    ids=["folder", "below a file", "read only"],
)
def test_a_file_that_pytest_benchmark_could_not_write_is_refused_before_measuring(
    path: str, why: str, project: pytest.Pytester
) -> None:
    """It is written after all tests, and without a results folder there is no other."""
    if path.startswith("/proc") and not Path("/proc/self").exists():
        pytest.skip("no /proc here")
    project.makepyfile(MEASURES + "        raise AssertionError('it ran')\n")
    project.mkdir("taken")
    (project.path / "file").touch()
    run = project.runpytest_subprocess(*QUICK, "--benchmark-json", path)
    assert run.ret == pytest.ExitCode.USAGE_ERROR
    run.stderr.fnmatch_lines([f"ERROR: --benchmark-json: can't write {path}: {why}. Name another file."])
    assert "it ran" not in run.stdout.str()


def test_the_folder_of_pytest_benchmark_s_file_is_made(project: pytest.Pytester) -> None:
    """As that of the results is."""
    project.makepyfile(MEASURES)
    project.runpytest_subprocess(*QUICK, "--benchmark-json", "no/such/out.json").assert_outcomes(passed=1)
    assert len(json.loads((project.path / "no/such/out.json").read_text())["benchmarks"]) == 1
