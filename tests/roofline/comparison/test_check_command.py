"""The gate as a user calls it: what is slower fails, and so does what can't be compared, by name."""

from __future__ import annotations

import random
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from roofline.schema.record import KEY
from roofline.schema.record_json import to_json
from tests.roofline import build
from tests.roofline.comparison import sessions
from tests.roofline.comparison.sessions import ID, TIMES
from tests.roofline.conftest import Run


def test_a_slower_case_fails(run: Run, tmp_path: Path, base: list[Path]) -> None:
    """The message has the case, by how much, both times and both files."""
    new = sessions.side(tmp_path / "new", {**TIMES, "resnet50": 0.1 * sessions.SLOWER}, first=10)
    code, out, err = run("check", *new, "--baseline", *base)
    assert code == 1
    assert out.startswith("Regression: 1 case slower, of 2 compared (1 slower, 1 ")
    assert f"Error: slower: {ID}: +5" in err
    assert f"ms over 4 sessions ({base[0]} and 3 more)" in err
    assert f"ms over 4 sessions ({new[0]} and 3 more))" in err


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


def test_nothing_matched_does_not_pass_though_removed_cases_are_allowed(run: Run, tmp_path: Path) -> None:
    """GATE-02: other names, and everything is ten times slower."""
    base = build.write(tmp_path / "base.json", sessions.foreign({"a": (0.002,) * 9, "b": (0.002,) * 9}))
    new = build.write(tmp_path / "new.json", sessions.foreign({"c": (0.02,) * 9, "d": (0.02,) * 9}))
    code, out, err = run("check", new, "--baseline", base, "--allow-removed")
    assert code == 3
    assert out.startswith("Cannot compare: no case could be judged (2 removed, 2 new)")
    assert f"Error: no case of {base} could be compared with one of {new}" in err


def test_the_result_itself_is_no_baseline(run: Run, base: list[Path]) -> None:
    """A run is never slower than itself."""
    code, _, err = run("check", base[0], "--baseline", base[0])
    assert code == 3
    assert "on both sides. A result is not slower than itself." in err


def test_a_copy_is_known_by_its_times_alone(run: Run, tmp_path: Path, base: list[Path]) -> None:
    """Whatever it says of its start and host, and though a row was taken out: no clock repeats to the last bit."""

    def disguise(content: dict[str, Any]) -> None:
        content[KEY]["started_at"] = "2026-11-25T10:00:00+00:00"
        del content["benchmarks"][0]

    copy = sessions.edited(Path(shutil.copy(base[0], tmp_path / "new.json")), disguise)
    rounds = {"a": (0.02, 0.021, 0.022, 0.0205), "b": (0.01, 0.011, 0.012)}
    plain = build.write(tmp_path / "plain.json", sessions.foreign(rounds))
    again = {**sessions.foreign(rounds, node="other"), "datetime": "2026-11-25T10:00:00+00:00"}
    for new, baseline in ((copy, base[0]), (build.write(tmp_path / "again.json", again), plain)):
        code, _, err = run("check", new, "--baseline", baseline)
        assert code == 3
        assert "to the last bit" in err


def test_equal_roofs_do_not_make_two_sessions_one(run: Run, tmp_path: Path) -> None:
    """Roofs taken over from one run to the next say nothing of the cases beside them."""

    def with_roofs(content: dict[str, Any]) -> None:
        for number in range(4):
            record = sessions.record(0.02, number, case=build.case(id=f"roof{number}", mode="roof"))
            walls_s = () if record.timing is None else record.timing.rounds.wall_s
            (row,) = build.document([record])["benchmarks"]
            content["benchmarks"].append({**row, "stats": sessions.statistics_of(walls_s)})

    base, new = (sessions.side(tmp_path / name, TIMES, first=first) for name, first in (("base", 0), ("new", 10)))
    sessions.edit((*base, *new), with_roofs)
    code, out, _ = run("check", *new, "--baseline", *base)
    assert code == 0
    assert "2 compared" in out or "2 matched" in out


def test_a_pause_in_every_session_hides_no_slowdown(run: Run, tmp_path: Path) -> None:
    """30 % slower in six sessions, with one round of each 23 times as long: slower, and the pauses are told."""

    def walls_s(step_time_s: float, seed: int, *, paused: bool) -> tuple[float, ...]:
        rng = random.Random(seed)
        times = [step_time_s * (1 + rng.gauss(0, 0.003)) for _ in range(30)]
        if paused:
            times[13] = 0.3
        return tuple(times)

    sides = []
    for name, step_time_s, first in (("base", 0.010, 0), ("new", 0.013, 6)):
        rounds = [walls_s(step_time_s, first + number, paused=name == "new") for number in range(6)]
        files = [
            build.write(tmp_path / name / f"{number}.json", sessions.foreign({"a": times}))
            for number, times in enumerate(rounds)
        ]
        sides.append(files)
    code, out, _ = run("check", *sides[1], "--baseline", *sides[0])
    assert code == 1
    text = " ".join(out.split())
    assert "Outliers: rounds of 1.5 times the median or longer in 1 case: a (up to 23." in text


