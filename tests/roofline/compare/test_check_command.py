"""The gate as a user calls it: what is slower fails, what can't be compared is named."""

from __future__ import annotations

import json
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from roofline.record import KEY
from roofline.record_json import to_json
from tests.roofline import build
from tests.roofline.compare import sessions
from tests.roofline.compare.sessions import ID, TIMES
from tests.roofline.conftest import Run


def test_unchanged_code_passes(run: Run, base: list[Path], new: list[Path]) -> None:
    """With what the sessions can't tell as a warning."""
    code, out, err = run("check", *new, "--baseline", *base)
    assert code == 0
    assert out.startswith("Passed: no case shown to be slower (")
    assert "Coverage: 2 matched, 0 new, 0 removed, 0 invalid, 0 not comparable" in out
    assert "Error" not in err


def test_a_slower_case_fails(run: Run, tmp_path: Path, base: list[Path]) -> None:
    """The message has the case, by how much, both times and both files."""
    new = sessions.side(tmp_path / "new", {**TIMES, "resnet50": 0.1 * sessions.SLOWER}, first=10)
    code, out, err = run("check", *new, "--baseline", *base)
    assert code == 1
    assert out.startswith("Regression: 1 case slower, of 2 compared (1 slower, 1 ")
    assert f"Error: slower: {ID}: +5" in err
    assert f"ms in {base[0]}" in err
    assert f"ms in {new[0]})" in err


def test_a_slower_case_wins_over_what_could_not_be_compared(run: Run, tmp_path: Path, base: list[Path]) -> None:
    """A regression that was found is not made less certain by a removed case: exit code 1, and both are named."""
    new = sessions.side(tmp_path / "new", {"resnet50": 0.1 * sessions.SLOWER}, first=10)
    code, _, err = run("check", *new, "--baseline", *base)
    assert code == 1
    assert f"Error: slower: {ID}" in err
    assert "Error: removed: resnet18-train-b32-fp32" in err


def test_what_is_inconclusive_passes_with_a_warning_unless_strict(run: Run, base: list[Path], new: list[Path]) -> None:
    """A single session a side can't show that nothing changed by 2 %."""
    code, _, err = run("check", new[0], "--baseline", base[0])
    assert code == 0
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


@pytest.mark.parametrize(
    ("name", "command"),
    [
        ("main.json", "pytest TESTS --benchmark-json={path}"),
        ("baseline", "pytest TESTS --roofline-sessions=5 --roofline-results={path}"),
    ],
)
def test_a_missing_baseline_says_how_to_make_one(
    run: Run, new: list[Path], tmp_path: Path, name: str, command: str
) -> None:
    """GATE-01: neither a pass, nor a regression, nor a wrong usage; with the path that was searched."""
    path = tmp_path / name
    code, out, err = run("check", *new, "--baseline", path)
    assert (code, out) == (3, "")
    assert f"no baseline: {path} doesn't exist." in err
    assert command.format(path=path) in err


def test_removed_cases_may_be_allowed(run: Run, base: list[Path], new: list[Path]) -> None:
    """They are told all the same."""
    for path in new:
        sessions.edited(path, sessions.remove)
    code, out, err = run("check", *new, "--baseline", *base, "--allow-removed")
    assert code == 0
    assert "1 matched, 0 new, 1 removed" in out
    assert f"Warning: removed: {ID}: in {base[0]} and 3 more, not in {new[0]} and 3 more" in err


def test_nothing_matched_does_not_pass_though_removed_cases_are_allowed(run: Run, tmp_path: Path) -> None:
    """GATE-02: other names, and everything is ten times slower."""
    base = build.write(tmp_path / "base.json", sessions.foreign({"a": (0.002,) * 9, "b": (0.002,) * 9}))
    new = build.write(tmp_path / "new.json", sessions.foreign({"c": (0.02,) * 9, "d": (0.02,) * 9}))
    code, out, err = run("check", new, "--baseline", base, "--allow-removed")
    assert code == 3
    assert out.startswith("Cannot compare: nothing matched (2 removed, 2 new)")
    assert f"Error: no case of {base} could be compared with one of {new}" in err


