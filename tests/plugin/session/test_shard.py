"""``--roofline-shard``: the parts are the whole, none is measured twice, and they take about as long."""

from __future__ import annotations

import json
from itertools import chain
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pytest_roofline.session.shard import split

CASES = """
    import pytest

    def test_plain():
        pass

    @pytest.mark.parametrize("number", range(8))
    def test_it(roofline, number):
        pass

    @pytest.mark.roofs
    def test_roof(roofline):
        pass
"""


@given(st.dictionaries(st.text(min_size=1), st.floats(1e-3, 1e3), min_size=1), st.integers(1, 20), st.randoms())
def test_any_order_of_the_cases_has_the_same_split(seconds: dict[str, float], count: int, random) -> None:  # type: ignore[no-untyped-def]
    """Of every case one shard, and no shard takes longer than all shards' share and the longest case together."""
    cases = [*seconds]
    shards = dict(zip(cases, split(cases, count, seconds), strict=True))
    shuffled = random.sample(cases, len(cases))
    assert dict(zip(shuffled, split(shuffled, count, seconds), strict=True)) == shards
    assert set(shards.values()) <= set(range(1, count + 1))
    longest = max(sum(seconds[case] for case in cases if shards[case] == one) for one in shards.values())
    assert longest <= sum(seconds.values()) / count + max(seconds.values()) + 1e-6


def test_a_case_that_was_never_timed_counts_as_the_median() -> None:
    """Four seconds beside three of two each; without any time all count alike."""
    assert split(["a", "b", "c", "d"], 2, {"a": 4.0, "b": 2.0, "c": 2.0}) == [1, 2, 2, 1]
    assert split(["a", "b", "c", "d"], 2, {}) == [1, 2, 1, 2]


def collected(project: pytest.Pytester, *arguments: str) -> list[str]:
    shown = project.runpytest_inprocess("--collect-only", "-q", "--roofline-device", "cpu", *arguments)
    return [line.partition("::")[2] for line in shown.outlines if "::" in line]


def test_each_case_is_in_one_shard(project: pytest.Pytester) -> None:
    """Of those that are chosen. Roofs and tests that don't measure are in each."""
    project.makepyfile(CASES)
    parts = [collected(project, "--roofline-shard", f"{one}/3", "-k", "not 7") for one in (1, 2, 3)]
    assert sorted(chain.from_iterable(part[2:] for part in parts)) == [f"test_it[{number}]" for number in range(7)]
    assert {tuple(part[:2]) for part in parts} == {("test_roof", "test_plain")}
    assert sorted(map(len, parts)) == [4, 4, 5]


def took(path: Path, seconds: dict[int, float]) -> None:
    """Write a results file whose tests took so long."""
    case = {"id": "x", "workload_hash": "", "model": "x", "mode": "infer", "precision": "fp32", "batch": 1}
    rows = [
        {
            "name": f"test_it[{number}]",
            "fullname": f"test_it.py::test_it[{number}]",
            "stats": {"min": 1.0, "max": 1.0, "mean": 1.0, "stddev": 0.0, "median": 1.0, "rounds": 1, "data": [1.0]},
            "extra_info": {
                "roofline": {
                    "case": {**case, "samples_per_step": 1},
                    "device": {"kind": "cpu", "name": "cpu"},
                    "process": {
                        "real_s": time_s,
                        "user_s": 0.0,
                        "system_s": 0.0,
                        "max_rss_byte": None,
                        "voluntary_switches": None,
                        "involuntary_switches": None,
                    },
                }
            },
        }
        for number, time_s in seconds.items()
    ]
    path.parent.mkdir(exist_ok=True)
    path.write_text(json.dumps({"benchmarks": rows, "machine_info": {}, "commit_info": {}, "version": "5"}))


def test_earlier_results_say_how_long_cases_take(project: pytest.Pytester) -> None:
    """Of a case that takes as long as all others together, those are the other part."""
    project.makepyfile(test_it=CASES)
    took(project.path / "old" / "run.json", {number: 70.0 if number == 3 else 10.0 for number in range(8)})
    part = collected(project, "--roofline-shard", "1/2", "--roofline-shard-times", "old")
    assert part[2:] == ["test_it[3]"]


def test_that_no_times_are_known_is_told(project: pytest.Pytester) -> None:
    """Parts are uneven then, and the flag that makes them even is easily missed."""
    project.makepyfile(test_it=CASES)
    took(project.path / "old" / "run.json", {1: 10.0})
    told = "--roofline-shard 1/2: how long these cases take is not known, so all count alike. --roofline-shard-times*"
    flags = ("--roofline-device", "cpu", "--benchmark-disable", "--roofline-shard", "1/2")
    project.runpytest_inprocess(*flags).stdout.fnmatch_lines([told])
    project.runpytest_inprocess(*flags, "--roofline-shard-times", "old").stdout.no_fnmatch_line(told)


@pytest.mark.parametrize(
    ("flags", "message"),
    [
        ("--roofline-shard 3/2", "'3/2' is not allowed: use I/N, such as 1/4: part I of N, counted from 1"),
        ("--roofline-shard 0/2", "'0/2' is not allowed"),
        ("--roofline-shard 1/9", "--roofline-shard 1/9: more parts than cases. Use at most I/8."),
        ("--roofline-shard 1/2 --roofline-shard-times none", "--roofline-shard-times none: none: "),
        ("--roofline-shard 1/2 --roofline-shard-times all --roofline-results all/new", "this run writes into it"),
    ],
)
def test_what_makes_no_split_is_refused(project: pytest.Pytester, flags: str, message: str) -> None:
    """In all shards alike: one that was refused alone would lose its cases."""
    project.makepyfile(CASES)
    ended = project.runpytest_inprocess("--roofline-device", "cpu", *flags.split())
    assert ended.ret == pytest.ExitCode.USAGE_ERROR
    assert message in f"{ended.stdout}{ended.stderr}"
