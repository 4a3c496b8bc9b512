"""What stands in a column, by cases that are made up."""

from __future__ import annotations

from roofline.comparison.comparison import Compared, Comparison, Settings
from roofline.comparison.matching import MatchedCase
from roofline.comparison.runs import Identity, Run
from roofline.comparison.verdict import NoNumber
from roofline.comparison.verdict_table import markdown, table
from roofline.show.render import render

_MACHINE = Identity(label="lab", parts=(("fingerprint", "1"),))
_RUN = Run(file="a.json", machine=_MACHINE, setup={}, when="", commit=None, dirty=None, not_measured={})


def _case(name: str, more_sessions: int | None = None, no_number: NoNumber | None = None) -> Compared:
    pair = MatchedCase(id=name, test=name, machine=_MACHINE, standing="matched")
    return Compared(match=pair, outcome="inconclusive", more_sessions=more_sessions, no_number=no_number)


def _comparison(*cases: Compared) -> Comparison:
    return Comparison(settings=Settings(), cases=cases, base_runs=(_RUN,), new_runs=(_RUN,), left_out=())


def test_that_no_number_settles_a_case_is_not_shown_as_settled() -> None:
    """`-` is for what more sessions have no part in; the signs are explained where they stand."""
    comparison = _comparison(
        _case("known", 9), _case("beyond", no_number="beyond"), _case("border", no_number="border"), _case("none")
    )
    said = (
        "More to settle it: sessions a side, if the estimate stays where it is and they scatter as these do;"
        " >100: not even 100 more would be likely to; ?: it lies at what matters, and more may move it to either side"
    )
    for width, signs in ((200, ["9", ">100", "?", "-"]), (70, ["9", ">100", "?", "-"])):
        lines = render(table(comparison, "t"), "table", width).splitlines()
        rows = [line.split() for line in lines if line.split()[:1] in (["known"], ["beyond"], ["border"], ["none"])]
        assert [row[-1] for row in rows] == signs
        assert said in " ".join(" ".join(lines).split())
    assert f"- {said}\n" in markdown(comparison, "t")


def test_where_nothing_asks_for_more_nobody_is_told_of_it() -> None:
    """Neither a column nor a note."""
    shown = table(_comparison(_case("none")), "t")
    assert "more_sessions" not in [column.name for column in shown.displayed()]
    assert not any(note.startswith("More to settle it") for note in (*shown.notes, *shown.legends.values()))
