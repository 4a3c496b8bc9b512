"""What tells cases of one model, mode, precision and batch size apart in a figure."""

from __future__ import annotations

from roofline.model.input_pipeline import TEST
from roofline.model.sol import compiled
from roofline.schema.record import Record

PLAIN = ""
"""The variant of an eager case on data that lie ready, synthetic or given by the test, in torch's own layout."""

_READY = ("synthetic", "given")


def variant(record: Record) -> str:
    """In words what differs from `PLAIN`: layout, where the data come from, compiled; or the input pipeline's test."""
    case = record.case
    data = "" if case.data in _READY else case.data
    if case.config.get("test") == TEST:
        data = f"input test: {data or 'ready'}"
    layout = "" if case.layout == "contiguous" else case.layout or "mixed layouts"
    return ", ".join(part for part in (layout, data, "compiled" if compiled(record) else "") if part)


def described(name: str) -> str:
    """A variant's name in a legend."""
    return name or "ready data"
