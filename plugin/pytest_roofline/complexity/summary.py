"""Make what ``roofline complexity`` shows: a table of all models, ``summary.json``, and a page for each model."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from functools import partial
from typing import Any

from pytest_roofline.complexity.assessment import StepNeeds
from pytest_roofline.complexity.layers import Forward, Layer
from pytest_roofline.workload.models import ModelSpec
from pytest_roofline.workload.step import Mode
from roofline.show.render import render
from roofline.show.tables import Column, Table, number, words
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
    """Make the content of ``summary.json``: by model its values, steps by batch, and layers."""
    return {
        "schema": SCHEMA,
        "models": {
            needs.spec.name: {
                **_model_values(needs),
                "input_shape": list(needs.spec.input_shape),
                "steps": [_step_values(needs, step) for step in needs.steps],
                "layers": [_layer_values(layer) for layer in needs.forward.layers],
                "uncovered": sorted(_uncovered(needs)),
            }
            for needs in models
        },
    }


def table(models: Sequence[ModelNeeds], notes: Sequence[str]) -> Table[Mapping[str, Any]]:
    """The table of the command: a row for each model and batch."""
    hidden = _HIDDEN if models[0].memory_byte is not None else {*_HIDDEN, "largest_batch"}
    return Table(
        title="Complexity",
        columns=_COLUMNS,
        display=[column for column in _COLUMNS if column.name not in hidden],
        rows=[row for needs in models for row in rows(needs)],
        notes=notes,
    )


def page(needs: ModelNeeds) -> str:
    """The model on a page: every figure of each batch, and its layers."""
    unit, batches = needs.spec.sample_unit, rows(needs)
    figures = [column for column in _COLUMNS if column.name not in ("model", "mode", "precision", "batch")]
    notes = [f"MAC and FLOP are of matrix products and convolutions; a sample is one {unit}."]
    if needs.memory_byte is not None:
        notes.append(f"largest batch that fits: predicted peak at most {scaled(needs.memory_byte, 'B')}")
    notes += [f"not counted: {name} has no formula" for name in sorted(_uncovered(needs))]
    steps: Table[Column[Any]] = Table(
        title=f"{needs.spec.name}, {needs.mode}, {needs.precision}, input {_shape(needs.spec.input_shape)}",
        columns=[
            words("figure", get=lambda column: column.title.replace("\n", " ")),
            *(number(f"batch {row['batch']}", get=partial(_shown, row), dtype="string") for row in batches),
        ],
        rows=figures,
        notes=notes,
    )
    layers = Table(
        title=f"layers, forward of one {unit}",
        columns=_LAYER_COLUMNS,
        rows=[_layer_values(layer) for layer in needs.forward.layers],
    )
    return "\n".join(render(one, "table", _PAGE_WIDTH) for one in (steps, layers))


def _shown(row: Mapping[str, Any], column: Column[Any]) -> str | None:
    value = column.get(row)
    return None if value is None else column.show(value)


def _uncovered(needs: ModelNeeds) -> set[str]:
    steps = (one for step in needs.steps for one in step.work.uncovered)
    return {one.name for one in (*needs.forward.uncovered, *steps)}


def _model_values(needs: ModelNeeds) -> dict[str, Any]:
    return {
        "model": needs.spec.name,
        "mode": needs.mode,
        "precision": needs.precision,
        "sample_unit": needs.spec.sample_unit,
        "parameter_count": sum(layer.parameter_count for layer in needs.forward.layers),
        "forward_mac_per_sample": needs.forward.flop / MAC,
        "forward_flop_per_sample": needs.forward.flop,
        "device_memory_byte": needs.memory_byte,
        "largest_batch": needs.largest_batch,
    }


def _step_values(needs: ModelNeeds, step: StepNeeds) -> dict[str, Any]:
    work = step.work
    return {
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


def _layer_values(layer: Layer) -> dict[str, Any]:
    return {**asdict(layer), "mac": layer.flop / MAC}


_whole = partial(number, dtype="Int64")
_category = partial(words, dtype="category")

_count = "{:,}".format
_amount = partial(scaled, unit="", digits=4)
_byte = partial(scaled, unit="B", digits=4)

_COLUMNS = (
    _category("model"),
    _category("mode", drop=2),
    _category("precision", drop=2),
    _whole("batch", "batch"),
    _whole("parameter_count", "parameters", show=_count),
    number("forward_mac_per_sample", "MAC forward\nper sample", show=_amount, drop=5),
    number("forward_flop_per_sample", "FLOP forward\nper sample", show=_amount, drop=1),
    number("mac_per_step", "MAC\nper step", show=_amount, drop=5),
    number("flop_per_step", "FLOP\nper step", show=_amount),
    number("flop_per_sample", "FLOP\nper sample", show=partial(scaled, unit="", digits=5)),
    number("flop_by_dtype", "FLOP by dtype", show=shares, dtype="string"),
    number("other_flop_per_step", "other FLOP\nper step", show=_amount),
    _whole("activation_byte", "activations", show=_byte, drop=3),
    _whole("parameter_byte", "parameter\nmemory", show=_byte, drop=4),
    _whole("buffer_byte", "buffers", show=_byte),
    _whole("gradient_byte", "gradients", show=_byte, drop=4),
    _whole("optimizer_state_byte", "optimiser\nstate", show=_byte, drop=4),
    _whole("saved_for_backward_byte", "saved for\nbackward", show=_byte, drop=3),
    _whole("input_byte", "input", show=_byte),
    _whole("peak_byte", "predicted\npeak", show=_byte),
    _whole("largest_batch", "largest batch\nthat fits"),
)

_HIDDEN = {"flop_per_sample", "flop_by_dtype", "other_flop_per_step", "buffer_byte", "input_byte"}
"""Columns that a page and CSV have and the table on a terminal has no space for."""

_LAYER_COLUMNS = (
    words("name", "layer"),
    words("kind", "type", lambda layer: layer["kind"] if layer["calls"] == 1 else f"{layer['kind']} x{layer['calls']}"),
    words("output", get=lambda layer: None if layer["output_shape"] is None else _shape(layer["output_shape"])),
    _whole("parameter_count", "parameters", show=_count),
    number("mac", "MAC", show="{:,.0f}".format),
    number("flop", "FLOP", show=_count),
    _whole("output_byte", "output bytes", show=_count),
)

_PAGE_WIDTH = 1000
"""Characters; as much as any page needs."""


def _shape(shape: Sequence[int]) -> str:
    return "x".join(map(str, shape))
