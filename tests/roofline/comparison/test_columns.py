"""What stands in a column, by cases that are made up."""

from __future__ import annotations

from dataclasses import replace

from roofline.comparison.comparison import Compared, Comparison, Settings
from roofline.comparison.effect import Effect
from roofline.comparison.matching import MatchedCase
from roofline.comparison.runs import Identity, Run
from roofline.comparison.verdict import NoNumber
from roofline.comparison.verdict_table import display, markdown, table
from roofline.show.tables import render
from roofline.text.units import signed_range

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


def test_a_sign_of_the_column_has_a_note_only_where_it_stands() -> None:
    """One that stands nowhere would be looked for."""
    (told,) = table(_comparison(_case("known", 9)), "t").legends.values()
    assert ">100" not in told
    assert "?" not in told
    comparison = _comparison(_case("beyond", no_number="beyond"))
    assert "more_sessions" in [column.name for column in display(comparison)]
    (told,) = table(comparison, "t").legends.values()
    assert told.endswith("; >100: not even 100 more would be likely to")


def test_an_interval_is_spelled_alike_in_every_width() -> None:
    """With one sign of percent, as ab spells it."""
    assert signed_range((-0.057, 0.0)) == "-5.7 to 0.0 %"
    effect = Effect(log_ratio=0.0, error=0.01, freedom=6.0, deviation=0.01, drift=0.0, base_sessions=2, new_sessions=2)
    comparison = _comparison(replace(_case("a"), effect=effect))
    for width in (200, 60):
        assert " -3.6 to +3.8 % " in " ".join(render(table(comparison, "t"), "table", width).split())


def test_of_an_outcome_the_first_reasons_stand_below_the_table() -> None:
    """A reason for each of many cases would outweigh the table, unless all are asked for."""
    invalid = [replace(_case(f"case{number}"), outcome="invalid", why=f"why{number}") for number in range(6)]
    notes = table(_comparison(*invalid), "t", in_full=False).notes
    assert [note for note in notes if note.startswith("invalid")] == [
        *("invalid: case0: why0", "invalid: case1: why1", "invalid: and 4 more (-v shows all)"),
    ]
