"""Counting one case: which processes run under ncu, for what, and what becomes of their failures."""

from __future__ import annotations

import json
import os
import sys
from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from pytest_roofline.device.system import Ended
from pytest_roofline.profilers.diagnosis import Diagnosis
from pytest_roofline.profilers.ncu import case_counter as ncu_case
from pytest_roofline.profilers.ncu import counter_reading
from pytest_roofline.profilers.ncu.case_counter import CaseCounter, Command
from pytest_roofline.profilers.ncu.child_request import VARIABLE
from pytest_roofline.profilers.ncu.ncu_run import NO_METRIC_REMEDY, Ncu, NotCounted, Ran
from pytest_roofline.profilers.ncu.unit_check import FLOP
from roofline.counters.quantities import byte_metrics, flop_metrics
from roofline.schema.record import Counters
from tests.plugin.profilers.stubs import Call, NcuBehaviour, Stubs

ANSWERS = """
import json, os, sys
with open(json.loads(os.environ[{variable!r}])["answer"], "w") as told:
    json.dump([{problem!r}], told)
sys.exit(1)
"""
"""In place of pytest: carries the request out, or says why it can't. That it fails after that is no matter."""

TEST = "sub/test_x.py::test_x[a b]"


class Reading:
    """In place of ``roofline ncu``: what was given to it, and the counters it finds."""

    def __init__(self) -> None:
        self.files: list[tuple[str, ...]] = []
        self.flops: list[float | None] = [1.0]
        """One for each time; the last for all that follow."""
        self.fault: NotCounted | None = None

    def __call__(self, files: Sequence[Path], source: str, *, no_flop: str | None = None) -> Counters:
        assert files[0].exists()
        self.files.append(tuple(file.name for file in files))
        if self.fault is not None:
            raise NotCounted(self.fault.status, self.fault.reason.format(files[0]))
        if no_flop is not None:
            return Counters(status="missing_metric", source=source, reason=f"flop: {no_flop}", dram_byte=7.0)
        return Counters(status="ok", source=source, flop=self.flops[min(len(self.files), len(self.flops)) - 1])

    def of_flops(self, file: Path) -> float:
        flop = self([file], "").flop
        if flop is None:
            raise NotCounted("missing_metric", "no FLOPs")
        return flop


@pytest.fixture
def reading(monkeypatch: pytest.MonkeyPatch) -> Reading:
    reading = Reading()
    monkeypatch.setattr(counter_reading, "of_step", reading)
    monkeypatch.setattr(counter_reading, "of_flops", reading.of_flops)
    return reading


@pytest.fixture
def stubs(tmp_path: Path) -> Stubs:
    return Stubs(tmp_path / "bin")


Make = Callable[..., CaseCounter]


@pytest.fixture
def make(stubs: Stubs, tmp_path: Path) -> Make:
    """A counter of the project in ``tmp_path / "project"``, with a test file in it and one outside."""
    project = tmp_path / "project"
    for path in (project / "sub" / "test_x.py", tmp_path / "outside.py"):
        path.parent.mkdir(parents=True, exist_ok=True)
        path.touch()
    program = tmp_path / "program.py"

    def counter(
        *behaviours: NcuBehaviour,
        problem: str = "",
        rejects: Sequence[str] = (),
        python_path: str | None = None,
        **changes: Any,
    ) -> CaseCounter:
        program.write_text(ANSWERS.format(variable=VARIABLE, problem=problem))
        path = stubs.ncu(*behaviours, rejects=rejects)
        system = stubs.system()
        if python_path is not None:
            system = replace(system, environment={**system.environment, "PYTHONPATH": python_path})
        ncu = Ncu(path=path, version="2025.3", system=system, compute_capability="9.0")
        command = Command(
            start=(sys.executable, "-IS", str(program)),
            arguments=["-k", "x", "sub"],
            folder=project,
            rootpath=project,
            has_cache=True,
        )
        return CaseCounter(ncu, command, "cuda:0", **{"limit_s": 60.0, **changes})

    return counter


