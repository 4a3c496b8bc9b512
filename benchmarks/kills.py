"""Kill runs of a fast suite at random moments, and count the finished cases in their journals.

Each test of the suite notes its beginning in a file of its own, so that it is known from outside of the plugin which
tests have ended: all before the last that began. The runs are forks of one process that has loaded torch.
"""

from __future__ import annotations

import io
import os
import random
import signal
import tempfile
import time
from contextlib import redirect_stderr, redirect_stdout
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
    with open(os.environ["BEGUN"], "ab", buffering=0) as file:
        file.write(b".")
    layers = [layer for width in range(8, 24) for layer in (nn.Linear(width, width + 1), nn.ReLU())]
    roofline(nn.Sequential(*layers), torch.randn(2, 8))
"""

ARGUMENTS = [
    *("-q", "-p", "no:cacheprovider", "--roofline-device", "cpu", "--roofline-results", "results"),
    *("--roofline-max-time", "0.01", "--roofline-warmup", "1", "--roofline-roofs", "off"),
]


class KillError(RuntimeError):
    """A run did not do what it should have done before it was killed."""


def run(*, quick: bool) -> tuple[Figure, ...]:
    from roofline.results.journal import load

    kills = 3 if quick else 100
    moments = random.Random(20261129)
    with tempfile.TemporaryDirectory() as name:
        whole = Path(name, "whole")
        start = time.perf_counter()
        _ended(_forked(whole), whole)
        measuring_s = time.perf_counter() - start - _starting_s(whole)
        (document,) = (load(path) for path in whole.rglob("*.json"))
        if len(document["benchmarks"]) != CASES:
            raise KillError(f"a run that was not killed has {len(document['benchmarks'])} of {CASES} cases")
        lost = 0
        for kill in range(kills):
            lost += _lost(Path(name, str(kill)), moments.random() * measuring_s)
            print(f"kill {kill + 1} of {kills}: {lost} finished cases lost so far", flush=True)
        saving = tuple(map(float, Path(whole, "saving").read_text().split()))
    return (
        Figure(name=f"finished cases lost in {kills} kills", unit="", samples=(float(lost),), at_most=0.0),
        Figure(name="writing the journal, a case", unit="s", samples=saving, at_most=0.005),
    )


def _lost(folder: Path, after_s: float) -> int:
    """Kill a run so many seconds after its first test began, and count the finished cases that its results lack."""
    from roofline.results.journal import load

    child = _forked(folder)
    _starting_s(folder)
    time.sleep(after_s)
    os.kill(child, signal.SIGKILL)
    os.waitpid(child, 0)
    begun = (folder / "begun").stat().st_size
    (path,) = (path for path in folder.rglob("*Z-nogit.*") if path.suffix in (".json", ".journal"))
    there = {row["name"] for row in load(path)["benchmarks"]}
    return sum(f"test_it[{number}]" not in there for number in range(begun - 1))


def _starting_s(folder: Path) -> float:
    """Wait until the first test has begun; seconds."""
    begun, start = folder / "begun", time.perf_counter()
    while not begun.exists():
        if time.perf_counter() - start > 300:
            raise KillError(f"no test has begun: {(folder / 'out').read_text()}")
        time.sleep(0.005)
    return time.perf_counter() - start


def _forked(folder: Path) -> int:
    """Start the suite in a folder, and return its process."""
    import torch

    folder.mkdir()
    (folder / "pytest.ini").write_text("[pytest]\n")
    (folder / "test_it.py").write_text(SUITE)
    torch.set_num_threads(1)  # a fork has none of its parent's threads
    child = os.fork()
    if child:
        return child
    try:
        _measure(folder)
    finally:
        os._exit(1)


def _measure(folder: Path) -> None:
    import pytest

    from pytest_roofline.session.hooks import SessionHooks

    os.chdir(folder)
    os.environ["BEGUN"] = str(folder / "begun")
    save = SessionHooks.save

    def timed(hooks: Any) -> None:
        start = time.perf_counter()
        before = hooks.saved_rows
        save(hooks)
        if hooks.saved_rows > before:
            with Path("saving").open("a") as file:
                file.write(f"{time.perf_counter() - start}\n")

    SessionHooks.save = timed  # type: ignore[method-assign,assignment]
    out = io.StringIO()
    with redirect_stdout(out), redirect_stderr(out):
        code = pytest.main(ARGUMENTS)
    Path("out").write_text(out.getvalue())
    os._exit(int(code))


def _ended(child: int, folder: Path) -> None:
    """Wait for the end of a run.

    :raises KillError: it failed.
    """
    code = os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])
    if code:
        raise KillError(f"a run that was not killed ended with {code}:\n{(folder / 'out').read_text()}")
