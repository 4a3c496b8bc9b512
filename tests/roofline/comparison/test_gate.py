"""The exit code, and what is said of why: by cases that are made up."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

import pytest

from roofline.comparison.comparison import Comparison
from roofline.comparison.comparison_lines import ComparisonLines, found_in
from roofline.comparison.comparison_settings import Settings
from roofline.comparison.effects.effect import Effect
from roofline.comparison.gate import GATE_RULES, WARNING, judge
from roofline.comparison.judged_case import Compared, Outcome
from roofline.comparison.observations.observed_machine import MachineIdentity
from roofline.comparison.observations.runs import ObservedRun
from roofline.comparison.sides.matching import MatchedCase, Standing
from roofline.comparison.verdict_table import table
from roofline.show.render import render

_MACHINE = MachineIdentity(label="lab", parts=(("fingerprint", "1"),))


def _run(file: str, when: str) -> ObservedRun:
    return ObservedRun(file=file, machine=_MACHINE, setup={}, when=when, commit=None, dirty=None, not_measured={})


def _case(
    name: str,
    outcome: Outcome,
    *,
    invalid_before: bool = False,
    more_sessions: int | None = None,
    least_detectable: float | None = None,
    why: str = "",
    by_figures: bool = False,
) -> Compared:
    standing: Standing = "invalid" if outcome == "invalid" else "matched"
    pair = MatchedCase(id=name, test=name, machine=_MACHINE, standing=standing, invalid_before=invalid_before)
    effect = Effect(log_ratio=0.0, error=0.01, freedom=6.0, deviation=0.01, drift=0.0, base_sessions=2, new_sessions=2)
    return Compared(
        match=pair,
        outcome=outcome,
        why=why or ("precision_disproved" if outcome == "invalid" else ""),
        effect=None if outcome == "invalid" else effect,
        more_sessions=more_sessions,
        least_detectable=least_detectable,
        by_figures=by_figures,
    )


def _open(name: str, more: int | None, least: float) -> Compared:
    """A case that scatters too much for a verdict."""
    return _case(
        name, "inconclusive", more_sessions=more, least_detectable=least, why=f"why of {name}", by_figures=True
    )


def _comparison(*cases: Compared) -> Comparison:
    return Comparison(
        settings=Settings(),
        cases=cases,
        base_runs=(_run("base", "2026-11-20T10:00:00+00:00"),),
        new_runs=(_run("new", "2026-11-20T11:00:00+00:00"),),
        left_out=(),
    )


def _several(comparison: Comparison) -> Comparison:
    """The same of more than one session a side."""
    return replace(comparison, base_runs=comparison.base_runs * 10, new_runs=comparison.new_runs * 2)


def _what_settles(comparison: Comparison) -> list[str]:
    return [line for line in ComparisonLines(comparison, verbose=False).notes() if "inconclusive: " in line]


def _documented() -> dict[str, tuple[int, ...]]:
    """Situation -> its exit code by default, under --strict and under --allow-removed; as the reference has it."""
    page = (Path(__file__).parents[3] / "docs" / "reference.md").read_text(encoding="utf-8")
    rows = re.findall(r"^\| ([^|]+) \| (1|3|warning) \|([^|]*)\|([^|]*)\|", page, re.MULTILINE)
    codes = {"1": 1, "3": 3, "warning": WARNING}
    return {name: tuple(codes[cell.strip() or default] for cell in (default, *cells)) for name, default, *cells in rows}


def test_the_page_has_the_rules() -> None:
    """All of them, in their order, with what each comes to."""
    options = ({}, {"strict": True}, {"allow_removed": True})
    ours = {
        name: tuple(rule.code(**{"strict": False, "allow_removed": False, **given}) for given in options)
        for name, rule in GATE_RULES.items()
    }
    assert list(ours.items()) == list(_documented().items())


@pytest.mark.parametrize("strict", [False, True])
@pytest.mark.parametrize("allowed", [False, True])
@pytest.mark.parametrize("situation", GATE_RULES)
def test_a_situation_comes_to_its_code(situation: str, strict: bool, allowed: bool) -> None:
    """As a failure or a warning; beside a slower case it is 1 whatever it is."""
    default, by_strict, by_allowed = _documented()[situation]
    code = by_allowed if allowed and by_allowed != default else by_strict if strict else default
    outcome = judge([(situation, "line")], strict=strict, allow_removed=allowed)
    assert (outcome.exit_code, outcome.strict, outcome.allow_removed) == (code, strict, allowed)
    assert (outcome.failures, outcome.warnings) == ((), ("line",)) if code == WARNING else (("line",), ())
    assert judge([(situation, "line"), ("slower", "a")], strict=strict, allow_removed=allowed).exit_code == 1


def test_what_is_found_twice_is_reported_once() -> None:
    """In the order of the rules."""
    outcome = judge([("file not read", "b"), ("slower", "a"), ("file not read", "b")])
    assert (outcome.failures, outcome.lines) == (("a", "b"), ("a", "b"))
    assert judge([]).exit_code == 0


_IN_TURNS = "`roofline ab` measures in turns"


@pytest.mark.parametrize(
    ("needed", "ways"),
    [
        ((3, 9), ["about 9 more sessions a side would settle them, if the estimates stay"]),
        ((3, 9, None), ["about 9 more sessions a side would settle 2 of 3, if the estimates stay", _IN_TURNS]),
        ((3, 90), ["about 90 more sessions a side would settle them, if the estimates stay", _IN_TURNS]),
        ((None, None), ["more sessions may not settle them", _IN_TURNS]),
        ((9,), ["about 9 more sessions a side would settle it, if the estimate stays"]),
        ((None,), ["more sessions may not settle it", _IN_TURNS]),
    ],
)
def test_one_line_says_what_settles_the_inconclusive_cases(needed: Sequence[int | None], ways: list[str]) -> None:
    """With what is found at their scatter. As many more sessions as the case takes that needs most; where that is none,
    or many, another way.
    """
    cases = [_open(name, more, least) for name, more, least in zip("abc", needed, (0.3, 0.1, 0.2), strict=False)]
    (line,) = _what_settles(_several(_comparison(_case("d", "same"), *cases)))
    first, *rest = line.split("; ")
    assert rest == ways
    assert first.startswith(f"{len(cases)} case{'s' if len(cases) > 1 else ''} inconclusive: the least slowdown ")
    assert first.endswith(" is 30 %" if len(cases) == 1 else " is 10 % (b) to 30 % (a)")


def test_turns_are_named_where_they_can_be_taken() -> None:
    """Of step times of one machine."""
    for settings in (Settings(by="roof"), Settings(figure="latency_p99"), Settings(figure="energy")):
        (line,) = _what_settles(replace(_several(_comparison(_open("a", None, 0.1))), settings=settings))
        assert line.endswith("; more sessions may not settle it; measure on a quieter machine")
        assert ("least increase" in line) is (settings.figure == "energy")


def test_what_scatter_does_not_leave_open_is_not_settled_by_sessions() -> None:
    """A bimodal case has a reason of its own."""
    assert _what_settles(_several(_comparison(_case("a", "inconclusive", why="bimodal")))) == [
        "inconclusive: a: bimodal"
    ]


def test_with_v_every_inconclusive_case_has_its_reason() -> None:
    """Without, those whose interval tells it have none."""
    comparison = _several(_comparison(*(_open(name, None, 0.1) for name in "abcd")))
    for verbose, reasons in ((False, []), (True, [f"inconclusive: {name}: why of {name}" for name in "abcd"])):
        notes = ComparisonLines(comparison, verbose=verbose).notes()
        assert [note for note in notes if note.startswith("inconclusive: ")] == reasons


def test_how_many_more_sessions_each_needs_stands_with_its_name() -> None:
    """The table may have no room for it."""
    cases = [_open(name, more, 0.1) for name, more in (("a", 3), ("b", 9), ("c", None))]
    (line,) = judge(found_in(_comparison(_case("d", "same"), *cases))).warnings
    assert line == "inconclusive, neither slower nor the same: a (about 3), b (about 9), c"
    (line,) = judge(found_in(_comparison(_case("d", "same"), cases[1]))).warnings
    assert line == "inconclusive, neither slower nor the same: b"


def test_one_session_a_side_is_told_to_be_too_few() -> None:
    """Where no number of more is: the next step is to have several. Where a side has several, they show the scatter."""
    comparison = _comparison(_open("a", None, 0.1))
    for of_sides, one in ((comparison, True), (_several(comparison), False)):
        notes = ComparisonLines(of_sides, verbose=False).notes()
        assert any(note.endswith(": give several") for note in notes) is one
        assert any("more sessions may not settle it" in note for note in notes) is not one


def test_that_no_number_settles_a_case_is_not_shown_as_settled() -> None:
    """It has a `-`, which is explained where it stands. Where nothing asks for more, nobody is told of it."""
    comparison = _comparison(_case("known", "inconclusive", more_sessions=9), _case("none", "inconclusive"))
    for width in (200, 70):
        lines = render(table(comparison, "t"), "table", width).splitlines()
        rows = [line.split() for line in lines if line.split()[:1] in (["known"], ["none"])]
        assert [row[-1] for row in rows] == ["9", "-"]
        assert "; -: not even 100 would be likely to, or the estimate" in " ".join(" ".join(lines).split())
    shown = table(_comparison(_case("none", "inconclusive")), "t")
    assert "more_sessions" not in [column.name for column in shown.displayed()]
    assert not any(note.startswith("More to settle it") for note in shown.notes)
