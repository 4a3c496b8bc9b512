"""Sessions of the same code: how far they scatter, and where a set of them shows."""

from __future__ import annotations

import json
import math
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest

from roofline.comparison.sessions_table import Scatter, scatters_of
from roofline.machine.published import load
from roofline.model.points import Point, place_all
from roofline.results.reader import read_file
from roofline.results.result import ResultFile
from roofline.schema.record import Flag, Record, Rounds
from roofline.schema.session import SessionSet
from roofline.show.cases.point_tables import metrics_table, points_table
from roofline.show.cases.summary_tables import summary_table
from roofline.show.environment import environment
from roofline.show.render import render
from roofline.show.tables import Table
from tests.roofline import build
from tests.roofline.comparison import sessions
from tests.roofline.conftest import Run

SET = "20261120T100000Z-5f3a"


def _case(step_s: float, **changes: Any) -> Record:
    rounds = Rounds(steps=5, wall_s=(5 * step_s,) * 20)
    return build.record(timing=build.timing(step_s, rounds=rounds), **changes)


def _session(folder: Path, index: int, *records: Record | None, count: int = 3, on: str = "epyc-2cpu") -> ResultFile:
    place = SessionSet(id=SET, index=index, count=count)
    of = build.session(build.roofs(), started_at=f"2026-11-20T10:0{index}:00+00:00", set=place)
    return build.result(folder / on / f"{index}.json", records, of=of, on=build.machine(on))


def _points(*results: ResultFile) -> tuple[Point, ...]:
    return place_all(results, load())


def _rows(*results: ResultFile) -> Sequence[Scatter]:
    return scatters_of(_points(*results))[0]


def test_the_scatter_is_of_the_logarithms_between_sessions(tmp_path: Path) -> None:
    """Geometric mean, deviation of the logarithms, slowest over fastest; rounds that are alike leave nothing open."""
    (row,) = _rows(*(_session(tmp_path, index, _case(step_s)) for index, step_s in enumerate((0.09, 0.1, 0.12), 1)))
    logs = [math.log(0.09), math.log(0.1), math.log(0.12)]
    mean = sum(logs) / 3
    assert len(row.seen) == 3
    assert row.step_time_s == pytest.approx(math.exp(mean), rel=1e-12)
    assert row.between == pytest.approx(math.sqrt(sum((log - mean) ** 2 for log in logs) / 2), rel=1e-12)
    assert row.slowest_over_fastest == pytest.approx(0.12 / 0.09, rel=1e-12)
    assert row.within == 0


def test_what_rounds_leave_open_is_the_root_mean_square_of_the_sessions(tmp_path: Path) -> None:
    """A session of four rounds tells nothing of it, and doesn't count."""
    few = build.record(timing=build.timing(0.1, rounds=Rounds(steps=5, wall_s=(0.5,) * 4)))
    (row,) = _rows(_session(tmp_path, 1, _case(0.1)), _session(tmp_path, 2, few))
    assert (row.within, row.between, row.slowest_over_fastest) == (0, 0, 1)
    (alone,) = _rows(_session(tmp_path, 1, few))
    assert alone.within is None


def test_one_session_tells_no_scatter_and_says_so(tmp_path: Path) -> None:
    """No number stands where none can be known."""
    (row,) = _rows(_session(tmp_path, 1, _case(0.1)))
    assert (len(row.seen), row.between, row.slowest_over_fastest) == (1, None, None)


def test_machines_workloads_and_commits_are_not_pooled(tmp_path: Path) -> None:
    """Each is a row of its own."""
    content = json.loads(_session(tmp_path, 1, _case(0.1)).path.read_text())
    content["commit_info"]["id"] = "f" * 40
    changed = build.write(tmp_path / "changed.json", content)
    rows = _rows(
        _session(tmp_path, 1, _case(0.1)),
        _session(tmp_path, 2, _case(0.1, case=build.case(workload_hash="another"))),
        _session(tmp_path, 3, _case(0.1), on="a100"),
        read_file(changed),
    )
    assert [len(row.seen) for row in rows] == [1, 1, 1, 1]


def test_rows_that_say_nothing_of_the_case_are_left_out_and_named(tmp_path: Path) -> None:
    """Invalid ones and disturbed ones."""
    flag = Flag(name="test_failed", evidence="it did", invalid=True)
    disturbed = Rounds(steps=5, wall_s=(0.5,) * 10, disturbed=("steal",) * 10)
    (row,), notes = scatters_of(
        _points(
            _session(tmp_path, 1, _case(0.1)),
            _session(tmp_path, 2, _case(0.2, flags=(flag,))),
            _session(tmp_path, 3, build.record(timing=build.timing(0.1, rounds=disturbed))),
        )
    )
    assert (len(row.seen), row.step_time_s) == (1, pytest.approx(0.1))
    left_out = "\n".join(notes)
    assert "invalid: test_failed (1 session left out)" in left_out
    assert "most rounds were disturbed from outside (1 session left out)" in left_out


def test_plain_benchmarks_scatter_too(tmp_path: Path) -> None:
    """By their statistics: a gate holds them against each other all the same."""
    contents = [sessions.foreign({"test_sort": (seconds,) * 5}) for seconds in (0.1, 0.2)]
    files = [build.write(tmp_path / f"{index}.json", content) for index, content in enumerate(contents)]
    (row,) = _rows(*map(read_file, files))
    assert (row.case, len(row.seen)) == ("tests/test_speed.py::test_sort", 2)
    assert row.step_time_s == pytest.approx(math.sqrt(0.02))