def test_a_new_case_passes_and_is_told(run: Run, tmp_path: Path, base: list[Path]) -> None:
    """There is nothing to hold it against."""
    new = sessions.side(tmp_path / "new", {**TIMES, "vgg16": 0.2}, first=10)
    code, out, _ = run("check", *new, "--baseline", *base)
    assert code == 0
    assert "2 matched, 1 new" in out


def test_rows_invalid_on_both_sides_are_kept_out_and_told(run: Run, base: list[Path], new: list[Path]) -> None:
    """Nothing was lost against the baseline; but if nothing else is there, there is nothing to pass."""
    for path in (*base, *new):
        sessions.edited(path, sessions.errored)
    code, out, err = run("check", *new, "--baseline", *base)
    assert code == 0
    assert "1 matched, 0 new, 0 removed, 1 invalid" in out
    assert f"Warning: invalid: {ID}: baseline: test_failed" in err
    for path in (*base, *new):
        sessions.edited(path, lambda content: content["benchmarks"].pop(0))
    code, out, err = run("check", *new, "--baseline", *base)
    assert code == 3
    assert out.startswith("Cannot compare: nothing matched (1 invalid)")


def test_the_result_itself_is_no_baseline(run: Run, base: list[Path]) -> None:
    """A run is never slower than itself."""
    code, _, err = run("check", base[0], "--baseline", base[0])
    assert code == 3
    assert "on both sides. A result is not slower than itself." in err


def test_a_copy_of_the_result_is_no_baseline(run: Run, tmp_path: Path, base: list[Path]) -> None:
    """Under another name, and in a folder beside others, it is the same run: exit code 3."""
    copy = Path(shutil.copy(base[0], tmp_path / "new.json"))
    for baseline in ([base[0]], [base[0].parent]):
        code, _, err = run("check", copy, "--baseline", *baseline)
        assert code == 3
        assert f"{base[0]}: the same session as {copy} of the other side." in " ".join(err.split())


def test_a_session_that_was_copied_is_one_session(run: Run, tmp_path: Path, base: list[Path], new: list[Path]) -> None:
    """Copies don't scatter: four of one session would be as good as four, and show that nothing changed."""
    copies = [Path(shutil.copy(new[0], tmp_path / f"copy-{number}.json")) for number in range(3)]
    code, out, _ = run("check", new[0], *copies, "--baseline", *base, "--format", "json")
    assert code == 0
    document = json.loads(out)
    assert [Path(one["file"]) for one in document["new"]] == [new[0]]
    told = [note for note in document["notes"] if "the same session as" in note]
    assert told == [f"{copy}: the same session as {new[0]}, taken once" for copy in copies]


def test_a_folder_of_both_sides_is_the_baseline_without_the_new_files(run: Run, base: list[Path]) -> None:
    """``check results/NEW.json --baseline results``: the new file is left out of it, and that is told."""
    new = sessions.side(base[0].parent, {**TIMES, "resnet50": 0.1 * sessions.SLOWER}, first=10)
    code, out, _ = run("check", *new, "--baseline", base[0].parent)
    assert code == 1
    assert f"{new[0]}: on both sides" in " ".join(out.split())


def test_a_baseline_of_several_machines_serves_each(run: Run, tmp_path: Path, base: list[Path]) -> None:
    """Each machine is compared with itself, and never pooled with another: the other's files are left out by name."""
    other = sessions.side(tmp_path / "other", {name: time / 3 for name, time in TIMES.items()}, label="fast", first=20)
    new = sessions.side(tmp_path / "new", TIMES, first=10)
    code, out, _ = run("check", *new, "--baseline", *base, *other)
    assert code == 0
    assert f"left out of the baseline: {other[0]} and 3 more: another machine" in " ".join(out.split())


