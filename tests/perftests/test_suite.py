"""Whether a command line means this suite."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
import torch

from perftests.matrix import CaseSpec
from perftests.suite import Suite, is_asked_for
from pytest_roofline.device import device_memory
from tests import forked


def config(folder: Path, *arguments: str) -> Any:
    return SimpleNamespace(args=list(arguments), invocation_params=SimpleNamespace(dir=folder))


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


_COLLECT = """
import contextlib, io, json, pytest
class Parameters:
    def pytest_collection_finish(self, session):
        self.found = [[item.originalname, item.callspec.params.get("case"), item.callspec.id] for item in session.items]
seen = Parameters()
with contextlib.redirect_stdout(io.StringIO()):
    pytest.main(["-q", "--collect-only", "--device", "cpu", "-p", "no:cacheprovider", "perftests"], plugins=[seen])
print(json.dumps(seen.found))
"""


def test_every_row_has_its_case_as_a_parameter() -> None:
    """`pytest-benchmark compare --group-by=param:case` needs it of each row of the files it is given, roofs too."""
    root = Path(__file__).parents[2]
    ended = subprocess.run([sys.executable, "-c", _COLLECT], capture_output=True, text=True, check=True, cwd=root)
    found = json.loads(ended.stdout.splitlines()[-1])
    assert {name for name, _, _ in found} >= {"test_roof", "test_train", "test_infer", "test_step_fed"}
    assert [row for row in found if row[1] != row[2]] == []


def test_models_of_a_broken_library_are_skipped_and_the_others_run(tmp_path: Path) -> None:
    """What is of the project itself is measured; the reason is in the results."""
    (tmp_path / "torchvision").mkdir()
    (tmp_path / "torchvision/__init__.py").write_text("raise RuntimeError('operator torchvision::nms does not exist')")
    root = Path(__file__).parents[2]
    options = "--device cpu --mode infer --batch 2 --precision fp32 --max-time 0.05 --warmup 1 --model mlp,resnet18"
    ended = subprocess.run(
        [
            sys.executable,
            "-m",
            "pytest",
            "-p",
            "no:cacheprovider",
            "perftests/test_models.py",
            *options.split(),
            f"--results={tmp_path}",
        ],
        capture_output=True,
        text=True,
        check=False,
        cwd=root,
        env={**os.environ, "PYTHONPATH": os.pathsep.join([str(tmp_path), os.environ.get("PYTHONPATH", "")])},
    )
    assert ended.returncode == 0, ended.stdout
    (results,) = tmp_path.glob("*/*.json")
    document = json.loads(results.read_text(encoding="utf-8"))
    assert [row["params"]["case"] for row in document["benchmarks"]] == ["mlp-infer-b2-fp32"]
    (skipped,) = document["roofline"]["not_measured"]
    assert (skipped["id"], skipped["outcome"]) == ("resnet18-infer-b2-fp32", "skipped")
    assert skipped["reason"].startswith("no resnet18: torchvision ")


def test_a_batch_that_does_not_fit_is_out_of_memory_before_anything_is_built(tmp_path: Path) -> None:
    """The test ends as one whose allocation fails, without a traceback; the reason is in the results."""
    options = "--device cpu --mode infer --batch 1000000 --precision fp32 --max-time 0.05 --model vgg11"
    arguments = [*options.split(), f"--results={tmp_path}", "perftests/test_models.py"]
    ended = forked.run("pytest", arguments, Path(__file__).parents[2])
    assert "Traceback" not in ended.stdout
    assert "conftest.py" not in ended.stdout
    assert "MemoryError: vgg11-infer-b1000000-fp32 is predicted to need 2.41 TB for 4 batches, and " in ended.stdout


@pytest.mark.skipif(not Path("/dev/shm").is_dir(), reason="this system hands batches over in another way")
def test_data_that_can_t_be_loaded_ends_its_own_case_alone(tmp_path: Path) -> None:
    """In a line without a traceback; the reason is in the results, and the other case is measured."""
    options = "--device cpu --mode infer --batch 64 --precision fp32 --model resnet18,mlp --max-time 0.05 --warmup 1"
    ended = subprocess.run(
        [
            *(sys.executable, "-m", "pytest", "perftests/test_models.py", "-p", "no:cacheprovider", *options.split()),
            *("--data=fake", "--workers=16", "--prefetch-factor=1024", f"--results={tmp_path}"),
        ],
        capture_output=True,
        text=True,
        check=False,
        cwd=Path(__file__).parents[2],
    )
    assert "Traceback" not in ended.stdout
    assert "conftest.py:" not in ended.stdout, ended.stdout
    (results,) = tmp_path.glob("*/*.json")
    (failed,) = json.loads(results.read_text(encoding="utf-8"))["roofline"]["not_measured"]
    assert "--workers 16: the loader needs 631 GB of shared memory" in failed["reason"]


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
    case = CaseSpec(
        model="resnet50",
        mode="train",
        batch=32,
        precision="fp32",
        layout="contiguous",
        data="synthetic",
        devices=frozenset({"cpu"}),
    )
    suite = Suite(
        cases={case.id: case},
        fed={},
        values={"no_memory_check": False},
        data_source="--data",
        memory_flag="--no-memory-check",
        kind="cpu",
        seed=0,
    )
    found = suite.shortage(case, torch.device("cpu"), step=step)
    assert (found is None) if ends is None else (found is not None and ends in found)
    assert replace(suite, values={"no_memory_check": True}).shortage(case, torch.device("cpu"), step=step) is None
