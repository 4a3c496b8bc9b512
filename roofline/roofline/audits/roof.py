"""Which roof a row is held against: its own, else the one it states, else the published one of exactly its device."""

from __future__ import annotations

from roofline.audits.figure import exact
from roofline.audits.row import Roof, Row
from roofline.machine.published import BYTE_ROOFS, DeviceTable

_DTYPES: dict[str, tuple[str, ...]] = {
    "fp64": ("fp64",),
    # Frameworks run fp32 convolutions in TF32 where nobody tells them not to: a table's "fp32" may be either.
    "fp32": ("fp32", "tf32"),
    "float32": ("fp32", "tf32"),
    "torch_default": ("fp32", "tf32"),
    "tf32": ("tf32",),
    "amp": ("bf16", "fp16"),
    "amp_bf16": ("bf16",),
    "bf16": ("bf16",),
    "bfloat16": ("bf16",),
    "amp_fp16": ("fp16",),
    "fp16": ("fp16",),
    "float16": ("fp16",),
}
"""Dtypes in which a precision may compute, by what tables call it. The highest of their roofs is the ceiling; of a
precision that is not here, or not stated, the highest of all."""


def roof_of(row: Row, devices: DeviceTable) -> Roof | None:
    """The ceiling in FLOP/s, or None where nothing is known of exactly this device."""
    if row.roof is not None:
        return row.roof
    if row.peak_flop_per_s is not None:
        return Roof(flop_per_s=row.peak_flop_per_s, source="the stated peak")
    published = None if row.device is None else devices.find(row.device)
    if published is None:
        return None
    roofs = [roof for roof in published.best() if roof.name not in BYTE_ROOFS]
    wanted = _DTYPES.get((row.precision or "").casefold())
    if wanted is not None:
        roofs = [roof for roof in roofs if roof.name in wanted]
    if not roofs:
        return None
    highest = max(roofs, key=lambda roof: roof.value)
    return Roof(flop_per_s=exact(highest.value), source=f"{published.name} in {highest.name} ({highest.detail})")
