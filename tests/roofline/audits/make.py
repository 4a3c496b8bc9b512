"""Rows and tables of the audit's tests, with as little in them as a rule needs."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

from roofline.audits import read_one
from roofline.audits.known_models import load
from roofline.audits.row import StatedRow, exact
from roofline.audits.rule import Contradiction, Known, Rule, run
from roofline.machine import published as devices

KNOWN = Known(devices=devices.load(), models=load())

POOLED = """\
device,model,precision,batch_size,runs,images_per_s,attained_gflop_per_s
cloud,resnet50,fp32,128,6,200.00,4089.00
cloud,resnet50,amp,128,3,300.00,4906.80
laptop,resnet50,fp32,64,3,330.00,5397.48
laptop,resnet50,fp32,128,3,350.00,4089.00
laptop,resnet50,amp,64,3,500.00,8178.00
laptop,resnet50,amp,128,3,510.00,8341.56
laptop,vgg16,fp32,64,2,100.00,6188.20
laptop,vgg16,fp32,128,2,10.00,1856.46
"""
"""Attained is 2 x the forward pass x images/s but in three rows: two share (6 x 200 + 3 x 350) / 9 = 250 images/s over
two devices, and the last one would need 30 images/s, which no row has."""


def row(number: int = 2, **stated: Any) -> StatedRow:
    """A row of a table; plain numbers are exact figures."""
    values: dict[str, Any] = {
        "file": "table.csv",
        "number": number,
        "counted_in": "line",
        "name": "a row",
        "work": (str(stated.get("model", "")), str(stated.get("batch", ""))),
        **stated,
    }
    kept = {"number", "percentiles"}
    return StatedRow(
        **{key: exact(value) if _is_number(value) and key not in kept else value for key, value in values.items()}
    )


def times(**shares: float) -> tuple[tuple[float, Any], ...]:
    """``times(p0=1.0, p95=2.0)``: percentiles as a row holds them."""
    return tuple(sorted((int(name[1:]) / 100, exact(value)) for name, value in shares.items()))


def found(rule: Rule, rows: Sequence[StatedRow], tolerance: float | None = None) -> tuple[Contradiction, ...]:
    return run(rule, rows, KNOWN, tolerance).contradictions


def table(path: Path, text: str) -> tuple[StatedRow, ...]:
    """The rows of a table that is written to ``path``."""
    path.write_text(text, encoding="utf-8")
    return read_one(path, KNOWN.devices).rows


def _is_number(value: object) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool)
