"""The process that repeats one test for its counters, without ncu around it."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
import torch

from pytest_roofline.profilers.ncu import child as ncu_child
from pytest_roofline.profilers.ncu.child import MOST_WARMUP_STEPS, WARMUP_STEPS, count_step, warm_up
from pytest_roofline.profilers.ncu.child_request import CHILD, StepRequest
from pytest_roofline.workload import switches
from tests.plugin.fake_run import workload
from tests.plugin.foreign import MEASURES, QUICK
from tests.plugin.measuring.fakes import Lab

COUNTED = ""


def told(
    project: pytest.Pytester, test: str, *arguments: str, file: Path | None = None, in_process: bool = False
) -> str | None:
    """What a process answers that is to count the test.

    :param in_process: quicker; for a project that leaves nothing behind in the interpreter.
    """
    given = StepRequest(test=test, file=file, answer=project.path / "answer")
    with pytest.MonkeyPatch.context() as patch:
        for name, value in given.environment().items():
            patch.setenv(name, value)
        run = project.runpytest_inprocess if in_process else project.runpytest_subprocess
        run("-p", CHILD, *QUICK, *arguments)
    return given.answered()


def test_of_a_run_only_the_step_is_left(project: pytest.Pytester) -> None:
    """No result, report, set, gate or cache; nothing of the run's own files is touched; the test ends at its step."""
    project.makepyfile(
        test_it=MEASURES
        + """
    @pytest.mark.parametrize("what", ["a b-é::[x]", "other"])
    def test_named(roofline, what, tmp_path):
        import os
        open("ran", "a").write(f"{what} {'ROOFLINE_NCU_REQUEST' in os.environ};")
        roofline(nn.Linear(8, 4), torch.randn(2, 8))
        open("ran", "a").write("after")
"""
    )
    (project.path / "base").mkdir()
    perf = project.path / "perf"
    perf.write_text(f"#!/bin/sh\ntouch '{perf}-was-tried'\n")
    perf.chmod(0o755)
    files = ("out.json", "out.xml", "out.log")
    for name in files:
        (project.path / name).write_text("of the run")
    escaped = "a b-é::[x]".encode("unicode_escape").decode()
    answer = told(
        project,
        f"test_it.py::test_named[{escaped}]",
        *("--roofline-results", "results", "--roofline-report", "--roofline-sessions", "3", "--roofline-assert-bounds"),
        *("--roofline-gate", "nowhere", "--roofline-ncu=require", "--benchmark-json", "out.json"),
        *("--junit-xml", "out.xml", "--log-file", "out.log", "--basetemp", "base", "-n0", "-k", "named", "--pdb"),
        *("--roofline-resume", "--roofline-case-timeout", "0.001"),
        *("--roofline-perf-stat", "--roofline-perf-path", str(perf), "-o", f"cache_dir={project.path / 'cache'}"),
    )
    assert answer == COUNTED
    assert (project.path / "ran").read_text() == "a b-é::[x] False;"
    assert not (project.path / "results").exists()
    assert (project.path / "base").exists()
    assert not (project.path / "perf-was-tried").exists()
    assert {(project.path / name).read_text() for name in files} == {"of the run"}


REPORTS = """
    # With the options, and at the times, of pytest-html, pytest-json-report, allure-pytest and pytest-cov.
    from pathlib import Path

    def pytest_addoption(parser):
        parser.addoption("--to-html", dest="htmlpath")
        parser.addoption("--to-json", dest="json_report", action="store_true")
        parser.addoption("--to-allure", dest="allure_report_dir")
        parser.addoption("--measure-coverage", dest="cov_source", action="append")

    def pytest_load_initial_conftests(early_config):
        begin(early_config.known_args_namespace, "cov_source")

    def pytest_configure(config):
        for name in ("htmlpath", "json_report", "allure_report_dir"):
            begin(config.option, name)

    def begin(options, name):
        if getattr(options, name):
            Path(name).write_text("begun anew")
"""


def test_reports_that_the_project_asks_for_stay_those_of_the_run(project: pytest.Pytester) -> None:
    """In its ini file, or in a conftest.py while it is configured; whenever a plugin looks at its options."""
    project.makepyfile(test_it=MEASURES, writes=REPORTS)
    project.makeconftest("def pytest_configure(config): config.option.htmlpath = config.option.xmlpath = 'out.xml'")
    options = "-p writes --to-json --to-allure=x --measure-coverage=src"
    project.makeini(f"[pytest]\nroofline_markers = true\naddopts = --strict-markers -p no:playwright {options}\n")
    names = ("out.xml", "htmlpath", "json_report", "allure_report_dir", "cov_source")
    files = [project.path / name for name in names]
    for file in files:
        file.write_text("of the run")
    assert told(project, "test_it.py::test_mine") == COUNTED
    assert {file.read_text() for file in files} == {"of the run"}
    project.runpytest_subprocess("--collect-only")
    assert "of the run" not in {file.read_text() for file in files}


