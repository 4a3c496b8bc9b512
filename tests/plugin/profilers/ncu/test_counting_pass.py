"""When cases are counted, what goes into their records and what a run is told of it."""

from __future__ import annotations

import os
import sys
import weakref
from collections.abc import Callable, Iterator
from pathlib import Path
from types import SimpleNamespace
from typing import Any, cast

import pytest
import torch

from pytest_roofline.profilers.ncu import counting_pass
from pytest_roofline.profilers.ncu.case_counter import CaseCounter
from pytest_roofline.profilers.ncu.counting_pass import NcuPass, preflight, release
from pytest_roofline.profilers.ncu.ncu_run import NotCounted
from pytest_roofline.session.run import Run
from roofline.schema.record import KEY, Counters, Flag, Record
from roofline.schema.record_json import from_json, to_json
from tests.plugin.fake_nvml import FakeNvml
from tests.plugin.profilers.stubs import Stubs
from tests.roofline import build

DENIED = NotCounted("permission_denied", "administrators only")


class FakeRun:
    """The part of a run that counting touches, on a CPU."""

    give_counters = Run.give_counters

    def __init__(self) -> None:
        self.stats: list[Any] = []
        self.announced: list[str] = []
        self.printed: list[str] = []
        self.device = torch.device("cpu")
        self.machine = SimpleNamespace(device=SimpleNamespace(compute_capability="9.0"))
        self.options = SimpleNamespace(ncu_path=None, ncu_timeout=300.0)

    def measure(self, record: Record, test: str = "t.py::test") -> None:
        self.stats.append(SimpleNamespace(fullname=test, extra_info={KEY: to_json(record)}))

    def records(self) -> list[Record]:
        return [from_json(Record, stats.extra_info[KEY], stats.fullname) for stats in self.stats]

    def counters(self) -> list[Counters | None]:
        return [record.counters for record in self.records()]


class FakeCounter:
    """Counts what it is told to: answers in turn, the last for all that follow."""

    def __init__(self, *answers: Counters | NotCounted, unit_check: float | str | NotCounted = 1.0) -> None:
        self.asked: list[tuple[str, str]] = []
        self.checked: list[str] = []
        self._answers = answers
        self._unit_check = unit_check

    def unit_check(self, precision: str) -> float | str:
        self.checked.append(precision)
        if isinstance(self._unit_check, NotCounted):
            raise self._unit_check
        return self._unit_check

    def count(self, test: str, file: Path) -> Counters:
        self.asked.append((test, file.name))
        answer = self._answers[min(len(self.asked), len(self._answers)) - 1]
        if isinstance(answer, NotCounted):
            raise answer
        return answer


OK = Counters(status="ok", source="ncu", flop=1.0)


def passing(run: FakeRun, counter: FakeCounter | Counters, **changes: Any) -> NcuPass:
    return NcuPass(cast(Run, run), cast(CaseCounter, counter), **changes)


def take(counting: NcuPass, test: Callable[[], object], name: str = "t.py::test") -> None:
    """One test's protocol: ``test`` is what runs in it."""
    item = SimpleNamespace(nodeid=name, path=Path(name.partition("::")[0]))
    around: Iterator[object] = counting.pytest_runtest_protocol(cast(pytest.Item, item))
    next(around)
    test()
    with pytest.raises(StopIteration):
        next(around)


def end(counting: NcuPass, exitstatus: int = 0) -> int:
    loop: Iterator[object] = counting.pytest_runtestloop()
    next(loop)
    with pytest.raises(StopIteration):
        next(loop)
    session = SimpleNamespace(exitstatus=exitstatus)
    counting.pytest_sessionfinish(cast(pytest.Session, session))
    return session.exitstatus


def test_a_case_is_counted_after_its_test_by_name_and_file() -> None:
    """Its record keeps all else; the ratio of the product of known size, in the case's precision, stands with it."""
    run, counter = FakeRun(), FakeCounter(OK, unit_check=1.25)
    record = build.record(case=build.case(precision="amp_bf16"))

    def test() -> None:
        run.measure(record)
        assert counter.asked == []

    take(passing(run, counter), test, "sub/t.py::test[a b]")
    assert counter.asked == [("sub/t.py::test[a b]", "t.py")]
    assert counter.checked == ["amp_bf16"]
    (found,) = run.records()
    assert found.counters == Counters(status="ok", source="ncu", flop=1.0, unit_check=1.25)
    assert found.timing == record.timing


@pytest.fixture(autouse=True)
def nothing_held(monkeypatch: pytest.MonkeyPatch) -> None:
    """Collecting the garbage of all tests before takes seconds."""
    monkeypatch.setattr(counting_pass, "release", lambda device: (None, f"not read for {device.type}"))