def test_another_machine_is_not_gated(run: Run, tmp_path: Path) -> None:
    """GATE-03: another processor and host, everything ten times faster. Neither a pass nor a regression."""
    base = build.write(
        tmp_path / "base.json", sessions.foreign({"a": (0.02,) * 9}, node="ci-7", cpu={"brand_raw": "Intel Xeon"})
    )
    new = build.write(tmp_path / "new.json", sessions.foreign({"a": (0.002,) * 9}))
    code, _, err = run("check", new, "--baseline", base)
    assert code == 3
    assert "not comparable: a: another machine: processor AMD EPYC 7B13, baseline Intel Xeon" in err


def test_the_host_name_is_no_machine(run: Run, tmp_path: Path) -> None:
    """Runners of one kind have a new name each time; it is told, and nothing hangs on it."""
    base = build.write(tmp_path / "base.json", sessions.foreign({"a": (0.02,) * 9}, node="runner-1"))
    new = build.write(tmp_path / "new.json", sessions.foreign({"a": (0.02,) * 9}, node="runner-2"))
    code, out, _ = run("check", new, "--baseline", base)
    assert code == 0
    assert "host runner-2, baseline runner-1" in out


@pytest.mark.parametrize(
    ("times", "options", "expected"),
    [
        ((1.03, 1.06, 1.01), ("--least-effect", "10%"), 0),
        ((1.30, 1.28, 1.33), ("--least-effect", "10%"), 1),
    ],
)
def test_noise_is_no_regression(
    run: Run, tmp_path: Path, times: tuple[float, ...], options: tuple[str, ...], expected: int
) -> None:
    """GATE-04: three sessions a side, 1.00, 1.04 and 0.98 before; 3 % is nothing, 30 % is."""

    def written(side: str, medians: tuple[float, ...]) -> list[Path]:
        return [
            build.write(
                tmp_path / side / f"{number}.json",
                sessions.foreign({"a": tuple(median * (1 + 0.001 * (index % 3 - 1)) for index in range(9))}),
            )
            for number, median in enumerate(medians)
        ]

    base, new = written("base", (1.00, 1.04, 0.98)), written("new", times)
    assert run("check", *new, "--baseline", *base, *options)[0] == expected


def test_below_the_floor_nothing_matters(run: Run, tmp_path: Path) -> None:
    """GATE-04: 5 µs and 7 µs, with a floor of 10 µs: passed; without it, slower."""

    def side(name: str, time: float) -> list[Path]:
        rounds = tuple(time * (1 + 0.001 * (index % 3 - 1)) for index in range(9))
        return [build.write(tmp_path / name / f"{number}.json", sessions.foreign({"a": rounds})) for number in range(8)]

    base, new = side("base", 5e-6), side("new", 7e-6)
    assert run("check", *new, "--baseline", *base, "--floor", "10e-6")[0] == 0
    assert run("check", *new, "--baseline", *base)[0] == 1


def test_the_baseline_is_never_written(run: Run, tmp_path: Path, base: list[Path]) -> None:
    """GATE-07: a slower run leaves it as it was."""
    before = [path.read_bytes() for path in base]
    new = sessions.side(tmp_path / "new", {**TIMES, "resnet50": 0.13}, first=10)
    run("check", *new, "--baseline", *base)
    assert [path.read_bytes() for path in base] == before


def test_age_and_commit_of_the_baseline_are_shown(run: Run, tmp_path: Path) -> None:
    """GATE-07: 400 days before the new run."""
    base = build.write(tmp_path / "base.json", sessions.document(TIMES, started_at="2025-10-16T10:00:00+00:00"))
    new = build.write(tmp_path / "new.json", sessions.document(TIMES, 10))
    _, out, _ = run("check", new, "--baseline", base)
    told = " ".join(out.split())
    assert "Baseline: 1 session of epyc-2cpu, commit 01234567, 2025-10-16" in told
    assert "400 days older than the new side" in told


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


