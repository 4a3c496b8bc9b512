"""Measure the cost of the plugin where it isn't used, and the start of collecting and of the command."""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Sequence
from pathlib import Path

from benchmarks.figures import Figure
from benchmarks.overhead import alternate

ROOT = Path(__file__).parents[1]

CASES = 10_000

OTHERS = ["-p", "no:hypothesispytest", "-p", "no:playwright"]
"""Plugins that only developing this brings along, and that load more than ours does."""

COLLECT = """
import sys, time
import torch, torch._dynamo
import pytest
start = time.perf_counter()
code = pytest.main(sys.argv[1:])
print(f"{code:d} {time.perf_counter() - start:.6f}")
"""
"""Times collecting alone. All that collecting loads of torch is there already: torchvision asks for ``torch._dynamo``,
which takes longer than the rest of it."""


class ChildError(RuntimeError):
    """A child process did not do what was to be timed."""


def run(*, quick: bool) -> tuple[Figure, ...]:
    pairs = 3 if quick else 41
    with tempfile.TemporaryDirectory() as folder:
        empty = Path(folder)
        (empty / "pytest.ini").write_text("[pytest]\n")
        (empty / "test_empty.py").write_text("def test_empty():\n    pass\n")
        versions = _added_s(["--version", "--version"], empty, pairs)
        collecting = _added_s(["--collect-only", "-q"], empty, pairs)
    return (
        Figure(name="added to pytest --version --version", unit="s", samples=versions, at_most=0.030),
        Figure(name="added to collecting one empty test", unit="s", samples=collecting, at_most=0.030),
        Figure(name="roofline --help", unit="s", samples=_help_s(3 if quick else 21), at_most=0.3),
        Figure(
            name=f"collecting {CASES} cases beside importing torch",
            unit="s",
            samples=tuple(_collect_s() for _ in range(1 if quick else 5)),
            at_most=3.0,
        ),
    )


def _added_s(arguments: Sequence[str], folder: Path, pairs: int) -> tuple[float, ...]:
    """Seconds that the plugin adds to ``pytest ARGUMENTS``, by pairs of children with and without it."""
    command = [sys.executable, "-m", "pytest", *OTHERS, *arguments]
    without = [*command, "-p", "no:roofline"]
    _child_s(command, folder)  # both may have byte code to write the first time
    _child_s(without, folder)
    return alternate(lambda: _child_s(command, folder), lambda: _child_s(without, folder), pairs).differences_s()


def _help_s(times: int) -> tuple[float, ...]:
    command = [str(Path(sys.executable).with_name("roofline")), "--help"]
    _child_s(command, ROOT)
    return tuple(_child_s(command, ROOT) for _ in range(times))


def _collect_s() -> float:
    # Train and infer, each at 5,000 batch sizes.
    batches = ",".join(str(batch) for batch in range(2, 2 + CASES // 2))
    selection = ["--model", "mlp", "--mode", "train,infer", "--precision", "fp32", "--batch", batches]
    command = [sys.executable, "-c", COLLECT, *OTHERS, "perftests/test_models.py"]
    child = _checked([*command, "--device", "cpu", "--collect-only", "-q", *selection], ROOT)
    code, seconds = child.splitlines()[-1].split()
    if code != "0" or child.count("::") < CASES:
        raise ChildError(f"expected {CASES} collected cases and exit code 0, found {child.count('::')} and {code}")
    return float(seconds)


def _child_s(command: Sequence[str], folder: Path) -> float:
    start = time.perf_counter()
    _checked(command, folder)
    return time.perf_counter() - start


def _checked(command: Sequence[str], folder: Path) -> str:
    """Run a child and return its output.

    :raises ChildError: it ended with another status than 0.
    """
    # Where byte code may not be written, every pytest rewrites and compiles its plugins anew, ours among them.
    environment = {name: value for name, value in os.environ.items() if name != "PYTHONDONTWRITEBYTECODE"}
    child = subprocess.run(command, cwd=folder, env=environment, capture_output=True, text=True, check=False)
    if child.returncode != 0:
        raise ChildError(f"{' '.join(command)[:300]} ended with {child.returncode}:\n{child.stdout}{child.stderr}")
    return child.stdout
