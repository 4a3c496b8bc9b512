"""Assessments as plain values: rows of a table, ``summary.json``, and a text per model."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Any

from pytest_roofline.complexity.assessment import StepNeeds
from pytest_roofline.complexity.layers import Forward, Layer
from pytest_roofline.workload.models import ModelSpec
from pytest_roofline.workload.step import Mode
from roofline.text.units import scaled, shares

SCHEMA = 1
"""Version of ``summary.json``."""

MAC = 2
"""FLOP of a multiply-accumulate."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ModelNeeds:
    """Everything said of one model.

    :param forward: of one sample, in inference.
    :param largest_batch: predicted to fit the memory asked about; None: none fits, or none was asked about.
    """

    spec: ModelSpec
    mode: Mode
    precision: str
    forward: Forward
    steps: tuple[StepNeeds, ...]
    memory_byte: int | None = None
    largest_batch: int | None = None


def rows(needs: ModelNeeds) -> list[dict[str, Any]]:
    """A row for each batch: everything by its name, with its unit."""
    return [{**_model_values(needs), **_step_values(needs, step)} for step in needs.steps]


def document(models: Sequence[ModelNeeds]) -> dict[str, Any]:
    """What ``summary.json`` holds: by model its values, steps by batch, and layers."""
    return {
        "schema": SCHEMA,
        "models": {
            needs.spec.name: {
                **_model_values(needs),
                "input_shape": list(needs.spec.input_shape),
                "steps": [_step_values(needs, step) for step in needs.steps],
                "layers": [_layer_values(layer, needs.forward.escaped) for layer in needs.forward.layers],
                "not_all_seen": escaped_from(needs),
                "uncovered": sorted(_uncovered(needs)),
            }
            for needs in models
        },
    }


def text(needs: ModelNeeds) -> str:
    """The model on a page: totals, memory of each batch by part, and its layers."""
    unit, values = needs.spec.sample_unit, _model_values(needs)
    lines = [
        f"{needs.spec.name}, {needs.mode}, {needs.precision}, input {_shape(needs.spec.input_shape)}",
        "",
        f"parameters          {values['parameter_count']:,}",
        f"forward per {unit:<8}{scaled(values['forward_mac_per_sample'], 'MAC', 4)}"
        f" = {scaled(values['forward_flop_per_sample'], 'FLOP', 4)} (matrix products and convolutions)",
    ]
    if needs.memory_byte is not None:
        fitting = "none" if needs.largest_batch is None else str(needs.largest_batch)
        lines.append(f"largest batch       {fitting} in {scaled(needs.memory_byte, 'B')} (predicted)")
    if reason := escaped_from(needs):
        lines.append(f"not all seen        {reason}")
    for name in sorted(_uncovered(needs)):
        lines.append(f"not counted         {name}: no formula")
    for step in needs.steps:
        lines += ["", f"batch {step.batch}", *_parts(_step_values(needs, step), unit)]
    lines += ["", f"layers, forward of one {unit}", *_layer_lines(needs.forward)]
    return "\n".join(lines) + "\n"


def escaped_from(needs: ModelNeeds) -> str | None:
    """Why work of the model is missing where some of it ran unseen, in another thread; None where none did."""
    return next((reason for reason in (needs.forward.escaped, *(one.escaped for one in needs.steps)) if reason), None)


def _uncovered(needs: ModelNeeds) -> set[str]:
    steps = (one for step in needs.steps for one in step.work.uncovered)
    return {one.name for one in (*needs.forward.uncovered, *steps)}


def _model_values(needs: ModelNeeds) -> dict[str, Any]:
    forward_flop = None if needs.forward.escaped else needs.forward.flop
    return {
        "model": needs.spec.name,
        "mode": needs.mode,
        "precision": needs.precision,
        "sample_unit": needs.spec.sample_unit,
        "parameter_count": sum(layer.parameter_count for layer in needs.forward.layers),
        "forward_mac_per_sample": None if forward_flop is None else forward_flop / MAC,
        "forward_flop_per_sample": forward_flop,
        "device_memory_byte": needs.memory_byte,
        "largest_batch": needs.largest_batch,
    }


