"""Rules on what no machine can do."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from roofline.audits.known_models import attained
from roofline.audits.row import Ceiling, Number, StatedRow, exact, gap, shown
from roofline.audits.rule import Contradiction, Known, rule
from roofline.machine.published import BYTE_ROOFS, DeviceTable
from roofline.text.units import significant

_LEAST_LAUNCH = exact(1e-6)
"""Seconds below which no accelerator has run anything: launching an empty kernel and waiting for it takes several
microseconds on every driver and device there is."""

_WINOGRAD = 2.25
"""Multiplications that Winograd's F(2x2, 3x3) saves (Lavin, Gray 2016): up to this factor a 3x3 convolution may seem to
beat its roof, counted as it is by the plain algorithm."""

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


@rule("above the roof", tolerance=0.03)
def above_roof(rows: Sequence[StatedRow], known: Known, tolerance: float) -> Iterator[Contradiction | None]:
    """More FLOP/s than the device has, measured, stated or published for exactly this device and precision; or more
    byte/s (attained / intensity) than the stated bandwidth. The time, the count, the precision or the roof is wrong."""
    for row in rows:
        checks = [text for text in (_compute(row, known, tolerance), _memory(row, tolerance)) if text is not None]
        if not checks:
            continue
        found = "; ".join(text for text in checks if text)
        yield Contradiction(row=row, arithmetic=found) if found else None


@rule("faster than the speed of light", tolerance=0.03)
def faster_than_light(rows: Sequence[StatedRow], known: Known, tolerance: float) -> Iterator[Contradiction | None]:
    """A step took less than the machine's own roofs allow for its operations: a roof is too low, or a count is too
    high."""
    for row in rows:
        least, time = row.speed_of_light_s, row.time_s
        if least is None or time is None or not least.positive:
            continue
        if gap(time, least) >= -tolerance:
            yield None
            continue
        text = f"{shown(time, 's')} for a step whose speed of light is {shown(least, 's')}"
        yield Contradiction(row=row, arithmetic=text)


@rule("faster than a kernel launch")
def faster_than_launch(rows: Sequence[StatedRow], known: Known, tolerance: float) -> Iterator[Contradiction | None]:
    """A step on an accelerator took less than one kernel launch: as measured on the machine, else 1 µs. What was timed
    is not the step: no synchronisation, a divisor, a cached result."""
    for row in rows:
        time = row.time_s
        if row.device_kind != "accelerator" or time is None:
            continue
        least = row.launch_s or _LEAST_LAUNCH
        if time.high >= least.value:
            yield None
            continue
        source = "measured here" if row.launch_s is not None else "on any device"
        text = f"{shown(time, 's')} a step, but a launch alone takes {shown(least, 's')} ({source})"
        yield Contradiction(row=row, arithmetic=text)


@rule("a device that ran for longer than the wall clock", tolerance=0.03)
def impossible_time(rows: Sequence[StatedRow], known: Known, tolerance: float) -> Iterator[Contradiction | None]:
    """The device ran for longer than the step took by the wall: two clocks were subtracted, or the device's time is
    that of other steps."""
    for row in rows:
        device, wall = row.device_time_s, row.wall_time_s
        if device is None or wall is None:
            continue
        if gap(device, wall) <= tolerance:
            yield None
            continue
        text = f"{shown(device, 's')} on the device within {shown(wall, 's')} by the wall"
        yield Contradiction(row=row, arithmetic=text)


def _compute(row: StatedRow, known: Known, tolerance: float) -> str | None:
    """Say what is wrong; an empty text if nothing is, None if there is nothing to compare."""
    stated, roof = attained(row, known.models), roof_of(row, known.devices)
    if stated is None or roof is None or not roof.flop_per_s.positive:
        return None
    rate, source = stated
    if gap(rate, roof.flop_per_s) <= tolerance:
        return ""
    ratio = rate.value / roof.flop_per_s.value
    may_be_winograd = row.precision in (None, "fp32") and ratio <= _WINOGRAD
    excuse = f" (Winograd may explain up to {_WINOGRAD:g} times)" if may_be_winograd else ""
    return (
        f"{source} {shown(rate, 'FLOP/s')} is {significant(ratio)} times the {shown(roof.flop_per_s, 'FLOP/s')} of"
        f" {roof.source}{excuse}"
    )


def _memory(row: StatedRow, tolerance: float) -> str | None:
    rate, intensity, peak = row.attained_flop_per_s, row.intensity_flop_per_byte, row.peak_byte_per_s
    if rate is None or intensity is None or peak is None or not (intensity.positive and peak.positive):
        return None
    traffic: Number = rate / intensity
    if gap(traffic, peak) <= tolerance:
        return ""
    return (
        f"{shown(rate, 'FLOP/s')} / {shown(intensity)} FLOP/byte = {shown(traffic, 'B/s')}, but the bandwidth is"
        f" {shown(peak, 'B/s')}"
    )


def roof_of(row: StatedRow, devices: DeviceTable) -> Ceiling | None:
    """The ceiling in FLOP/s, or None where nothing is known of exactly this device."""
    if row.roof is not None:
        return row.roof
    if row.peak_flop_per_s is not None:
        return Ceiling(flop_per_s=row.peak_flop_per_s, source="the stated peak")
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
    return Ceiling(flop_per_s=exact(highest.value), source=f"{published.name} in {highest.name} ({highest.detail})")
