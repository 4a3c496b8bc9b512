"""Measure how much time the adaptive protocol saves against the reports' fixed one, at the same margin.

    python -m benchmarks protocol

The smoke matrix runs with the fixed protocol (``--protocol steps``: 10 steps of warm-up and 100 timed ones). Those of
its cases that reach ±1 % so run with the adaptive one, until it claims as much; and for a long time, whose step time
stands for the true one. The times of both are compared, warm-up included. So again for ±2 %, ±5 % and ±10 %: on a
machine that others use, too, the fixed protocol may reach ±1 % in no case; one thread on a core of its own disturbs
itself less:

    OMP_NUM_THREADS=1 taskset -c 1 python -m benchmarks protocol
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

MARGINS = (0.01, 0.02, 0.05, 0.1)
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
    tests = {margin: reached(fixed, 1.0 if quick else margin) for margin in MARGINS}
    found = list(counts(fixed, tests))
    compared = sorted(set().union(*tests.values()))
    long = _measured([*compared, "--margin", str(NEVER), "--max-time", str(long_s)]) if compared else {}
    true_s = {test: timing.step_time_s for test, timing in long.items()}
    for margin, reaching in tests.items():
        if reaching:
            adaptive = _measured([*reaching, "--margin", str(margin), "--max-time", str(budget_s)])
            found += figures({test: fixed[test] for test in reaching}, adaptive, true_s, margin)
    return tuple(found)


def reached(timings: Mapping[str, Timing], margin: float) -> list[str]:
    """The tests whose cases claim the margin, or a smaller one."""
    return [test for test, timing in timings.items() if timing.margin is not None and timing.margin <= margin]


def counts(fixed: Mapping[str, Timing], reaching: Mapping[float, Sequence[str]]) -> Iterator[Figure]:
    """In how many cases the fixed protocol reaches each margin: in none, there is nothing to compare."""
    yield Figure(name="cases of the smoke matrix", unit="", samples=(float(len(fixed)),))
    for margin, tests in reaching.items():
        name = f"of them the fixed protocol reaches {_percent(margin)}"
        yield Figure(name=name, unit="", samples=(float(len(tests)),), at_least=1.0 if margin == MARGINS[0] else None)


def figures(
    fixed: Mapping[str, Timing], adaptive: Mapping[str, Timing], true_s: Mapping[str, float], margin: float
) -> list[Figure]:
    """How long both took over the cases in which the fixed protocol reaches the margin, and how far off they are.

    The adaptive protocol must reach it in each of them: else its time buys less.
    """
    at = _percent(margin)
    missed = len(fixed) - len(reached(adaptive, margin))
    spent = [sum(spent_s(timings[case]) for case in fixed) for timings in (fixed, adaptive)]
    both = [spent_s(adaptive[case]) / spent_s(fixed[case]) for case in fixed]
    return [
        Figure(name=f"{at}: cases in which the adaptive one doesn't", unit="", samples=(float(missed),), at_most=0.0),
        Figure(name=f"{at}: fixed protocol, all of these", unit="s", samples=(spent[0],)),
        Figure(name=f"{at}: adaptive protocol, all of these", unit="s", samples=(spent[1],)),
        Figure(name=f"{at}: adaptive / fixed, all of these", unit="", samples=(spent[1] / spent[0],), at_most=0.5),
        Figure(name=f"{at}: adaptive / fixed, case by case", unit="", samples=tuple(both)),
        *errors(f"{at}: fixed protocol", fixed, true_s, margin),
        *errors(f"{at}: adaptive protocol", adaptive, true_s, margin),
    ]


def errors(name: str, timings: Mapping[str, Timing], true_s: Mapping[str, float], margin: float) -> list[Figure]:
    """How far step times lie from those of the long run, relative, without a sign; the bound is of the median."""
    found = tuple(
        abs(math.log(timing.step_time_s / true_s[case])) for case, timing in timings.items() if case in true_s
    )
    if not found:
        return []
    return [
        Figure(name=f"{name}, error against a long run", unit="", samples=found, at_most=margin),
        Figure(name=f"{name}, largest error", unit="", samples=(max(found),)),
    ]


def _percent(margin: float) -> str:
    return f"±{100 * margin:g} %"


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
