"""Pairs of processes: how many, which begins, what is measured again, and what is made of it."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

import pytest

from roofline.ab.measuring_in_turns import AbCase, AbResult, CannotMeasure, Rules, judge_cases, measure_in_turns
from roofline.ab.process import ProcessFailed
from roofline.ab.side import MeasuredSide
from tests.roofline.ab.fakes import FakeProcess, Table, side
from tests.roofline.ab.made import turns

RULES = Rules(pairs=4, max_time_s=4.0)


class Lab:
    """Starts fakes, and keeps them.

    :param of: arguments of the fakes of a side; a function of the pair's number gives other ones for each pair.
    """

    def __init__(
        self, table: Table | None = None, **of: Mapping[str, Any] | Callable[[int], Mapping[str, Any]]
    ) -> None:
        self.table = table or Table()
        self.started: list[FakeProcess] = []
        self.said: list[str] = []
        self._of = of

    def start(
        self, side: MeasuredSide, arguments: Sequence[str], _log: Path, environment: Mapping[str, str]
    ) -> FakeProcess:
        assert arguments == ("-k", "x")
        assert environment == {"A": "b"}
        given = self._of.get(side.name, {})
        values = given(1 + len(self.started) // 2) if callable(given) else given
        process = FakeProcess(side.name, self.table, **{"tests": ("a",), **values})
        self.started.append(process)
        return process

    def hold(self, rules: Rules = RULES) -> AbResult:
        sides = {"base": side("base", Path("/b")), "new": side("new", Path("/n"))}
        logs, said, clock = Path("/logs"), self.said.append, self.table.clock
        return measure_in_turns(sides, ("-k", "x"), rules, logs, {"A": "b"}, said, self.start, clock)


def only(trial: AbResult) -> AbCase:
    (case,) = trial.cases
    return case


def test_a_clear_slowdown_is_settled_after_three_pairs() -> None:
    """And no fourth pair of processes is started."""
    lab = Lab(Table(base=(0.1,), new=(0.15,)))
    case = only(lab.hold())
    assert (case.outcome, len(case.pairs), len(lab.started)) == ("slower", 3, 6)
    # Whoever is first has no lasting advantage, from the start of its process on.
    assert [pair.first for pair in case.pairs] == ["base", "new", "base"]
    assert [process.side.name for process in lab.started] == ["base", "new", "new", "base", "base", "new"]
    assert case.effect is not None
    assert case.effect.ratio == pytest.approx(1.5)
    assert all(process.closed for process in lab.started)


def test_what_is_not_settled_takes_all_pairs_and_is_inconclusive() -> None:
    """With the reason."""
    case = only(Lab(Table(new=(0.08, 0.1, 0.14, 0.11, 0.09, 0.12, 0.1))).hold())
    assert (case.outcome, len(case.pairs)) == ("inconclusive", 4)
    assert "would look like this" in case.why


def test_a_busy_machine_is_named_as_the_reason() -> None:
    """Where most turns were disturbed; a change that is large beside what that does is found all the same."""
    disturbs = {"disturbs": lambda _turn: "another program"}
    small, large = (only(Lab(Table(new=(new,)), new=disturbs).hold()) for new in (0.105, 0.3))
    assert small.outcome == "inconclusive"
    disturbed = sum(len(pair.new_s) for pair in small.pairs)
    assert small.why.startswith(
        f"the machine may be too busy: {disturbed} of {disturbed} turns were disturbed from outside; anything from "
    )
    assert (large.outcome, large.why) == ("slower", "")
    assert (small.judged, large.judged) == (False, True)


def test_a_settled_case_is_not_measured_again() -> None:
    """The fourth pair of processes is told to measure the other one alone."""
    both = {"tests": ("a", "b")}
    lab = Lab(Table(**{"new b": (0.08, 0.1, 0.14, 0.11, 0.09, 0.12, 0.1)}), base=both, new=both)
    trial = lab.hold()
    assert {case.test: (case.outcome, len(case.pairs)) for case in trial.cases} == {
        "a": ("same", 3),
        "b": ("inconclusive", 4),
    }
    assert [process.begun for process in lab.started[::2]] == [("a", "b")] * 3 + [("b",)]


def test_the_budget_is_that_of_all_pairs_and_both_sides() -> None:
    """A case that takes all of its pairs takes as long as it was given, but for turns that would end too late."""
    rules = Rules(pairs=4, max_time_s=60.0)
    lab = Lab(Table(new=(0.105,)), new={"disturbs": lambda _turn: "another program"})
    case = only(lab.hold(rules))
    assert len(case.pairs) == rules.pairs
    spent_s = sum(sum(pair.base_s) + sum(pair.new_s) for pair in case.pairs)
    assert 0.9 * rules.max_time_s < spent_s <= rules.max_time_s
    assert lab.table.now == pytest.approx(spent_s)


def test_what_is_skipped_once_it_was_measured_cannot_be_compared() -> None:
    """By both sides, in a later pair of processes: that hangs on something else than the code, and is no skip."""
    noisy = Table(new=(0.08, 0.1, 0.14, 0.11, 0.09, 0.12, 0.1))

    def skips(pair: int) -> Mapping[str, Any]:
        return {"skips": ("a",) if pair == 2 else ()}

    case = only(Lab(noisy, base=skips, new=skips).hold())
    assert (case.outcome, len(case.pairs)) == ("not comparable", 1)
    assert only(Lab(base={"skips": ("a",)}, new={"skips": ("a",)}).hold()).outcome == "skipped"


def test_a_case_of_one_side_is_removed_or_new() -> None:
    """It isn't measured; those of both sides are. It is called as its side calls it, like the ones that are."""
    trial = Lab(base={"tests": ("a", "old[x/y]")}, new={"tests": ("a", "young")}).hold()
    assert {case.test: case.outcome for case in trial.cases} == {"a": "same", "old[x/y]": "removed", "young": "new"}
    assert [case.case for case in trial.cases] == ["case a", "case old[x/y]", "case young"]


