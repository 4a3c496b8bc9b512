"""The scripts of docs/machines.md for a cluster, on stand-ins for its commands."""

from __future__ import annotations

import os
import re
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests import forked
from tests.forked_programs import programs

ROOT = Path(__file__).parents[1]

SBATCH = """#!/bin/sh
count=$(sed -n 's/^#SBATCH .*--array=1-\\([0-9]*\\).*/\\1/p' "$1")
for index in $(seq "$count"); do
    SLURM_ARRAY_TASK_ID=$index SLURM_ARRAY_TASK_COUNT=$count SLURMD_NODENAME=node-$index sh "$1" || exit
done
"""
SRUN = """#!/bin/sh
while [ "${1#-}" != "$1" ]; do shift; done
exec "$@"
"""


def _collect(
    program: str, arguments: list[str], folder: Path, environment: dict[str, str]
) -> subprocess.CompletedProcess[str]:
    return forked.run(program, [*arguments, "--collect-only", "-q", "-p", "no:cacheprovider"], folder, environment)


@pytest.fixture
def cluster(tmp_path: Path) -> Iterator[dict[str, str]]:
    """The environment of a login node whose jobs run here, one after the other, and only collect their cases."""
    for name, text in {"sbatch": SBATCH, "srun": SRUN}.items():
        (tmp_path / name).write_text(text)
        (tmp_path / name).chmod(0o755)
    with programs(tmp_path, "pytest", run=_collect):
        yield {**os.environ, "PATH": f"{tmp_path}{os.pathsep}{os.environ['PATH']}", "SLURMD_NODENAME": "node"}


@pytest.mark.skipif(os.name == "nt", reason="the scripts are a POSIX shell's")
def test_the_jobs_of_an_array_share_the_cases(cluster: dict[str, str], tmp_path: Path) -> None:
    """Of two jobs each has its own, and both together all that one process has."""
    page = (ROOT / "docs" / "machines.md").read_text(encoding="utf-8")
    (script,) = re.findall(r"```sh\n(#!/bin/bash\n#SBATCH --array=1-4 .*?)```", page, re.DOTALL)
    job = tmp_path / "job.sh"
    job.write_text(script.replace("--array=1-4", "--array=1-2"))
    alone = tmp_path / "alone.sh"
    alone.write_text(re.sub(r" *\\\n *--shard \S+", "", script))

    def cases(*command: str) -> list[str]:
        ran = subprocess.run(command, cwd=ROOT, env=cluster, capture_output=True, text=True, check=False)
        assert ran.returncode == 0, ran.stdout + ran.stderr
        return [line for line in ran.stdout.splitlines() if "::" in line and "test_roof[" not in line]

    shared = cases("sbatch", str(job))
    assert len(shared) == len({*shared}) > 2
    assert {*shared} == {*cases("sh", str(alone))}


@pytest.mark.skipif(os.name == "nt", reason="the scripts are a POSIX shell's")
def test_the_job_of_two_nodes_starts_the_ranks(cluster: dict[str, str], tmp_path: Path) -> None:
    """torchrun takes its options, and gets the first node of the list for the rendezvous."""
    from torch.distributed.run import get_args_parser

    page = (ROOT / "docs" / "machines.md").read_text(encoding="utf-8")
    (script,) = re.findall(r"```sh\n(#SBATCH --nodes=2 .*?)```", page, re.DOTALL)
    (tmp_path / "job.sh").write_text(script)
    for name, text in {"scontrol": "printf 'node-1\\nnode-2\\n'", "torchrun": "printf '%s\\n' \"$@\""}.items():
        (tmp_path / name).write_text(f"#!/bin/sh\n{text}\n")
        (tmp_path / name).chmod(0o755)
    of_job = {"SLURM_NNODES": "2", "SLURM_JOB_ID": "7", "SLURM_JOB_NODELIST": "node-[1-2]"}
    ran = subprocess.run(
        ["sh", str(tmp_path / "job.sh")], env={**cluster, **of_job}, capture_output=True, text=True, check=True
    )
    chosen = get_args_parser().parse_args(ran.stdout.splitlines())
    assert (chosen.nnodes, chosen.nproc_per_node, chosen.rdzv_id) == ("2", "8", "7")
    assert (chosen.rdzv_backend, chosen.rdzv_endpoint) == ("c10d", "node-1:29500")
    assert (chosen.module, chosen.training_script) == (True, "pytest")
    assert chosen.training_script_args[0] == "perftests/test_scaling.py"