def test_bytes_and_flops_are_counted_in_runs_of_their_own(
    make: Make, stubs: Stubs, reading: Reading, tmp_path: Path
) -> None:
    """The first with what a single pass collects; the second with all pipes. The test is repeated by its name, in its
    folder, with the run's arguments; collecting its file alone, and with its own cache. ncu counts between start and
    stop, holds neither clocks nor caches down, and prints in base units.
    """
    file = tmp_path / "project" / "sub" / "test_x.py"
    assert make().count(TEST, file) == Counters(status="ok", source="ncu 2025.3", flop=1.0)
    assert metrics_of(stubs) == [list(byte_metrics("9.0")), list(flop_metrics("9.0", True))]
    assert reading.files == [("bytes.csv", "flop.csv")]
    for call in stubs.calls("ncu"):
        private = call.environment["TMPDIR"]
        assert " ".join(call.arguments).startswith(
            "--profile-from-start off --target-processes all --replay-mode kernel --clock-control none "
            f"--cache-control none --page raw --print-units base --csv --log-file {private}/"
        )
        assert call.cwd == str(tmp_path / "project")
        assert call.environment["LC_ALL"] == "C"
        assert requested(call) == (TEST, str(file))
        assert call.wrapped[-5:] == ["-o", f"cache_dir={private}/cache", "-k", "x", "sub"]
        assert not Path(private).exists()


CHILD = ["-p", "pytest_roofline.profilers.ncu.child"]


@pytest.mark.parametrize(
    ("environment", "words"),
    [
        ({}, []),
        ({"PYTEST_ADDOPTS": "-m 'not slow'"}, ["-m", "not slow"]),
        ({"PYTEST_PLUGINS": "one,two"}, ["-p", "one", "-p", "two"]),
        ({"PYTEST_DISABLE_PLUGIN_AUTOLOAD": "1"}, ["--disable-plugin-autoload"]),
    ],
)
def test_a_test_is_repeated_by_the_command_of_its_run(environment: dict[str, str], words: list[str]) -> None:
    """What the environment added to it stands in it; the run's own arguments are last, and so count."""
    command = Command(
        start=("py", "-m", "pytest"), arguments=["-k", "a b", "tests"], folder=Path(), rootpath=Path(), has_cache=False
    )
    assert list(command.repeated(environment, Path("x"))) == [*command.start, *CHILD, *words, *command.arguments]


@pytest.mark.parametrize("place", ["outside.py", "project", "project/gone.py"])
def test_a_file_that_may_go_by_another_name_is_found_by_the_runs_own_paths(
    make: Make, stubs: Stubs, reading: Reading, tmp_path: Path, place: str
) -> None:
    """Outside of the root a test's name depends on the paths given; and some tests are of no file."""
    make().count(TEST, tmp_path / place)
    assert [requested(call) for call in stubs.calls("ncu")] == [(TEST, None)] * 2
    assert reading.files


def requested(call: Call) -> tuple[str, str | None]:
    """The test that a call of ncu repeats, and the file that is collected for it."""
    request = json.loads(call.environment[VARIABLE])
    return request["test"], request["file"]


def metrics_of(stubs: Stubs) -> list[list[str]]:
    """Those that each call of ncu was asked for."""
    return [call.arguments[call.arguments.index("--metrics") + 1].split(",") for call in stubs.calls("ncu")]


def refused(counter: CaseCounter, folder: Path) -> tuple[str, str]:
    with pytest.raises(NotCounted) as refusal:
        counter.count(TEST, folder)
    return refusal.value.status, refusal.value.reason


@pytest.mark.parametrize(
    ("behaviour", "problem", "status", "reason"),
    [
        # What ncu was refused explains why a test failed; a test that failed, why ncu saw no kernel.
        ("permission", "CUDA error", "permission_denied", "the driver gives its counters to administrators only"),
        ("wsl", "CUDA error", "unsupported_platform", "ncu can't profile this GPU"),
        ("busy", "CUDA error", "lock_conflict", "another program holds the GPU's counters"),
        ("ok", "out of memory", "failed", "the test failed under ncu: out of memory"),
        ("no_kernels", "out of memory", "failed", "the test failed under ncu: out of memory"),
        ("no_kernels", "", "no_kernels", "ncu saw no kernel: "),
        ("crash", "", "failed", "its process ended with exit code -9 before the step; it wrote last: nothing"),
        (None, "", "not_found", "ncu can't be started: No such file or directory"),
    ],
)
def test_what_can_not_be_counted_says_why(
    make: Make,
    stubs: Stubs,
    tmp_path: Path,
    behaviour: NcuBehaviour | None,
    problem: str,
    status: str,
    reason: str,
) -> None:
    """After a first failure the second run is left out: it would fail as well."""
    counter = make(behaviour or "ok", problem=problem)
    if behaviour is None:
        (stubs.folder / "ncu").unlink()
    found, why = refused(counter, tmp_path)
    assert found == status
    assert why.startswith(reason)
    assert why.endswith(". The test ran on cuda:0") == (status == "no_kernels")
    assert len(stubs.calls("ncu")) == (behaviour is not None)


