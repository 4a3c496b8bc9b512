"""Trainings that several processes share: two ranks on this machine, and two machines made of network namespaces."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import pytest

from roofline.machine.published import load
from roofline.model.points import points_of
from roofline.results.reader import read_file
from tests import forked
from tests.forked import ROOT

SUITE = (
    *("-m", "pytest", "-p", "of_the_test", "-p", "no:cacheprovider", "--device", "cpu", "--precision", "fp32"),
    *("--batch", "8", "--max-time", "0.2", "--warmup", "2", "--roofs", "off"),
)
ALL = "perftests/test_scaling.py"
TRAINING = f"{ALL}::test_scaling"


@pytest.fixture
def environment(tmp_path: Path) -> dict[str, str]:
    """One thread a rank, and a plugin that each of them loads."""
    (tmp_path / "of_the_test.py").write_text("")
    kept = {name: value for name, value in os.environ.items() if not name.startswith(("PYTEST_", "TORCHELASTIC_"))}
    return {**kept, "PYTHONPATH": str(tmp_path), "OMP_NUM_THREADS": "1"}


def on_ranks(environment: Mapping[str, str], folder: Path, *flags: str) -> subprocess.CompletedProcess[str]:
    options = ("--standalone", "--nproc-per-node", "2", "--local-ranks-filter", "0")
    return forked.run(
        "torch.distributed.run",
        [*options, *SUITE, f"--results={folder}", *flags],
        ROOT,
        {**environment, forked.CHILDREN: "yes"},
        timeout=300,
    )


def document(folder: Path) -> dict[str, Any]:
    (file,) = folder.glob("*/*.json")
    return dict(json.loads(file.read_text(encoding="utf-8")))


def test_two_ranks_train_one_model(environment: dict[str, str], tmp_path: Path) -> None:
    """Both take the same steps and prove them; rank 0 writes; the slower one is named, and the links are roofs."""
    (tmp_path / "of_the_test.py").write_text(
        "import os, time\n"
        "from perftests.nets import SimpleMLP\n"
        "from pytest_roofline.parallel import links\n"
        "del links.NAMES['all_reduce-256MiB']\n"  # which takes two busy processes of one machine half a minute
        "forward = SimpleMLP.forward\n"
        "def slow(self, *inputs):\n"
        "    time.sleep(0.05 * int(os.environ['RANK']))\n"
        "    return forward(self, *inputs)\n"
        "SimpleMLP.forward = slow\n"
    )
    ran = on_ranks(environment, tmp_path / "results", ALL, "--model", "mlp")
    assert ran.returncode == 0, ran.stdout + ran.stderr
    whole = document(tmp_path / "results")
    rows = [row["extra_info"]["roofline"] for row in whole["benchmarks"]]
    (record,) = (row for row in rows if row["case"]["mode"] == "train")
    assert (record["case"]["id"], record["case"]["samples_per_step"]) == ("mlp-train-b8-fp32-ddp-r2", 16)
    assert {check["name"] for check in record["checks"] if check["status"] == "passed"} >= {"device", "precision"}
    shared = record["parallel"]
    assert (shared["ranks"], shared["nodes"], shared["backend"], shared["strategy"]) == (2, 1, "gloo", "ddp")
    assert shared["message_byte_per_step"] == record["work"]["parameter_byte"]
    assert shared["by_rank"][1]["own_s"] > 0.05 > shared["by_rank"][0]["own_s"]
    assert record["timing"]["step_time_s"] > 0.05
    links = {roof["name"]: roof["value"] for roof in whole["roofline"]["roofs"] if roof["kind"] == "link"}
    assert len(links) == 4
    assert links["all_reduce-32MiB-r2"] > links["all_reduce-1KiB-r2"]
    (file,) = (tmp_path / "results").glob("*/*.json")
    (point,) = (point for point in points_of(read_file(file), load()) if point.mode == "train")
    assert "rank 1 on node 0" in {flag.name: flag.evidence for flag in point.flags}["straggler"]


def test_a_rank_that_fails_ends_the_run(environment: dict[str, str], tmp_path: Path) -> None:
    """The others don't wait for it. It is named, and what was measured before is kept; here with weights in parts."""
    (tmp_path / "of_the_test.py").write_text(
        "import os\n"
        "from perftests.nets import SimpleCNN\n"
        "def fail(self, *inputs):\n"
        "    raise MemoryError('nothing left')\n"
        "if os.environ['RANK'] == '1':\n"
        "    SimpleCNN.forward = fail\n"
    )
    ran = on_ranks(environment, tmp_path / "results", TRAINING, "--model", "mlp,cnn", "--strategy", "fsdp")
    assert ran.returncode == 1, ran.stdout + ran.stderr
    whole = document(tmp_path / "results")
    (record,) = (row["extra_info"]["roofline"] for row in whole["benchmarks"])
    assert (record["case"]["id"], record["parallel"]["strategy"]) == ("mlp-train-b8-fp32-fsdp-r2", "fsdp")
    assert record["parallel"]["message_byte_per_step"] > 0
    (lost,) = whole["roofline"]["not_measured"]
    assert (lost["id"], lost["outcome"]) == ("cnn-train-b8-fp32-fsdp-r2", "failed")
    assert "rank 1: MemoryError: nothing left" in lost["reason"]


