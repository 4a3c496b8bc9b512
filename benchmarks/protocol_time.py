"""Measure how much time the adaptive protocol saves against the reports' fixed one, at the same margin.

    python -m benchmarks protocol

The smoke matrix runs with the fixed protocol (``--protocol steps``: 10 steps of warm-up and 100 timed ones). Those of
its cases that reach ±1 % so run with the adaptive one, until it claims as much; and for a long time, whose step time
stands for the true one. The times of both are compared, warm-up included.
"""

from __future__ import annotations

import math
import subprocess
import sys
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path

from benchmarks.figures import Figure
from roofline.results.reader import read
from roofline.schema.record import Timing

_ROOT = Path(__file__).parents[1]

TESTS = ("perftests/test_models.py",)

MARGIN = 0.01
LONG_S = 60.0
"""Timed, of the run that stands for the truth."""

NEVER = 1e-6
"""A margin that no run reaches, so that the time decides."""

BUDGET_S = 300.0
"""Of the adaptive protocol: it shall end by its margin alone."""


def run(*, quick: bool) -> tuple[Figure, ...]:
    chosen = [*TESTS, *(("--model", "mlp") if quick else ())]
    long_s, budget_s = (1.0, 2.0) if quick else (LONG_S, BUDGET_S)
    fixed = _measured([*chosen, "--protocol", "steps"])
    tests = reached(fixed, 1.0 if quick else MARGIN)
    found = list(counts(fixed, tests))
    if not tests:
        return tuple(found)
    adaptive = _measured([*tests, "--margin", str(MARGIN), "--max-time", str(budget_s)])
    long = _measured([*tests, "--margin", str(NEVER), "--max-time", str(long_s)])
    true_s = {test: timing.step_time_s for test, timing in long.items()}
    both = {test: fixed[test] for test in tests}
    return (
        *found,
        *figures(both, adaptive),
        *errors("fixed", both, true_s),
        *errors("adaptive", adaptive, true_s),
    )


def reached(timings: Mapping[str, Timing], margin: float) -> list[str]:
    """The tests whose cases claim the margin, or a smaller one."""
    return [test for test, timing in timings.items() if timing.margin is not None and timing.margin <= margin]


def counts(fixed: Mapping[str, Timing], reaching: Sequence[str]) -> Iterator[Figure]:
    """In how many cases the fixed protocol reaches the margin: in none, there is nothing to compare."""
    yield Figure(name="cases of the smoke matrix", unit="", samples=(float(len(fixed)),))
    yield Figure(name="of them the fixed protocol reaches ±1 %", unit="", samples=(float(len(reaching)),), at_least=1.0)


def figures(fixed: Mapping[str, Timing], adaptive: Mapping[str, Timing]) -> list[Figure]:
    """How long both took over the cases in which the fixed protocol reaches the margin.

    The adaptive protocol must reach it in each of them: else its time buys less.
    """
    missed = len(fixed) - len(reached(adaptive, MARGIN))
    spent = [sum(spent_s(timings[case]) for case in fixed) for timings in (fixed, adaptive)]
    both = [spent_s(adaptive[case]) / spent_s(fixed[case]) for case in fixed]
    return [
        Figure(name="of these the adaptive one doesn't", unit="", samples=(float(missed),), at_most=0.0),
        Figure(name="fixed protocol, all of these", unit="s", samples=(spent[0],)),
        Figure(name="adaptive protocol, all of these", unit="s", samples=(spent[1],)),
        Figure(name="adaptive / fixed, all of these", unit="", samples=(spent[1] / spent[0],), at_most=0.5),
        Figure(name="adaptive / fixed, case by case", unit="", samples=tuple(both)),
    ]


def errors(protocol: str, timings: Mapping[str, Timing], true_s: Mapping[str, float]) -> list[Figure]:
    """How far step times lie from those of the long run, relative, without a sign; the bound is of the median."""
    found = tuple(
        abs(math.log(timing.step_time_s / true_s[case])) for case, timing in timings.items() if case in true_s
    )
    if not found:
        return []
    return [
        Figure(name=f"error against a long run, {protocol}", unit="", samples=found, at_most=MARGIN),
        Figure(name=f"largest error, {protocol}", unit="", samples=(max(found),)),
    ]


def spent_s(timing: Timing) -> float:
    """Seconds of warm-up and timed rounds."""
    return timing.warmup_s + math.fsum(timing.rounds.wall_s)


def _measured(arguments: Sequence[str]) -> dict[str, Timing]:
    """Measure cases of the smoke matrix in a fresh process; by the names of their tests."""
    with tempfile.TemporaryDirectory() as folder:
        subprocess.run(
            [
                *(sys.executable, "-m", "pytest", "-q", "--device", "cpu"),
                *("--results", folder, "--roofline-roofs", "off", *arguments),
            ],
            cwd=_ROOT,
            stdout=subprocess.DEVNULL,
            check=True,
        )
        (result,) = read([Path(folder)]).files
    return {
        one.fullname: one.record.timing
        for one in result.benchmarks
        if one.record is not None and one.record.valid and one.record.timing is not None
    }