OUT_OF_MEMORY = NotCounted("failed", "the test failed under ncu: out of memory: no room")


@pytest.mark.parametrize("answer", [OK, OUT_OF_MEMORY, DENIED])
def test_the_memory_that_is_still_held_stands_with_the_counters(
    answer: Counters | NotCounted, monkeypatch: pytest.MonkeyPatch
) -> None:
    """And with their refusal: a process that found no room had what this one left. A case that isn't tried has none."""
    monkeypatch.setattr(counting_pass, "release", lambda _device: (500, None))
    run = FakeRun()
    counting = passing(run, FakeCounter(answer))
    for _ in range(2):
        take(counting, lambda: run.measure(build.record()))
    assert [(one.status, one.context_byte) for one in run.counters() if one is not None] == [
        (answer.status, 500),
        (answer.status, None if answer is DENIED else 500),
    ]


def test_why_nothing_is_known_is_reported() -> None:
    """Of the memory and of the product of known size, beside the reasons that the record has, and without folders."""
    run = FakeRun()
    counter = FakeCounter(OK, unit_check="fp32: /tmp/x/check.csv: no header")
    take(passing(run, counter), lambda: run.measure(build.record(missing={"profile": "not taken"})))
    (found,) = run.records()
    assert found.counters == OK
    assert found.missing == {
        "profile": "not taken",
        "counters.context_byte": "not read for cpu",
        "counters.unit_check": "fp32: check.csv: no header",
    }


def test_of_a_test_that_is_run_again_the_last_time_counts() -> None:
    """It has a result for each; another test's record, and a test that measured nothing, stay what they are."""
    run, counter = FakeRun(), FakeCounter(OK)
    run.measure(build.record())
    take(passing(run, counter), lambda: None)
    assert counter.asked == []
    take(passing(run, counter), lambda: [run.measure(build.record()) for _ in range(2)])
    assert len(counter.asked) == 1
    assert [counters is not None and counters.status == "ok" for counters in run.counters()] == [False, False, True]


INVALID = (Flag(name="f", evidence="e", invalid=True),)


@pytest.mark.parametrize(
    ("record", "reason"),
    [
        (build.record(case=build.case(mode="roof")), "ncu is asked about the steps of models"),
        (build.record(case=build.case(mode="input")), "ncu is asked about the steps of models"),
        (build.record(flags=INVALID), "nothing is counted for a row that is invalid"),
    ],
)
def test_roofs_loaders_and_invalid_rows_are_not_counted(record: Record, reason: str) -> None:
    """There is no step of a model in them, or nobody would look at it."""
    run, counter = FakeRun(), FakeCounter(OK)
    take(passing(run, counter), lambda: run.measure(record))
    assert counter.asked == []
    assert run.counters() == [Counters(status="not_requested", reason=reason)]


def test_where_nothing_can_be_counted_no_case_is_tried() -> None:
    """What the check before the run found goes into each record, roofs too; it was told then, and once."""
    run, refused = FakeRun(), Counters(status="not_found", reason="no ncu")
    counting = passing(run, refused)
    for mode in ("train", "roof"):
        take(counting, lambda mode=mode: run.measure(build.record(case=build.case(mode=mode))))
    assert run.counters() == [refused, refused]
    assert (end(counting), run.printed) == (0, [])


@pytest.mark.parametrize("where", ["case", "check"])
def test_what_every_case_would_meet_is_met_once(where: str) -> None:
    """The second case isn't tried; the run goes on, and is told once."""
    run = FakeRun()
    counter = FakeCounter(DENIED) if where == "case" else FakeCounter(OK, unit_check=DENIED)
    counting = passing(run, counter)
    for _ in range(3):
        take(counting, lambda: run.measure(build.record()))
    assert len(counter.asked) == (1 if where == "case" else 0)
    assert run.counters() == [Counters(status="permission_denied", reason="administrators only")] * 3
    assert end(counting) == 0
    assert run.printed == ["ncu: 3 case(s) permission_denied: administrators only"]


def test_what_one_case_met_another_may_not() -> None:
    """Each is tried; those that met the same stand in one line."""
    run, counter = FakeRun(), FakeCounter(NotCounted("timeout", "long"), OK, NotCounted("timeout", "long"))
    counting = passing(run, counter)
    for _ in range(3):
        take(counting, lambda: run.measure(build.record()))
    assert [counters.status for counters in run.counters() if counters is not None] == ["timeout", "ok", "timeout"]
    assert end(counting) == 0
    assert run.printed == ["ncu: 2 case(s) timeout: long", "ncu: 1 case(s) ok"]