def test_a_loud_hour_is_inconclusive(run: Run, base: list[Path], new: list[Path]) -> None:
    """Rounds disturbed from outside say nothing of the code: never slower, never the same."""

    def disturb(content: dict[str, Any]) -> None:
        sessions.record_of(content)["timing"]["rounds"]["disturbed"] = ["steal"] * 20

    for path in new:
        sessions.edited(path, disturb)
    code, out, err = run("check", *new, "--baseline", *base)
    assert code == 0
    assert f"inconclusive: {ID}: new: 20 of 20 rounds were disturbed from outside" in " ".join(out.split())
    assert ID in err


@pytest.mark.parametrize("command", ["check", "compare"])
def test_a_gate_that_saw_nothing_but_loud_hours_does_not_pass(run: Run, tmp_path: Path, command: str) -> None:
    """Ten times slower, and no round was left alone: nothing was compared, so nothing passes."""

    def disturb(content: dict[str, Any]) -> None:
        content["benchmarks"][0]["extra_info"][KEY]["timing"]["rounds"]["disturbed"] = ["steal"] * 20

    base = sessions.side(tmp_path / "base", {"resnet50": 0.1})
    new = [sessions.edited(path, disturb) for path in sessions.side(tmp_path / "new", {"resnet50": 1.0}, first=10)]
    sides = (*new, "--baseline", *base) if command == "check" else (*base, "--with", *new)
    code, out, err = run(command, *sides)
    assert code == 3
    assert out.startswith("Cannot compare: nothing undisturbed" if command == "check" else "0 cases compared")
    assert f"of {new[0]} and 3 more: hardly a round was undisturbed. Measure again" in err


def test_by_roof_another_machine_is_gated_by_what_its_own_roofs_allow(run: Run, tmp_path: Path) -> None:
    """Ten times faster roofs and a fifth of the time: half the fraction of the roof is a loss, a tenth of it none."""
    base = sessions.side(tmp_path / "base", {"resnet50": 0.1})

    def on_fast(name: str, time: float) -> list[Path]:
        files = sessions.side(tmp_path / name, {"resnet50": time}, label="fast", first=10)
        roofs = [to_json(build.session([one]))["roofs"][0] for one in build.roofs(1e14, 1e12)]
        return [sessions.edited(path, lambda content: content[KEY].update(roofs=roofs)) for path in files]

    half, same = on_fast("half", 0.02), on_fast("same", 0.01)
    assert run("check", *half, "--baseline", *base)[0] == 3
    code, out, _ = run("check", *half, "--baseline", *base, "--by", "roof")
    assert code == 1
    assert "By roof: the step time over the least that each machine's own measured roofs allow" in out
    assert run("check", *same, "--baseline", *base, "--by", "roof")[0] == 0


def test_by_roof_counted_flop_are_not_held_against_flop_by_counters(
    run: Run, base: list[Path], new: list[Path]
) -> None:
    """Where the pass for FLOPs failed, the least time is another: exit code 3, with both sources."""
    counters = {"status": "ok", "flop": 1e11, "dram_byte": 5e9}

    def counted(files: list[Path], **changes: Any) -> None:
        def change(content: dict[str, Any]) -> None:
            for benchmark in content["benchmarks"]:
                benchmark["extra_info"][KEY]["counters"] = {**counters, **changes}

        for path in files:
            sessions.edited(path, change)

    counted(base)
    counted(new)
    assert run("check", *new, "--baseline", *base, "--by", "roof")[0] == 0
    counted(new, status="missing_metric", flop=None)
    code, _, err = run("check", *new, "--baseline", *base, "--by", "roof")
    assert code == 3
    assert "work from another source: counters (FLOP analytic), baseline counters" in " ".join(err.split())


