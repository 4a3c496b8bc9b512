"""A case's plain values, the hash over all that changes its work, and whether its test's parameters say the same."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from pytest_roofline.device import selection
from pytest_roofline.options import Options
from pytest_roofline.workload.precision import PRECISIONS
from pytest_roofline.workload.step import MODES, Workload, workload_hash
from roofline.schema.record import Case, Check

if TYPE_CHECKING:
    import torch

LAYOUTS = ("contiguous", "channels_last")


def case_of(workload: Workload, case: str, options: Options) -> Case:
    """The case's plain values, and the hash over all that changes its work."""
    layout = layout_of(workload)
    work: dict[str, Any] = {
        "model": workload.name,
        "mode": workload.mode,
        "precision": workload.precision.name,
        "batch": workload.batch,
        "layout": layout.name or layout.why_none,
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
        "layout": layout.name,
        "config": {**work["config"], **workload.setting, "compile": workload.compile, "seed": options.seed},
    }
    return Case(
        id=case,
        workload_hash=workload_hash(work),
        samples_per_step=workload.batch * workload.grad_accum_steps * workload.ranks,
        sample_unit=workload.sample_unit,
        **recorded,
    )


_OPTIMIZER_VALUES = ("lr", "momentum", "dampening", "weight_decay", "nesterov", "betas", "eps", "amsgrad")
"""What of an optimiser's options decides its arithmetic. torch adds others, which choose an implementation."""


def _optimizer(optimizer: torch.optim.Optimizer) -> dict[str, Any]:
    group = optimizer.param_groups[0]
    return {"name": type(optimizer).__name__, **{key: group[key] for key in _OPTIMIZER_VALUES if key in group}}


@dataclass(frozen=True, slots=True)
class Layout:
    """How a workload's weights and inputs lie in memory.

    :param fits: the layouts that all of them lie in: both where their sizes leave no difference.
    :param why_none: where there is none that all of them lie in.
    """

    fits: frozenset[str]
    why_none: str | None = None

    @property
    def name(self) -> str | None:
        """As it is recorded; None where there is none."""
        return next((name for name in LAYOUTS if name in self.fits), None)


def layout_of(workload: Workload) -> Layout:
    """The layout of the weights, and of the inputs where they lie ready. Without images there is one layout only."""
    ready = all_tensors(getattr(workload.batches, "ready", ()))
    found = {"weights": layouts(workload.model.parameters()), "inputs": layouts(ready)}
    lying = {what: fits for what, fits in found.items() if fits is not None}
    if not lying:
        return Layout(frozenset({"contiguous"}))
    common = frozenset(LAYOUTS).intersection(*lying.values())
    words = (f"the {what} lie {' or '.join(sorted(fits)) or 'in no single one'}" for what, fits in lying.items())
    return Layout(common, None if common else "; ".join(words))


def layouts(tensors: Iterable[torch.Tensor]) -> frozenset[str] | None:
    """The layouts that all tensors of four or five dimensions lie in; None where there is no such tensor."""
    import torch

    formats = {4: torch.channels_last, 5: torch.channels_last_3d}
    found = [
        frozenset(
            name
            for name, form in zip(LAYOUTS, (torch.contiguous_format, formats[tensor.dim()]), strict=True)
            if tensor.is_contiguous(memory_format=form)
        )
        for tensor in tensors
        if tensor.layout is torch.strided and not tensor.is_nested and tensor.dim() in formats
    ]
    return frozenset.intersection(*found) if found else None


_WORDS = {"mode": MODES, "precision": tuple(PRECISIONS), "layout": LAYOUTS}
_DTYPES = {
    f"torch.{one.parameters}": one.name for one in PRECISIONS.values() if not one.autocast and one.fp32_mode == "ieee"
}
"""What a parameter ``precision`` that is a dtype means."""


def settings_in(parameters: Mapping[str, object]) -> dict[str, Any]:
    """Read what a test's parameters say of its measurement in our words: precision, mode, layout, batch and device.

    Others' words say nothing: ``mode="nearest"`` is an interpolation's.
    """
    found: dict[str, Any] = {}
    for name, words in _WORDS.items():
        value = parameters.get(name)
        if name == "precision":
            value = _DTYPES.get(str(value), value)
        if isinstance(value, str) and value in words:
            found[name] = value
    batch = parameters.get("batch", parameters.get("batch_size"))
    if type(batch) is int:
        found["batch"] = batch
    try:
        device = selection.parse(str(parameters.get("device")))
    except ValueError:
        return found
    return found if device.kind is None else {**found, "device": device}


def check_parameters(parameters: Mapping[str, object], workload: Workload, case: Case) -> Check | None:
    """Check what the test's parameters say was measured; None where they say nothing of it."""
    said = settings_in(parameters)
    if not said:
        return None
    layout, on = layout_of(workload), workload.device
    ran = {"mode": case.mode, "precision": case.precision, "batch": case.batch}
    wrong = [
        f"{name} {said[name]}, but it was {value}" for name, value in ran.items() if said.get(name, value) != value
    ]
    # Tensors in several layouts are recorded as such: they disprove none.
    if layout.fits and said.get("layout", layout.name) not in layout.fits:
        wrong.append(f"layout {said['layout']}, but weights and inputs were {layout.name}")
    device = said.get("device")
    if device is not None and (device.kind != on.type or device.index not in (None, on.index)):
        wrong.append(f"device {device}, but it was {on}")
    if wrong:
        return Check(name="parameters", status="failed", evidence=f"the test's parameters say {'; '.join(wrong)}")
    asked = ", ".join(f"{name} {value}" for name, value in said.items())
    return Check(name="parameters", status="passed", evidence=f"measured as the test's parameters say: {asked}")


def all_tensors(value: Any) -> Iterable[torch.Tensor]:
    """The tensors in a model's output or input: a tensor, or mappings and sequences of them to any depth."""
    import torch

    if isinstance(value, torch.Tensor):
        yield value
    elif isinstance(value, Mapping):
        for item in value.values():
            yield from all_tensors(item)
    elif isinstance(value, list | tuple):
        for item in value:
            yield from all_tensors(item)
