"""A set of sessions: which run, how each ended, and what came of all of them."""

from __future__ import annotations

import json
import sys
from collections.abc import Callable, Mapping
from dataclasses import replace
from pathlib import Path

import pytest

from pytest_roofline.session import analysis
from pytest_roofline.session import sets as session_set
from pytest_roofline.session.analysis import Answer
from pytest_roofline.session.baseline import Baseline
from pytest_roofline.session.sets import Ended, Member
from roofline.schema.record import KEY, SessionSet

PLACE = SessionSet(id="s", index=2, count=3)


@pytest.mark.parametrize("text", ["", "[]", '["s", "x", 3, "told"]', '["s", 1, 3, 4]'])
def test_a_variable_that_holds_something_else_is_refused(text: str) -> None:
    """Somebody set it by hand, or left it set."""
    with pytest.raises(ValueError, match=r"^ROOFLINE_SESSION is for the processes that --sessions starts. Unset it.$"):
        session_set.member({"ROOFLINE_SESSION": text})


def test_a_child_tells_where_its_results_are(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A file that isn't there any more is none, and a journal without a measurement is taken away; one that is damaged
    stays. No `..` is in its path.
    """
    monkeypatch.chdir(tmp_path)
    member = Member(place=PLACE, pointer=tmp_path / "2")
    assert member.collect() is None
    results = Path("results.json")
    member.point_to(results)
    assert member.collect() is None
    results.write_text("{}")
    assert member.collect() == tmp_path / "results.json"
    (tmp_path / "project").mkdir()
    member.point_to(tmp_path / "project" / ".." / "results.json")
    assert member.collect() == tmp_path / "results.json"
    results.unlink()
    left = tmp_path / "results.journal"
    for text in ("", '{"document": {"roofline": {"notes": [], "not_measured": []}}, "planned": {"a": "a"}}\n'):
        left.write_text(text)
        assert member.collect() is None
        assert not left.exists()
    left.write_text('{"document": {"roof')
    assert member.collect() is None
    assert left.exists()


class Sessions:
    """Sessions that end with these codes in turn; ``None`` for one that ends well and measures nothing."""

    def __init__(self, folder: Path, *codes: int | None, concludes: bool = True) -> None:
        self.concludes = concludes
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
        if self.concludes:
            member.conclude()
        if code is None:
            return 0
        results = self._folder / f"{member.place.index}.json"
        results.write_text("{}")
        member.point_to(results)
        return code

    def run(self, count: int, *, stop_at_failure: bool = False) -> tuple[Ended, ...]:
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


@pytest.mark.parametrize(("code", "crash"), [(0, True), (1, True), (5, True), (2, False), (3, False), (4, False)])
def test_a_process_that_is_left_before_pytest_ends_has_crashed(tmp_path: Path, code: int, crash: bool) -> None:
    """By whatever exit code, where pytest has that only at its end; the others go on, as after any crash."""
    ended = Sessions(tmp_path, code, 0, concludes=False).run(2)
    assert ended[0].crash == (f"exit code {code} before pytest had ended" if crash else None)
    assert ended[0].concluded is False
    assert len(ended) == (1 if code in (2, 4) else 2)
    assert Sessions(tmp_path, code).run(1)[0].crash is None


def test_a_set_that_is_to_stop_at_a_failure_does(tmp_path: Path) -> None:
    """As pytest's -x asks."""
    assert len(Sessions(tmp_path, 0, 1, 0).run(3, stop_at_failure=True)) == 2


FILE = Path("results/1.json")


@pytest.mark.parametrize(
    ("code", "file", "says"),
    [
        (-11, FILE, f"session 1 of 1 crashed (SIGSEGV): {FILE} has what it measured before"),
        (-11, None, "session 1 of 1 crashed (SIGSEGV): nothing of it was kept"),
        (139, None, "session 1 of 1 crashed (exit code 139): nothing of it was kept"),
        (1, FILE, "session 1 of 1: a test failed (exit code 1)"),
        (3, FILE, "session 1 of 1: pytest broke (exit code 3)"),
        (4, None, "session 1 of 1: it could not do what was asked and nothing was measured (exit code 4)"),
    ],
)
def test_a_session_that_did_not_end_well_is_named(code: int, file: Path | None, says: str) -> None:
    """With how it ended, and whether something of it was kept."""
    assert session_set.remarks([Ended(index=1, code=code, file=file)], 1) == [says]


def test_nothing_is_said_of_sessions_that_ended_well_and_that_a_set_is_short_is() -> None:
    """A set of two where three were asked for is not what was asked for."""
    assert session_set.remarks([Ended(index=1, code=0, file=FILE)], 1) == []
    assert session_set.remarks([Ended(index=1, code=0, file=FILE)], 3) == ["stopped after session 1 of 3"]


BASELINE = Baseline(path=Path("base"), files=(Path("base/1.json"),))
Asked = list[tuple[str, ...]]


@pytest.fixture
def answers(monkeypatch: pytest.MonkeyPatch) -> Callable[..., Asked]:
    """The program answers with these codes; what it was asked is noted."""

    def prepare(**codes: int) -> Asked:
        calls: Asked = []

        def ask(command: str, *arguments: str) -> Answer:
            calls.append((command, *arguments))
            return Answer(command=command, code=codes.get(command, 0), out=f"<{command}>", err="")

        monkeypatch.setattr(analysis, "ask", ask)
        return calls

    return prepare


def _ended(*codes: int) -> list[Ended]:
    return [Ended(index=index, code=code, file=Path(f"{index}.json")) for index, code in enumerate(codes, 1)]


def test_a_set_ends_with_its_scatter_and_its_files(answers: Callable[..., Asked]) -> None:
    """The program tells the one, of all files together; the worst exit code is the set's."""
    asked = answers()
    code, lines = session_set.conclude(_ended(0, 1, 0), 3, 90)
    assert asked == [("sessions", "1.json", "2.json", "3.json", "--width", "90")]
    assert code == 1
    assert lines == [
        "<sessions>",
        "session 2 of 3: a test failed (exit code 1)",
        *("results: 1.json", "results: 2.json", "results: 3.json"),
    ]


@pytest.mark.parametrize(
    ("ended", "count", "code"),
    [
        ([Ended(index=1, code=0, file=FILE), Ended(index=2, code=0, file=FILE)], 2, 0),
        ([Ended(index=1, code=0, file=FILE)], 2, 4),
        ([Ended(index=1, code=0, file=None)], 2, 4),
        ([Ended(index=1, code=0, file=FILE), Ended(index=2, code=0, file=None)], 2, 4),
        ([Ended(index=1, code=1, file=None)], 2, 1),
        ([Ended(index=1, code=0, file=FILE), Ended(index=2, code=0, file=FILE, concluded=False)], 2, 3),
        ([Ended(index=1, code=0, file=None, concluded=False), Ended(index=2, code=0, file=FILE)], 2, 3),
    ],
)
def test_a_set_passes_if_every_session_has_ended_and_left_a_file(
    answers: Callable[..., Asked], ended: list[Ended], count: int, code: int
) -> None:
    """Fewer than were asked for, or one that measured nothing, is nothing to go by; one that never ended is a crash."""
    answers()
    assert session_set.conclude(ended, count, 90)[0] == code


def _written(folder: Path, *modes: str) -> list[Ended]:
    """A session for each of these modes of its only case, which passed."""
    ended = []
    for index, mode in enumerate(modes, 1):
        file = folder / f"{index}.json"
        file.write_text(json.dumps({"benchmarks": [{"extra_info": {KEY: {"case": {"mode": mode}}}}]}))
        ended.append(Ended(index=index, code=0, file=file))
    return ended


def test_a_set_of_which_nothing_can_be_used_is_no_baseline(answers: Callable[..., Asked], tmp_path: Path) -> None:
    """As of an hour in which each round was disturbed: exit code 4, or it would be kept and fail all checks to come."""
    answers(sessions=3)
    code, lines = session_set.conclude(_written(tmp_path, "train", "train"), 2, 80)
    assert code == 4
    assert lines[:3] == [
        "<sessions>",
        "not usable as a baseline: no session of this set has a case that can be used,",
        "  for the reasons above. Measure again",
    ]
    (failed, *others) = _written(tmp_path, "train", "train")
    code, lines = session_set.conclude([replace(failed, code=1), *others], 2, 90)
    assert code == 1
    assert lines[1].startswith("not usable as a baseline: ")


@pytest.mark.parametrize(("baseline", "named"), [(None, "BASELINE"), (BASELINE, "base")])
def test_where_a_session_passed_and_measured_nothing_it_is_told_what_to_do(
    answers: Callable[..., Asked], baseline: Baseline | None, named: str
) -> None:
    """With tests that use pytest-benchmark's own fixture, as a gate of one session tells; where it died, nothing."""
    answers()
    told = (
        "a set keeps what the fixture roofline measures. For tests that use pytest-benchmark's own, let each run write"
        f" a file, pytest --benchmark-json NEW/1.json, and ask: roofline check NEW --baseline {named}"
    )
    for code, concluded, ends in ((0, True, True), (0, False, False), (1, True, False)):
        end = Ended(index=1, code=code, file=None, concluded=concluded)
        lines = session_set.conclude([end], 3, 80, baseline)[1]
        assert " ".join(" ".join(lines).split()).endswith(f"stopped after session 1 of 3 {told}") is ends
        assert ("roofline check" in " ".join(lines)) is ends
        assert all(len(line) <= 80 for line in lines if not line.startswith("session "))


def test_roofs_alone_are_no_useless_baseline(answers: Callable[..., Asked], tmp_path: Path) -> None:
    """They have no scatter to show, and whoever asks for them alone wants no baseline."""
    answers(sessions=3)
    code, lines = session_set.conclude(_written(tmp_path, "roof", "roof"), 2, 90)
    assert code == 0
    assert not any("baseline" in line for line in lines)


def test_of_a_set_that_is_held_against_a_baseline_the_gate_says_that_nothing_can_be_used(
    answers: Callable[..., Asked], tmp_path: Path
) -> None:
    """It is the other side."""
    answers(sessions=3, check=3)
    code, lines = session_set.conclude(_written(tmp_path, "train", "train"), 2, 90, BASELINE)
    assert code == 4
    assert not any("not usable as a baseline" in line for line in lines)
    assert "<check>" in lines


def test_one_session_has_no_scatter(answers: Callable[..., Asked]) -> None:
    """Nothing is asked of one file."""
    asked = answers()
    assert session_set.conclude(_ended(0), 1, 90)[0] == 0
    assert asked == []


@pytest.mark.parametrize(
    ("codes", "of_check", "code"), [((0, 0), 0, 0), ((0, 0), 1, 1), ((0, 0), 3, 4), ((1, 0), 3, 1), ((0, -11), 1, 3)]
)
def test_the_gate_is_asked_once_of_all_sessions(
    answers: Callable[..., Asked], codes: tuple[int, ...], of_check: int, code: int
) -> None:
    """What it says is the exit code of a set that has no worse one of its own."""
    asked = answers(check=of_check)
    found, lines = session_set.conclude(_ended(*codes), 2, 90, BASELINE, ("--strict",))
    checks = [call for call in asked if call[0] == "check"]
    assert [call[1:6] for call in checks] == [("1.json", "2.json", "--baseline", "base/1.json", "--strict")]
    assert "<check>" in lines
    assert found == code


def test_an_interrupted_set_is_not_judged(answers: Callable[..., Asked]) -> None:
    """It is no sample of what it was to measure; what is complete is kept."""
    asked = answers()
    code, lines = session_set.conclude(_ended(0, 2), 3, 90, BASELINE)
    assert code == 2
    assert [call[0] for call in asked] == ["sessions"]
    assert "not held against base: interrupted" in lines
    assert lines[-2:] == ["results: 1.json", "results: 2.json"]


@pytest.mark.parametrize("code", [0, 1, 4, 5])
def test_a_gate_with_nothing_to_look_at_does_not_pass(answers: Callable[..., Asked], code: int) -> None:
    """However the session ended that measured nothing."""
    answers()
    found, lines = session_set.conclude([Ended(index=1, code=code, file=None)], 2, 90, BASELINE)
    assert found == 4
    assert "gate against base: FAILED: nothing was measured" in lines


def test_what_the_terminal_cannot_show_is_replaced(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """Instead of ending the set with an error of encoding."""
    with (tmp_path / "out").open("w", encoding="ascii") as stream:
        monkeypatch.setattr(sys, "stdout", stream)
        session_set.say("3 % ± 1")
    assert (tmp_path / "out").read_text() == "3 % ? 1\n"