LIMITS = """
    import pytest

    def pytest_addoption(parser):
        parser.addoption("--timeout", type=float)
        parser.addini("timeout", "seconds")

    def pytest_configure(config):
        config.addinivalue_line("markers", "timeout(seconds): of one test")

    @pytest.hookimpl(wrapper=True)
    def pytest_runtest_protocol(item):
        marker = item.get_closest_marker("timeout")
        limit = item.config.getoption("timeout") if marker is None else marker.args[0]
        open("limit", "w").write(str(float(item.config.getini("timeout") if limit is None else limit)))
        return (yield)
"""
"""Finds a test's limit as pytest-timeout does: by the closest marker, else the option, else the configuration file."""


def test_a_limit_of_the_timed_test_is_none_of_this_one(project: pytest.Pytester) -> None:
    """Under ncu it takes longer: the run has a limit of its own for that. Neither option nor markers count, wherever
    they are.
    """
    project.makeconftest(LIMITS)
    project.makepyfile(
        test_it="""
    import pytest, torch
    from torch import nn

    pytestmark = pytest.mark.timeout(0.3)

    @pytest.mark.timeout(0.4)
    class TestIt:
        @pytest.mark.timeout(0.5)
        def test_mine(self, roofline):
            roofline(nn.Linear(8, 4), torch.randn(2, 8))

    class TestOther:
        def test_mine(self, roofline):
            roofline(nn.Linear(8, 4), torch.randn(2, 8))
"""
    )
    for test, given in (("TestIt", ("--timeout", "0.1")), ("TestOther", ("-o", "timeout=0.2"))):
        assert told(project, f"test_it.py::{test}::test_mine", "-p", "no:timeout", *given) == COUNTED
        assert (project.path / "limit").read_text() == "0.0"


RANGES = """
    import os
    from contextlib import contextmanager
    from pytest_roofline.workload import switches

    @contextmanager
    def noted(device, name):
        with open("ranges", "a") as file:
            file.write(f"{os.getpid()} ")
        yield

    switches.profiled_range = noted
"""


def test_a_loaders_workers_are_never_profiled(project: pytest.Pytester) -> None:
    """ncu follows them, for it follows all that the test starts; only the process with the step says from where on it
    is to count. Only the file of the test is collected where it is named: others may take long.
    """
    project.makeconftest(RANGES)
    project.makepyfile(
        test_it="""
    import os
    import torch
    from torch import nn

    class Rows(torch.utils.data.Dataset):
        def __len__(self):
            return 8

        def __getitem__(self, _index):
            with open("workers", "a") as file:
                file.write(f"{os.getpid()} ")
            return torch.ones(8)

    def test_mine(roofline):
        with open("main", "w") as file:
            file.write(str(os.getpid()))
        batches = iter(torch.utils.data.DataLoader(Rows(), batch_size=2, num_workers=1))
        roofline(nn.Linear(8, 4), next(batches))
"""
    )
    project.makepyfile(test_other="open('collected', 'w')")
    assert told(project, "test_it.py::test_mine", file=project.path / "test_it.py") == COUNTED
    assert not (project.path / "collected").exists()
    main, ranges, workers = ((project.path / name).read_text().split() for name in ("main", "ranges", "workers"))
    assert ranges == main
    assert len(set(workers)) == 1
    assert set(workers).isdisjoint(main)


def test_a_test_outside_of_the_root_is_found_by_the_paths_of_the_run(
    project: pytest.Pytester, tmp_path_factory: pytest.TempPathFactory
) -> None:
    """Its name starts where they lead."""
    outside = tmp_path_factory.mktemp("outside")
    (outside / "sub").mkdir()
    project.makepyfile(test_it=MEASURES)
    (project.path / "test_it.py").rename(outside / "sub" / "test_it.py")
    assert told(project, "sub/test_it.py::test_mine", str(outside), "--rootdir", str(project.path)) == COUNTED


@pytest.mark.parametrize(
    ("body", "problem"),
    [
        ("raise RuntimeError('only here')", "failed: RuntimeError: only here"),
        ("pytest.skip('not today')", "skipped: not today"),
        ("raise torch.OutOfMemoryError('no room')", "out of memory: torch.OutOfMemoryError: no room"),
        ("roofline.roof('launch')", "it measured no model"),
    ],
)
def test_a_test_that_takes_no_step_says_why(project: pytest.Pytester, body: str, problem: str) -> None:
    """In the words that a run would keep."""
    project.makepyfile(test_it=f"import pytest, torch\ndef test_it(roofline):\n    {body}\n")
    assert told(project, "test_it.py::test_it", in_process="roof" not in body) == problem


