"""The stand-ins do what the tests of the profilers take for granted."""

from __future__ import annotations

import csv
import os
import subprocess
import sys
from pathlib import Path

import pytest

from tests.plugin.profilers.stubs import Kernel, Stubs


def test_ncu_runs_the_program_and_writes_its_csv(tmp_path: Path) -> None:
    """All that it says goes to the log file; a row for each kernel, with the metrics that were asked for."""
    stubs = Stubs(tmp_path)
    kernels = (Kernel(name='k<"a", 1>', values={"x__bytes.sum": 7}), Kernel(name="other"))
    ncu = stubs.ncu(kernels=kernels, values={"sm__x.sum": "n/a"}, absent=("gone",))
    log = tmp_path / "log.csv"
    program = [sys.executable, "-c", "print('done'); raise SystemExit(3)", "--csv"]
    flags = ["--page", "raw", "--csv", "--log-file", log, "--metrics", "x__bytes.sum,gone,sm__x.sum"]
    ran = subprocess.run([ncu, *flags, *program], capture_output=True, text=True, check=False)
    assert (ran.returncode, ran.stdout, ran.stderr) == (3, "done\n", "")
    said = log.read_text().splitlines()
    assert "==ERROR== The application returned an error code (3)." in said
    header, units, *rows = csv.reader(line for line in said if line.startswith('"'))
    assert header[-3:] == ["CC", "x__bytes.sum", "sm__x.sum"]
    assert units[-2:] == ["byte", ""]
    assert [(row[4], *row[-2:]) for row in rows] == [('k<"a", 1>', "7", "n/a"), ("other", "4096", "n/a")]
    (call,) = stubs.calls("ncu")
    assert call.wrapped == program


def test_behaviours_take_turns(tmp_path: Path) -> None:
    """One a call, the last for all that follow; asking the version is none."""
    stubs = Stubs(tmp_path)
    ncu = stubs.ncu("permission", "ok")
    said = []
    for flag in ("--version", "--csv", "--csv", "--csv"):
        said.append(subprocess.run([ncu, flag], capture_output=True, text=True, check=True).stdout)
    assert "Version 2025.3.1.0" in said[0]
    assert ["ERR_NVGPUCTRPERM" in text for text in said] == [False, True, False, False]
    assert len(stubs.calls("ncu")) == 3


@pytest.mark.parametrize(("mode", "code"), [(0o700, 0), (0o755, 9)])
def test_the_lock_needs_a_folder_of_ones_own(tmp_path: Path, mode: int, code: int) -> None:
    """As on a machine whose /tmp others use."""
    ncu = Stubs(tmp_path).ncu("lock")
    own = tmp_path / "own"
    own.mkdir()
    own.chmod(mode)
    ran = subprocess.run([ncu, "--csv"], env={"TMPDIR": str(own)}, capture_output=True, text=True, check=False)
    assert (ran.returncode, "InterprocessLockFailed" in ran.stdout) == (code, code == 9)
    for environment in ({}, {"TMPDIR": "/tmp"}):
        assert subprocess.run([ncu, "--csv"], env=environment, capture_output=True, check=False).returncode == 9


def test_perf_counts_a_program(tmp_path: Path) -> None:
    """In the order asked for, in lines of commas."""
    perf = Stubs(tmp_path).perf(values={"cycles": 5.0}, absent=("branches",))
    command = [perf, "stat", "-x,", "-e", "cycles,branches", "--", sys.executable, "-c", ""]
    ran = subprocess.run(command, capture_output=True, text=True, check=True)
    assert ran.stderr == "5.0,,cycles,5000000,100.00,,\n<not supported>,,branches,0,100.00,,\n"


def test_perf_obeys(tmp_path: Path) -> None:
    """Through the descriptors of --control, with an answer to each command."""
    perf = Stubs(tmp_path).perf()
    reads, commands = os.pipe()
    answers, writes = os.pipe()
    out = tmp_path / "out"
    process = subprocess.Popen(
        [perf, "stat", "-x", ",", "-e", "cycles", "-o", out, "-D", "-1", "-p", "1", f"--control=fd:{reads},{writes}"],
        pass_fds=(reads, writes),
    )
    os.close(reads)
    os.close(writes)
    os.write(commands, b"enable\n")
    assert os.read(answers, 4) == b"ack\n"
    os.write(commands, b"stop\n")
    assert process.wait(60) == 0
    os.close(commands)
    os.close(answers)
    assert out.read_text() == "1000000,,cycles,5000000,100.00,,\n"
