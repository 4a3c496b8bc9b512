"""Which cases may be compared; what may not is there with its reason, and nothing is pooled."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest

from roofline.comparison.sides.matching import Matching, match
from roofline.comparison.sides.session_results import By
from roofline.comparison.sides.side_files import Side, read_side
from roofline.machine.published import load
from roofline.schema.record import KEY
from tests.roofline import build
from tests.roofline.comparison import sessions

ID = "resnet50-train-b32-fp32"


def _read(paths: Sequence[Path], by: By = "time") -> Side:
    return read_side(paths, by, load())


def _match(base: Sequence[Path], new: Sequence[Path], by: By = "time") -> Matching:
    return match(_read(base, by), _read(new, by), by)


def _standings(matching: Matching) -> list[tuple[str, str, str]]:
    return [(pair.id, pair.machine.label, pair.standing) for pair in matching.cases]


def _record(content: dict[str, Any]) -> dict[str, Any]:
    record: dict[str, Any] = content["benchmarks"][0]["extra_info"][KEY]
    return record


def test_each_machine_is_compared_with_itself(tmp_path: Path) -> None:
    """Two machines on both sides: two pairs of each case."""
    base, new = (
        [
            *sessions.side(tmp_path / name / "slow", {"resnet50": 0.1}, count=1, label="slow"),
            *sessions.side(tmp_path / name / "fast", {"resnet50": 0.01}, count=1, label="fast"),
        ]
        for name in ("base", "new")
    )
    matching = _match(base, new)
    assert _standings(matching) == [(ID, "slow", "matched"), (ID, "fast", "matched")]
    assert [pair.base[0].value for pair in matching.cases] == [
        pytest.approx(0.1, rel=0.01),
        pytest.approx(0.01, rel=0.01),
    ]


def test_a_machine_without_a_baseline_is_not_comparable(tmp_path: Path) -> None:
    """Though another one of the same run has one."""
    base = sessions.side(tmp_path / "base", {"resnet50": 0.1}, count=1, label="slow")
    new = [
        *sessions.side(tmp_path / "new" / "slow", {"resnet50": 0.1}, count=1, label="slow"),
        *sessions.side(tmp_path / "new" / "fast", {"resnet50": 0.01}, count=1, label="fast"),
    ]
    assert _standings(_match(base, new)) == [(ID, "slow", "matched"), (ID, "fast", "not comparable")]


def test_a_case_missing_on_another_machine_is_removed(tmp_path: Path) -> None:
    """Where no machine is the same, what is gone is told all the same."""
    base = sessions.side(tmp_path / "base", {"resnet50": 0.1, "vgg16": 0.1}, count=1, label="slow")
    new = sessions.side(tmp_path / "new", {"resnet50": 0.1}, count=1, label="fast")
    matching = _match(base, new)
    assert _standings(matching) == [(ID, "fast", "not comparable"), ("vgg16-train-b32-fp32", "fast", "removed")]
    assert matching.left_out == (
        f"left out of the baseline: {base[0]}: another machine: fingerprint fingerprint of fast, baseline"
        " fingerprint of slow",
    )


def test_a_case_that_is_there_on_its_own_machine_is_not_removed(tmp_path: Path) -> None:
    """Though another machine of the same run, which the baseline is not of, has a part of the cases, or none."""
    times = {"resnet50": 0.1, "vgg16": 0.1}
    base = sessions.side(tmp_path / "base", times, count=1, label="slow")
    new = sessions.side(tmp_path / "new", times, count=1, label="slow")
    fast = sessions.side(tmp_path / "new" / "fast", {"resnet50": 0.1}, count=1, label="fast")
    slow = [(ID, "slow", "matched"), ("vgg16-train-b32-fp32", "slow", "matched")]
    assert _standings(_match(base, [*new, *fast])) == [*slow, (ID, "fast", "not comparable")]
    sessions.edited(fast[0], lambda content: _record(content)["case"].update(mode="roof"))
    assert _standings(_match(base, [*new, *fast])) == slow


def test_plain_files_of_two_machines_are_not_pooled(tmp_path: Path) -> None:
    """Not even by a third file that tells nothing of what differs between them."""
    rounds = {"a": (0.1, 0.1001, 0.1002, 0.1, 0.1001)}
    hosts: dict[str, dict[str, Any]] = {
        "four": {"cpu": {"brand_raw": "Xeon", "count": 4}},
        "eight": {"cpu": {"brand_raw": "Xeon", "count": 8}},
        "some": {"cpu": {"brand_raw": "Xeon"}},
    }
    of = {
        name: build.write(tmp_path / f"{name}.json", sessions.foreign(rounds, node=name, **host))
        for name, host in hosts.items()
    }
    (pair,) = _match([of["four"], of["eight"]], [of["some"]]).cases
    assert pair.standing == "not comparable"
    assert "number of processors not recorded, baseline 4" in pair.why
    again = build.write(tmp_path / "again.json", {**sessions.foreign(rounds, **hosts["four"]), "datetime": ""})
    (pair,) = _match([of["four"], of["eight"], of["some"]], [again]).cases
    assert (pair.standing, [seen.run.file for seen in pair.base]) == ("matched", [str(of["four"])])


def test_a_moved_test_of_another_project(tmp_path: Path) -> None:
    """By its name alone: that the work is the same isn't known."""
    base, new = (sessions.foreign({"a": (0.1,) * 5}) for _ in range(2))
    new["benchmarks"][0]["fullname"] = "bench/test_speed.py::a"
    files = [build.write(tmp_path / name, content) for name, content in (("old.json", base), ("new.json", new))]
    removed, added = _match(files[:1], files[1:]).cases
    assert (removed.standing, added.standing) == ("removed", "new")
    assert removed.why.endswith("(moved or renamed? A test of this name is there as bench/test_speed.py::a)")


