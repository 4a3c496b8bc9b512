"""``roofline check --expect``: exit codes, where expectations come from, and beside a baseline."""

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest

from roofline.schema.expected import Expected
from roofline.schema.record import Check, Record, Rounds
from roofline.text.printable import markdown_text
from tests.roofline import build
from tests.roofline.conftest import Run
from tests.roofline.expectations import build_points

ID = "resnet50-train-b32-fp32"


def results(path: Path, records: Sequence[Record] = (), hour: int = 10) -> Path:
    session = build.session(build_points.roofs(), started_at=f"2026-11-20T{hour}:00:00+00:00")
    return build.result(path, records or [build_points.record()], of=session).path


def expectations(text: str, path: str = "e.toml") -> Path:
    file = Path(path)
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_text(f"[[expected]]\ncase = '{ID}'\n{text}\n")
    return file


@pytest.mark.parametrize(
    ("text", "code"),
    [
        ("bound = 'compute'", 0),
        ("bound = 'memory'", 1),
        ("bound = 'compute'\nmin_fraction_of_roof = 0.5", 1),
        ("min_fraction_of_speed_of_light = 0.5", 1),
        ("bound = 'compute'\ndevice = 'cuda'", 3),
        ("bound = 'compute'\nprecision = 'bf16'", 3),
        ("bound = 'compute'\nfingerprint = 'fingerprint of epyc-2cpu'\nworkload_hash = 'hash of " + ID + "'", 0),
        ("bound = 'compute'\nfingerprint = 'another'", 3),
        ("bound = 'memory'\nfingerprint = 'another'", 3),
        ("bound = 'compute'\nworkload_hash = 'another'", 3),
        ("bound = 'compute'\nfingerprint = 'another'\n[[expected]]\ncase = '*'\nbound = 'compute'", 3),
        ("bound = 'compute'\n[[expected]]\ncase = 'vgg*'\nbound = 'compute'", 3),
        ("bound = 'memory'\n[[expected]]\ncase = 'vgg*'\nbound = 'compute'", 1),
        ("bound = 'cpu'", 3),
    ],
)
def test_the_exit_code_is_the_worst_finding_s(run: Run, tmp_path: Path, text: str, code: int) -> None:
    """A failure before what could not be judged; nothing judged is no pass, nor is a bad file."""
    got, out, err = run("check", results(tmp_path / "new.json"), "--expect", expectations(text))
    assert got == code
    bad_file = "Error: --expect: e.toml:1: bound is 'cpu'; use one of compute," in err
    assert (out.startswith("Expected bounds:"), bad_file) == ("'cpu'" not in text, "'cpu'" in text)


def test_a_row_of_which_a_check_failed_is_not_a_pass(run: Run, tmp_path: Path) -> None:
    """As a comparison doesn't take it, though whoever wrote it set no flag."""
    check = Check(name="precision", status="failed", evidence="3 products ran in tf32")
    new = results(tmp_path / "new.json", [build_points.record(checks=(check,))])
    code, out, _ = run("check", new, "--expect", expectations("bound = 'compute'"), "--width", 200)
    assert code == 3
    assert "the row is invalid: precision_disproved: 3 products ran in tf32" in out
    code, _, err = run("lock", new)
    assert (code, f"left out {ID} on epyc-2cpu: invalid: precision_disproved in new.json" in err) == (3, True)


@pytest.mark.parametrize("strict", [False, True])
def test_a_device_that_nobody_knows_stands_in_every_outcome(run: Run, tmp_path: Path, strict: bool) -> None:
    """Alone and beside a baseline: exit code, title, and the sentence among what fails or warns, once on stderr."""
    base, new = _sides(tmp_path, 1.0)
    file = expectations(f"bound = 'compute'\n[[expected]]\ncase = '{ID}'\nbound = 'memory'\ndevice = 'cpuu'")
    expected = 3 if strict else 0
    for sides in ((), ("--baseline", *base)):
        arguments = ("check", *new, "--expect", file, *(("--strict",) if strict else ()), *sides)
        code, out, err = run(*arguments, "--width", 300)
        assert code == expected
        (told,) = err.splitlines()
        assert told.startswith(f"{'Error' if strict else 'Warning'}: device 'cpuu' (e.toml:4): no such device is known")
        assert f"Expected bounds: {'not passed: ' if strict else ''}1 held, 1 unknown device" in out.splitlines()
        if sides:
            first = "Not passed: not all that is expected could be judged. Against the baseline: " if strict else ""
            assert out.startswith(f"{first}Passed: no case shown to be slower")
            _, out, _ = run(*arguments, "--format", "markdown")
            assert (
                next(line for line in out.splitlines() if line.startswith("- ")) == f"- {markdown_text(err.rstrip())}"
            )