def test_by_roof_needs_measured_roofs(run: Run, base: list[Path], new: list[Path]) -> None:
    """Published roofs are not the machine's own."""
    for path in new:
        sessions.edited(path, lambda content: [roof.update(source="spec") for roof in content[KEY]["roofs"]])
    code, _, err = run("check", *new, "--baseline", *base, "--by", "roof")
    assert code == 3
    assert "its roofs are not measured ones (spec): measure them with the cases" in err


def test_by_roof_a_side_is_one_machine(run: Run, tmp_path: Path, base: list[Path], new: list[Path]) -> None:
    """Two machines would be pooled under one fraction."""
    other = sessions.side(tmp_path / "other", TIMES, label="fast")
    code, _, err = run("check", *new, "--baseline", *base, *other, "--by", "roof")
    assert code == 3
    assert "the baseline holds results of 2 machines (epyc-2cpu, fast)" in err


def test_json_has_the_verdict_the_coverage_and_every_case(run: Run, base: list[Path], new: list[Path]) -> None:
    """In the record's names and units, and strict."""
    _, out, _ = run("check", *new, "--baseline", *base, "--format", "json")
    content = json.loads(out)
    assert content["exit_code"] == 0
    assert content["coverage"] == {"matched": 2, "new": 0, "removed": 0, "invalid": 0, "not_comparable": 0}
    assert content["settings"] == {"by": "time", "least_effect": 0.02, "confidence": 0.99, "floor_s": 0.0}
    assert {row["case"]: round(row["base_step_time_s"], 3) for row in content["rows"]} == {
        "resnet18-train-b32-fp32": 0.01,
        ID: 0.1,
    }
    assert [run["commit"] for run in content["base"]] == ["0123456789abcdef"] * 4


def test_markdown_begins_with_the_verdict_and_folds_what_passed(run: Run, tmp_path: Path, base: list[Path]) -> None:
    """For the summary of a CI run: verdict, regressions, what was not compared, coverage, and the rest folded."""
    new = sessions.side(tmp_path / "new", {"resnet50": 0.15, "vgg16": 0.2}, first=10)
    code, out, _ = run("check", *new, "--baseline", *base, "--format", "markdown")
    assert code == 1
    heading, slower, removed, covered, folded = (
        out.index(text)
        for text in ("### Regression", "**Slower**", "**Not compared**", "Coverage: 1 matched", "<details>")
    )
    assert heading == 0 < slower < removed < covered < folded
    assert out[folded:].startswith("<details><summary>The rest: 1 new</summary>\n\n")
    assert out.endswith("</details>\n")


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (("--least-effect", "2"), "'2' is no share above 0 and below 1. Write 2% or 0.02."),
        (("--least-effect", "0%"), "'0%' is no share above 0 and below 1"),
        (("--least-effect", "nan"), "'nan' is no share"),
        (("--confidence", "100%"), "'100%' is no share"),
        (("--confidence", "much"), "'much' is no share"),
        (("--floor", "-1"), "'-1' is no time of 0 seconds or more. Write 10e-6 for 10 µs."),
        (("--floor", "inf"), "'inf' is no time"),
        (("--by", "mean"), "'mean' is not one of 'time', 'roof'"),
    ],
)
def test_bad_options(run: Run, base: list[Path], new: list[Path], options: tuple[str, ...], message: str) -> None:
    """Exit code 2, with the option, the value, what is allowed and how to write it."""
    code, out, err = run("check", *new, "--baseline", *base, *options)
    assert (code, out) == (2, "")
    assert options[0] in err
    assert message in err


def test_both_sides_have_to_be_given(run: Run, base: list[Path]) -> None:
    """A wrong usage, with the name of what is missing."""
    assert "nothing to check against: give --baseline BASE" in run("check", base[0])[2]
    assert "Missing argument 'NEW...'" in run("check", "--baseline", base[0])[2]
    assert run("check", base[0])[0] == 2


