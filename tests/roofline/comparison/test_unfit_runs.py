"""A run that did not end, on either side of the gate: what it would have measured is in no verdict, and is named."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from roofline.results import journal
from roofline.schema.record import KEY
from tests.roofline import build
from tests.roofline.comparison import sessions
from tests.roofline.comparison.sessions import ID, TIMES
from tests.roofline.conftest import Run
from tests.roofline.expectations import build_points

FIRST, SECOND = "resnet18", "resnet50"


def cut_off(path: Path) -> Path:
    """The same run as it is when its process dies in the second case."""

    def change(content: dict[str, Any]) -> None:
        first, second = content["benchmarks"]
        planned = {row["fullname"]: row["extra_info"][KEY]["case"]["id"] for row in (first, second)}
        content["benchmarks"] = [first]
        content[KEY] |= journal.progress(planned, [first["fullname"]])

    return sessions.edited(path, change)


def contradictory(path: Path) -> Path:
    """The file of a run that was cut off, edited to say that it was whole."""

    def change(content: dict[str, Any]) -> None:
        content[KEY]["complete"] = True

    return sessions.edited(cut_off(path), change)


def test_a_file_that_contradicts_itself_is_not_whole(run: Run, base: list[Path], new: list[Path]) -> None:
    """Its word that the run ended counts for nothing: on the new side the gate fails, in the baseline it warns."""
    contradictory(base[0])
    code, _, told = run("check", *new, "--baseline", *base)
    assert code == 0
    assert f"{base[0]}: the file says that the run ended, and that 1 of 2 cases finished, 1 not run" in told
    contradictory(new[0])
    code, _, told = run("check", *new, "--baseline", *base)
    assert code == 3
    assert f"Error: {new[0]}: the file says that the run ended" in told


@pytest.mark.parametrize("flags", [(), ("--allow-removed",)])
def test_new_results_of_a_run_that_did_not_end_do_not_pass(
    run: Run, base: list[Path], new: list[Path], flags: tuple[str, ...]
) -> None:
    """Nor where the case may be missing: that the process died is known."""
    cut_off(new[0])
    code, _, told = run("check", *new, "--baseline", *base, *flags)
    assert code == 3
    assert f"Error: {new[0]}: the run did not end: 1 of 2 cases finished; not run: {ID}" in told


def test_a_slower_case_of_a_run_that_did_not_end_is_a_regression(run: Run, tmp_path: Path, base: list[Path]) -> None:
    """Exit code 1 wins, as over everything else that can't be compared."""
    new = sessions.side(tmp_path / "new", {**TIMES, FIRST: 0.01 * sessions.SLOWER}, first=10)
    cut_off(new[0])
    assert run("check", *new, "--baseline", *base)[0] == 1


def test_a_case_that_the_baseline_lost_is_not_new(run: Run, tmp_path: Path, new: list[Path]) -> None:
    """It was planned there: it can't be compared, so the gate doesn't pass."""
    base = [cut_off(path) for path in sessions.side(tmp_path / "base", TIMES)]
    code, out, told = run("check", *new, "--baseline", *base)
    assert code == 3
    assert "1 not comparable" in out
    assert f"Error: not comparable: {ID}: not run in the baseline, whose run did not end" in told


@pytest.mark.parametrize(("flags", "code"), [((), 0), (("--strict",), 3)])
def test_one_of_several_runs_of_the_baseline_that_did_not_end_is_told(
    run: Run, base: list[Path], new: list[Path], flags: tuple[str, ...], code: int
) -> None:
    """The others have the case, so it is compared: a warning, and not that under --strict."""
    cut_off(base[0])
    got, _, told = run("check", *new, "--baseline", *base, *flags)
    assert got == code
    assert f"{base[0]}: the run did not end: 1 of 2 cases finished; not run: {ID}" in told


def test_compare_says_that_a_run_did_not_end(run: Run, base: list[Path], new: list[Path]) -> None:
    """In its table, which is all that it shows."""
    cut_off(new[0])
    _, out, _ = run("compare", *base, "--with", *new, "--width", 300)
    assert f"{new[0]}: the run did not end" in out


def test_what_is_expected_of_a_run_that_did_not_end_is_no_pass(run: Run, tmp_path: Path) -> None:
    """Though everything that was measured holds."""
    cut = journal.progress({"a": ID, "b": "other"}, ["a"])
    session = build.session(build_points.roofs(), **{**cut, "not_run": tuple(cut["not_run"])})
    path = build.result(tmp_path / "new.json", [build_points.record()], of=session).path
    held = tmp_path / "e.toml"
    held.write_text(f"[[expected]]\ncase = '{ID}'\nbound = 'compute'\n")
    code, out, told = run("check", path, "--expect", held)
    assert (code, out.splitlines()[0]) == (3, "Expected bounds: not passed: 1 held")
    assert f"{path}: the run did not end" in told


EVIDENCE = "this process ran under Nsight Compute (NV_NSIGHT_INJECTION_PORT_BASE was set)"


def _profiled(content: dict[str, Any]) -> None:
    """One row has the tag: a profiler is around the whole process."""
    flag = {"name": "profiled", "evidence": EVIDENCE, "invalid": True}
    content["benchmarks"][0]["extra_info"][KEY]["flags"] = [flag]


@pytest.mark.parametrize("by", ["time", "roof"])
@pytest.mark.parametrize("where", ["base", "new"])
def test_a_profiled_file_is_refused(run: Run, base: list[Path], new: list[Path], where: str, by: str) -> None:
    """Exit code 3 with the file and the profiler, on either side; the rows that carry no tag don't pass either."""
    path = (base if where == "base" else new)[1]
    sessions.edited(path, _profiled)
    code, out, err = run("check", *new, "--baseline", *base, "--by", by)
    assert (code, out) == (3, "")
    assert err == f"Error: {path}: measured under a profiler, so it is no side of a comparison: {EVIDENCE}.\n"


def test_in_a_folder_it_is_left_out_with_the_reason(run: Run, base: list[Path], new: list[Path]) -> None:
    """As any file there that can't be used: the others are compared."""
    sessions.edited(base[0], _profiled)
    code, out, err = run("check", new[0].parent, "--baseline", base[0].parent, "--width", 400)
    assert code == 0, err
    assert f"{base[0]}: measured under a profiler" in out
