"""Times taken under a profiler are no side of a comparison: replay, traced launches and held clocks aren't the code."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from roofline.schema.record import KEY
from tests.roofline.comparison import sessions
from tests.roofline.conftest import Run

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
