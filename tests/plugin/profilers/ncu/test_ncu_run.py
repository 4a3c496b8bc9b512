"""What is made of what a program under ncu leaves."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from pytest_roofline.device.system import Ended
from pytest_roofline.profilers.ncu.child_request import Answer
from pytest_roofline.profilers.ncu.ncu_run import Ncu, NotCounted, Ran, ncu_command, pytest_command
from tests.plugin.profilers.stubs import NcuBehaviour, Stubs

COUNTED = Answer(problem=None)
SAYS_HELLO = ("/bin/echo", "hello")


@pytest.fixture
def stubs(tmp_path: Path) -> Stubs:
    return Stubs(tmp_path / "bin")


def ran(stubs: Stubs, folder: Path, *behaviours: NcuBehaviour, limit_s: float = 60.0) -> Ran:
    ncu = Ncu(path=stubs.ncu(*behaviours), version="2025.3", system=stubs.system())
    return ncu.run(SAYS_HELLO, ("a.sum",), log=folder / "log.csv", variables={"ORDER": "1"}, limit_s=limit_s)


def refused(of: Ran, answer: Answer | None) -> tuple[str, str]:
    with pytest.raises(NotCounted) as refusal:
        of.refuse(answer)
    return refusal.value.status, refusal.value.reason


def test_a_program_that_was_counted_is_not_refused(stubs: Stubs, tmp_path: Path) -> None:
    """ncu gets the program, the metrics and a log; the program the variables."""
    found = ran(stubs, tmp_path)
    found.refuse(COUNTED)
    assert found.ended.out == "hello"
    assert '"a.sum"' in found.log.read_text()
    (call,) = stubs.calls("ncu")
    assert call.wrapped == list(SAYS_HELLO)
    assert [call.environment[name] for name in ("ORDER", "TMPDIR", "LC_ALL")] == ["1", str(tmp_path), "C"]


def test_a_metric_that_ncu_does_not_know_is_no_reason_to_drop_the_others(stubs: Stubs, tmp_path: Path) -> None:
    """Whoever reads the CSV sees what there is."""
    found = ran(stubs, tmp_path, "unknown_metric")
    found.refuse(COUNTED)
    assert found.complaint.status == "missing_metric"
    assert refused(found, None)[0] == "missing_metric"


@pytest.mark.parametrize("behaviour", ["permission", "wsl", "busy"])
def test_a_test_that_failed_for_ncu_is_not_the_reason(stubs: Stubs, tmp_path: Path, behaviour: NcuBehaviour) -> None:
    """What ncu was refused explains both."""
    status, reason = refused(ran(stubs, tmp_path, behaviour), Answer(problem="CUDA error"))
    assert status != "failed"
    assert "CUDA error" not in reason


@pytest.mark.parametrize("behaviour", ["ok", "no_kernels"])
def test_a_test_that_failed_is_the_reason_that_nothing_was_counted(
    stubs: Stubs, tmp_path: Path, behaviour: NcuBehaviour
) -> None:
    """And not that ncu saw no kernel."""
    assert refused(ran(stubs, tmp_path, behaviour), Answer(problem="out of memory: no room")) == (
        "failed",
        "the test failed under ncu: out of memory: no room",
    )


def test_that_the_test_ended_with_an_error_is_no_failure_of_ncu(stubs: Stubs, tmp_path: Path) -> None:
    """It may have failed after its step was counted."""
    ncu = Ncu(path=stubs.ncu(), version=None, system=stubs.system())
    found = ncu.run(("/bin/false",), ("a.sum",), log=tmp_path / "log.csv", variables={}, limit_s=60.0)
    assert "returned an error code" in found.log.read_text()
    found.refuse(COUNTED)


def test_a_program_that_never_answered_is_told_with_its_last_words(stubs: Stubs, tmp_path: Path) -> None:
    """Its exit code, and the last lines it wrote."""
    found = ran(stubs, tmp_path)
    found = replace(found, ended=Ended(code=3, out="\n".join(f"line {number}" for number in range(9)), err="end\n"))
    assert refused(found, None) == (
        "failed",
        "its process ended with exit code 3 before the step; it wrote last: line 5 / line 6 / line 7 / line 8 / end",
    )


def test_an_ncu_that_writes_nothing_is_told(stubs: Stubs, tmp_path: Path) -> None:
    """Though the program did its part and nobody complains."""
    assert refused(ran(stubs, tmp_path, "silent"), COUNTED) == (
        "failed",
        "ncu wrote no file, and ended with exit code 0",
    )


def test_at_its_time_limit_a_program_is_stopped(stubs: Stubs, tmp_path: Path) -> None:
    """With all that it started; whether it had answered makes no difference."""
    found = ran(stubs, tmp_path, "hang", limit_s=0.5)
    assert refused(found, COUNTED) == ("timeout", "under ncu it had not ended after 0.5 s")


def test_an_ncu_that_is_gone_is_told(stubs: Stubs, tmp_path: Path) -> None:
    """With the system's reason."""
    ncu = Ncu(path=tmp_path / "gone", version=None, system=stubs.system())
    found = ncu.run(SAYS_HELLO, ("a.sum",), log=tmp_path / "log.csv", variables={}, limit_s=60.0)
    assert refused(found, None) == ("not_found", "ncu can't be started: No such file or directory")


CHILD = ["-p", "pytest_roofline.profilers.ncu.child"]


def test_ncu_counts_between_start_and_stop_and_holds_nothing_down() -> None:
    """Neither clocks nor caches are touched; numbers are in base units; the CSV goes to a file of its own."""
    command = ncu_command(Path("/opt/ncu"), ("python", "-m", "pytest", "-x"), ("a.sum", "b.sum"), Path("/t/log.csv"))
    assert " ".join(command) == (
        "/opt/ncu --profile-from-start off --target-processes all --replay-mode kernel --clock-control none "
        "--cache-control none --page raw --print-units base --csv --log-file /t/log.csv --metrics a.sum,b.sum "
        "python -m pytest -x"
    )


@pytest.mark.parametrize(
    ("environment", "cache", "words"),
    [
        ({}, None, [*CHILD, "-k", "a b", "tests"]),
        ({}, Path("/t/cache"), [*CHILD, "-o", "cache_dir=/t/cache", "-k", "a b", "tests"]),
        ({"PYTEST_ADDOPTS": "-m 'not slow'"}, None, [*CHILD, "-m", "not slow", "-k", "a b", "tests"]),
        ({"PYTEST_PLUGINS": "one,two"}, None, [*CHILD, "-p", "one", "-p", "two", "-k", "a b", "tests"]),
        ({"PYTEST_DISABLE_PLUGIN_AUTOLOAD": "1"}, None, [*CHILD, "--disable-plugin-autoload", "-k", "a b", "tests"]),
    ],
)
def test_a_test_is_repeated_by_the_command_of_its_run(
    environment: dict[str, str], cache: Path | None, words: list[str]
) -> None:
    """What the environment added to it stands in it; the run's own arguments are last, and so count."""
    command = pytest_command(("py", "-m", "pytest"), ["-k", "a b", "tests"], environment, cache=cache)
    assert list(command) == ["py", "-m", "pytest", *words]
