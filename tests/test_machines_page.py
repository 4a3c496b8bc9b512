"""The scripts of docs/machines.md for a cluster, on stand-ins for its commands."""

from __future__ import annotations

import json
import os
import re
import subprocess
from collections.abc import Iterator, Mapping
from pathlib import Path

import pytest

from roofline.cli.program import main
from tests import forked
from tests.forked_programs import programs

ROOT = Path(__file__).parents[1]

PAGE = (ROOT / "docs" / "machines.md").read_text(encoding="utf-8")

pytestmark = pytest.mark.skipif(os.name == "nt", reason="the scripts are a POSIX shell's")

SBATCH = """head -n 1 "$1" | grep -q '^#!' || exit 1
count=$(sed -n 's/^#SBATCH .*--array=1-\\([0-9]*\\).*/\\1/p' "$1")
for index in $(seq "${count:-1}"); do
    SLURM_ARRAY_TASK_ID=$index SLURM_ARRAY_TASK_COUNT=$count SLURMD_NODENAME=node-$index sh "$1" || exit
done
"""
SRUN = """case "$*" in *--cpus-per-task=*) ;; *) exit 1 ;; esac # one CPU, whatever sbatch was told
while [ "${1#-}" != "$1" ]; do shift; done
exec "$@"
"""


def _collect(
    program: str, arguments: list[str], folder: Path, environment: dict[str, str]
) -> subprocess.CompletedProcess[str]:
    return forked.run(program, [*arguments, "--collect-only", "-q", "-p", "no:cacheprovider"], folder, environment)


def _start_ranks(
    _program: str, arguments: list[str], folder: Path, environment: dict[str, str]
) -> subprocess.CompletedProcess[str]:
    shown = ["--local-ranks-filter", "0", *arguments]
    return forked.run("torch.distributed.run", shown, folder, {**environment, forked.CHILDREN: "yes"}, timeout=300)


def block(beginning: str, of: str = "sh") -> str:
    """Return the page's only block of a language that begins so."""
    (found,) = re.findall(rf"```{of}\n({beginning}.*?)```", PAGE, re.DOTALL)
    return str(found)


def stand_in(folder: Path, name: str, text: str) -> None:
    """Make a command."""
    (folder / name).write_text(f"#!/bin/sh\n{text}\n")
    (folder / name).chmod(0o755)


def cases(environment: Mapping[str, str], *command: str) -> list[str]:
    """Run a command, and return the cases that its jobs collect."""
    ran = subprocess.run(command, cwd=ROOT, env=environment, capture_output=True, text=True, check=False)
    assert ran.returncode == 0, ran.stdout + ran.stderr
    return [line for line in ran.stdout.splitlines() if "::" in line and "test_roof[" not in line]


@pytest.fixture
def cluster(tmp_path: Path) -> Iterator[dict[str, str]]:
    """The environment of a login node whose jobs run here, one after the other, and only collect their cases."""
    for name, text in {"sbatch": SBATCH, "srun": SRUN}.items():
        stand_in(tmp_path, name, text)
    with programs(tmp_path, "pytest", run=_collect):
        yield {**os.environ, "PATH": f"{tmp_path}{os.pathsep}{os.environ['PATH']}", "SLURMD_NODENAME": "node"}


def test_the_jobs_of_an_array_share_the_cases(cluster: dict[str, str], tmp_path: Path) -> None:
    """Of two jobs each has its own, and both together all that one process has."""
    script = block(r"#!/bin/bash\n#SBATCH --array=1-4 ")
    job = tmp_path / "job.sh"
    job.write_text(script.replace("--array=1-4", "--array=1-2"))
    alone = tmp_path / "alone.sh"
    alone.write_text(re.sub(r" *\\\n *--shard \S+", "", script))
    shared = cases(cluster, "sbatch", str(job))
    assert len(shared) == len({*shared}) > 2
    assert {*shared} == {*cases(cluster, "sh", str(alone))}


def test_the_job_of_two_nodes_starts_the_ranks(cluster: dict[str, str], tmp_path: Path) -> None:
    """torchrun takes its options, and gets the first node of the list for the rendezvous."""
    from torch.distributed.run import get_args_parser

    script = block(r"#!/bin/bash\n#SBATCH --nodes=2 ")
    (tmp_path / "job.sh").write_text(script)
    stand_in(tmp_path, "scontrol", "printf 'node-1\\nnode-2\\n'")
    stand_in(tmp_path, "torchrun", "printf '%s\\n' \"$@\"")
    of_job = {"SLURM_NNODES": "2", "SLURM_JOB_ID": "7", "SLURM_JOB_NODELIST": "node-[1-2]"}
    ran = subprocess.run(
        ["sbatch", str(tmp_path / "job.sh")], env={**cluster, **of_job}, capture_output=True, text=True, check=True
    )
    chosen = get_args_parser().parse_args(ran.stdout.splitlines())
    assert (chosen.nnodes, chosen.nproc_per_node, chosen.rdzv_id) == ("2", "8", "7")
    assert (chosen.rdzv_backend, chosen.rdzv_endpoint) == ("c10d", "node-1:29500")
    assert (chosen.module, chosen.training_script) == (True, "pytest")
    assert chosen.training_script_args[0] == "perftests/test_scaling.py"


def test_the_pods_of_a_job_share_the_cases(cluster: dict[str, str]) -> None:
    """Each has its own; there are as many as the command says."""
    yaml = pytest.importorskip("yaml")
    spec = yaml.safe_load(block("apiVersion: batch/v1\n", of="yaml"))["spec"]
    (container,) = spec["template"]["spec"]["containers"]
    *shell, command = container["command"]
    assert command.endswith(f"/{spec['completions']}")
    in_two = command.removesuffix(f"/{spec['completions']}") + "/2"
    first, second = (cases({**cluster, "JOB_COMPLETION_INDEX": index}, *shell, in_two) for index in "01")
    assert (len({*first, *second}), abs(len(first) - len(second)) <= 1) == (len(first) + len(second), True)


def test_one_machine_shows_what_more_ranks_give(tmp_path: Path) -> None:
    """With a smaller model, on one and two ranks."""
    script = block("for ranks in ").replace("in 1 2 4;", "in 1 2;").replace("resnet18", "mlp")
    few = f"--results={tmp_path}/results --batch=8 --precision=fp32 --max-time=0.2 --warmup=2 --roofs=off -k 'not link'"
    with programs(tmp_path, "torchrun", run=_start_ranks):
        ran = subprocess.run(
            ["sh", "-c", script],
            cwd=ROOT,
            env={**os.environ, "PATH": f"{tmp_path}{os.pathsep}{os.environ['PATH']}", "PYTEST_ADDOPTS": few},
            capture_output=True,
            text=True,
            check=False,
        )
    assert ran.returncode == 0, ran.stdout + ran.stderr
    assert main(["scaling", f"{tmp_path}/results", "--format", "json", "-o", f"{tmp_path}/table.json"]) == 0
    rows = json.loads((tmp_path / "table.json").read_text())
    assert [(row["ranks"], row["efficiency"] is None) for row in rows] == [(1, False), (2, False)]
