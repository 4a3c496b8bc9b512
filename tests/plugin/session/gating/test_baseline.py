"""The gate of a run: a baseline that is there before anything is measured, and a verdict that is the check's."""

from __future__ import annotations

import json
import re
import warnings
from pathlib import Path
from typing import Any

import pytest

from pytest_roofline.session.gating import baseline as baselines
from pytest_roofline.session.gating.baseline import NoBaseline, options_of_check
from roofline.cli.compare_and_gate import check
from tests.roofline.comparison import sessions

RESULT = json.dumps({"benchmarks": [{"name": "test_a"}]})


def write(path: Path, text: str = RESULT) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text, encoding="utf-8")
    return path


@pytest.mark.parametrize(
    ("text", "why"),
    [
        ("", "empty"),
        (RESULT[:-3], "truncated"),
        ("[1]", "no pytest-benchmark result"),
        ('{"benchmarks": []}', "no benchmarks in it"),
        ("[" * 100_000, "can't be read"),
        ("\udcff", "UTF-8"),
    ],
)
def test_a_file_that_nothing_can_be_compared_with_is_no_baseline(tmp_path: Path, text: str, why: str) -> None:
    """It is refused in words, alone and as all there is in a folder."""
    path = tmp_path / "base" / "a.json"
    path.parent.mkdir()
    path.write_bytes(text.encode(errors="surrogateescape"))
    for place in (path, tmp_path):
        with pytest.raises(NoBaseline) as refused:
            baselines.baseline(place, {})
        assert why in str(refused.value)
        assert not str(refused.value).endswith(".")
        assert (str(path) in str(refused.value)) == (place == tmp_path)


def test_no_file_and_an_empty_folder_are_no_baseline(tmp_path: Path) -> None:
    """Nor one that holds only other files."""
    write(tmp_path / "notes.txt")
    with pytest.raises(NoBaseline, match="no such file or folder"):
        baselines.baseline(tmp_path / "missing", {})
    with pytest.raises(NoBaseline, match=r"a folder without a result file \(\*\.json\)"):
        baselines.baseline(tmp_path, {})


def test_a_folders_results_are_the_baseline_and_what_is_not_is_named(tmp_path: Path) -> None:
    """At any depth. The list is final: a file that is written later is none of it."""
    first, second = write(tmp_path / "a" / "1.json"), write(tmp_path / "2.json")
    other = write(tmp_path / "a" / "other.json", "{}")
    found = baselines.baseline(tmp_path, {})
    write(tmp_path / "3.json")
    assert set(found.files) == {first, second}
    assert [line.partition(": ")[0] for line in found.left_out] == [str(other)]


def test_what_was_measured_under_a_profiler_is_left_out_of_a_folder(tmp_path: Path) -> None:
    """With the reason, as the check leaves it out; which then takes every file that is left, by its name."""
    base = sessions.side(tmp_path / "base", sessions.TIMES)
    new = sessions.side(tmp_path / "new", sessions.TIMES, first=10)

    def under_a_profiler(content: dict[str, Any]) -> None:
        sessions.record_of(content)["flags"] = [{"name": "profiled", "evidence": "under ncu", "invalid": True}]

    sessions.edited(base[1], under_a_profiler)
    found = baselines.baseline(tmp_path / "base", options_of_check([]))
    assert found.files == (base[0], *base[2:])
    gated = baselines.verdict(found, new, 80)
    assert gated.code == 0
    assert f"left out of the baseline: {base[1]}: measured under a profiler, so it is no side of a comparison" in (
        gated.lines
    )


def test_one_broken_file_in_a_folder_is_told_before_anything_is_measured(tmp_path: Path) -> None:
    """Whether or not there are others: what it had measured would be missing."""
    write(tmp_path / "1.json")
    cut = write(tmp_path / "cut.json", RESULT[:-3])
    with pytest.raises(NoBaseline, match="Remove what is broken") as told:
        baselines.baseline(tmp_path, {})
    assert str(told.value).startswith(f"{cut}:")
    write(tmp_path / "more.json", "")
    with pytest.raises(NoBaseline, match=r" \(and 1 more\)\. Remove what is broken from the folder, or restore it$"):
        baselines.baseline(tmp_path, {})


