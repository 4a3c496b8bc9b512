"""Which device each of several workers owns."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path

import pytest
import torch

from pytest_roofline.device.selection import DeviceError, Wanted
from pytest_roofline.workers import device_shares as module
from pytest_roofline.workers.device_shares import Places, automatic, shares

CPU = Wanted("cpu")


def machine(folder: Path, *, nodes: int = 1, cores: int = 4, threads: int = 1) -> Path:
    """What Linux tells of a machine: each node a socket, its cores numbered anew, second threads behind all cores.

    :param cores: of a node.
    """
    for node in range(nodes):
        own = [node * cores + core + thread * nodes * cores for thread in range(threads) for core in range(cores)]
        (folder / "node" / f"node{node}").mkdir(parents=True)
        (folder / "node" / f"node{node}" / "cpulist").write_text(",".join(map(str, own)) + "\n")
        for cpu in own:
            topology = folder / "cpu" / f"cpu{cpu}" / "topology"
            topology.mkdir(parents=True)
            (topology / "physical_package_id").write_text(f"{node}\n")
            (topology / "core_id").write_text(f"{cpu % cores}\n")
    return folder


@pytest.fixture(autouse=True)
def no_quota(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module.cgroup, "quota_cpus", lambda: None)


@pytest.fixture
def gpus(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """Names of eight GPUs."""
    names = ["H200"] * 8
    monkeypatch.setattr(torch.cuda, "device_count", lambda: len(names))
    monkeypatch.setattr(torch.cuda, "get_device_name", lambda index: names[index])
    return names


def cpus(found: Iterable[module.Share]) -> list[list[int]]:
    return [sorted(share.cpus) for share in found]


@pytest.mark.usefixtures("gpus")
def test_eight_workers_have_eight_gpus() -> None:
    """Each its own; `-n auto` starts as many."""
    assert [str(share.device) for share in shares(Wanted("cuda"), 8, [])] == [f"cuda:{index}" for index in range(8)]
    assert [str(share.device) for share in shares(Wanted("cuda", 5), 1, [])] == ["cuda:5"]
    assert (automatic(Wanted("cuda"), []), automatic(Wanted("cuda", 5), [])) == (8, 1)


@pytest.mark.parametrize(("wanted", "count"), [(Wanted("cuda"), 9), (Wanted("cuda", 5), 2), (Wanted("mps"), 2)])
@pytest.mark.usefixtures("gpus")
def test_more_workers_than_devices_are_refused(wanted: Wanted, count: int) -> None:
    """With how many there can be."""
    with pytest.raises(DeviceError, match=rf"{count} workers are too many .* Use -n {count - 1} at most\."):
        shares(wanted, count, [])


def test_gpus_that_differ_are_refused(gpus: list[str]) -> None:
    """Results of different devices don't belong into one file."""
    gpus[1] = "A100"
    with pytest.raises(DeviceError, match="the devices differ"):
        shares(Wanted("cuda"), 2, [])
    assert len(shares(Wanted("cuda"), 1, [])) == 1


def test_workers_of_a_cpu_have_as_many_cores_each(tmp_path: Path) -> None:
    """Whole cores with both their threads; what is left over stays idle."""
    plain, threaded = machine(tmp_path / "plain", cores=5), machine(tmp_path / "threaded", threads=2)
    assert cpus(shares(CPU, 2, range(5), plain)) == [[0, 1], [2, 3]]
    assert cpus(shares(CPU, 4, range(8), threaded)) == [[0, 4], [1, 5], [2, 6], [3, 7]]
    assert cpus(shares(CPU, 2, [1, 4, 7], plain)) == [[1], [4]]
    with pytest.raises(DeviceError, match=r"5 workers are too many for the processes' 4 cores"):
        shares(CPU, 5, range(8), threaded)


def test_a_worker_stays_on_a_node(tmp_path: Path) -> None:
    """Where the nodes can be divided evenly; only those of one socket are neighbours."""
    system = machine(tmp_path, nodes=2, cores=5)
    four = shares(CPU, 4, range(10), system)
    assert cpus(four) == [[0, 1], [2, 3], [5, 6], [7, 8]]
    assert [share.neighbours for share in four] == [1, 1, 1, 1]
    assert [share.neighbours for share in shares(CPU, 2, range(10), system)] == [0, 0]
    assert automatic(CPU, range(10), system) == 2


def test_a_quota_limits_the_cores(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Cores beyond it would be throttled."""
    monkeypatch.setattr(module.cgroup, "quota_cpus", lambda: 2.5)
    system = machine(tmp_path, cores=8)
    assert cpus(shares(CPU, 2, range(8), system)) == [[0], [1]]
    with pytest.raises(DeviceError, match="of which its CPU quota lets it use 2"):
        shares(CPU, 3, range(8), system)


def test_where_nothing_is_told_each_cpu_is_a_core(tmp_path: Path) -> None:
    """Of one socket."""
    (first, second) = shares(CPU, 2, [0, 1], tmp_path)
    assert (first.cpus, second.cpus, first.neighbours) == ({0}, {1}, 1)


def test_a_successor_has_the_place_of_the_one_that_died() -> None:
    """Not that of a worker that lives."""
    places = Places(3)
    assert [places.take(f"gw{number}") for number in range(3)] == [0, 1, 2]
    places.give_back("gw1")
    assert (places.take("gw3"), places.of("gw3"), places.of("gw2")) == (1, 1, 2)
