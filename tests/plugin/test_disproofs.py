"""Every proof fails in a real measured test: the test fails, and its row stays in the file, marked invalid."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from roofline.schema.record import Record
from tests import forked
from tests.plugin import foreign

PROJECT = """
    import pytest
    import torch
    from torch import nn

    from pytest_roofline.proof import passes
    from pytest_roofline.workload import precision
    from pytest_roofline.proof import claims
    from pytest_roofline.measuring import Plan
    from pytest_roofline.workload.precision import PRECISIONS
    from pytest_roofline.workload.step import ReadyBatches, Workload, sgd

    def batch(size=1.0, rows=4):
        return (torch.full((rows, 8), size),), torch.zeros(rows, dtype=torch.int64)

    @pytest.fixture
    def measure(roofline, request):
        # Two steps of warm-up, four in one window; a batch for each of them.
        plan = Plan(protocol="window", warmup_steps=2, steps=4)

        def call(model, batches=None, *, name="fp32", device="cpu", **values):
            made = Workload(
                model=model,
                batches=batches or ReadyBatches([batch()]),
                mode="train",
                precision=PRECISIONS[name],
                device=torch.device(device),
                loss=nn.functional.cross_entropy,
                optimizer=sgd(model),
                **values,
            )
            roofline.run(made, request.node.name, plan)

        return call

    def test_nothing_wrong(measure):
        measure(nn.Linear(8, 3))

    def test_device(measure):
        measure(nn.Linear(8, 3), device="cuda:0")

    def test_no_gradient(measure, monkeypatch):
        class Dropping(torch.optim.SGD):
            def step(self, closure=None):
                super().step(closure)
                self.zero_grad()

        monkeypatch.setitem(globals(), "sgd", lambda model: Dropping(model.parameters()))
        measure(nn.Linear(8, 3))

    def test_kernels(measure, monkeypatch):
        check = claims.check_kernels
        monkeypatch.setattr(passes, "kernel_names", lambda step, device: ())
        monkeypatch.setattr(claims, "check_kernels", lambda device, kernels: check(torch.device("cuda:0"), kernels))
        measure(nn.Linear(8, 3))

    def test_tf32_kernel(measure, monkeypatch):
        monkeypatch.setattr(passes, "kernel_names", lambda step, device: ("cutlass_80_tensorop_s1688gemm_128x256",))
        measure(nn.Linear(8, 3))

    class Upcasting(nn.Linear):
        def forward(self, inputs):
            with torch.autocast(inputs.device.type, enabled=False):
                return super().forward(inputs)

    def test_upcast(measure):
        measure(Upcasting(8, 3), name="amp_bf16")

    class Vector(nn.Linear):
        # Autocast to fp16 leaves a product of a matrix and a vector in fp32 on a CPU.
        def forward(self, inputs):
            return torch.stack([torch.mv(self.weight, row) for row in inputs])

    def test_fp16_autocast(measure):
        measure(Vector(8, 3), name="amp_fp16")

    def test_graph_in_a_round(measure):
        model = nn.Sequential(torch.compile(nn.Linear(8, 3), backend="eager", dynamic=False))
        measure(model, ReadyBatches([batch(), batch(), batch(), batch(rows=2), batch(), batch()]))

    class Uncompiled(nn.Linear):
        @torch.compiler.disable
        def forward(self, inputs):
            return super().forward(inputs)

    def test_not_compiled(measure):
        measure(Uncompiled(8, 3), compile=True)

    def test_skipped_step(measure, monkeypatch):
        monkeypatch.setattr(precision, "needs_scaler", lambda chosen, device: True)
        sizes = (1.0, 1.0, 1.0, 1e30, 1.0, 1.0)
        measure(nn.Linear(8, 3), ReadyBatches([batch(size) for size in sizes]), name="amp_fp16")

    def test_not_finite(measure):
        measure(nn.Linear(8, 3), ReadyBatches([batch(float("inf"))]))

    class Finite(ReadyBatches):
        def __init__(self, count):
            super().__init__([batch()])
            self.left = count

        def next(self):
            if not self.left:
                raise StopIteration
            self.left -= 1
            return super().next()

    def test_dry(measure):
        measure(nn.Linear(8, 3), Finite(6))

    def test_dry_before_a_round(measure):
        measure(nn.Linear(8, 3), Finite(5))

    def test_dry_loader(roofline, request):
        from roofline.schema.record import Case

        values = {"model": "loader", "mode": "input", "precision": "fp32", "batch": 4, "samples_per_step": 4}
        case = Case(id=request.node.name, workload_hash="0", **values)
        left = iter(range(30))
        roofline.feed(lambda: next(left), case)
