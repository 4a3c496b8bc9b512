"""Whether a command line means this suite."""

from __future__ import annotations

import json
import os
import subprocess
from contextlib import AbstractContextManager, nullcontext
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
import torch

from perftests import suite
from perftests.matrix import CaseSpec
from perftests.suite import Suite, is_asked_for, refuse_flags
from pytest_roofline.device import cpus, device_memory
from pytest_roofline.device.selection import Wanted
from pytest_roofline.session.run import RUN
from pytest_roofline.settings import Given
from pytest_roofline.workers.device_shares import automatic
from pytest_roofline.workers.role import ROLE, Role
from tests import forked
from tests.forked import ROOT


def config(folder: Path, *arguments: str) -> Any:
    return SimpleNamespace(args=list(arguments), invocation_params=SimpleNamespace(dir=folder))


def test_flags_of_the_suite_need_the_suite() -> None:
    """Else this repository's own tests would run, and nothing would be measured."""
    given = SimpleNamespace(roofline_model=Given("mlp", "--model"), roofline_batch=Given("8", "--roofline-batch"))
    message = (
        r"^--model, --roofline-batch: for cases of perftests alone, and they are not asked for\. Begin with pytest"
    )
    with pytest.raises(pytest.UsageError, match=message):
        refuse_flags(SimpleNamespace(option=given))  # type: ignore[arg-type]
    refuse_flags(SimpleNamespace(option=SimpleNamespace(roofline_device=Given("cpu", "--device"))))  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("argument", "asked"),
    [
        ("perftests", True),
        ("perftests/test_models.py::test_train[x]", True),
        (".", True),
        ("link", True),
        ("tests", False),
        ("circle", False),
        ("circle/test_a.py", False),
    ],
)
def test_what_names_the_suite(tmp_path: Path, argument: str, asked: bool) -> None:
    """Its folder, something in it, a folder above it, through links too; a link to itself is somebody else's error."""
    for folder in ("perftests", "tests"):
        (tmp_path / folder).mkdir()
    (tmp_path / "link").symlink_to("perftests")
    (tmp_path / "circle").symlink_to("circle")
    assert is_asked_for(config(tmp_path, argument), tmp_path / "perftests") is asked


def run(tmp_path: Path, arguments: str, plugin: str = "") -> subprocess.CompletedProcess[str]:
    """Run pytest over the suite with a plugin of this text, and results in a folder."""
    (tmp_path / "of_the_test.py").write_text(plugin)
    flags = f"-p of_the_test -p no:cacheprovider --device cpu {arguments} --results={tmp_path}"
    return forked.run("pytest", flags.split(), ROOT, {**os.environ, "PYTHONPATH": str(tmp_path)})


def results(tmp_path: Path) -> dict[str, Any]:
    (file,) = tmp_path.glob("*/*.json")
    return dict(json.loads(file.read_text(encoding="utf-8")))


def test_every_row_has_its_case_as_a_parameter(tmp_path: Path) -> None:
    """`pytest-benchmark compare --group-by=param:case` needs it of each row of the files it is given, roofs too."""
    plugin = """
import json
from pathlib import Path
def pytest_collection_finish(session):
    found = [[item.originalname, item.callspec.params.get("case"), item.callspec.id] for item in session.items]
    Path(__file__).with_name("found.json").write_text(json.dumps(found))
"""
    assert run(tmp_path, "--collect-only perftests", plugin).returncode == 0
    found = json.loads((tmp_path / "found.json").read_text())
    assert {name for name, _, _ in found} >= {"test_roof", "test_train", "test_infer", "test_step_fed"}
    assert [row for row in found if row[1] != row[2]] == []


def test_models_of_a_broken_library_are_skipped_and_the_others_run(tmp_path: Path) -> None:
    """What is of the project itself is measured; the reason is in the results."""
    (tmp_path / "torchvision").mkdir()
    (tmp_path / "torchvision/__init__.py").write_text("raise RuntimeError('operator torchvision::nms does not exist')")
    forget = "import sys\nfor name in [*sys.modules]:\n    if name.startswith('torchvision'): del sys.modules[name]"
    options = "--mode infer --batch 2 --precision fp32 --max-time 0.05 --warmup 1 --model mlp,resnet18"
    ended = run(tmp_path, f"{options} perftests/test_models.py", forget)
    assert ended.returncode == 0, ended.stdout
    document = results(tmp_path)
    assert [row["params"]["case"] for row in document["benchmarks"]] == ["mlp-infer-b2-fp32"]
    (skipped,) = document["roofline"]["not_measured"]
    assert (skipped["id"], skipped["outcome"]) == ("resnet18-infer-b2-fp32", "skipped")
    assert skipped["reason"].startswith("no resnet18: torchvision ")


