"""Cases that workers of pytest-xdist measure, each on its own device, and the one file that the controller makes."""

from __future__ import annotations

import json
import sys
from dataclasses import asdict
from typing import Any

import pytest

from pytest_roofline.device import cpus
from roofline.results import journal
from roofline.schema.record import KEY, Record
from roofline.schema.record_json import from_json
from roofline.schema.session import Machine
from tests.plugin.foreign import HANGS, MEASURES, QUICK, records, results, session_of

pytest.importorskip("xdist")
pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="workers are kept to cores of their own on Linux")

SAVED = (*QUICK, "--roofline-results", "results")

MATRIX = """
    import os
    import pytest, torch
    from torch import nn

    @pytest.mark.parametrize("mode", ["train", "infer"])
    @pytest.mark.parametrize("batch", [2, 4, 8])
    def test_mlp(roofline, mode, batch):
        model = nn.Sequential(nn.Linear(64, 32), nn.ReLU(), nn.Linear(32, 10))
        target = torch.randint(10, (batch,)) if mode == "train" else None
        cores = ",".join(map(str, sorted(os.sched_getaffinity(0))))
        roofline(model, torch.randn(batch, 64), target=target, mode=mode, config={"worker": "none"})
        with open("cores.txt", "a") as file:
            print(cores, torch.get_num_threads(), file=file)
"""

FALLS = f"""{HANGS}
    import os, signal, torch
    from torch import nn

    def step(roofline):
        roofline(nn.Linear(8, 4), torch.randn(2, 8))

    def test_a(roofline):
        step(roofline)

    def test_b(roofline):
        fall()
        step(roofline)

    def test_c(roofline):
        step(roofline)

    def test_d(roofline):
        step(roofline)
"""


def counted(record: Record) -> dict[str, Any]:
    """What is the same however often a case is measured, and on whichever cores."""
    proven = [(check.name, check.status) for check in record.checks]
    assert record.work is not None
    return {
        "case": asdict(record.case),
        "work": asdict(record.work),
        "checks": proven,
        "operations": [(one.name, one.shape, one.calls, one.flop, one.byte) for one in record.operations],
    }


@pytest.mark.skipif(len(cpus.AT_START) < 2, reason="two workers need two cores")
def test_two_workers_measure_what_one_process_does(project: pytest.Pytester) -> None:
    """Ids, counted work and proofs are the same, in pytest-benchmark's own file, too. Each worker has cores of its own,
    and the rows of both are marked, for they share a socket.
    """
    project.makepyfile(MATRIX)
    project.runpytest_subprocess(*SAVED).assert_outcomes(passed=6)
    alone = results(project)
    (project.path / "cores.txt").unlink()
    for path in (project.path / "results").rglob("*.json"):
        path.unlink()
    run = project.runpytest_subprocess(*SAVED, "-n", "2", "--benchmark-json", "own.json")
    run.assert_outcomes(passed=6)
    assert run.ret == 0
    run.stderr.no_fnmatch_line("*automatically disabled*")
    together = results(project)
    rows, before = records(together), records(alone)
    assert {name: counted(row) for name, row in rows.items()} == {name: counted(row) for name, row in before.items()}
    assert records(json.loads((project.path / "own.json").read_text())).keys() == rows.keys()
    assert all(row.valid for row in rows.values())
    assert {flag.name for row in rows.values() for flag in row.flags} >= {"shared_host"}
    assert session_of(together).complete
    assert session_of(together).planned == 6
    used = {line.rsplit(maxsplit=1)[0] for line in (project.path / "cores.txt").read_text().splitlines()}
    first, second = (set(cores.split(",")) for cores in used)
    assert (len(first), first & second) == (len(second), set())
    machine = from_json(Machine, together["machine_info"][KEY], "f")
    assert machine.limits["affinity_cpus"] == len(first)
    assert machine.fingerprint != from_json(Machine, alone["machine_info"][KEY], "f").fingerprint


