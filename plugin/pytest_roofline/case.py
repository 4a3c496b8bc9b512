"""A case's plain values, and the hash over all that changes its work."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from pytest_roofline.options import Options
from pytest_roofline.workload import Workload, workload_hash
from roofline.record import Case

if TYPE_CHECKING:
    import torch


def case_of(workload: Workload, case: str, options: Options) -> Case:
    """The case's plain values, and the hash over all that changes its work."""
    work: dict[str, Any] = {
        "model": workload.name,
        "mode": workload.mode,
        "precision": workload.precision.name,
        "batch": workload.batch,
        "layout": workload.layout,
        "data": workload.data,
        "config": {
            **workload.config,
            "grad_accum_steps": workload.grad_accum_steps,
            "optimizer": None if workload.optimizer is None else _optimizer(workload.optimizer),
            "parameters": sum(parameter.numel() for parameter in workload.model.parameters()),
            "deterministic": options.deterministic,
            "cudnn_benchmark": options.cudnn_benchmark,
            # Only where it is so: an eager step is the same work as before there was a choice.
            **({"compile": True} if workload.compile else {}),
        },
    }
    # Another seed gives other weights and data, but the same work.
    recorded = {
        **work,
        "config": {**work["config"], **workload.setting, "compile": workload.compile, "seed": options.seed},
    }
    return Case(
        id=case,
        workload_hash=workload_hash(work),
        samples_per_step=workload.batch * workload.grad_accum_steps,
        sample_unit=workload.sample_unit,
        **recorded,
    )


_OPTIMIZER_VALUES = ("lr", "momentum", "dampening", "weight_decay", "nesterov", "betas", "eps", "amsgrad")
"""What of an optimiser's options decides its arithmetic. torch adds others, which choose an implementation."""


def _optimizer(optimizer: torch.optim.Optimizer) -> dict[str, Any]:
    group = optimizer.param_groups[0]
    return {"name": type(optimizer).__name__, **{key: group[key] for key in _OPTIMIZER_VALUES if key in group}}
