"""Kill runs of a fast suite at random moments, and count the finished cases that their results lack.

Killed are runs of one process; of pytest-xdist's controller with two workers; and of such a run one worker, after which
the others go on. Each test notes its beginning in a file of its process, so that it is known from outside of the plugin
which have ended: all that a process began before its last. The runs are forks of one process that has loaded torch.
"""

from __future__ import annotations

import os
import random
import signal
import tempfile
import time
from collections.abc import Callable, Sequence
from contextlib import redirect_stderr, redirect_stdout, suppress
from pathlib import Path
from typing import Any

from benchmarks.figures import Figure

CASES = 10

SUITE = f"""
import os
import pytest, torch
from torch import nn

@pytest.mark.parametrize("number", range({CASES}))
def test_it(roofline, number):
    with open(f"begun/{{os.getpid()}}", "a") as file:
        print(number, file=file)
    layers = [layer for width in range(8, 24) for layer in (nn.Linear(width, width + 1), nn.ReLU())]
    roofline(nn.Sequential(*layers), torch.randn(2, 8))
"""

ARGUMENTS = [
    *("-q", "-p", "no:cacheprovider", "--roofline-device", "cpu", "--roofline-results", "results"),
    *("--roofline-max-time", "0.01", "--roofline-warmup", "1", "--roofline-roofs", "off"),
]

TWO_WORKERS = ["-n", "2"]

LIMIT_S = 300.0
"""A run has ended by then, or hangs."""


class KillError(RuntimeError):
    """A run did not do what it should have done before or after the kill."""


def run(*, quick: bool) -> tuple[Figure, ...]:
    moments = random.Random(20261129)
    with tempfile.TemporaryDirectory() as name:
        case_s = _whole(Path(name, "whole"))

        def kill(what: str, times: int, lost_by_one: Callable[[Path, float], int]) -> Figure:
            lost = 0
            for number in range(1, times + 1):
                # In cases begun: from the first one's beginning until the last one has ended.
                moment = moments.uniform(1, CASES + 1)
                lost += lost_by_one(Path(name, f"{what}-{number}"), moment)
                print(f"{number} of {times} kills of {what}: {lost} finished cases lost so far", flush=True)
            return Figure(
                name=f"finished cases lost in {times} kills of {what}", unit="", samples=(float(lost),), at_most=0.0
            )

        return (
            kill("a run", 1 if quick else 30, lambda folder, moment: _by_a_run(folder, [], moment, case_s)),
            kill(
                "xdist's controller",
                1 if quick else 15,
                lambda folder, moment: _by_a_run(folder, TWO_WORKERS, moment, case_s),
            ),
            kill(
                "a worker of xdist",
                1 if quick else 15,
                lambda folder, moment: _by_a_worker(folder, moment, case_s, moments),
            ),
        )


def journal(*, quick: bool) -> tuple[Figure, ...]:  # noqa: ARG001 - it is quick
    """Measure what a finished case costs to be kept."""
    with tempfile.TemporaryDirectory() as name:
        whole = Path(name, "whole")
        _whole(whole)
        saving = tuple(map(float, Path(whole, "saving").read_text().split()))
    return (Figure(name="writing the journal, a case", unit="s", samples=saving, at_most=0.005),)


def _whole(folder: Path) -> float:
    """Let a run come to its end; seconds a case.

    :raises KillError: it lacks a case.
    """
    start = time.perf_counter()
    _end(_forked(folder, ARGUMENTS), folder, codes=(0,))
    took_s = time.perf_counter() - start
    if (found := len(_measured(folder))) != CASES:
        raise KillError(f"a run that was not killed has {found} of {CASES} cases")
    return took_s / CASES


def _by_a_run(folder: Path, more: Sequence[str], moment: float, case_s: float) -> int:
    """Kill the process that keeps the results, and with it what it started.

    :returns: how many finished cases its results lack.
    """
    child = _forked(folder, [*ARGUMENTS, *more])
    _wait_for(folder, moment, case_s)
    os.kill(child, signal.SIGKILL)
    with suppress(ProcessLookupError):
        os.killpg(child, signal.SIGKILL)
    os.waitpid(child, 0)
    return _lacking(folder, finished=[tests[:-1] for tests in _begun(folder).values()])


def _by_a_worker(folder: Path, moment: float, case_s: float, chance: random.Random) -> int:
    """Kill one of two workers, and let the run come to its end.

    :returns: how many finished cases its results lack.
    """
    child = _forked(folder, [*ARGUMENTS, *TWO_WORKERS])
    _wait_for(folder, moment, case_s)
    killed = chance.choice(sorted(_begun(folder)))
    with suppress(ProcessLookupError):
        os.kill(killed, signal.SIGKILL)
    _end(child, folder, codes=(0, 1))
    begun = _begun(folder)
    begun[killed].pop()
    return _lacking(folder, finished=[*begun.values()])


def _lacking(folder: Path, finished: Sequence[Sequence[str]]) -> int:
    there = _measured(folder)
    return sum(f"test_it[{number}]" not in there for tests in finished for number in tests)


def _begun(folder: Path) -> dict[int, list[str]]:
    """The tests that each process has begun, by its number."""
    return {int(file.name): file.read_text().split() for file in (folder / "begun").iterdir()}


def _measured(folder: Path) -> set[str]:
    """The tests that the results of a run have, or its journal."""
    from roofline.results.journal import load

    (path,) = (path for path in folder.rglob("*Z-nogit.*") if path.suffix in (".json", ".journal"))
    return {row["name"] for row in load(path)["benchmarks"]}


def _wait_for(folder: Path, moment: float, case_s: float) -> None:
    """Wait until so many tests have begun, and for the rest of the moment.

    :raises KillError: they never did.
    """
    start = time.perf_counter()
    while sum(map(len, _begun(folder).values())) < int(moment):
        if time.perf_counter() - start > LIMIT_S:
            raise KillError(f"{int(moment)} tests have not begun: {(folder / 'out').read_text()}")
        time.sleep(0.001)
    time.sleep((moment % 1) * case_s)


def _forked(folder: Path, arguments: Sequence[str]) -> int:
    """Start the suite in a folder, and return its process, which leads a group of its own."""
    import torch

    (folder / "begun").mkdir(parents=True)
    (folder / "pytest.ini").write_text("[pytest]\n")
    (folder / "test_it.py").write_text(SUITE)
    torch.set_num_threads(1)  # a fork has none of its parent's threads
    child = os.fork()
    if child:
        return child
    try:
        os.setsid()
        _measure(folder, arguments)
    finally:
        os._exit(1)


def _measure(folder: Path, arguments: Sequence[str]) -> None:
    import pytest

    from pytest_roofline.session.hooks import SessionHooks

    os.chdir(folder)
    save = SessionHooks.save

    def timed(hooks: Any) -> None:
        start = time.perf_counter()
        before = hooks.saved_rows
        save(hooks)
        if hooks.saved_rows > before:
            with Path("saving").open("a") as file:
                file.write(f"{time.perf_counter() - start}\n")

    SessionHooks.save = timed  # type: ignore[method-assign,assignment]
    with Path("out").open("w") as out, redirect_stdout(out), redirect_stderr(out):
        os.dup2(out.fileno(), 2)  # of the workers, too
        code = pytest.main(list(arguments))
    os._exit(int(code))


def _end(child: int, folder: Path, codes: Sequence[int]) -> None:
    """Wait for the end of a run.

    :raises KillError: it has another exit code.
    """
    code = os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])
    if code not in codes:
        raise KillError(f"a run ended with {code}:\n{(folder / 'out').read_text()}")