def test_the_variable_of_xdist_decides_for_auto(project: pytest.Pytester, monkeypatch: pytest.MonkeyPatch) -> None:
    """As without our flags: more workers than there are devices are refused then."""
    config = project.parseconfigure("--roofline-device", "cpu", "-n", "auto")
    config.option.numprocesses = "auto"  # pytest-xdist takes its answer over
    assert config.hook.pytest_xdist_auto_num_workers(config=config) < 77
    monkeypatch.setenv("PYTEST_XDIST_AUTO_NUM_WORKERS", "77")
    assert config.hook.pytest_xdist_auto_num_workers(config=config) == 77


@pytest.mark.parametrize(
    ("falls", "outcome", "reason"),
    [
        ("os.kill(os.getpid(), signal.SIGKILL)", "error", "its process died"),
        ("hang()", "timeout", "it was still running after 20 s (--roofline-case-timeout)"),
    ],
    ids=["dies", "hangs"],
)
@pytest.mark.usefixtures("forked_children")
def test_a_worker_that_dies_loses_its_case_alone(
    project: pytest.Pytester, falls: str, outcome: str, reason: str
) -> None:
    """Its successor has its device, and measures what is left; the exit code tells that one case is lost."""
    project.makepyfile(f"{FALLS}\n    def fall():\n        {falls}\n")
    run = project.runpytest_subprocess(*SAVED, "-n", "1", "--roofline-case-timeout", "20")
    run.assert_outcomes(passed=3, failed=1)
    assert run.ret == 1
    document = results(project)
    assert sorted(records(document)) == ["test_a", "test_c", "test_d"]
    (lost,) = session_of(document).not_measured
    assert (lost.id, lost.outcome, lost.reason) == ("test_b", outcome, reason)
    assert session_of(document).complete
    assert "shared_host" not in {flag.name for row in records(document).values() for flag in row.flags}


@pytest.mark.usefixtures("forked_children")
def test_a_controller_that_dies_loses_nothing(project: pytest.Pytester, monkeypatch: pytest.MonkeyPatch) -> None:
    """What its workers had measured is in the journal, and the run is resumed by workers."""
    falls = (
        "os.environ.get('FALLS') and os.kill(os.getppid(), signal.SIGKILL) or os.environ.get('FALLS') and time.sleep(9)"
    )
    project.makepyfile(f"{FALLS}\n    def fall():\n        {falls}\n")
    monkeypatch.setenv("FALLS", "yes")
    project.runpytest_subprocess(*SAVED, "-n", "1")
    (left,) = (project.path / "results").rglob("*.journal")
    assert [row["name"] for row in journal.load(left)["benchmarks"]] == ["test_a"]
    monkeypatch.delenv("FALLS")
    run = project.runpytest_subprocess(*SAVED, "-n", "1", "--roofline-resume")
    run.assert_outcomes(passed=3)
    document = results(project)
    assert sorted(records(document)) == ["test_a", "test_b", "test_c", "test_d"]
    assert session_of(document).complete
    assert session_of(document).not_measured == ()


DIES_COLLECTED = """
    import os, signal
    from pathlib import Path
    import pytest

    @pytest.hookimpl(trylast=True)
    def pytest_collection_finish(session):
        if hasattr(session.config, "workerinput") and not Path("died").exists():
            Path("died").touch()
            os.kill(os.getpid(), signal.SIGKILL)
"""


@pytest.mark.usefixtures("forked_children")
def test_a_worker_that_dies_once_it_has_collected_loses_nothing(project: pytest.Pytester) -> None:
    """The test that pytest-xdist takes for the one it ran is measured when the run is resumed."""
    project.makeconftest(DIES_COLLECTED)
    project.makepyfile(f"{FALLS}\n    def fall():\n        pass\n")
    run = project.runpytest_subprocess(*SAVED, "-n", "1")
    run.assert_outcomes(passed=3, failed=1)
    run.stdout.fnmatch_lines(["test_a: its process died before the test began: --roofline-resume goes on with it"])
    assert run.ret == 1
    before = session_of(results(project))
    assert (before.not_measured, before.not_run) == ((), ("test_a",))
    run = project.runpytest_subprocess(*SAVED, "-n", "1", "--roofline-resume")
    run.assert_outcomes(passed=1)
    assert run.ret == 0
    assert sorted(records(results(project))) == ["test_a", "test_b", "test_c", "test_d"]
    assert session_of(results(project)).complete


