"""The hand-over to the real pytest-benchmark, judged by the JSON it writes."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

CONFTEST = """
import pytest
from pytest_roofline.measuring import benchmark_timer
from roofline.schema.record import Rounds, Timing

@pytest.hookimpl(tryfirst=True)
def pytest_collection_modifyitems(items):
    for item in items:
        if "taken" in item.fixturenames:
            benchmark_timer.install(item)

def pytest_benchmark_generate_machine_info():
    return {}  # looking the machine up takes longer than all the rest

@pytest.fixture
def taken(request, benchmark):
    def hand_over(wall_s, steps):
        timing = Timing(
            protocol="adaptive", step_time_s=1.0, step_time_sd_s=None, rounds=Rounds(steps=steps, wall_s=wall_s),
            warmup_steps=0, warmup_s=0.0, warmup_settled=None, confidence=0.95, margin_target=None, margin=None,
            stop_reason="fixed",
        )
        benchmark_timer.hand_over(benchmark, request.node, timing)
    return hand_over
"""


def _benchmarks(pytester: pytest.Pytester, test: str, *arguments: str, passed: int = 1) -> list[dict[str, Any]]:
    pytester.makeconftest(CONFTEST)
    pytester.makepyfile(test)
    path = Path(pytester.path, "out.json")
    result = pytester.runpytest_inprocess("-p", "no:playwright", "--benchmark-json", str(path), *arguments)
    result.assert_outcomes(passed=passed)
    if not path.exists() or not path.read_text():
        return []
    benchmarks: list[dict[str, Any]] = json.loads(path.read_text())["benchmarks"]
    return benchmarks


def test_every_test_s_statistics_are_of_its_own_rounds(pytester: pytest.Pytester) -> None:
    """Each is the round's time over its steps, to the last bit. Of the user's own markers the closest counts, with all
    its keywords but the timer, whose name holds no address. Who benchmarks by himself is timed by his own clock.
    """
    rounds = (0.1, 0.30000000000000004, 0.2, 1e-9 + 0.7)
    found = {
        one["name"]: one
        for one in _benchmarks(
            pytester,
            f"""
import itertools, pytest
pytestmark = pytest.mark.benchmark(group="module")
seconds = itertools.count()
def tick(): return float(next(seconds))
def test_exact(taken): taken({rounds!r}, 7)
@pytest.mark.parametrize("wall", [0.25, 0.5])
def test_single(taken, wall): taken((wall, 2 * wall), 1)
@pytest.mark.benchmark(group="mine", disable_gc=True, min_rounds=3)
def test_marked(taken): taken((0.25,), 2)
@pytest.mark.benchmark(timer=tick)
def test_theirs(benchmark): benchmark.pedantic(lambda: next(seconds), rounds=2)
def test_default(benchmark): benchmark.pedantic(len, args=([],), rounds=1)
""",
            passed=6,
        )
    }
    stats, expected = found["test_exact"]["stats"], [wall / 7 for wall in rounds]
    assert (stats["data"], stats["rounds"], stats["iterations"]) == (expected, 4, 7)
    assert (stats["min"], stats["max"]) == (min(expected), max(expected))
    assert [found[f"test_single[{wall}]"]["stats"]["data"] for wall in (0.25, 0.5)] == [[0.25, 0.5], [0.5, 1.0]]
    assert found["test_single[0.25]"]["stats"]["iterations"] == 1
    assert (found["test_exact"]["group"], found["test_marked"]["group"]) == ("module", "mine")
    options = found["test_marked"]["options"]
    assert (options["disable_gc"], options["min_rounds"], options["timer"]) == (True, 3, "pytest_roofline")
    assert [found[name]["options"]["timer"] for name in ("test_theirs", "test_default")] == ["tick", "perf_counter"]
    assert found["test_theirs"]["stats"]["data"] == [2.0, 2.0]


def test_a_test_that_fails_first_is_one_failure_where_warnings_are_errors(pytester: pytest.Pytester) -> None:
    """pytest-benchmark warns of a fixture that nobody used, after the failure has said why."""
    pytester.makeconftest(CONFTEST)
    pytester.makeini("[pytest]\nfilterwarnings = error\n")
    pytester.makepyfile("import pytest\ndef test_it(taken): pytest.fail('not here')")
    run = pytester.runpytest_subprocess("-p", "no:playwright", "-p", "no:xdist")
    assert (run.ret, run.parseoutcomes()) == (1, {"failed": 1})


@pytest.mark.parametrize("flag", ["--benchmark-disable", "--benchmark-warmup=on", "--benchmark-cprofile=tottime"])
def test_other_ways_of_running_do_not_fail(pytester: pytest.Pytester, flag: str) -> None:
    """Disabled, with warm-up or with a profile asked for: the test passes, and rounds are what they were or nothing."""
    benchmarks = _benchmarks(pytester, "def test_it(taken): taken((0.25, 0.5), 3)", flag)
    data = [benchmark["stats"]["data"] for benchmark in benchmarks]
    assert data == ([] if flag == "--benchmark-disable" else [[0.25 / 3, 0.5 / 3]])


def test_benchmarking_by_hand_in_such_a_test_is_explained(pytester: pytest.Pytester) -> None:
    """The replaying timer has nothing to tell: the error says what to do, instead of a StopIteration."""
    pytester.makeconftest(CONFTEST)
    pytester.makepyfile("def test_it(taken, benchmark): benchmark.pedantic(len, args=([],), rounds=2)")
    result = pytester.runpytest_inprocess("-p", "no:playwright")
    result.assert_outcomes(failed=1)
    result.stdout.fnmatch_lines(["*NothingToReplay: this test's benchmark fixture only takes over*"])