def test_a_case_that_the_baseline_had_too_is_no_new_name_of_one_removed(tmp_path: Path) -> None:
    """Where two tests of the baseline do the same work."""
    base, new = (sessions.foreign({"a": (0.1,) * 5, "b": (0.1,) * 5}) for _ in range(2))
    base["benchmarks"][1]["name"] = "a"
    del new["benchmarks"][1]
    files = [build.write(tmp_path / name, content) for name, content in (("old.json", base), ("new.json", new))]
    (removed,) = (one for one in _match(files[:1], files[1:]).cases if one.standing == "removed")
    assert removed.id == "a"
    assert "moved or renamed" not in removed.why


def test_base_sessions_of_an_older_workload_are_left_out(tmp_path: Path) -> None:
    """Of a folder that holds results of two versions of a workload those of the new side's are taken."""
    base = sessions.side(tmp_path / "base", {"resnet50": 0.1}, count=3)
    sessions.edited(base[0], lambda content: _record(content)["case"].update(workload_hash="old", batch=16))
    new = sessions.side(tmp_path / "new", {"resnet50": 0.1}, count=1, first=10)
    (pair,) = _match(base, new).cases
    assert (pair.standing, len(pair.base)) == ("matched", 2)
    assert [line.partition(": ")[2] for line in pair.left_out] == [
        "another workload under the same id: batch 32, baseline 16"
    ]


def test_new_sessions_of_two_workloads_are_not_pooled(tmp_path: Path) -> None:
    """Which of them was meant is not known."""
    base = sessions.side(tmp_path / "base", {"resnet50": 0.1}, count=1)
    new = sessions.side(tmp_path / "new", {"resnet50": 0.1}, count=2, first=10)
    sessions.edited(new[0], lambda content: _record(content)["case"].update(workload_hash="other"))
    (pair,) = _match(base, new).cases
    assert pair.standing == "not comparable"
    assert pair.why == f"the new sessions are not all of one workload ({base[0]} -> {new[0]} and 1 more)"


def test_the_newest_session_is_the_one_that_began_last(tmp_path: Path) -> None:
    """Whatever the order in which the files are read: its workload is what the baseline was last of."""
    base = sessions.side(tmp_path / "base", {"resnet50": 0.1}, count=3)
    sessions.edited(base[2], lambda content: _record(content)["case"].update(workload_hash="newer", batch=64))
    new = sessions.side(tmp_path / "new", {"resnet50": 0.1}, count=2, first=10)
    sessions.edit(new, lambda content: _record(content)["case"].update(workload_hash="newest", batch=128))
    for files in (base, base[::-1]):
        (pair,) = _match(files, new).cases
        assert pair.why.startswith("another workload under the same id: batch 128, baseline 64; if that is intended, ")


def test_one_bad_session_among_loud_ones_makes_the_case_invalid(tmp_path: Path) -> None:
    """Measuring again would not help."""
    base, new = (sessions.side(tmp_path / name, {"resnet50": 0.1}, count=2) for name in ("base", "new"))
    sessions.edit(new, sessions.disturbed)
    assert _match(base, new).cases[0].standing == "disturbed"
    sessions.edited(
        new[1], lambda content: _record(content).update(flags=[{"name": "x", "evidence": "seen", "invalid": True}])
    )
    (pair,) = _match(base, new).cases
    assert (pair.standing, pair.invalid_before) == ("invalid", False)
    assert pair.why == f"new: x: seen ({new[0]} and 1 more)"


