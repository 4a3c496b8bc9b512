"""The journal of a run that was killed: read by every command as what its JSON would have been, told as incomplete."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner

from roofline.cli.program import program
from roofline.files.decoding import ReadError
from roofline.results import journal
from roofline.results.reader import read, read_file
from roofline.schema.record import KEY
from tests.roofline import build

PLANNED = ["test_it.py::test_a", "test_it.py::test_b", "test_it.py::test_c", "test_it.py::test_d"]


def lines(*ended: dict[str, Any]) -> str:
    """The text of a journal."""
    document = build.document([], of=build.session(build.roofs()), on=build.machine())
    first = {"document": document, "planned": {test: test.partition("::")[2] for test in PLANNED}}
    whole = [{"finished": [], "rows": {}, "not_measured": [], "session": {}, **line} for line in ended]
    return "".join(json.dumps(line) + "\n" for line in (first, *whole))


def row(model: str) -> dict[str, Any]:
    (found,) = build.document([build.record(case=build.case(model=model))])["benchmarks"]
    return dict(found)


RUN = lines(
    {"finished": PLANNED[:1], "rows": {"0": row("first")}, "session": {"wall_s": 1.0}},
    {
        "finished": PLANNED[1:2],
        "not_measured": [{"id": "test_b", "outcome": "out_of_memory", "reason": "too large"}],
        "session": {"wall_s": 2.0},
    },
    {"rows": {"0": row("corrected")}},
    {"finished": PLANNED[2:3], "rows": {"1": row("third")}},
)
"""Three of four finished; the second had no memory, and something was added to the first after it had ended."""


def test_a_journal_is_read_as_the_file_that_its_run_would_have_made(tmp_path: Path) -> None:
    """Rows, reasons, and how far it came."""
    path = tmp_path / "a.journal"
    path.write_text(RUN)
    result = read_file(path)
    assert [one.record.case.model for one in result.benchmarks] == ["corrected", "third"]
    session = result.session
    assert [one.why for one in session.not_measured] == ["out of memory: too large"]
    assert (session.complete, session.planned, session.finished) == (False, 4, 3)
    assert (session.not_run, session.wall_s, session.notes) == (("test_d",), 2.0, ())


@pytest.mark.parametrize("cut", [1, 30])
def test_a_last_line_that_is_cut_off_is_told_and_what_stands_before_it_is_read(tmp_path: Path, cut: int) -> None:
    """As by a power cut. What it held counts as not run."""
    path = tmp_path / "a.journal"
    path.write_text(RUN[: -cut - 1])
    session = read_file(path).session
    assert session is not None
    assert session.not_run == ("test_c", "test_d")
    assert session.notes == ("line 5 of the run's journal is cut off or damaged: what it held is lost",)


@pytest.mark.parametrize(
    "damaged",
    [
        *("5", "null", "[]", "{}"),
        *(
            json.dumps({"finished": [], "rows": {}, "not_measured": [], "session": {}, **one})
            for one in ({"finished": [[]]}, {"not_measured": 1}, {"session": [1]}, {"rows": 1}, {"rows": {"x": {}}})
        ),
    ],
)
def test_a_damaged_line_is_told_and_nothing_of_it_is_taken(tmp_path: Path, damaged: str) -> None:
    """What stands before and after it is read."""
    first, *others = RUN.splitlines()
    path = tmp_path / "a.journal"
    path.write_text("\n".join([first, damaged, *others]))
    result = read_file(path)
    assert result.session is not None
    assert len(result.benchmarks) == 2
    assert result.session.notes == ("line 2 of the run's journal is cut off or damaged: what it held is lost",)


def test_a_byte_that_is_no_text_damages_its_line_alone(tmp_path: Path) -> None:
    """The others are read, and made into the JSON."""
    path = tmp_path / "a.journal"
    first, *others = RUN.encode().splitlines(keepends=True)
    path.write_bytes(b"".join([first, *(line.replace(b"test_b", b"test\xffb") for line in others)]))
    session = read_file(path).session
    assert session is not None
    assert session.not_run == ("test_b", "test_d")
    assert session.notes == ("line 3 of the run's journal is cut off or damaged: what it held is lost",)
    code, _, told = run("recover", path)
    assert (code, "line 3 of the run's journal is cut off or damaged" in told) == (0, True)


def test_a_case_of_a_damaged_line_began(tmp_path: Path) -> None:
    """It isn't told as not run; a run that is resumed measures it again."""
    first, *others = RUN.splitlines()
    began = [json.dumps({"began": test}) for test in PLANNED]
    text = "\n".join([first, began[0], "damaged", began[1], others[1], began[2], others[3], began[3], "cut"])
    path = tmp_path / "a.journal"
    path.write_text(text)
    session = read_file(path).session
    assert session is not None
    assert (session.finished, session.not_run) == (4, ())
    assert [f"{one.id} {one.why}" for one in session.not_measured if one.outcome == "error"] == [
        "test_a error: it began, and line 3 of the journal, which may have held it, is damaged",
        "test_d error: it began, and line 9 of the journal, which may have held it, is damaged",
    ]
    assert journal.read(text).finished == {PLANNED[1], PLANNED[2]}


