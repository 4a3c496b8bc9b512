"""What passes the gate, and the warning it passes with."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from roofline.schema.record import KEY
from tests.roofline import build
from tests.roofline.comparison import sessions
from tests.roofline.comparison.sessions import ID, TIMES
from tests.roofline.conftest import Run


def test_of_many_cases_two_have_a_line(run: Run, tmp_path: Path) -> None:
    """On stderr, and not below the table once more; with -v and in JSON all have one."""
    base = sessions.side(tmp_path / "base", {f"net{number}": 0.1 for number in range(6)}, count=1)
    new = sessions.side(tmp_path / "new", {f"net{number}": 0.1 for number in range(6)}, count=1, first=10)

    def fail(content: dict[str, Any]) -> None:
        for number, row in enumerate(content["benchmarks"]):
            row["extra_info"][KEY]["flags"] = [{"name": "wrong_device", "evidence": f"on {number}", "invalid": True}]

    sessions.edited(new[0], fail)
    checked = ("check", *new, "--baseline", *base, "--width", 1000)
    _, out, err = run(*checked)
    assert err.count("Error: invalid: net") == 2
    assert "Error: invalid: and 4 more (-v shows all)" in err
    assert not {f"  {line.partition(': ')[2]}" for line in err.splitlines()} & set(out.splitlines())
    _, out, err = run(*checked, "-v")
    assert err.count("Error: invalid: net") == 6
    assert "invalid: net" not in out
    _, out, _ = run("compare", *base, "--with", *new, "--width", 1000)
    assert out.count("  invalid: net") == 2


def test_what_is_inconclusive_passes_with_a_warning_unless_strict(run: Run, base: list[Path], new: list[Path]) -> None:
    """A single session a side can't show that nothing changed by 2 %."""
    code, out, err = run("check", new[0], "--baseline", base[0])
    assert code == 0
    assert out.startswith("Undecided: no case shown to be slower, and none to be the same (2 inconclusive)\n")
    assert err.startswith(f"Warning: inconclusive, neither slower nor the same: resnet18-train-b32-fp32, {ID}")
    code, out, err = run("check", new[0], "--baseline", base[0], "--strict")
    assert code == 3
    assert out.startswith("Not passed")
    assert err.startswith("Error: inconclusive")


def test_shown_to_be_the_same(run: Run, base: list[Path], new: list[Path]) -> None:
    """What is surely smaller than what matters is the same, and passes without a warning, strict or not."""
    code, out, err = run("check", *new, "--baseline", *base, "--least-effect", "50%", "--strict")
    assert (code, err) == (0, "")
    assert out.startswith("Passed: no case shown to be slower (2 same)")


def test_a_new_case_passes_and_is_told(run: Run, tmp_path: Path, base: list[Path]) -> None:
    """There is nothing to hold it against."""
    new = sessions.side(tmp_path / "new", {**TIMES, "vgg16": 0.2}, first=10)
    code, out, _ = run("check", *new, "--baseline", *base)
    assert code == 0
    assert "2 matched, 1 new" in out


def test_the_host_name_is_no_machine(run: Run, tmp_path: Path) -> None:
    """Runners of one kind have a new name each time; it is told, and nothing hangs on it."""
    base = build.write(tmp_path / "base.json", sessions.foreign({"a": (0.02,) * 9}, node="runner-1"))
    new = build.write(tmp_path / "new.json", sessions.foreign({"a": (0.02,) * 9}, node="runner-2"))
    code, out, _ = run("check", new, "--baseline", base)
    assert code == 0
    assert "host runner-2, baseline runner-1" in out


def test_a_large_improvement_asks_for_a_new_baseline(run: Run, tmp_path: Path, base: list[Path]) -> None:
    """GATE-07: 40 % faster passes; with the old baseline a later loss of as much would pass, too."""
    new = sessions.side(tmp_path / "new", {**TIMES, "resnet50": 0.06}, first=10)
    code, out, _ = run("check", *new, "--baseline", *base)
    assert code == 0
    assert f"Faster by 10 % or more: {ID}. Refresh the baseline" in out