def test_a_program_that_never_answered_is_reported_with_its_last_words(tmp_path: Path) -> None:
    """Its exit code, and the last lines it wrote."""
    ended = Ended(code=3, out="\n".join(f"line {number}" for number in range(9)), err="end\n")
    ran = Ran(ended=ended, log=tmp_path, limit_s=1.0, complaint=Diagnosis("ncu", "no_kernels"))
    with pytest.raises(NotCounted, match=r"exit code 3 before the step; it wrote last: line 5 / .* / line 8 / end$"):
        ran.refuse(None)


def test_the_time_limit_is_for_both_runs_together(make: Make, reading: Reading, tmp_path: Path) -> None:
    """What the first has taken the second doesn't get; the limit told is the one that was asked for."""
    readings = iter([0.0, 0.0, 5.0])
    found = make(limit_s=4.0, clock=lambda: next(readings)).count(TEST, tmp_path)
    assert (found.status, found.reason) == ("missing_metric", "flop: under ncu its test had not ended after 4 s")
    assert reading.files == [("bytes.csv",)]


@pytest.mark.parametrize(
    ("behaviour", "why"), [("hang", "under ncu its test had not ended after 4 s"), ("busy", "DCGM")]
)
def test_a_run_for_flops_that_fails_leaves_the_bytes(
    make: Make, reading: Reading, tmp_path: Path, behaviour: NcuBehaviour, why: str
) -> None:
    """They were counted before; why there are no FLOPs is told."""
    readings = iter([0.0, 0.0, 3.5])
    found = make("ok", behaviour, limit_s=4.0, clock=lambda: next(readings)).count(TEST, tmp_path)
    assert (found.status, found.dram_byte, found.flop) == ("missing_metric", 7.0, None)
    assert found.reason is not None
    assert why in found.reason
    assert reading.files == [("bytes.csv",)]


def test_a_metric_that_ncu_does_not_know_is_left_out_and_the_run_repeated(
    make: Make, stubs: Stubs, reading: Reading, tmp_path: Path
) -> None:
    """Each metric is asked for once in all cases; FLOPs without one of their pipes are not summed, and it is named.
    What helps is said as where ncu itself gives the reason.
    """
    first, second = byte_metrics("9.0")[-1], flop_metrics("9.0", True)[-1]
    counter = make(rejects=[first, second])
    for runs in (4, 6):
        found = counter.count(TEST, tmp_path)
        assert (found.status, found.flop) == ("missing_metric", None)
        lacking = f"flop: this ncu or this GPU lacks {second}; this ncu or this GPU lacks {first}"
        assert found.reason == f"{lacking}. {NO_METRIC_REMEDY}"
        assert len(stubs.calls("ncu")) == runs
    asked = metrics_of(stubs)
    assert asked[1] == [name for name in asked[0] if name != first]
    assert asked[3] == [name for name in asked[2] if name != second]
    assert asked[4:] == [asked[1], asked[3]]
    assert reading.files == [("bytes.csv", "flop.csv")] * 2


def test_a_metric_that_ncu_refuses_is_the_reason_that_nothing_can_be_read(
    make: Make, reading: Reading, tmp_path: Path
) -> None:
    """And not what its absence does to the file, where none is left that could be asked for."""
    reading.fault = NotCounted("failed", "what ncu wrote can't be read: no header")
    status, _ = refused(make("unknown_metric"), tmp_path)
    assert status == "missing_metric"


def test_what_can_not_be_read_is_told(make: Make, reading: Reading, tmp_path: Path) -> None:
    """In the words of the reader, without the folder: nobody can look into it any more."""
    reading.fault = NotCounted("failed", "{}: no header")
    assert refused(make(), tmp_path) == ("failed", "bytes.csv: no header")