WITHOUT_NOTES = lines().replace('"notes"', '"note"')


@pytest.mark.parametrize("text", ["", RUN[:100], "[]\n", "{}\n", WITHOUT_NOTES])
def test_a_journal_without_its_first_line_cannot_be_used(tmp_path: Path, text: str) -> None:
    """Its name and the reason are told."""
    path = tmp_path / "a.journal"
    path.write_text(text)
    with pytest.raises(ReadError, match=r"a\.journal: (empty|its first line)"):
        read_file(path)


def test_a_folder_is_read_with_the_journals_that_have_no_json(tmp_path: Path) -> None:
    """One beside its JSON is what that was made of."""
    for name in ("a", "b"):
        (tmp_path / f"{name}.journal").write_text(RUN)
    assert journal.recover(tmp_path / "a.journal") == tmp_path / "a.json"
    assert [file.path.name for file in read([tmp_path]).files] == ["a.json", "b.journal"]


def run(*arguments: object) -> tuple[int, str, str]:
    answer = CliRunner().invoke(program, [str(one) for one in arguments])
    return answer.exit_code, answer.stdout, answer.stderr


def test_recover_makes_the_json_that_says_what_is_missing(tmp_path: Path) -> None:
    """For whoever reads pytest-benchmark's JSON; it is told as incomplete like the journal, which stays."""
    path = tmp_path / "a.journal"
    path.write_text(RUN)
    code, out, told = run("recover", path)
    assert (code, out) == (0, f"{tmp_path / 'a.json'}\n")
    assert "3 of 4 cases finished; not run: test_d" in told
    made = json.loads((tmp_path / "a.json").read_text())
    assert made == journal.load(path)
    assert {name: made[KEY][name] for name in ("complete", "planned", "finished", "not_run")} == {
        "complete": False,
        "planned": 4,
        "finished": 3,
        "not_run": ["test_d"],
    }
    assert path.exists()


def test_recover_takes_each_journal_of_a_folder(tmp_path: Path) -> None:
    """Those whose JSON isn't there, and the exit code is that of the worst. A second time there is nothing to do."""
    (tmp_path / "below").mkdir()
    for name in ("a", "below/b", "c"):
        (tmp_path / f"{name}.journal").write_text(RUN)
    (tmp_path / "a.json").write_text("whole")
    code, out, told = run("recover", tmp_path)
    assert (code, out.split()) == (0, [str(tmp_path / "below" / "b.json"), str(tmp_path / "c.json")])
    assert "a.json" not in told
    # The run may have made it, and a copy of its journal hold less.
    assert run("recover", tmp_path / "a.journal")[0] == 2
    assert (tmp_path / "a.json").read_text() == "whole"
    told = f"{tmp_path}: nothing to recover. The JSON of 3 journals is there.\n"
    assert run("recover", tmp_path) == (0, "", told)
    (tmp_path / "d.journal").write_text("")
    assert run("recover", tmp_path)[0] == 3
    (tmp_path / "none").mkdir()
    assert run("recover", tmp_path / "none")[0] == 3


def test_recover_writes_strict_json_of_numbers_that_are_not_finite(tmp_path: Path) -> None:
    """Null, as every reader takes them; the file stays one for tools that read strict JSON alone."""
    path = tmp_path / "a.journal"
    path.write_text(RUN.replace('"wall_s": 2.0', '"wall_s": Infinity'))
    assert run("recover", path)[0] == 0
    assert json.loads((tmp_path / "a.json").read_text())[KEY]["wall_s"] is None


def test_recover_makes_nothing_of_what_is_no_journal_or_holds_nothing(tmp_path: Path) -> None:
    """Exit code 2 for another file, 3 for one in which nothing was measured."""
    build.write(tmp_path / "other.json", build.document([]))
    (tmp_path / "a.journal").write_text(lines())
    assert run("recover", tmp_path / "other.json")[0] == 2
    assert run("recover", tmp_path / "absent.journal")[0] == run("recover", tmp_path / "absent.json")[0] == 3
    code, _, told = run("recover", tmp_path / "a.journal")
    assert code == 3
    assert "0 of 4 cases finished" in told
    assert not (tmp_path / "a.json").exists()


def test_a_result_whose_run_did_not_end_is_looked_for_in_vain(tmp_path: Path) -> None:
    """The message names the journal that is there in its place."""
    (tmp_path / "a.journal").write_text(RUN)
    code, _, told = run("points", tmp_path / "a.json")
    assert code == 3
    assert str(tmp_path / "a.journal") in "".join(told.split("\n  "))


@pytest.mark.parametrize("command", ["points", "ops", "sessions", "env", "audit", "report", "plot", "lock"])
def test_every_command_says_that_a_run_did_not_end(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, command: str
) -> None:
    """On stderr, before anything that it shows."""
    monkeypatch.chdir(tmp_path)
    path = tmp_path / "a.journal"
    path.write_text(RUN)
    _, _, told = run(command, path)
    assert "the run did not end: 3 of 4 cases finished; not run: test_d" in told