@pytest.mark.parametrize("width", [80, 100])
def test_lines_fit_the_terminal(run: Run, tmp_path: Path, base: list[Path], width: int) -> None:
    """No line of the table and its notes is longer than the terminal is wide, but for names that can't be broken."""
    new = sessions.side(tmp_path / "new", {"resnet50": 0.15, "vgg16": 0.2}, first=10)
    _, out, _ = run("check", *new, "--baseline", *base, "--width", width)
    assert [line for line in out.splitlines() if len(line) > width and str(tmp_path) not in line] == []


def test_an_older_file_in_the_new_one_s_place_is_told(run: Run, base: list[Path], tmp_path: Path) -> None:
    """A run that wrote nothing leaves what lay there: it passes, with a warning that has both times and the file."""
    old = sessions.side(tmp_path / "old", TIMES, count=1, started_at="2026-11-19T07:30:00+00:00")
    code, _, err = run("check", *old, "--baseline", *base)
    assert code == 0
    assert (
        "Warning: the new side is older than the baseline (2026-11-19 07:30 UTC, 2026-11-20 00:00 UTC): is"
        f" {old[0]} what the run just measured wrote?" in err
    )
    assert run("check", *old, "--baseline", *base, "--strict")[0] == 3
    assert "older than the baseline" not in run("compare", *base, "--with", *old)[2]


def test_json_has_what_is_in_the_way_of_a_pass(run: Run, base: list[Path], new: list[Path]) -> None:
    """The lines of standard error, and the options it was judged by."""
    code, out, err = run("check", new[0], "--baseline", base[0], "--strict", "--allow-removed", "--format", "json")
    document = json.loads(out)
    assert document["exit_code"] == code == 3
    assert (document["strict"], document["allow_removed"]) == (True, True)
    assert err.splitlines() == [f"Error: {line}" for line in document["failures"]]
    assert document["failures"][0].startswith("inconclusive, neither slower nor the same: ")
    code, out, err = run("check", new[0], "--baseline", base[0], "--format", "json")
    document = json.loads(out)
    assert (code, document["strict"], document["failures"]) == (0, False, [])
    assert err.splitlines() == [f"Warning: {line}" for line in document["warnings"]]
    assert "failures" not in json.loads(run("compare", base[0], "--with", new[0], "--format", "json")[1])


def test_in_markdown_what_fails_is_not_folded(run: Run, base: list[Path], new: list[Path]) -> None:
    """What is inconclusive is in the way of a pass under --strict, and only then."""
    given = ("check", new[0], "--baseline", base[0], "--format", "markdown")
    shown, folded = run(*given)[1].split("<details>")
    assert ID in folded
    assert "Not settled" not in shown
    out = run(*given, "--strict")[1]
    assert "<details>" not in out
    assert ID in out.partition("Not settled")[2].partition("Coverage")[0]


def test_two_tables_are_no_csv(run: Run, base: list[Path], new: list[Path], tmp_path: Path) -> None:
    """They were one below the other in one file, which nothing reads."""
    given = ("check", new[0], "--baseline", base[0], "--expect")
    for more in (("--format", "csv"), ("-o", tmp_path / "both.csv")):
        code, out, err = run(*given, *more)
        assert (code, out) == (2, "")
        assert "--baseline and --expect give two tables, and CSV is one" in err


def _one_disturbed(content: dict[str, Any]) -> None:
    rounds = sessions.record_of(content)["timing"]["rounds"]
    rounds["disturbed"] = ["steal"] + [None] * (len(rounds["wall_s"]) - 1)


def test_disturbed_rounds_that_were_left_in_are_told(run: Run, base: list[Path], new: list[Path]) -> None:
    """On both sides, where those of one weren't looked at: with the case, and the files that are at fault."""
    for path in new:
        sessions.edited(path, _one_disturbed)
    told = (
        f"Disturbed rounds were left in, on both sides, in 1 case ({ID}): which they were isn't told in {base[0]} and"
        " 3 more. Measure that side anew"
    )
    assert told in " ".join(run("check", *new, "--baseline", *base)[1].split())
    for path in base:
        sessions.edited(path, _none_disturbed)
    assert told not in " ".join(run("check", *new, "--baseline", *base)[1].split())