"""

DISPROVED = {
    "test_device": ("device", "asked for cuda:0, but parameters on cpu; gradients on cpu; operations on cpu"),
    "test_no_gradient": ("device", "a training step left no gradient on any parameter"),
    "test_kernels": ("kernels", "no kernel ran on cuda:0 in one step"),
    "test_tf32_kernel": (
        "precision",
        "fp32 means fp32, but this kernel ran: cutlass_80_tensorop_s1688gemm_128x256",
    ),
    "test_upcast": ("precision", "amp_bf16 means bf16, but matrix FLOPs: 100.0% in fp32"),
    "test_fp16_autocast": ("precision", "amp_fp16 means fp16, but matrix FLOPs: 100.0% in fp32"),
    "test_graph_in_a_round": ("graphs", "1 graph(s) were compiled inside the timed rounds"),
    "test_not_compiled": ("graphs", "asked for torch.compile, but no graph was made: the step ran eagerly"),
    "test_skipped_step": (
        "optimizer_steps",
        "gradient scale 65536 before the rounds, 32768 after: 1 step(s) were skipped for gradients",
    ),
    "test_not_finite": ("finite", "not finite after the last round: loss"),
    "test_dry": ("data", "the data ended after 6 batches, after the timed rounds, before the step to observe"),
    "test_dry_loader": ("data", "the data ended after 30 batches, in timed round 8"),
}
"""Test -> the check that fails and how its evidence begins."""

NOT_MEASURED = "the data ended after 5 batches, in timed round 1: not one timed round was complete"


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A project in which every test but one claims what is false."""
    folder = tmp_path_factory.mktemp("project")
    lines = PROJECT.splitlines()
    (folder / "test_claims.py").write_text("\n".join(line.removeprefix("    ") for line in lines) + "\n")
    (folder / "pytest.ini").write_text("[pytest]\nroofline_results = results\naddopts = -p no:playwright -p no:xdist\n")
    return folder


@pytest.fixture(scope="module")
def run(folder: Path) -> subprocess.CompletedProcess[str]:
    environment = {name: value for name, value in os.environ.items() if name != "PYTEST_XDIST_WORKER"}
    arguments = ("--roofline-device", "cpu", "--roofline-warmup", "2", "--roofline-steps", "4")
    return forked.run("pytest", arguments, folder, environment)


@pytest.fixture(scope="module")
def document(folder: Path, run: subprocess.CompletedProcess[str]) -> dict[str, Any]:
    assert run.returncode == 1, run.stdout + run.stderr
    (path,) = (folder / "results").rglob("*.json")
    found: dict[str, Any] = json.loads(path.read_text())
    return found


@pytest.fixture(scope="module")
def records(document: dict[str, Any]) -> dict[str, Record]:
    return foreign.records(document)


def test_only_the_claim_that_is_true_passes(run: subprocess.CompletedProcess[str]) -> None:
    """Each of the others fails its test."""
    assert f"{len(DISPROVED) + 1} failed, 1 passed" in run.stdout


def test_every_measured_row_is_in_the_file(records: dict[str, Record]) -> None:
    """The failing ones as well; what ended before its first round has no number."""
    assert set(records) == {"test_nothing_wrong", *DISPROVED}
    assert records["test_nothing_wrong"].valid


@pytest.mark.parametrize("name", DISPROVED)
def test_a_false_claim_is_disproved_by_its_own_check(name: str, records: dict[str, Record]) -> None:
    """That check alone, with the evidence; the row is invalid."""
    check, evidence = DISPROVED[name]
    record = records[name]
    failed = {one.name: one.evidence for one in record.checks if one.status == "failed"}
    assert list(failed) == [check]
    assert failed[check].startswith(evidence)
    assert [flag.name for flag in record.flags if flag.invalid] == [f"{check}_disproved"]


def test_every_failure_is_in_the_session_with_its_evidence(document: dict[str, Any]) -> None:
    """So that a reader of the file sees why, whether or not there is a row."""
    reasons = {entry.id: entry.reason for entry in foreign.session_of(document).not_measured}
    assert set(reasons) == {*DISPROVED, "test_dry_before_a_round"}
    assert all(evidence in reasons[name] for name, (_, evidence) in DISPROVED.items())
    assert NOT_MEASURED in reasons["test_dry_before_a_round"]


@pytest.mark.usefixtures("document")
def test_nothing_is_concluded_from_an_invalid_row(folder: Path) -> None:
    """It is listed, without a bound."""
    command = (sys.executable, "-m", "roofline", "points", "results", "--format", "json")
    answer = subprocess.run(command, cwd=folder, capture_output=True, text=True, check=True)
    rows = {row["case"]: row for row in json.loads(answer.stdout)}
    assert {(rows[name]["valid"], rows[name]["bound"]) for name in DISPROVED} == {(False, "undetermined")}
    assert rows["test_device"]["bound_why"] == "invalid"