def _step_values(needs: ModelNeeds, step: StepNeeds) -> dict[str, Any]:
    work = step.work
    values = {
        "batch": step.batch,
        "mac_per_step": work.flop_per_step / MAC,
        "flop_per_step": work.flop_per_step,
        "flop_per_sample": work.flop_per_step / step.batch,
        "flop_by_dtype": dict(work.flop_by_dtype),
        "other_flop_per_step": work.other_flop_per_step,
        "activation_byte": work.activation_byte,
        "parameter_byte": work.parameter_byte,
        "buffer_byte": step.buffer_byte,
        "gradient_byte": work.gradient_byte if needs.mode == "train" else None,
        "optimizer_state_byte": work.optimizer_state_byte,
        "saved_for_backward_byte": work.saved_for_backward_byte if needs.mode == "train" else None,
        "input_byte": step.input_byte,
        "peak_byte": step.peak_byte,
    }
    return {**values, **dict.fromkeys(_OBSERVED)} if step.escaped else values


_OBSERVED = (
    "mac_per_step",
    "flop_per_step",
    "flop_per_sample",
    "flop_by_dtype",
    "other_flop_per_step",
    "activation_byte",
    "gradient_byte",
    "saved_for_backward_byte",
    "peak_byte",
)
"""What is known of a step from watching it, and missing where some of it ran unseen."""


def _layer_values(layer: Layer, escaped: str | None) -> dict[str, Any]:
    flop = None if escaped else layer.flop
    return {**asdict(layer), "flop": flop, "mac": None if flop is None else flop / MAC}


_PARTS = (
    ("mac_per_step", "work", "MAC"),
    ("flop_per_step", "", "FLOP"),
    ("other_flop_per_step", "other arithmetic", "FLOP"),
    ("activation_byte", "activations", "B"),
    ("parameter_byte", "parameters", "B"),
    ("buffer_byte", "buffers", "B"),
    ("gradient_byte", "gradients", "B"),
    ("optimizer_state_byte", "optimiser state", "B"),
    ("saved_for_backward_byte", "saved for backward", "B"),
    ("input_byte", "input", "B"),
    ("peak_byte", "predicted peak", "B"),
)


def _parts(values: Mapping[str, Any], unit: str) -> list[str]:
    lines = [f"  {title:<20}{scaled(values[name], symbol, 4):>14}" for name, title, symbol in _PARTS]
    if values["flop_per_step"] is None:
        return lines
    lines[1] += f" ({scaled(values['flop_per_sample'], 'FLOP', 5)} per {unit}){_dtypes(values['flop_by_dtype'])}"
    return lines


def _dtypes(flop_by_dtype: Mapping[str, float]) -> str:
    text = shares(flop_by_dtype)
    return f", {text}" if text else ""


def _layer_lines(forward: Forward) -> list[str]:
    table = [("layer", "type", "output", "parameters", "MAC", "FLOP", "output bytes")]
    table += [
        (
            layer.name,
            layer.kind if layer.calls == 1 else f"{layer.kind} x{layer.calls}",
            "-" if layer.output_shape is None else _shape(layer.output_shape),
            f"{layer.parameter_count:,}",
            "-" if forward.escaped else f"{layer.flop / MAC:,.0f}",
            "-" if forward.escaped else f"{layer.flop:,}",
            f"{layer.output_byte:,}",
        )
        for layer in forward.layers
    ]
    widths = [max(len(line[index]) for line in table) for index in range(len(table[0]))]
    return [
        "  ".join(
            cell.ljust(width) if index < 3 else cell.rjust(width)
            for index, (cell, width) in enumerate(zip(line, widths, strict=True))
        ).rstrip()
        for line in table
    ]


def _shape(shape: Sequence[int]) -> str:
    return "x".join(map(str, shape))