@pytest.mark.parametrize(
    ("base", "new", "message"),
    [
        ((), (), "neither side has a test that measures a model"),
        (("a[x]",), ("a[y]",), "no test is on both sides: 1 only in base, 1 only in new, such as a.x."),
        (("a",), (), "no test is on both sides: 1 only in base, 0 only in new, such as a"),
    ],
)
def test_nothing_in_common_is_no_comparison(base: tuple[str, ...], new: tuple[str, ...], message: str) -> None:
    """A gate never passes because it had nothing to look at."""
    with pytest.raises(CannotMeasure, match=message):
        Lab(base={"tests": base}, new={"tests": new}).hold()


def test_a_crash_costs_its_case_and_no_other() -> None:
    """The cases behind it are measured by the next pair of processes, and get as many pairs as they would have."""
    tests = ("a", "b", "c")
    lab = Lab(base={"tests": tests}, new={"tests": tests, "dies_in": "b"})
    trial = lab.hold()
    assert {case.test: case.outcome for case in trial.cases} == {"a": "same", "b": "not comparable", "c": "same"}
    assert [len(case.pairs) for case in trial.cases] == [3, 0, 3]


def test_a_side_that_does_not_start_ends_it() -> None:
    """There is nothing to compare; the message is the process's own. The other process is ended."""

    class Dead(FakeProcess):
        def hello(self) -> Any:
            raise ProcessFailed("new: its pytest ended with exit code 4")

    lab = Lab()
    start = lab.start

    def starts(side: MeasuredSide, *rest: Any) -> FakeProcess:
        return start(side, *rest) if side.name == "base" else Dead("new", lab.table)

    lab.start = starts  # type: ignore[method-assign]
    with pytest.raises(ProcessFailed, match="exit code 4"):
        lab.hold()
    assert lab.started[0].closed


def test_the_wrong_code_ends_it_before_anything_is_measured() -> None:
    """What a side has loaded when its tests are collected is looked at first."""
    lab = Lab(new={"files": ["/b/package.py"]})
    with pytest.raises(CannotMeasure, match="new"):
        lab.hold()
    assert lab.table.heard == []


def test_a_case_that_later_processes_lack_is_told() -> None:
    """It isn't waited for."""
    lab = Lab(
        Table(new=(0.08, 0.1, 0.14, 0.11, 0.09, 0.12, 0.1)),
        new=lambda pair: {"tests": ("a", "b") if pair == 1 else ("a",)},
        base={"tests": ("a", "b")},
    )
    cases = {case.test: case for case in lab.hold().cases}
    assert cases["b"].problem == "collected by the first processes, and not by later ones"


def test_its_progress_is_told() -> None:
    """A line a pair of processes, a line a case."""
    lab = Lab(Table(new=(0.11,)))
    lab.hold()
    assert lab.said[0] == "pair of processes 1, at most 4: 1 case, base first"
    assert lab.said[1].startswith("  case a: ")
    assert lab.said[1].endswith("turns a side, new/base +10.00 %")


def test_a_settled_case_stays_as_it_was() -> None:
    """A look that would have it otherwise, for what other cases show meanwhile, doesn't change it."""
    settled = judge_cases({"a": AbCase(test="a", case="a", pairs=(turns(1.5),) * 3)}, RULES)["a"]
    assert settled.outcome == "slower"
    later = AbCase(test="a", case="a", pairs=(turns(),) * 3, verdict=settled.verdict)
    assert judge_cases({"a": later}, RULES)["a"].outcome == "slower"


def test_processes_that_differ_in_most_cases_are_not_trusted_in_any() -> None:
    """Three pairs of a case that agree then show nothing, and say why; more of them may."""
    agree, differ = (turns(1.035), turns(1.04), turns(1.045)), (turns(0.97), turns(1.0), turns(1.03))
    cases = {name: AbCase(test=name, case=name, pairs=pairs) for name, pairs in (("a", agree), ("b", agree))}
    assert judge_cases(cases, RULES)["a"].outcome == "slower"
    cases |= {name: AbCase(test=name, case=name, pairs=differ) for name in "cdef"}
    case = judge_cases(cases, RULES)["a"]
    assert case.outcome == "inconclusive"
    assert case.busy == "the pairs of most cases lie further apart than on one left alone"


def test_nothing_is_concluded_of_one_pair_where_more_are_to_come() -> None:
    """One pair can't tell a change from its own offset; where no more was asked for, it is all there is."""
    one = {"a": AbCase(test="a", case="a", pairs=(turns(9.0),))}
    assert judge_cases(one, RULES)["a"].verdict is None
    case = only(Lab(Table(new=(0.5,))).hold(Rules(pairs=1, max_time_s=1.0)))
    assert (case.outcome, len(case.pairs)) == ("slower", 1)