@pytest.mark.parametrize(
    ("status", "exitstatus", "ends"), [("failed", 0, 4), ("missing_metric", 0, 4), ("ok", 0, 0), ("failed", 1, 1)]
)
def test_where_counters_are_required_a_run_without_some_is_not_green(status: Any, exitstatus: int, ends: int) -> None:
    """Exit code 4, unless something worse is told already."""
    run = FakeRun()
    counting = passing(run, FakeCounter(Counters(status=status, reason="why")), required="--ncu")
    take(counting, lambda: run.measure(build.record()))
    assert end(counting, exitstatus) == ends
    error = "ERROR: --ncu: counters are required, and 1 case(s) don't have all of them."
    assert (error in run.printed) == (ends == 4)


@pytest.mark.parametrize(
    ("behaviour", "status", "reason"),
    [
        ("ok", "unsupported_platform", "ncu counts on NVIDIA GPUs; this run measures mps"),
        (None, "unsupported_platform", "ncu counts on NVIDIA GPUs; this run measures mps"),
        ("permission", "permission_denied", "(and ncu counts on NVIDIA GPUs; this run measures mps)"),
    ],
)
def test_elsewhere_than_on_an_nvidia_gpu_nothing_is_counted(
    behaviour: Any, status: str, reason: str, tmp_path: Path
) -> None:
    """The reason is the device; what a GPU would meet is said, too, for a small run on a CPU is how many try."""
    stubs = Stubs(tmp_path)
    if behaviour is not None:
        stubs.ncu(behaviour)
    found = preflight("mps", stubs.system(), None)
    assert found.status == status
    assert reason in found.reason


def test_a_record_names_no_folder_of_the_machine() -> None:
    """It may be published; who runs it sees the whole command."""
    run = FakeRun()
    counting = passing(run, FakeCounter(NotCounted("permission_denied", "run sudo /opt/venv/bin/python -m pytest")))
    take(counting, lambda: run.measure(build.record()))
    end(counting)
    assert run.counters() == [Counters(status="permission_denied", reason="run sudo python -m pytest")]
    assert run.printed == ["ncu: 1 case(s) permission_denied: run sudo /opt/venv/bin/python -m pytest"]


CPU, CUDA = torch.device("cpu"), torch.device("cuda", 0)
UUID = "8c3e6f0a-0000-4000-8000-000000000001"
NOT_TOLD = "NVML has no figure of this process: in a container it has another number, and Windows keeps it"


def test_what_a_failure_holds_is_let_go() -> None:
    """Frames of the last failure hold the model of its test, and cycles hold it till they are looked for."""
    model = torch.nn.Linear(2, 2)
    model.me = model  # type: ignore[assignment]
    error = ValueError("no")
    error.model = model  # type: ignore[attr-defined]
    for name in ("last_exc", "last_value"):
        setattr(sys, name, error)
    alive = weakref.ref(model)
    del model, error
    assert release(CPU) == (None, "not read for cpu")
    assert alive() is None
    assert not any(hasattr(sys, name) for name in ("last_exc", "last_value"))


@pytest.fixture
def allocator(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """torch's, which keeps 10 byte once its cache is emptied."""
    log: list[str] = []
    monkeypatch.setattr(torch.cuda, "empty_cache", lambda: log.append("emptied"))
    monkeypatch.setattr(torch.accelerator, "reset_peak_memory_stats", lambda _device: log.append("reset"))
    monkeypatch.setattr(torch.cuda, "memory_reserved", lambda _device: 10)
    monkeypatch.setattr(torch.cuda, "get_device_properties", lambda _device: SimpleNamespace(uuid=UUID))
    return log


@pytest.mark.parametrize(
    ("nvml", "held"),
    [
        (FakeNvml(UUID, processes={1: 7, os.getpid(): 500}), (500, None)),
        (FakeNvml(UUID, processes={1: 7}), (None, NOT_TOLD)),
        (FakeNvml(UUID, processes={os.getpid(): None}), (None, NOT_TOLD)),
        (FakeNvml(UUID, processes={os.getpid(): 500}, refuses={"nvmlInit": "no"}), (None, "NVML says: no")),
        (
            FakeNvml(
                f"GPU-{UUID}", processes={os.getpid(): 500}, refuses={"nvmlDeviceGetComputeRunningProcesses": "no"}
            ),
            (None, "NVML says: no"),
        ),
        (None, (None, "nvidia-ml-py is not installed")),
    ],
)
def test_what_is_still_held_is_the_drivers_figure_or_unknown(
    allocator: list[str], monkeypatch: pytest.MonkeyPatch, nvml: FakeNvml | None, held: tuple[int | None, str | None]
) -> None:
    """The driver's has the CUDA context in it. In a container it knows this process by another number; what torch knows
    leaves the context out, and is no answer."""
    monkeypatch.setitem(sys.modules, "pynvml", nvml)
    assert release(CUDA) == held
    assert allocator == ["emptied", "reset"]