def test_what_is_expected_is_judged_without_a_baseline(run: Run, tmp_path: Path) -> None:
    """Where none can be had: both reasons stand on standard error."""
    new = results(tmp_path / "new.json")
    file = expectations("bound = 'memory'")
    code, out, err = run("check", new, "--expect", file, "--baseline", tmp_path / "none")
    assert (code, ID in out) == (1, True)
    said, no_baseline = err.splitlines()
    assert said == "Error: Expected bounds: 1 failed"
    assert no_baseline.startswith(f"Error: no baseline: {tmp_path / 'none'} doesn't exist.")


def test_the_file_beside_the_tests_is_found(run: Run, tmp_path: Path) -> None:
    """From the folder in which the tests' names begin."""
    expectations("bound = 'memory'", "perftests/expected_bounds.toml")
    code, out, _ = run("check", results(tmp_path / "new.json"), "--expect", "--format", "json")
    assert code == 1
    (row,) = json.loads(out)
    assert row["source"] == "perftests/expected_bounds.toml:1"


def test_markers_are_found_without_a_file(run: Run, tmp_path: Path) -> None:
    """In the record."""
    marker = Expected(bound="memory", source="@pytest.mark.expected_bound of a.py::test_a")
    new = results(tmp_path / "new.json", [build_points.record(expected=(marker,))])
    code, out, _ = run("check", new, "--expect", "--format", "json")
    assert code == 1
    (row,) = json.loads(out)
    assert row["source"] == marker.source


def test_nothing_expected_anywhere_is_exit_code_3(run: Run, tmp_path: Path) -> None:
    """With what would make something; and without either option there is nothing to check against."""
    new = results(tmp_path / "new.json")
    code, _, err = run("check", new, "--expect")
    assert code == 3
    assert "none of their tests has the marker expected_bound, and there is no expected_bounds.toml beside" in err
    code, _, err = run("check", new)
    assert code == 2
    assert "Error: nothing to check against: give --baseline BASE, --expect, or both." in err
    code, _, err = run("check", tmp_path / "none.json", "--expect")
    assert code == 3
    assert "none.json: can't be read" in err
    code, _, err = run("check", new, "--expect", "none.toml")
    assert code == 3
    assert "Error: --expect: none.toml: can't be read (No such file or directory)." in err


def _sides(folder: Path, change: float) -> tuple[list[Path], list[Path]]:
    def session(name: str, hour: int, step_s: float) -> Path:
        walls = tuple(5 * step_s * (1 + 1e-4 * (number % 5) + 1e-9 * hour) for number in range(20))
        timing = build.timing(step_s, rounds=Rounds(steps=5, wall_s=walls))
        return results(folder / f"{name}.json", [build_points.record(timing=timing)], hour)

    base = [session(f"base{number}", 10 + 2 * number, 0.1) for number in range(6)]
    return base, [session(f"new{number}", 11 + 2 * number, 0.1 * change) for number in range(6)]


@pytest.mark.parametrize(
    ("change", "bound", "code"), [(1.0, "compute", 0), (1.0, "memory", 1), (1.5, "compute", 1), (1.0, "gone", 3)]
)
def test_beside_a_baseline_both_count(run: Run, tmp_path: Path, change: float, bound: str, code: int) -> None:
    """Either fails the check, in every order of the options, and every form that can has both."""
    base, new = _sides(tmp_path, change)
    text = "bound = 'compute'\n[[expected]]\ncase = 'x'\nbound = 'compute'" if bound == "gone" else f"bound = '{bound}'"
    file = expectations(text)
    arguments: tuple[Any, ...]
    for arguments in (
        (*new, "--expect", file, "--baseline", *base),
        (*new, "--baseline", *base, "--expect", file),
        ("--expect", file, *new, "--baseline", *base),
    ):
        assert run("check", *arguments)[0] == code
    for form in ("table", "markdown"):
        _, out, _ = run("check", *arguments, "--format", form)
        assert out.count(ID) >= 2
    assert run("check", *arguments, "-o", "out.md")[0] == code
    assert "**Expected bounds: " in Path("out.md").read_text()


def test_without_a_file_the_option_may_stand_before_another(run: Run, tmp_path: Path) -> None:
    """What begins with a dash is no file."""
    base, new = _sides(tmp_path, 1.0)
    expectations("bound = 'compute'", "perftests/expected_bounds.toml")
    assert run("check", *new, "--expect", "--baseline", *base)[0] == 0
    assert run("check", *new, "--baseline", *base, "--expect")[0] == 0