def test_a_record_on_one_side_only(tmp_path: Path) -> None:
    """The test's name is no proof that the work is the same: without a record it is another case."""
    base = build.write(tmp_path / "base.json", build.document([None], on=build.machine()))
    new = sessions.side(tmp_path / "new", {"resnet50": 0.1}, count=1)
    assert [standing for _, _, standing in _standings(_match([base], new))] == ["removed", "new"]
    own = {name: json.loads(new[0].read_text())["benchmarks"][0][name] for name in ("name", "fullname")}
    sessions.edited(base, lambda content: content["benchmarks"][0].update(own, name=ID))
    for one, other in (([base], new), (new, [base])):
        (pair,) = _match(one, other).cases
        assert (pair.standing, pair.why.startswith("one side has a record")) == ("not comparable", True)


@pytest.mark.parametrize("lacks", ["flop", "dram_byte"])
def test_by_roof_counters_without_one_of_both_are_another_source(tmp_path: Path, lacks: str) -> None:
    """A run under ncu that was cut short leaves FLOPs counted and bytes by counters: no change of the code either."""
    (base,) = sessions.side(tmp_path / "base", {"resnet50": 0.1}, count=1)
    new, newer = sessions.side(tmp_path / "new", {"resnet50": 0.1}, count=2, first=10)
    whole = {"status": "ok", "flop": 1e11, "dram_byte": 5e9}
    partly = {**whole, "status": "missing_metric", lacks: None}
    sessions.edited(base, lambda content: _record(content).update(counters=whole))
    sessions.edit((new, newer), lambda content: _record(content).update(counters=partly))
    (pair,) = _match([base], [new], "roof").cases
    told = {"flop": "counters (FLOP analytic)", "dram_byte": "analytic (FLOP counters)"}[lacks]
    assert pair.standing == "not comparable"
    assert pair.why.startswith(f"work from another source: {told}, baseline counters; if that is intended, ")
    (pair,) = _match([new], [newer], "roof").cases
    assert pair.standing == "matched"


def test_roofs_are_no_cases(tmp_path: Path) -> None:
    """They are ceilings, measured anew by each run."""
    record = sessions.record(0.1, 1, "roof", case=build.case(id="roof-fp32", mode="roof"))
    path = build.write(tmp_path / "a.json", build.document([record], of=build.session(), on=build.machine()))
    assert _read([path]).results == ()
    assert _read([path], "roof").results == ()


@pytest.mark.parametrize(
    ("count", "invalid", "absent", "failed", "absent_before", "failed_before", "standing", "found"),
    [
        (3, 1, 0, 0, 0, 0, "matched", ["1 of 3 new invalid"]),
        (2, 1, 0, 0, 0, 0, "invalid", ["1 of 2 new invalid"]),
        (4, 2, 0, 0, 0, 0, "invalid", ["2 of 4 new invalid"]),
        (5, 2, 0, 0, 0, 0, "matched", ["2 of 5 new invalid"]),
        (4, 0, 1, 0, 0, 0, "matched", ["1 of 4 new missing"]),
        (4, 0, 2, 0, 0, 0, "removed", ["2 of 4 new missing"]),
        (4, 0, 2, 0, 2, 0, "matched", []),
        (4, 0, 2, 1, 2, 0, "removed", ["2 of 4 new missing"]),
        (4, 0, 2, 0, 2, 1, "matched", ["2 of 4 baseline missing"]),
        (4, 1, 2, 0, 2, 0, "invalid", ["1 of 4 new invalid"]),
    ],
)
def test_half_of_the_new_sessions_are_too_many(
    tmp_path: Path,
    count: int,
    invalid: int,
    absent: int,
    failed: int,
    absent_before: int,
    failed_before: int,
    standing: str,
    found: list[str],
) -> None:
    """Of those that should have the case: where the tests were run in parts, so that as many of the baseline's sessions
    lack it, none was lost, unless a session says that it failed; and such sessions don't dilute what is invalid.
    """
    base, new = (sessions.side(tmp_path / name, sessions.TIMES, count=count) for name in ("base", "new"))
    for paths, without, telling in ((base, absent_before, failed_before), (new, absent, failed)):
        for number, path in enumerate(paths[:without]):
            sessions.edited(path, sessions.remove)
            if number < telling:
                entry = {"id": ID, "outcome": "failed", "reason": "assert 1 == 2"}
                sessions.edited(path, lambda content, entry=entry: content[KEY].update(not_measured=[entry]))
    sessions.edit(new[count - invalid :], sessions.disproved)
    (case,) = [case for case in _match(base, new).cases if case.id == ID]
    assert case.standing == standing
    assert [f"{one.count} of {one.of} {one.side} {one.kind}" for one in case.missing] == found
    other = sessions.side(tmp_path / "other", {"vgg16": 0.1})
    (added,) = [case for case in _match(other, new).cases if case.id == ID]
    assert added.standing == ("invalid" if invalid and invalid >= 0.5 * (count - absent) else "new")