@pytest.mark.parametrize(
    ("before", "now", "code", "why"),
    [
        ({"batch": 8}, {"batch": 1}, 3, "another workload under the same id: batch 1, baseline 8"),
        (
            {"id": "x", "config": [1]},
            {"id": "y", "config": [1]},
            3,
            "another workload under the same id: id y, baseline x",
        ),
        ({"f": "UNSERIALIZABLE[<f at 0x1>]"}, {"f": "UNSERIALIZABLE[<f at 0x2>]"}, 1, "slower: a"),
        (None, {"batch": 8}, 1, "slower: a"),
    ],
    ids=["another batch", "any name", "no JSON value", "not told"],
)
def test_other_parameters_are_another_workload(
    run: Run, tmp_path: Path, before: object, now: object, code: int, why: str
) -> None:
    """Of another project's rows nothing else tells what was measured under an id."""
    paths = []
    for name, time, params in (("base", 0.01, before), ("new", 0.02, now)):
        document = sessions.foreign({"a": tuple(time * (1 + 0.001 * step) for step in range(9))})
        document["benchmarks"][0]["params"] = params
        paths.append(build.write(tmp_path / f"{name}.json", document))
    found, _, err = run("check", paths[1], "--baseline", paths[0])
    assert (found, why in err) == (code, True)


def test_a_folder_of_both_sides_is_the_baseline_without_the_new_files(run: Run, base: list[Path]) -> None:
    """``check results/NEW.json --baseline results``: the new file is left out of it, and that is told."""
    new = sessions.side(base[0].parent, {**TIMES, "resnet50": 0.1 * sessions.SLOWER}, first=10)
    code, out, _ = run("check", *new, "--baseline", base[0].parent)
    assert code == 1
    assert f"{new[0]}: on both sides" in " ".join(out.split())


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
    """5 µs and 7 µs beside a second, with a floor of 4 µs: passed; without it, slower."""

    def side(name: str, time: float) -> list[Path]:
        rounds = {
            one: tuple(s * (1 + 0.001 * (index % 3 - 1)) for index in range(9)) for one, s in (("a", time), ("b", 1))
        }
        return [build.write(tmp_path / name / f"{number}.json", sessions.foreign(rounds)) for number in range(8)]

    base, new = side("base", 5e-6), side("new", 7e-6)
    assert run("check", *new, "--baseline", *base, "--floor", "4e-6")[0] == 0
    assert run("check", *new, "--baseline", *base)[0] == 1


def test_the_baseline_is_never_written(run: Run, tmp_path: Path, base: list[Path]) -> None:
    """GATE-07: a slower run leaves it as it was."""
    before = [path.read_bytes() for path in base]
    new = sessions.side(tmp_path / "new", {**TIMES, "resnet50": 0.13}, first=10)
    run("check", *new, "--baseline", *base)
    assert [path.read_bytes() for path in base] == before


@pytest.mark.parametrize("command", ["check", "compare"])
def test_a_gate_that_saw_nothing_but_loud_hours_does_not_pass(run: Run, tmp_path: Path, command: str) -> None:
    """Ten times slower, and no round was left alone: nothing was compared, so nothing passes."""
    base = sessions.side(tmp_path / "base", {"resnet50": 0.1})
    new = [
        sessions.edited(path, sessions.disturbed)
        for path in sessions.side(tmp_path / "new", {"resnet50": 1.0}, first=10)
    ]
    sides = (*new, "--baseline", *base) if command == "check" else (*base, "--with", *new)
    code, out, err = run(command, *sides)
    assert code == 3
    assert out.startswith("Cannot compare: no case could be judged" if command == "check" else "0 of 1 case compared")
    assert f"of {new[0]} and 3 more: hardly a round was undisturbed. Measure again on a quieter machine" in err


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


def test_by_roof_needs_measured_roofs(run: Run, base: list[Path], new: list[Path]) -> None:
    """Published roofs are not the machine's own."""
    sessions.edit(new, lambda content: [roof.update(source="spec") for roof in content[KEY]["roofs"]])
    code, _, err = run("check", *new, "--baseline", *base, "--by", "roof")
    assert code == 3
    assert "its roofs are not measured ones (spec): measure them with the cases" in err