def test_a_process_by_itself_is_told_how_to_start_ranks(tmp_path: Path) -> None:
    ran = subprocess.run(
        [sys.executable, "-m", "pytest", ALL, f"--results={tmp_path}"],
        cwd=ROOT,
        capture_output=True,
        text=True,
        check=False,
    )
    assert ran.returncode == 4
    assert "torchrun --nproc-per-node 2 -m pytest perftests/test_scaling.py" in ran.stderr


def ip(*words: str) -> None:
    subprocess.run(["ip", *words], check=True, capture_output=True)


@pytest.fixture
def hosts() -> Iterator[Sequence[tuple[str, str]]]:
    """Two network namespaces with a cable between them: their names and addresses."""
    if shutil.which("ip") is None or os.geteuid() != 0:
        pytest.skip("network namespaces need iproute2 and root")
    names = [f"roofline-{os.getpid()}-{number}" for number in (1, 2)]
    try:
        ip("netns", "add", names[0])
        ip("netns", "add", names[1])
        ip("-n", names[0], "link", "add", "eth0", "type", "veth", "peer", "name", "eth0", "netns", names[1])
        for number, name in enumerate(names, 1):
            ip("-n", name, "addr", "add", f"10.77.0.{number}/24", "dev", "eth0")
            ip("-n", name, "link", "set", "eth0", "up")
            ip("-n", name, "link", "set", "lo", "up")
    except subprocess.CalledProcessError as error:
        pytest.skip(f"no network namespaces here: {error.stderr.decode().strip()}")
    else:
        yield [(name, f"10.77.0.{number}") for number, name in enumerate(names, 1)]
    finally:
        for name in names:
            subprocess.run(["ip", "netns", "del", name], check=False, capture_output=True)


def test_two_machines_train_one_model(
    hosts: Sequence[tuple[str, str]], environment: dict[str, str], tmp_path: Path
) -> None:
    """They find each other by torchrun's own rendezvous; the file has how many there were, and no host's name."""
    rendezvous = f"--nnodes 2 --nproc-per-node 1 --rdzv-backend c10d --rdzv-endpoint {hosts[0][1]}:29400".split()
    started = [
        subprocess.Popen(
            [
                *("ip", "netns", "exec", name, sys.executable, "-m", "torch.distributed.run", *rendezvous),
                *("--local-addr", address),
                # A namespace has an address of its own and this machine's name, by which torchrun would know the host.
                *("--rdzv-conf", f"is_host={int(address == hosts[0][1])}"),
                *(*SUITE, TRAINING, "--model", "mlp", f"--results={tmp_path / name}"),
            ],
            cwd=ROOT,
            env={**environment, "GLOO_SOCKET_IFNAME": "eth0"},
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
        )
        for name, address in hosts
    ]
    said = [one.communicate(timeout=300)[0] for one in started]
    assert [one.returncode for one in started] == [0, 0], "\n".join(said)
    (file,) = (file for name, _ in hosts for file in (tmp_path / name).glob("*/*.json"))
    (record,) = (row["extra_info"]["roofline"] for row in json.loads(file.read_text())["benchmarks"])
    assert record["case"]["id"] == "mlp-train-b8-fp32-ddp-r2-n2"
    assert [rank["node"] for rank in record["parallel"]["by_rank"]] == [0, 1]
    assert record["parallel"]["nodes"] == 2
