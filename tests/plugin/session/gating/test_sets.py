"""A set of sessions: which run, how each ended, and what came of all of them."""

from __future__ import annotations

import sys
from collections.abc import Mapping
from dataclasses import replace
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest

from pytest_roofline.session.gating import sets as session_set
from pytest_roofline.session.gating.baseline import Baseline, options_of_check
from pytest_roofline.session.gating.sets import EndedSession, Member
from roofline.schema.record import Flag
from roofline.schema.session import SessionSet
from tests.roofline import build
from tests.roofline.comparison import sessions

PLACE = SessionSet(id="s", index=2, count=3)


def test_a_child_tells_where_its_results_are(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A file that isn't there any more is none, and a journal without a measurement is taken away; one that is damaged
    stays.
    """
    monkeypatch.chdir(tmp_path)
    member = Member(place=PLACE, pointer=tmp_path / "2")
    nothing = EndedSession(index=2, code=0, file=None)
    assert member.ended(0) == nothing
    results = Path("results.json")
    member.point_to(results)
    assert member.ended(0) == nothing
    results.write_text("{}")
    assert member.ended(1) == EndedSession(index=2, code=1, file=tmp_path / "results.json")
    results.unlink()
    left = tmp_path / "results.journal"
    cut_off = replace(nothing, cut_off=True)
    for text in ("", '{"document": {"roofline": {"notes": [], "not_measured": []}}, "planned": {"a": "a"}}\n'):
        left.write_text(text)
        assert member.ended(0) == cut_off
        assert not left.exists()
    left.write_text('{"document": {"roof')
    assert member.ended(0) == cut_off
    assert left.exists()


class Sessions:
    """Sessions that end with these codes in turn; ``None`` for one that ends well and measures nothing."""

    def __init__(self, folder: Path, *codes: int | None) -> None:
        self.places: list[tuple[int, int]] = []
        self.identities: set[str] = set()
        self.announced: list[str] = []
        self._folder = folder
        self._codes = iter(codes)

    def launch(self, variables: Mapping[str, str]) -> int:
        member = session_set.member({**variables})
        assert member is not None
        self.places.append((member.place.index, member.place.count))
        self.identities.add(member.place.id)
        code = next(self._codes)
        if code is None:
            return 0
        results = self._folder / f"{member.place.index}.json"
        results.write_text("{}")
        member.point_to(results)
        return code

    def run(self, count: int, *, stop_at_failure: bool = False) -> tuple[EndedSession, ...]:
        return session_set.run(count, self.launch, self.announced.append, stop_at_failure=stop_at_failure)


def test_two_sets_are_told_apart(tmp_path: Path) -> None:
    """Though they began in the same second."""
    first, second = Sessions(tmp_path, 0), Sessions(tmp_path, 0)
    first.run(1)
    second.run(1)
    assert first.identities != second.identities


@pytest.mark.parametrize("code", [1, 3, -11, 139])
def test_a_session_that_fails_or_crashes_does_not_stop_the_others(tmp_path: Path, code: int) -> None:
    """What they measure is data all the same."""
    assert [one.code for one in Sessions(tmp_path, code, 0, 0).run(3)] == [code, 0, 0]


@pytest.mark.parametrize("code", [2, 4, 5, None])
def test_a_session_that_tells_what_the_others_would_do_stops_the_set(tmp_path: Path, code: int | None) -> None:
    """Interrupted, asked for wrongly, nothing collected, nothing measured."""
    assert [one.code for one in Sessions(tmp_path, 0, code, 0).run(3)] == [0, code or 0]


def test_a_crash_before_anything_was_measured_stops_nothing(tmp_path: Path) -> None:
    """It is no proof that there is nothing to measure."""

    def launch(_: Mapping[str, str]) -> int:
        return -9

    assert [one.file for one in session_set.run(2, launch, lambda _: None)] == [None, None]
    assert len(Sessions(tmp_path, -9, 0).run(2)) == 2


def test_a_set_that_is_to_stop_at_a_failure_does(tmp_path: Path) -> None:
    """As pytest's -x asks."""
    assert len(Sessions(tmp_path, 0, 1, 0).run(3, stop_at_failure=True)) == 2


FILE = Path("results/1.json")


@pytest.mark.parametrize(
    ("code", "cut_off", "crash"),
    [
        *((code, True, f"exit code {code} before pytest had ended") for code in (0, 1, 5)),
        *((code, True, None) for code in (2, 3, 4)),
        *((code, False, None) for code in range(6)),
        (6, False, "exit code 6"),
        (139, False, "exit code 139"),
        (-11, False, "SIGSEGV"),
        (-999, False, "signal 999"),
    ],
)
def test_what_a_session_died_of(code: int, cut_off: bool, crash: str | None) -> None:
    """By whatever exit code it was left before pytest's end, where pytest has that code only at its end."""
    assert EndedSession(index=1, code=code, file=FILE, cut_off=cut_off).crash == crash


@pytest.mark.parametrize(
    ("code", "file", "says"),
    [
        (-11, FILE, f"session 1 of 1 crashed (SIGSEGV): {FILE} has what it measured"),
        (-11, None, "session 1 of 1 crashed (SIGSEGV): nothing was measured"),
        (1, FILE, f"session 1 of 1 ended with exit code 1: {FILE} has what it measured"),
        (0, None, "session 1 of 1 ended with exit code 0: nothing was measured with the fixture roofline"),
    ],
)
def test_a_session_that_did_not_end_well_is_named(code: int, file: Path | None, says: str) -> None:
    """With how it ended, and whether something of it was kept."""
    (line,) = session_set.remarks([EndedSession(index=1, code=code, file=file)], 1)
    assert line.startswith(says)


def measured(folder: Path, *codes: int, seconds: float = 0.1, **changes: Any) -> list[EndedSession]:
    """A session for each of these exit codes, of one case; ``changes`` are of its record."""
    ended = []
    for index, code in enumerate(codes, 1):
        record = sessions.record(seconds, index, **changes)
        started = build.session(started_at=f"2026-11-20T{index:02}:00:00+00:00")
        file = build.write(folder / f"{index}.json", build.document([record], of=started))
        ended.append(EndedSession(index=index, code=code, file=file))
    return ended


@pytest.mark.parametrize(
    ("codes", "count", "change", "code"),
    [
        ((0, 0), 2, {}, 0),
        ((0, 0), 3, {}, 4),
        ((0, 1, 0), 3, {}, 1),
        ((0, 0), 2, {"file": None}, 4),
        ((1, 0), 2, {"file": None}, 1),
        ((0, 0), 2, {"cut_off": True}, 3),
        ((0, 0), 2, {"cut_off": True, "file": None}, 3),
        ((0, -11), 2, {}, 3),
    ],
)
def test_a_set_passes_if_every_session_has_ended_and_left_a_file(
    tmp_path: Path, codes: tuple[int, ...], count: int, change: dict[str, Any], code: int
) -> None:
    """Fewer than were asked for, or one that measured nothing, is nothing to go by; one that never ended is a crash.

    :param change: of how the first session ended.
    """
    first, *others = measured(tmp_path, *codes)
    found, lines = session_set.conclude([replace(first, **change), *others], count, 90)
    assert found == code
    assert ("Sessions of the same code: how far they scatter" in lines) is (len(codes) - ("file" in change) > 1)


def test_the_worst_session_decides() -> None:
    """Internal error, usage error, interrupted, failed, nothing collected, passed; in whatever order they come."""
    for worse, better in pairwise([3, 4, 2, 1, 5, 0]):
        assert session_set.worst([worse, better]) == session_set.worst([better, worse]) == worse


@pytest.mark.parametrize(("mode", "code"), [("train", 4), ("roof", 0)])
def test_a_set_of_which_nothing_can_be_used_does_not_pass(tmp_path: Path, mode: str, code: int) -> None:
    """Or it would be kept as a baseline, and fail all checks to come. Roofs alone have no scatter to show."""
    flag = Flag(name="test_failed", evidence="no", invalid=True)
    ended = measured(tmp_path, 0, 0, flags=(flag,), case=build.case(mode=mode))
    found, lines = session_set.conclude(ended, 2, 80)
    assert found == code
    assert any(line.startswith("no session of this set has a case") for line in lines) is (code == 4)
    assert session_set.conclude([replace(ended[0], code=1), ended[1]], 2, 80)[0] == 1


@pytest.mark.parametrize(
    ("codes", "seconds", "code"), [((0, 0, 0, 0), 0.1, 0), ((0, 0, 0, 0), 0.3, 1), ((1, 0), 0.1, 1), ((0, -11), 0.3, 3)]
)
def test_the_gate_is_of_all_sessions(tmp_path: Path, codes: tuple[int, ...], seconds: float, code: int) -> None:
    """What it comes to is the exit code of a set that has no worse one of its own."""
    base = [one.file for one in measured(tmp_path / "base", 0, 0, 0, 0, seconds=0.1001) if one.file is not None]
    baseline = Baseline(path=tmp_path / "base", files=tuple(base), options=options_of_check([]))
    found, lines = session_set.conclude(measured(tmp_path / "new", *codes, seconds=seconds), len(codes), 90, baseline)
    assert found == code
    assert sum(line.startswith("gate against ") for line in lines) == 1


BASELINE = Baseline(path=Path("base"), files=(Path("base/1.json"),), options={})


def test_an_interrupted_set_is_not_judged(tmp_path: Path) -> None:
    """It is no sample of what it was to measure; what is complete is kept."""
    ended = measured(tmp_path, 0, 2)
    code, lines = session_set.conclude(ended, 3, 90, BASELINE)
    assert code == 2
    assert "not held against base: interrupted" in lines
    assert lines[-2:] == [f"results: {one.file}" for one in ended]


@pytest.mark.parametrize("code", [0, 1, 4, 5])
def test_a_gate_with_nothing_to_look_at_does_not_pass(code: int) -> None:
    """However the session ended that measured nothing."""
    found, lines = session_set.conclude([EndedSession(index=1, code=code, file=None)], 2, 90, BASELINE)
    assert found == 4
    assert "gate against base: FAILED: nothing was measured" in lines


def test_what_the_terminal_cannot_show_is_replaced(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """Instead of ending the set with an error of encoding."""
    with (tmp_path / "out").open("w", encoding="ascii") as stream:
        monkeypatch.setattr(sys, "stdout", stream)
        session_set.say("3 % ± 1")
    assert (tmp_path / "out").read_text() == "3 % ? 1\n"
