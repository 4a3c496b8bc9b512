"""Proofs: each passes on what is true, and fails on what is not."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any, Literal

import pytest
import torch
from torch import Tensor, nn

from pytest_roofline.proof import claims
from pytest_roofline.proof.claims import Snapshot
from pytest_roofline.workload.compiling import Graphs
from pytest_roofline.workload.precision import PRECISIONS
from pytest_roofline.workload.step import ReadyBatches, Step, Workload, sgd

CPU = torch.device("cpu")


def step_of(
    mode: Literal["train", "infer"] = "train",
    device: torch.device = CPU,
    model: nn.Module | None = None,
    scale: float = 1.0,
) -> Step:
    """A step of a tiny model on the CPU, that claims to run on ``device``."""
    model = model or nn.Linear(4, 3)
    images, labels = scale * torch.randn(2, 4), torch.tensor([0, 1])
    training = mode == "train"
    return Step(
        Workload(
            model=model,
            batches=ReadyBatches([((images,), labels if training else None)]),
            mode=mode,
            precision=PRECISIONS["fp32"],
            device=device,
            loss=nn.functional.cross_entropy if training else None,
            optimizer=sgd(model) if training else None,
        )
    )


def graphs(made: int, **values: Any) -> Snapshot:
    return Snapshot(Graphs(made=made, **values), None)


def scale(value: float | None) -> Snapshot:
    return Snapshot(Graphs(), value)


class GradientsElsewhere(nn.Linear):
    """torch refuses to assign such gradients, but a back end may make some."""

    def parameters(self, recurse: bool = True) -> Any:
        real = super().parameters(recurse)
        return (SimpleNamespace(device=one.device, grad=torch.ones(1, device="meta")) for one in real)


@pytest.mark.parametrize(
    ("device", "model", "operations", "status", "evidence"),
    [
        ("cpu", nn.Linear, {"cpu": 12}, "passed", "parameters on cpu; gradients on cpu; operations on cpu (12 op"),
        ("cuda:0", nn.Linear, {"cpu": 12}, "failed", "asked for cuda:0, but parameters on cpu"),
        ("cpu", GradientsElsewhere, {"cpu": 12}, "failed", "asked for cpu, but parameters on cpu; gradients on meta"),
        ("cpu", nn.Linear, {"cpu": 12, "mps": 1}, "failed", "asked for cpu, but parameters on cpu; gradients on cpu; "),
        ("cpu", nn.Linear, {}, "failed", "asked for cpu, but the step dispatched no operation"),
    ],
)
def test_device_is_proven_by_parameters_gradients_and_operations(
    device: str, model: type[nn.Module], operations: dict[str, int], status: str, evidence: str
) -> None:
    """All three on the device asked for; the evidence says where everything was."""
    step = step_of(device=torch.device(device))
    step()
    step.workload.model.__class__ = model
    check = claims.check_device(step, operations)
    assert check.status == status
    assert check.evidence.startswith(evidence)


class Constant(nn.Linear):
    """Returns what was there before."""

    def forward(self, inputs: Tensor) -> Tensor:  # noqa: ARG002
        return self.bias


@pytest.mark.parametrize(
    ("model", "mode", "devices", "hidden"),
    [
        (nn.Linear(4, 3), "infer", {}, True),
        (nn.Linear(4, 3), "infer", {"cpu": 1}, False),
        (nn.Linear(4, 3), "train", {}, False),
        (nn.Identity(), "infer", {}, False),
        (Constant(4, 3), "infer", {}, False),
    ],
)
def test_a_result_without_operations_is_told_from_none(
    model: nn.Module, mode: Literal["train", "infer"], devices: dict[str, int], hidden: bool
) -> None:
    """A result that was not there before was made somewhere; a step that hands on what it was given did nothing."""
    step = step_of(mode, model=model)
    step()
    told = "no operation ran in the step: its output is cached, or computed where torch doesn't see it"
    assert claims.unseen(step, devices) == (told if hidden else None)


@pytest.mark.parametrize(
    ("name", "flop", "kernels", "status"),
    [
        ("fp32", {"fp32": 9.0}, None, "passed"),
        ("fp32", {"fp32": 9.0, "bf16": 1.0}, None, "failed"),
        ("fp32", {"tf32": 9.0}, None, "failed"),
        ("fp32", {"fp32": 9.0}, ["ampere_sgemm_32x32_sliced1x4_tn"], "passed"),
        ("fp32", {"fp32": 9.0}, ["sm80_xmma_fprop_implicit_gemm_tf32f32_tf32f32"], "failed"),
        ("fp32", {"fp32": 9.0}, ["cutlass_80_tensorop_s1688gemm_128x256"], "failed"),
        ("amp_bf16", {"bf16": 9.0}, ["cutlass_80_tensorop_bf16_s1688gemm_bf16_128x256"], "passed"),
        ("tf32", {"tf32": 9.0}, ["sm80_xmma_gemm_f32f32_tf32f32_f32_tn"], "passed"),
        ("tf32", {"fp32": 9.0}, None, "failed"),
        ("torch_default", {"fp32": 1.0, "tf32": 8.0}, None, "passed"),
        ("amp_fp16", {"fp32": 9.0}, None, "failed"),
        ("amp_bf16", {"bf16": 96.0, "fp32": 4.0}, None, "passed"),
        ("amp_bf16", {"bf16": 94.0, "fp32": 6.0}, None, "failed"),
        ("amp_fp16", {}, None, "not_made"),
    ],
)
def test_precision_is_what_the_matrix_operations_ran_in(
    name: str, flop: dict[str, float], kernels: list[str] | None, status: str
) -> None:
    """fp16 autocast that gave fp32, TF32 in an fp32 row: neither passes."""
    assert claims.check_precision(PRECISIONS[name], flop, kernels).status == status


def test_precision_evidence_tells_the_shares() -> None:
    """Which share ran in which dtype."""
    check = claims.check_precision(PRECISIONS["torch_default"], {"fp32": 1.0, "tf32": 3.0}, None)
    assert check.evidence == "matrix FLOPs: 25.0% in fp32, 75.0% in tf32"


def test_precision_of_unknown_operations_is_not_proven() -> None:
    """What has no formula may be a product in any dtype; a precision that is disproved stays so."""
    check = claims.check_precision(PRECISIONS["bf16"], {"bf16": 9.0}, None, uncovered=["my::mm", "my::mm"])
    assert (check.status, check.evidence) == ("not_made", "matrix FLOPs: 100.0% in bf16; not known of my::mm")
    assert claims.check_precision(PRECISIONS["bf16"], {"fp32": 9.0}, None, uncovered=["my::mm"]).status == "failed"


@pytest.mark.parametrize(
    ("device", "kernels", "status"),
    [("cpu", None, "not_made"), ("mps", None, "not_made"), ("cuda", (), "failed"), ("cuda", ("gemm",), "passed")],
)
def test_kernels(device: str, kernels: tuple[str, ...] | None, status: str) -> None:
    """No kernel on a CUDA device means that it ran elsewhere; what can't be told is not made, never passed."""
    assert claims.check_kernels(torch.device(device), kernels).status == status