def judged(tmp_path: Path, new_s: float, *options: str, **machine: Any) -> tuple[int, list[str]]:
    """Exit code and lines of a gate over six cases, of which the baseline takes 0.1 s each."""
    base, new = (
        sessions.side(tmp_path / name, {f"net{one}": time_s for one in range(6)}, first=first, **of)
        for name, time_s, first, of in (("base", 0.1, 0, {}), ("new", new_s, 10, machine))
    )
    gated = baselines.verdict(baselines.baseline(base[0].parent, options_of_check(options)), new, 60)
    return gated.code, list(gated.lines)


@pytest.mark.parametrize(
    ("new_s", "options", "machine", "code", "says"),
    [
        (0.1, (), {}, 0, "passed; 6 of 6 inconclusive"),
        (0.2, (), {}, 1, "FAILED: worse than the baseline"),
        (0.13, ("--least-effect=50%",), {}, 0, "passed"),
        (0.1, (), {"fingerprint": "f" * 16}, 4, "FAILED: not all of it could be compared or judged"),
        (0.1, ("--strict",), {}, 4, "FAILED: not all of it could be compared or judged"),
    ],
)
def test_the_verdict_is_the_check_s(
    tmp_path: Path, new_s: float, options: tuple[str, ...], machine: dict[str, Any], code: int, says: str
) -> None:
    """With the user's options; what could not be compared is no pass, and no regression. The last line sums it up."""
    found, lines = judged(tmp_path, new_s, *options, **machine)
    assert (found, lines[-1]) == (code, f"gate against {tmp_path / 'base'}: {says}")


def test_the_gate_shows_what_the_check_shows(tmp_path: Path) -> None:
    """Its table and its errors; a part of them, in the words of who runs pytest, which has no ``--width``."""
    shown = " ".join(" ".join(judged(tmp_path / "some", 0.2)[1]).split())
    assert "Regression: 6 cases slower" in shown
    assert re.search(r"Error: slower: net\d-train-b32-fp32: \+[91]", shown)
    assert re.search(r"slower: and \d more \(-v shows all\)", shown)
    assert "Use the environment variable COLUMNS=" in shown
    assert "--width" not in shown
    assert "-v shows all" not in " ".join(judged(tmp_path / "all", 0.2, "-v")[1])


def test_a_fault_of_the_analysis_is_neither_a_pass_nor_a_regression(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It is shown with its traceback: what was measured is on disk. Warnings are not taken for a fault."""

    def broken(*_: object, **__: object) -> None:
        warnings.warn("old", DeprecationWarning, stacklevel=1)
        raise ZeroDivisionError("by nobody")

    monkeypatch.setattr(check, "judge_results", broken)
    code, lines = judged(tmp_path, 0.1)
    assert code == 4
    assert any("ZeroDivisionError: by nobody" in line for line in lines)


@pytest.mark.parametrize(
    ("option", "says"),
    [
        ("--strickt", "No such option"),
        ("--least-effect=x", "--least-effect"),
        ("--devices=none.toml", "none.toml"),
        ("--expect=none.toml", "--expect: none.toml"),
        ("--help", "help"),
        ("base", "give options alone"),
        ("--baseline=base", "give options alone"),
        ("--output=table.md", "give options alone"),
        ("--junit=check.xml", "give options alone"),
    ],
)
def test_options_are_tried_before_anything_is_measured(option: str, says: str) -> None:
    """As `roofline check` takes them, without files: a stray word would be one more baseline."""
    with pytest.raises(ValueError, match=says):
        options_of_check([option])


def test_options_that_exclude_each_other_are_refused_then_too() -> None:
    """The run would be measured, and its gate judge nothing."""
    with pytest.raises(ValueError, match="by roof the step time is compared: energy"):
        options_of_check(["--figure=energy", "--by=roof"])


def test_more_is_shown_with_either_v() -> None:
    """Of the check, or of pytest itself."""
    assert [options_of_check(words, verbose=more)["verbose"] for words in ([], ["-v"]) for more in (False, True)] == [
        *(False, True, True, True)
    ]