def test_without_a_folder_for_temporary_files_nothing_is_counted(
    make: Make, stubs: Stubs, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    """The case keeps what was measured, and gets a reason."""

    def full(_prefix: str) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(ncu_case, "private_folder", full)
    assert refused(make(), tmp_path) == (
        "failed",
        "no folder for temporary files can be made: No space left on device",
    )
    assert stubs.calls("ncu") == []


# --- the unit of the counters ---


@pytest.fixture
def products(monkeypatch: pytest.MonkeyPatch) -> None:
    """Matrix products that take no time: the program under ncu only ends well."""
    monkeypatch.setattr(ncu_case.unit_check, "__name__", "this")


@pytest.mark.usefixtures("products")
def test_each_dtype_is_checked_once(make: Make, stubs: Stubs, reading: Reading) -> None:
    """By a process of its own, on the run's device, with the metrics that count it."""
    reading.flops = [FLOP * 1.5]
    counter = make()
    checks = [counter.unit_check(name) for name in ("amp_bf16", "bf16", "fp32")]
    assert checks == [1.5] * 3
    calls = stubs.calls("ncu")
    assert [call.wrapped[1:] for call in calls] == [
        ["-P", "-m", "this", "bf16", "cuda:0"],
        ["-P", "-m", "this", "fp32", "cuda:0"],
    ]
    assert metrics_of(stubs) == [list(flop_metrics("9.0", True))] * 2


@pytest.mark.usefixtures("products")
def test_of_several_dtypes_the_worst_counts(make: Make, reading: Reading) -> None:
    """The one farthest from 1, in either direction."""
    reading.flops = [FLOP * 1.01, FLOP * 0.5]
    assert make().unit_check("torch_default") == 0.5
    reading.flops = [None, None, FLOP, None]
    assert make().unit_check("torch_default") == 1.0
    assert make().unit_check("torch_default") == "fp32: no FLOPs; tf32: no FLOPs"


@pytest.mark.usefixtures("products")
@pytest.mark.parametrize(
    ("behaviour", "why"),
    [
        ("no_kernels", "ncu saw no kernel"),
        ("silent", "ncu wrote no file, and ended with exit code 0"),
        ("crash", "its process ended with exit code -9 before the step"),
    ],
)
def test_a_check_that_fails_costs_nothing_but_itself(
    make: Make, stubs: Stubs, behaviour: NcuBehaviour, why: str
) -> None:
    """It isn't tried again, and cases are counted. It tells why."""
    counter = make(behaviour)
    first, second = (counter.unit_check("fp32") for _ in range(2))
    assert first == second
    assert str(first).startswith(f"fp32: {why}")
    assert len(stubs.calls("ncu")) == 1


@pytest.mark.usefixtures("products")
def test_where_nothing_can_be_counted_the_check_says_so(make: Make) -> None:
    """Every case would be told the same."""
    with pytest.raises(NotCounted) as refusal:
        make("permission").unit_check("fp32")
    assert refusal.value.status == "permission_denied"


@pytest.mark.usefixtures("products")
def test_a_check_that_can_not_be_read_or_summed_says_so(make: Make, reading: Reading) -> None:
    """Without the folder, which is gone; FLOPs without one of their pipes are not compared with all of them."""
    reading.fault = NotCounted("failed", "{}: no header")
    assert make().unit_check("fp32") == "fp32: check.csv: no header"
    reading.fault = None
    lacking = flop_metrics("9.0", True)[-1]
    check = make(rejects=[lacking]).unit_check("fp32")
    assert check == f"fp32: this ncu or this GPU lacks {lacking}"


def test_the_product_is_found_where_only_the_sources_are(make: Make, stubs: Stubs) -> None:
    """By the folders of these packages, before those that the user has; nothing of the project's folder is imported."""
    counter = make("crash", python_path="own")
    counter.unit_check("fp32")
    (call,) = stubs.calls("ncu")
    *places, last = call.environment["PYTHONPATH"].split(os.pathsep)
    assert str(Path(ncu_case.__file__).parents[3]) in places
    assert (last, call.wrapped[1:4]) == ("own", ["-P", "-m", "pytest_roofline.profilers.ncu.unit_check"])
