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


def test_statistics_are_of_the_rounds_exactly(pytester: pytest.Pytester) -> None:
    """Every value is the round's time over its steps, to the last bit, and nothing is added or left out."""
    rounds, steps = (0.1, 0.30000000000000004, 0.2, 1e-9 + 0.7), 7
    [benchmark] = _benchmarks(pytester, f"def test_it(taken): taken({rounds!r}, {steps})")
    stats = benchmark["stats"]
    expected = [wall / steps for wall in rounds]
    assert stats["data"] == expected
    assert (stats["rounds"], stats["iterations"]) == (4, 7)
    assert (stats["min"], stats["max"]) == (min(expected), max(expected))


def test_rounds_of_one_step(pytester: pytest.Pytester) -> None:
    """pytest-benchmark takes another path for them."""
    [benchmark] = _benchmarks(pytester, "def test_it(taken): taken((0.25, 0.5), 1)")
    assert benchmark["stats"]["data"] == [0.25, 0.5]
    assert benchmark["stats"]["iterations"] == 1


def test_keywords_of_the_users_own_marker_stay(pytester: pytest.Pytester) -> None:
    """Group and others survive; only the timer is ours, and its name holds no address."""
    [benchmark] = _benchmarks(
        pytester,
        "import pytest\n"
        "@pytest.mark.benchmark(group='mine', disable_gc=True, min_rounds=3)\n"
        "def test_it(taken): taken((0.25,), 2)",
    )
    assert benchmark["group"] == "mine"
    assert benchmark["options"]["disable_gc"] is True
    assert benchmark["options"]["min_rounds"] == 3
    assert benchmark["options"]["timer"] == "pytest_roofline"


def test_a_test_that_fails_first_is_one_failure_where_warnings_are_errors(pytester: pytest.Pytester) -> None:
    """pytest-benchmark warns of a fixture that nobody used, after the failure has said why."""
    pytester.makeconftest(CONFTEST)
    pytester.makeini("[pytest]\nfilterwarnings = error\n")
    pytester.makepyfile("import pytest\ndef test_it(taken): pytest.fail('not here')")
    run = pytester.runpytest_subprocess("-p", "no:playwright", "-p", "no:xdist")
    assert (run.ret, run.parseoutcomes()) == (1, {"failed": 1})


def test_the_closest_marker_is_kept(pytester: pytest.Pytester) -> None:
    """A marker of the module is read as pytest-benchmark would read it: the closest one counts."""
    [benchmark] = _benchmarks(
        pytester,
        "import pytest\npytestmark = pytest.mark.benchmark(group='module')\ndef test_it(taken): taken((0.25,), 2)",
    )
    assert benchmark["group"] == "module"


def test_every_test_has_a_timer_of_its_own(pytester: pytest.Pytester) -> None:
    """Parameters share neither rounds nor markers."""
    benchmarks = _benchmarks(
        pytester,
        "import pytest\n"
        "@pytest.mark.parametrize('wall', [0.25, 0.5])\n"
        "def test_it(taken, wall): taken((wall, wall), 1)",
        passed=2,
    )
    assert [benchmark["stats"]["data"] for benchmark in benchmarks] == [[0.25, 0.25], [0.5, 0.5]]


def test_other_benchmarks_keep_their_own_timer(pytester: pytest.Pytester) -> None:
    """A test of the same session that benchmarks by itself is timed by its own clock, here one of whole seconds."""
    benchmarks = _benchmarks(
        pytester,
        "import itertools, pytest\n"
        "seconds = itertools.count()\n"
        "def tick(): return float(next(seconds))\n"
        "def test_ours(taken): taken((0.25,), 1)\n"
        "@pytest.mark.benchmark(timer=tick)\n"
        "def test_theirs(benchmark): benchmark.pedantic(lambda: next(seconds), rounds=2)\n"
        "def test_default(benchmark): benchmark.pedantic(len, args=([],), rounds=1)\n",
        passed=3,
    )
    assert [one["options"]["timer"] for one in benchmarks] == ["pytest_roofline", "tick", "perf_counter"]
    assert benchmarks[1]["stats"]["data"] == [2.0, 2.0]


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