def test_a_session_of_a_loud_hour_is_left_out(tmp_path: Path) -> None:
    """As a gate does: also a case that met nobody, where most cases were mostly disturbed."""
    quiet, loud = (Rounds(steps=5, wall_s=(0.5,) * 20, disturbed=(mark,) * 20) for mark in (None, "steal"))
    alone = build.record(timing=build.timing(0.1, rounds=quiet))
    others = [build.record(case=build.case(model=model), timing=build.timing(0.1, rounds=loud)) for model in ("a", "b")]
    (row,), notes = scatters_of(_points(_session(tmp_path, 1, alone, *others), _session(tmp_path, 2, alone)))
    assert len(row.seen) == 1
    assert any("most cases of the session were mostly disturbed from outside" in note for note in notes)


def test_nothing_to_show_is_no_success(tmp_path: Path, run: Run) -> None:
    """Exit code 3, with why below the table."""
    flag = Flag(name="test_failed", evidence="it did", invalid=True)
    _session(tmp_path, 1, _case(0.1, flags=(flag,)))
    code, out, err = run("sessions", tmp_path)
    assert code == 3
    assert "test_failed (1 session left out)" in " ".join(out.split())
    assert err == f"Error: no session of {tmp_path} has a case that can be used.\n"


def test_roofs_are_no_cases(tmp_path: Path) -> None:
    """They have a spread of their own."""
    assert _rows(_session(tmp_path, 1, _case(0.1, case=build.case(id="roof-fp32", mode="roof")))) == []


def test_the_command_shows_it(tmp_path: Path, run: Run) -> None:
    """In every form; machine and commit only where they differ, as a heading."""
    for index, step_s in enumerate((0.09, 0.1, 0.12), 1):
        _session(tmp_path, index, _case(step_s))
    code, out, _ = run("sessions", tmp_path)
    assert code == 0
    assert "sessions" in out
    assert "epyc" not in out
    code, out, _ = run("sessions", tmp_path, "--format", "json")
    (row,) = json.loads(out)
    assert (row["sessions"], row["machine"], row["commit"]) == (3, "epyc-2cpu", "0123456789")
    for index in (4, 5):
        _session(tmp_path, index, _case(0.1), on="a100")
    lines = run("sessions", tmp_path, "--width", 80)[1].splitlines()
    assert {"a100", "epyc-2cpu"} < {*lines}


def test_cases_of_one_session_are_counted(tmp_path: Path, run: Run) -> None:
    """A row of theirs says nothing of scatter; ``-v`` shows it, and a program gets every row."""
    other = _case(0.2, case=build.case(id="alone", workload_hash="other"))
    _session(tmp_path, 1, _case(0.1), other)
    _session(tmp_path, 2, _case(0.1))
    shown = run("sessions", tmp_path)[1]
    assert "alone" not in shown
    assert "1 case with one session" in shown
    assert "alone" in run("sessions", tmp_path, "-v")[1]
    assert len(json.loads(run("sessions", tmp_path, "--format", "json")[1])) == 2


def test_a_copy_is_no_session(tmp_path: Path, run: Run) -> None:
    """It doesn't scatter: one file of each session is taken, and the others are named."""
    first = _session(tmp_path, 1, _case(0.1)).path
    _session(tmp_path, 2, _case(0.12))
    copy = tmp_path / "copy.json"
    copy.write_bytes(first.read_bytes())
    code, out, err = run("sessions", first.parent, copy, "--format", "json")
    (row,) = json.loads(out)
    assert (code, row["sessions"]) == (0, 2)
    assert err == f"skipped {copy}: the same session as {first}, taken once\n"


def _texts(table: Table[Any]) -> tuple[str, str]:
    return render(table, "table", 100), render(table, "csv", 100)


def test_rows_of_a_set_are_told_apart(tmp_path: Path) -> None:
    """Of several sessions every table has a row each, with its place in the set; nothing is a mean of them."""
    points = _points(*(_session(tmp_path, index, _case(0.1)) for index in (1, 2, 3)))
    shown, csv = _texts(points_table(points))
    for index in (1, 2, 3):
        assert f"session {index} of 3" in shown
        assert f",{index}/3,{SET}," in csv
    assert csv == render(points_table(points), "csv", 80)
    assert f",2/3,{SET}," in _texts(metrics_table(points))[1]


def test_summary_and_environment_say_which_session_it_is(tmp_path: Path) -> None:
    """Which of how many, and of which set."""
    result = _session(tmp_path, 2, _case(0.1), count=5)
    assert "session 2 of 5" in summary_table(result, _points(result)).title
    assert f"| session | 2 of 5 of the set {SET} |" in environment(result)
    alone = build.result(tmp_path / "alone.json", [_case(0.1)])
    assert "session" not in summary_table(alone, _points(alone)).title
    assert "| session |" not in environment(alone)


def test_of_a_set_the_newest_is_drawn_and_compared_and_that_is_said(tmp_path: Path, run: Run) -> None:
    """A figure or a row of machines is one run's, never a mean of several."""
    for index in (1, 2, 3):
        _session(tmp_path, index, _case(0.1 * index))
    code, out, _ = run("machines", tmp_path, "--format", "json")
    assert code == 0
    assert [row["step_time_s"] for row in json.loads(out)] == [pytest.approx(0.3)]
    said = "epyc-2cpu: 2 older results of the same workload left out, the newest is shown"
    assert said in run("machines", tmp_path)[1]
    assert said in run("plot", tmp_path)[2]