def test_two_clusters_of_rounds_are_inconclusive_by_name(run: Run, tmp_path: Path) -> None:
    """CPU-05: 15 rounds at 2.10 s and 15 at 3.20 s are no mean of 26 % more."""

    def side(name: str, wall: tuple[float, ...]) -> Path:
        rounds = build.timing(sum(wall) / len(wall), rounds=sessions.Rounds(steps=1, wall_s=wall))
        content = build.document([build.record(timing=rounds)], of=build.session(), on=build.machine())
        ordered = sorted(wall)
        content["benchmarks"][0]["stats"]["median"] = (ordered[14] + ordered[15]) / 2
        content["benchmarks"][0]["stats"] |= {"min": ordered[0], "max": ordered[-1]}
        return build.write(tmp_path / f"{name}.json", content)

    quiet = tuple(2.1 + 0.001 * (index % 5) for index in range(30))
    two = tuple(time + (1.1 if index % 2 else 0.0) for index, time in enumerate(quiet))
    base = [side(f"base{number}", quiet) for number in range(4)]
    code, out, _ = run("check", *[side(f"new{number}", two) for number in range(4)], "--baseline", *base)
    assert code == 0
    assert f"inconclusive: {ID}: bimodal: new: 15 rounds at 2.10 s a step and 15 at 3.20 s" in " ".join(out.split())
    # Slower in whichever cluster: each of its rounds took longer than any of the baseline's.
    slow = [side(f"slow{number}", tuple(3 * time for time in two)) for number in range(4)]
    assert run("check", *slow, "--baseline", *base)[0] == 1


def test_an_older_file_in_the_new_one_s_place_is_told(run: Run, base: list[Path], tmp_path: Path) -> None:
    """A run that wrote nothing leaves what lay there: it passes, with a warning that has both times and the file."""
    old = sessions.side(tmp_path / "old", TIMES, count=1, started_at="2026-11-19T07:30:00+00:00")
    code, _, err = run("check", *old, "--baseline", *base)
    assert code == 0
    assert (
        "Warning: 1 of 1 sessions of the new side began before the baseline (2026-11-20 00:00 UTC): is"
        f" {old[0]} (2026-11-19 07:30 UTC) of another run?" in err
    )
    assert run("check", *old, "--baseline", *base, "--strict")[0] == 3
    assert "Warning: " not in run("compare", *base, "--with", *old)[2]


def test_a_session_that_was_written_twice_is_one_session(
    run: Run, tmp_path: Path, base: list[Path], new: list[Path]
) -> None:
    """By two options, in other bytes; as its own baseline, too."""
    content = json.loads(new[0].read_text())
    twin = build.write(tmp_path / "twin.json", {**content, "datetime": "2026-11-20T23:59:59+00:00"})
    code, out, _ = run("check", new[0], twin, "--baseline", *base, "--format", "json")
    assert (code, [row["new_sessions"] for row in json.loads(out)]) == (0, [1, 1])
    code, _, err = run("check", new[0], "--baseline", *base, twin)
    assert code == 3
    assert f"{twin}: the same session as {new[0]} of the other side." in " ".join(err.split())


def _of(commit: str, *, dirty: bool = False) -> Any:
    def change(content: dict[str, Any]) -> None:
        content["commit_info"] |= {"id": commit, "dirty": dirty}

    return change


def test_a_file_of_another_run_among_the_new_ones_is_told(
    run: Run, base: list[Path], new: list[Path], tmp_path: Path
) -> None:
    """By its commit and its hour: it passes, with a warning that names it, and not under --strict."""
    (stale,) = sessions.side(tmp_path / "new", TIMES, count=1, first=9, started_at="2026-11-19T07:30:00+00:00")
    sessions.edited(stale, _of("f" * 40))
    checked = ("check", *new, stale, "--baseline", *base, "--least-effect", "50%")
    told = [
        "1 of 5 sessions of the new side began before the baseline (2026-11-20 00:00 UTC): is"
        f" {stale} (2026-11-19 07:30 UTC) of another run?",
        "1 of 5 sessions of the new side is not of commit 0123456789, as the newest is, and taken for the same code:"
        f" {stale} (commit ffffffffff)",
    ]
    code, _, err = run(*checked)
    assert (code, err.splitlines()) == (0, [f"Warning: {line}" for line in told])
    code, _, err = run(*checked, "--strict")
    assert (code, err.splitlines()) == (3, [f"Error: {line}" for line in told])
    assert set(told) <= set(run("compare", *base, "--with", *new, stale, "--format", "json")[2].splitlines())


def test_sides_that_took_turns_hold_nothing_of_another_run(run: Run, base: list[Path], new: list[Path]) -> None:
    """A new session from before the baseline is none, if it is surely of the newest one's code."""
    sessions.edited(new[0], lambda content: content[KEY].update(started_at="2026-11-19T23:00:00+00:00"))
    checked = ("check", *new, "--baseline", *base, "--least-effect", "50%")
    assert run(*checked)[2] == ""
    sessions.edit(new, _of("0123456789abcdef", dirty=True))
    assert run(*checked)[2] == (
        "Warning: 1 of 4 sessions of the new side began before the baseline (2026-11-20 00:00 UTC): is"
        f" {new[0]} (2026-11-19 23:00 UTC) of another run?\n"
    )