def test_by_roof_a_side_is_one_machine(run: Run, tmp_path: Path, base: list[Path], new: list[Path]) -> None:
    """Two machines would be pooled under one fraction."""
    other = sessions.side(tmp_path / "other", TIMES, label="fast")
    code, _, err = run("check", *new, "--baseline", *base, *other, "--by", "roof")
    assert code == 3
    assert "the baseline holds results of 2 machines (epyc-2cpu, fast)" in err


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (("--least-effect", "2"), "'2' means 200 %. Write 2% or 0.02."),
        (("--least-effect", "nan"), "'nan' is not a valid number, such as 2% or 0.02"),
        (("--confidence", "1"), "1.0 is not in the range 0.5<=x<=0.999999"),
        (("--confidence", "49.9%"), "is not in the range"),
        (("--floor", "-1"), "-1.0 is not in the range x>=0"),
        (("--by", "mean"), "'mean' is not one of 'time', 'roof'"),
    ],
)
def test_bad_options(run: Run, base: list[Path], new: list[Path], options: tuple[str, ...], message: str) -> None:
    """Exit code 2, with the option, the value, what is allowed and how to write it."""
    code, out, err = run("check", *new, "--baseline", *base, *options)
    assert (code, out) == (2, "")
    assert options[0] in err
    assert message in err


def test_a_reader_that_has_seen_enough_changes_no_verdict(tmp_path: Path, base: list[Path]) -> None:
    """`roofline check ... | head -1`, with and without standard error: the exit code is the gate's."""
    new = sessions.side(tmp_path / "new", {**TIMES, "resnet50": 0.1 * sessions.SLOWER}, first=10)
    command = [sys.executable, "-m", "roofline", "check", *map(str, new), "--baseline", *map(str, base)]
    for error in (subprocess.DEVNULL, subprocess.STDOUT):
        with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=error) as check:
            assert check.stdout is not None
            check.stdout.close()
            assert check.wait() == 1


def test_a_floor_that_a_case_is_no_longer_than_does_not_pass(run: Run, base: list[Path], new: list[Path]) -> None:
    """Every slowdown of that case would be too small to matter: exit code 3, and which floor would do."""
    for floor, shown in (("1", "1.00 s"), ("0.015", "15.0 ms")):
        code, _, err = run("check", *new, "--baseline", *base, "--floor", floor, "--least-effect", "50%")
        assert code == 3
        assert f"Error: --floor {shown}: no shorter than resnet18-train-b32-fp32" in err
        assert "Give one below 10.0 ms" in err


@pytest.mark.parametrize(
    ("change", "flag"),
    [
        ({"checks": []}, "unproven"),
        ({"work": {"flop_per_step": -1.0}}, "impossible_work"),
        ({"work": {"flop_per_step": float("nan"), "flop_by_dtype": {}}}, "impossible_work"),
        ({"work": {"byte_high_per_step": float("inf")}}, "impossible_work"),
        ({"work": {"byte_low_per_step": 5e9}}, "impossible_work"),
        ({"work": {"flop_by_dtype": {"fp32": 1e11, "tf32": 1e11}}}, "impossible_work"),
    ],
    ids=["no checks", "below 0", "no number", "infinite", "least above most", "not the sum"],
)
def test_a_record_without_proofs_or_of_work_that_cannot_be_does_not_pass(
    run: Run, base: list[Path], new: list[Path], change: dict[str, Any], flag: str
) -> None:
    """It is invalid: exit code 3, and where the baseline was no better a warning."""

    def edit(content: dict[str, Any]) -> None:
        record = sessions.record_of(content)
        record.update({name: {**record[name], **part} if name == "work" else part for name, part in change.items()})

    sessions.edit(new, edit)
    code, _, err = run("check", *new, "--baseline", *base)
    assert code == 3
    assert f"Error: invalid: {ID}: new: {flag}: " in err
    sessions.edit(base, edit)
    code, _, err = run("check", *new, "--baseline", *base)
    assert code == 0
    assert f"Warning: invalid: {ID}: baseline: {flag}: " in err


def test_a_proof_that_the_baseline_has_and_a_new_session_lacks_does_not_pass(
    run: Run, base: list[Path], new: list[Path]
) -> None:
    """Whatever else is proven. What no baseline session proved isn't asked for."""
    proof = {"name": "device", "status": "passed", "evidence": "every operation ran on cpu"}

    def prove(content: dict[str, Any]) -> None:
        sessions.record_of(content)["checks"].append(proof)

    sessions.edit((*base, *new[1:]), prove)
    code, _, err = run("check", *new, "--baseline", *base)
    assert code == 3
    assert f"Error: not comparable: {ID}: not proven: no check of device in {new[0]}, the baseline has it" in err
    sessions.edited(new[0], prove)
    assert run("check", *new, "--baseline", *base)[0] == 0