def _none_disturbed(content: dict[str, Any]) -> None:
    rounds = sessions.record_of(content)["timing"]["rounds"]
    rounds["disturbed"] = [None] * len(rounds["wall_s"])


def test_a_reader_that_has_seen_enough_changes_no_verdict(tmp_path: Path, base: list[Path]) -> None:
    """`roofline check ... | head -1`, with and without standard error: the exit code is the gate's."""
    new = sessions.side(tmp_path / "new", {**TIMES, "resnet50": 0.1 * sessions.SLOWER}, first=10)
    command = [sys.executable, "-m", "roofline", "check", *map(str, new), "--baseline", *map(str, base)]
    for error in (subprocess.DEVNULL, subprocess.STDOUT):
        with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=error) as check:
            assert check.stdout is not None
            check.stdout.close()
            assert check.wait() == 1


def test_a_session_that_was_written_twice_is_one_session(
    run: Run, tmp_path: Path, base: list[Path], new: list[Path]
) -> None:
    """By two options, in other bytes; as its own baseline, too."""
    content = json.loads(new[0].read_text())
    twin = build.write(tmp_path / "twin.json", {**content, "datetime": "2026-11-20T23:59:59+00:00"})
    code, out, _ = run("check", new[0], twin, "--baseline", *base, "--format", "json")
    document = json.loads(out)
    assert (code, [one["file"] for one in document["new"]]) == (0, [str(new[0])])
    code, _, err = run("check", new[0], "--baseline", *base, twin)
    assert code == 3
    assert f"{twin}: the same session as {new[0]} of the other side." in " ".join(err.split())


def test_what_is_not_as_expected_is_in_the_title(run: Run, base: list[Path], new: list[Path], tmp_path: Path) -> None:
    """Though no case is slower: the exit code is 1, and no form begins with "passed"."""
    file = tmp_path / "e.toml"
    file.write_text(f"[[expected]]\ncase = '{ID}'\nbound = 'capacity'\n")
    code, out, err = run("check", *new, "--baseline", *base, "--expect", file, "--format", "json")
    document = json.loads(out)
    assert document["exit_code"] == code != 0
    assert document["title"].startswith("Not ")
    assert document["failures"][-1].startswith("Expected bounds: 1 ")
    assert f"Error: {document['failures'][-1]}" in err


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
        "1 of 5 sessions of the new side is not of commit 01234567, as the newest is, and taken for the same code:"
        f" {stale} (commit ffffffff)",
    ]
    code, _, err = run(*checked)
    assert (code, err.splitlines()) == (0, [f"Warning: {line}" for line in told])
    code, _, err = run(*checked, "--strict")
    assert (code, err.splitlines()) == (3, [f"Error: {line}" for line in told])
    notes = json.loads(run("compare", *base, "--with", *new, stale, "--format", "json")[1])["notes"]
    assert set(told) <= set(notes)


def test_sides_that_took_turns_hold_nothing_of_another_run(run: Run, base: list[Path], new: list[Path]) -> None:
    """A new session from before the baseline is none, if it is surely of the newest one's code."""
    sessions.edited(new[0], lambda content: content[KEY].update(started_at="2026-11-19T23:00:00+00:00"))
    checked = ("check", *new, "--baseline", *base, "--least-effect", "50%")
    assert run(*checked)[2] == ""
    for path in new:
        sessions.edited(path, _of("0123456789abcdef", dirty=True))
    assert run(*checked)[2] == (
        "Warning: 1 of 4 sessions of the new side began before the baseline (2026-11-20 00:00 UTC): is"
        f" {new[0]} (2026-11-19 23:00 UTC) of another run?\n"
    )