def test_a_test_that_is_not_collected_again_is_told(project: pytest.Pytester) -> None:
    """Its name may hang on a number that is drawn each time."""
    project.makepyfile(test_it=MEASURES)
    answer = told(project, "test_it.py::test_mine[0x7f01]", in_process=True)
    assert answer == "it was not collected again, 1 others were: its name is another each time"


def test_a_file_that_can_not_be_collected_leaves_no_answer(project: pytest.Pytester) -> None:
    """What pytest wrote says why."""
    project.makepyfile(test_it="import nowhere_to_be_found")
    assert told(project, "test_it.py::test_it", in_process=True) is None


def test_without_a_request_it_refuses_to_run(project: pytest.Pytester) -> None:
    """Somebody named the plugin by hand."""
    project.makepyfile(MEASURES)
    run = project.runpytest_subprocess("-p", CHILD)
    assert run.ret == 4
    run.stderr.fnmatch_lines([f"ERROR: {ncu_child.ALONE}"])


def test_what_is_switched_off_is_named_as_pytest_and_its_plugins_name_it(request: pytest.FixtureRequest) -> None:
    """All but options of plugins that are not installed here."""
    missing = {name for name in ncu_child._OFF if not hasattr(request.config.option, name)}
    assert missing <= {"report_log", "htmlpath", "json_report", "allure_report_dir", "cov_source", "timeout", "reruns"}


# --- the step ---


class Scaled:
    """A step that finds the gradient scale too high ``drops`` times."""

    def __init__(self, drops: int) -> None:
        self.taken = 0
        self._drops = drops

    def __call__(self) -> None:
        self.taken += 1

    def scale(self) -> float | None:
        return float(2 ** max(0, self._drops - self.taken))


@pytest.mark.parametrize(("drops", "taken"), [(0, 5), (4, 5), (5, 6), (7, 8), (99, 30)])
def test_warm_up_lasts_until_the_gradient_scale_stands(drops: int, taken: int) -> None:
    """A step at which it falls leaves its optimiser out; it doesn't last for ever."""
    step = Scaled(drops)
    assert (WARMUP_STEPS, MOST_WARMUP_STEPS) == (5, 30)
    assert warm_up(step, step.scale) == step.taken == taken


def test_one_step_is_in_the_range_on_a_batch_from_before(lab: Lab, monkeypatch: pytest.MonkeyPatch) -> None:
    """Named after the case; what warms up and what fetches data is outside."""
    steps: list[tuple[str, int]] = []

    class Range:
        def __init__(self, device: torch.device, name: str) -> None:
            assert (device.type, name) == ("cpu", "case")

        def __enter__(self) -> None:
            steps.append(("from", lab.steps))

        def __exit__(self, *_: object) -> None:
            steps.append(("to", lab.steps))

    monkeypatch.setattr(switches, "profiled_range", Range)
    fetched: list[int] = []
    load = workload(lab)
    next_batch = load.batches.next

    def fetch() -> Any:
        fetched.append(lab.steps)
        return next_batch()

    monkeypatch.setattr(load.batches, "next", fetch)
    assert count_step(load, "case") is None
    assert fetched[-1] == WARMUP_STEPS
    assert steps == [("from", WARMUP_STEPS), ("to", WARMUP_STEPS + 1)]
    assert len(fetched) == WARMUP_STEPS + 1


def test_a_step_without_its_optimiser_is_not_the_one_to_count(lab: Lab, monkeypatch: pytest.MonkeyPatch) -> None:
    """The scaler skips it where a gradient is not finite."""

    class Scaler:
        """Finds nothing wrong, but in the last step."""

        taken = 0

        def scale(self, loss: torch.Tensor) -> torch.Tensor:
            return loss

        def step(self, _optimizer: torch.optim.Optimizer) -> None:
            self.taken += 1

        def update(self) -> None:
            pass

        def get_scale(self) -> float:
            return 8.0 if self.taken <= WARMUP_STEPS else 4.0

        def set_growth_interval(self, _steps: int) -> None:
            pass

    scaler = Scaler()
    monkeypatch.setattr("pytest_roofline.workload.step._scaler", lambda _workload: scaler)
    load = workload(lab)
    assert count_step(load, "case") == "its optimiser step was skipped: gradients were not finite at the scale 8"