def test_a_batch_that_does_not_fit_is_out_of_memory_before_anything_is_built(tmp_path: Path) -> None:
    """The test ends as one whose allocation fails, without a traceback; the reason is in the results."""
    options = "--mode infer --batch 1000000 --precision fp32 --max-time 0.05 --model vgg11"
    ended = run(tmp_path, f"{options} perftests/test_models.py")
    assert "Traceback" not in ended.stdout
    assert "conftest.py" not in ended.stdout
    assert "MemoryError: vgg11-infer-b1000000-fp32 is predicted to need 2.41 TB for 4 batches, and " in ended.stdout


@pytest.mark.skipif(not Path("/dev/shm").is_dir(), reason="this system hands batches over in another way")
def test_data_that_can_t_be_loaded_ends_its_own_case_alone(tmp_path: Path) -> None:
    """In a line without a traceback; the reason is in the results, and the other case is measured."""
    options = "--mode infer --batch 256 --precision fp32 --model resnet18,mlp --max-time 0.05 --warmup 1 --data=fake"
    ended = run(tmp_path, f"{options} --workers=4 --prefetch-factor=1024 perftests/test_models.py")
    assert "Traceback" not in ended.stdout
    assert "conftest.py:" not in ended.stdout, ended.stdout
    (failed,) = results(tmp_path)["roofline"]["not_measured"]
    assert "--workers 4: the loader needs 632 GB of shared memory" in failed["reason"]


CASE = CaseSpec(
    model="resnet50",
    mode="train",
    batch=32,
    precision="fp32",
    layout="contiguous",
    data="synthetic",
    devices=frozenset({"cpu"}),
)

SUITE = Suite(
    cases={CASE.id: CASE},
    fed={},
    shared={},
    values={"no_memory_check": False},
    data_source="--data",
    memory_flag="--no-memory-check",
    kind="cpu",
    seed=0,
)


@pytest.mark.parametrize(
    ("free", "step", "ends"),
    [
        (80 * 2**30, True, None),
        (10**9, True, " GB for a step and 4 batches, and 1.00 GB of the cpu's memory are free"),
        (10**9, False, None),
        (10**7, False, "to need 77.1 MB for 4 batches, and 10.0 MB of the cpu's memory are free"),
        (None, True, None),
    ],
)
def test_what_does_not_fit(monkeypatch: pytest.MonkeyPatch, free: int | None, step: bool, ends: str) -> None:
    """Batches are looked at first, and a step only where one is taken. What nobody knows of may fit."""
    monkeypatch.setattr(device_memory, "free_byte", lambda _: free)
    found = SUITE.shortage(CASE, torch.device("cpu"), step=step)
    assert (found is None) if ends is None else (found is not None and ends in found)
    assert replace(SUITE, values={"no_memory_check": True}).shortage(CASE, torch.device("cpu"), step=step) is None


def test_auto_starts_a_worker_for_each_device(tmp_path: Path) -> None:
    """Though no flag names one; pytest-xdist by itself counts the cores."""
    pytest.importorskip("xdist")
    (tmp_path / "many_cores.py").write_text("import psutil\npsutil.cpu_count = lambda logical=True: 7\n")
    command = ["perftests", "-n", "auto", "-k", "nothing", "-p", "many_cores", "-p", "no:cacheprovider"]
    environment = {**os.environ, "PYTHONPATH": str(tmp_path), forked.CHILDREN: "yes"}
    ended = forked.run("pytest", command, ROOT, environment)
    count = automatic(Wanted(None), cpus.AT_START)
    assert f"created: {count}/{count} worker" in ended.stdout
    assert ended.returncode == 4


@pytest.mark.parametrize(
    ("free", "workers", "device", "alone"),
    [(10**8, 2, "cpu", True), (2 * 10**8, 2, "cpu", False), (10**8, 1, "cpu", False), (10**8, 2, "cuda", False)],
)
def test_a_case_that_needs_more_than_its_part_of_memory_waits_for_the_other_workers(
    monkeypatch: pytest.MonkeyPatch, free: int, workers: int, device: str, alone: bool
) -> None:
    """Two that build models at the same time may lack memory together, where each would fit by itself (77.1 MB)."""
    monkeypatch.setattr(device_memory, "free_byte", lambda _: free)
    waited: list[str] = []

    def wait() -> AbstractContextManager[None]:
        waited.append("for the others")
        return nullcontext()

    stash = pytest.Stash()
    stash[suite._SUITE] = SUITE
    stash[ROLE] = Role(folder=Path(), place=0, count=workers, cpus=(0, 1))
    stash[RUN] = SimpleNamespace(alone=wait)  # type: ignore[assignment]
    with suite.room_for(SimpleNamespace(stash=stash), CASE, torch.device(device), step=False):  # type: ignore[arg-type]
        assert bool(waited) is alone