@pytest.mark.usefixtures("forked_children")
def test_ctrl_c_while_workers_end_hides_nothing(project: pytest.Pytester) -> None:
    """It may come in the seconds that they take to end."""
    project.makeconftest(
        "def pytest_sessionfinish(session):\n"
        "    if not hasattr(session.config, 'workerinput'):\n"
        "        raise KeyboardInterrupt\n"
    )
    project.makepyfile(MEASURES)
    run = project.runpytest_subprocess(*SAVED, "-n", "1")
    assert run.ret == 2
    run.stdout.fnmatch_lines(["results: *.json", "*1 passed*"])


ONE_CORE = """
    from pytest_roofline.device import cpus
    cpus.AT_START = frozenset([min(cpus.AT_START)])
"""


@pytest.mark.parametrize(
    ("more", "told"),
    [
        (("-n", "2"), "-n: 2 workers are too many for the processes' 1 cores*Use -n 1 at most."),
        (("-n", "1", "--dist", "each"), "--dist each: each case would be in the results several times.*"),
        (("-n", "1", "--roofline-ncu=require"), "--roofline-ncu: counters are read by one process at a time.*"),
        (("-n", "1", "-k", "nothing"), "no case is left to measure: 1 were collected*"),
        (("-n", "1", "--roofline-device", "mps"), "*MPS*"),
    ],
    ids=["too many", "each", "ncu", "empty", "no device"],
)
@pytest.mark.usefixtures("forked_children")
def test_what_workers_cannot_measure_is_a_usage_error(
    project: pytest.Pytester, more: tuple[str, ...], told: str
) -> None:
    """Told once, by the controller, before any test; nothing is left in the results folder."""
    project.makeconftest(ONE_CORE)
    project.makepyfile(MEASURES)
    run = project.runpytest_subprocess(*SAVED, *more)
    assert run.ret == 4
    run.stderr.fnmatch_lines([f"ERROR: {told}"])
    assert not [one for one in (project.path / "results").rglob("*") if one.is_file()]


@pytest.mark.usefixtures("forked_children")
def test_tests_that_measure_nothing_are_left_alone(project: pytest.Pytester) -> None:
    """As many workers as were asked for, and nothing of them is kept to a device."""
    project.makeconftest(ONE_CORE)
    project.makepyfile("import os\ndef test_a(): assert os.sched_getaffinity(0) == os.sched_getaffinity(os.getppid())")
    run = project.runpytest_subprocess(*SAVED, "-n", "2")
    run.assert_outcomes(passed=1)
    assert run.ret == 0


@pytest.mark.usefixtures("forked_children")
def test_roofs_are_measured_by_a_worker(project: pytest.Pytester) -> None:
    """They are in the file, with the sample that it takes once more at its end."""
    project.makepyfile(
        MEASURES
        + """
    @pytest.mark.roofs
    def test_launch(roofline):
        roofline.roof("launch")
"""
    )
    project.runpytest_subprocess(*SAVED, "-n", "1").assert_outcomes(passed=2)
    (roof,) = session_of(results(project)).roofs
    assert (roof.name, len(roof.samples)) == ("launch", 2)


ROOFS_LAST = """
    import pytest, torch
    from torch import nn

    def note(what):
        with open("order.txt", "a") as file:
            print(what, file=file)

    @pytest.mark.parametrize("number", range(6))
    def test_it(roofline, number):
        note("case")
        roofline(nn.Linear(8, 4), torch.randn(2, 8))

    @pytest.mark.roofs
    @pytest.mark.parametrize("name", ["launch", "other"])
    def test_roof(roofline, name):
        note("roof")
        if name == "other":
            pytest.skip("there is none")
        roofline.roof(name)
"""


@pytest.mark.skipif(len(cpus.AT_START) < 2, reason="two workers need two cores")
@pytest.mark.usefixtures("forked_children")
def test_no_worker_begins_a_case_before_the_roofs_are_measured(project: pytest.Pytester) -> None:
    """Though the other worker has them all: bounds are asserted right after a case."""
    project.makepyfile(ROOFS_LAST)
    project.runpytest_subprocess(*SAVED, "-n", "2").assert_outcomes(passed=7, skipped=1)
    assert (project.path / "order.txt").read_text().split() == ["roof", "roof", *["case"] * 6]