PRINTS = {"a call of print\nExplanation": 1}
OLD, NEW = {"old": 2}, {"old": 2, "print": 1}


@pytest.mark.parametrize(
    ("start", "before", "after", "asked", "status", "evidence"),
    [
        # A new shape recompiles while timed, whether or not anybody asked for compiling.
        (graphs(1), graphs(2), graphs(3, breaks=PRINTS), True, "failed", "1 graph(s) were compiled inside the timed"),
        (graphs(1), graphs(2), graphs(3), False, "failed", "1 graph(s) were compiled inside the timed rounds"),
        # A graph captured in the warm-up may get its code later.
        (graphs(0), graphs(1, code=1), graphs(1, code=2), True, "failed", "code for 1 graph(s) was generated inside"),
        # Graphs of earlier cases don't count, and an eager step is not what was asked for.
        (graphs(7), graphs(7), graphs(7), True, "failed", "asked for torch.compile, but no graph was made"),
        (graphs(7), graphs(7), graphs(7), False, "passed", "no graph was compiled inside the timed rounds"),
        # What is from a cache has a compile time that is none; why capturing stopped is named.
        (
            graphs(1, code=1, breaks=OLD),
            graphs(3, code=5, cached=3, breaks=NEW),
            graphs(3, code=5, cached=3, breaks=NEW),
            True,
            "passed",
            "2 graph(s) were compiled before the timed rounds, the code of 3 of 4 parts from a cache; "
            "1 graph break(s), first for: print",
        ),
    ],
)
def test_graphs(start: Snapshot, before: Snapshot, after: Snapshot, asked: bool, status: str, evidence: str) -> None:
    """None inside of the timed rounds, and at least one before them where it was asked for."""
    check = claims.check_graphs(start, before, after, asked=asked)
    assert check.status == status
    assert check.evidence.startswith(evidence)


def test_a_scale_that_fell_to_nothing_tells_no_number_of_steps() -> None:
    """What a real scaler does is in test_scaled_step."""
    step: Any = step_of()
    assert claims.check_optimizer_steps(step, scale(None), scale(None)).status == "passed"  # type: ignore[union-attr]
    step.scaler = SimpleNamespace(get_backoff_factor=lambda: 0.5)
    gone = claims.check_optimizer_steps(step, scale(65536.0), scale(0.0))
    assert gone is not None
    assert (gone.status, "0 after: steps were skipped for" in gone.evidence) == ("failed", True)
    assert claims.check_optimizer_steps(step_of("infer"), scale(None), scale(None)) is None


def test_poisoned_running_statistics_are_disproved() -> None:
    """An output can be finite while a buffer is not."""
    model = nn.Sequential(nn.Linear(4, 3), nn.BatchNorm1d(3))
    step = step_of("infer", model=model)
    model.eval()
    step()
    model[1].running_mean[0] = float("nan")  # type: ignore[index, operator]
    assert claims.check_finite(step).evidence == "not finite after the last round: buffer 1.running_mean"


def test_a_loss_that_was_not_finite_in_between_is_disproved() -> None:
    """It may leave no trace: the parameters and the last loss are finite again."""
    step = step_of()
    watch = claims.LossWatch(step)
    for loss in (1.0, float("nan"), float("inf"), 1.0):
        step.last = torch.tensor(loss)
        watch()
    check = claims.check_finite(step, watch)
    assert (check.status, check.evidence) == ("failed", "loss not finite after 2 of 4 rounds, first 2")
    passed = claims.check_finite(step)
    assert passed.status == "passed"
    assert passed.evidence.startswith("the last loss (1), ")


def test_outputs_are_found_in_mappings_and_sequences() -> None:
    """A model may return a dict of tuples."""
    step = step_of("infer")
    step.last = {"logits": (torch.ones(2), [torch.tensor([float("nan")])])}
    assert claims.check_finite(step).status == "failed"
    step.last = None
    assert claims.check_finite(step).status == "not_made"
