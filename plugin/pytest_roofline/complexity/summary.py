"""What ``roofline complexity`` shows: a table of all models, ``summary.json``, and a page for each model."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass
from functools import partial
from operator import itemgetter
from typing import Any

from pytest_roofline.complexity.assessment import StepNeeds
from pytest_roofline.complexity.layers import Forward, Layer
from pytest_roofline.workload.models import ModelSpec
from pytest_roofline.workload.step import Mode
from roofline.show.render import render
from roofline.show.tables import Column, Dtype, Table, number, words
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
    if reason := escaped_from(needs):
        notes.append(f"not all seen: {reason}")
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
        rows=[_layer_values(layer, needs.forward.escaped) for layer in needs.forward.layers],
    )
    return "\n".join(render(one, "table", _PAGE_WIDTH) for one in (steps, layers))


def _shown(row: Mapping[str, Any], column: Column[Any]) -> str | None:
    value = column.get(row)
    return None if value is None else column.show(value)


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


def _figure(
    name: str, title: str, show: Callable[[Any], str] = str, drop: int = 0, dtype: Dtype = "Float64"
) -> Column[Mapping[str, Any]]:
    return number(name, title, itemgetter(name), show, drop=drop, dtype=dtype)


_whole = partial(_figure, dtype="Int64")


def _name(name: str, title: str = "", drop: int = 0) -> Column[Mapping[str, Any]]:
    return words(name, title, itemgetter(name), drop=drop, dtype="category")


_count = "{:,}".format
_amount = partial(scaled, unit="", digits=4)
_byte = partial(scaled, unit="B", digits=4)

_COLUMNS = (
    _name("model"),
    _name("mode", drop=2),
    _name("precision", drop=2),
    _whole("batch", "batch"),
    _whole("parameter_count", "parameters", _count),
    _figure("forward_mac_per_sample", "MAC forward\nper sample", _amount, 5),
    _figure("forward_flop_per_sample", "FLOP forward\nper sample", _amount, 1),
    _figure("mac_per_step", "MAC\nper step", _amount, 5),
    _figure("flop_per_step", "FLOP\nper step", _amount),
    _figure("flop_per_sample", "FLOP\nper sample", partial(scaled, unit="", digits=5)),
    _figure("flop_by_dtype", "FLOP by dtype", shares, dtype="string"),
    _figure("other_flop_per_step", "other FLOP\nper step", _amount),
    _whole("activation_byte", "activations", _byte, 3),
    _whole("parameter_byte", "parameter\nmemory", _byte, 4),
    _whole("buffer_byte", "buffers", _byte),
    _whole("gradient_byte", "gradients", _byte, 4),
    _whole("optimizer_state_byte", "optimiser\nstate", _byte, 4),
    _whole("saved_for_backward_byte", "saved for\nbackward", _byte, 3),
    _whole("input_byte", "input", _byte),
    _whole("peak_byte", "predicted\npeak", _byte),
    _whole("largest_batch", "largest batch\nthat fits"),
)

_HIDDEN = {"flop_per_sample", "flop_by_dtype", "other_flop_per_step", "buffer_byte", "input_byte"}
"""Columns that a page and CSV have and the table on a terminal has no space for."""

_LAYER_COLUMNS = (
    words("name", "layer", itemgetter("name")),
    words("kind", "type", lambda layer: layer["kind"] if layer["calls"] == 1 else f"{layer['kind']} x{layer['calls']}"),
    words("output", get=lambda layer: None if layer["output_shape"] is None else _shape(layer["output_shape"])),
    _whole("parameter_count", "parameters", _count),
    _figure("mac", "MAC", "{:,.0f}".format),
    _figure("flop", "FLOP", _count),
    _whole("output_byte", "output bytes", _count),
)

_PAGE_WIDTH = 1000
"""Characters; as much as any page needs."""


def _shape(shape: Sequence[int]) -> str:
    return "x".join(map(str, shape))
