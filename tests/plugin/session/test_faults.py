"""What a machine can do to a run in its middle: no finished case is lost."""

from __future__ import annotations

import json
import os
import shlex
import subprocess
import sys

import pytest

from pytest_roofline.device import cpus
from tests.plugin.foreign import QUICK, results

MEASURE = (*QUICK, "--roofline-results", "results", "--roofline-roofs", "off")

STAYS_FULL = """
    from pathlib import Path
    import pytest, torch
    from torch import nn

    @pytest.mark.parametrize("number", range(4))
    def test_it(roofline, number):
        if number == 1 and not Path("filled").exists():
            Path("filled").touch()
            with Path("results/filler").open("wb", buffering=0) as file:
                try:
                    while True:
                        file.write(bytes(512))
                except OSError:
                    pass
        roofline(nn.Linear(8, 4), torch.randn(2, 8))
"""

SETS_THE_CLOCK_BACK = """
    import time
    import pytest, torch
    from torch import nn

    @pytest.mark.parametrize("number", range(3))
    def test_it(roofline, number):
        if number == 1:
            before = time.time
            time.time = lambda: before() - 400 * 86400
        roofline(nn.Linear(8, 4), torch.randn(2, 8))
"""


def _has_mounts() -> bool:
    """Whether this process may mount a file system where nobody else sees it."""
    if sys.platform != "linux" or os.geteuid() != 0:
        return False
    try:
        return subprocess.run(["unshare", "--mount", "true"], capture_output=True, check=False).returncode == 0
    except OSError:
        return False


@pytest.mark.skipif(not _has_mounts(), reason="a small file system can't be mounted here")
@pytest.mark.skipif(len(cpus.AT_START) < 2, reason="two workers need two cores")
def test_a_disk_that_stays_full_loses_nothing_of_workers(project: pytest.Pytester) -> None:
    """What is on it is told, and the same command with --resume measures the rest once there is room."""
    pytest.importorskip("xdist")
    project.makepyfile(STAYS_FULL)
    (project.path / "results").mkdir()
    measure = shlex.join([sys.executable, "-m", "pytest", "-p", "no:cacheprovider", *MEASURE, "-n", "2"])
    script = (
        f"mount -t tmpfs -o size=1m tmpfs results; {measure}; test $? = 4 || exit 9;"
        f" rm results/filler; {measure} --roofline-resume && cp -r results kept"
    )
    run = project.run("unshare", "--mount", "sh", "-c", script)
    assert run.ret == 0
    told = "No space left on device. [0-3] of 4 cases are in *.journal"
    run.stdout.fnmatch_lines([f"WARNING: can't write *.journal: {told}*", f"ERROR: can't write *.json: {told}*"])
    (path,) = (project.path / "kept").rglob("*.json")
    document = json.loads(path.read_text())
    assert sorted(row["name"] for row in document["benchmarks"]) == [f"test_it[{number}]" for number in range(4)]
    assert document["roofline"]["complete"]


def test_a_clock_that_is_set_back_changes_no_time(project: pytest.Pytester) -> None:
    """Times are those of a clock that nobody sets; the run has the moment at which it began."""
    project.makepyfile(SETS_THE_CLOCK_BACK)
    run = project.runpytest_subprocess(*MEASURE)
    run.assert_outcomes(passed=3)
    document = results(project)
    rows = [row["extra_info"]["roofline"]["timing"] for row in document["benchmarks"]]
    assert len(rows) == 3
    assert all(wall > 0 for timing in rows for wall in timing["rounds"]["wall_s"])
    assert document["roofline"]["complete"]
    assert 0 <= document["roofline"]["wall_s"] < 86400
