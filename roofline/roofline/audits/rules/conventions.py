"""Rules on figures that were taken from the wrong place: another convention, another card, or from themselves."""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Iterator, Sequence
from statistics import median

from roofline.audits.known_models import KnownModel
from roofline.audits.row import Number, StatedRow, agree, exact, shown
from roofline.audits.rule import Contradiction, Known, rule
from roofline.machine.published import BYTE_ROOFS, DeviceTable, PublishedDevice
from roofline.text.units import significant

_MIXED_UP: tuple[tuple[float, str], ...] = (
    (2.0, "FLOP taken for multiply-adds (MAC) and doubled"),
    (0.5, "multiply-adds (MAC) under the name of FLOP"),
)
"""Factors by which figures of the same work differ where two conventions were mixed up, and which."""

_TRAINING_FACTOR: tuple[tuple[float, str], ...] = (
    (1.5, "the training factor: 3 for 2"),
    (2 / 3, "the training factor: 2 for 3, since backward alone is twice forward"),
)
"""The same of training steps, which are made of forward passes by a factor. No forward pass is."""

_TRAINING = "training step"

_FEWEST = 3
"""Rows whose attained / intensity must agree before that says something."""

_APART = 1.5
"""And how far apart their intensities must lie at least: equal points have equal bandwidths for an honest reason."""


@rule("a factor of 2 or 3/2 to the counted FLOP", tolerance=0.03)
def mixed_conventions(rows: Sequence[StatedRow], known: Known, tolerance: float) -> Iterator[Contradiction | None]:
    """FLOP of a sample, stated or implied by attained FLOP/s and throughput, against the counted forward pass or
    training step of a known model: a factor of 2 is a MAC against 2 FLOP, 3/2 is a training step taken for 2 instead of
    3 forward passes. One finding for each model and kind of figure of a file."""
    groups: defaultdict[tuple[str, str, str], list[tuple[StatedRow, str | None]]] = defaultdict(list)
    for row in rows:
        model = known.models.of(row)
        if model is None:
            continue
        for what, flop, right in _flop_figures(row, model):
            groups[row.file, model.name, what].append((row, _mixed_up(what, flop, right, tolerance)))
    for members in groups.values():
        wrong = [(row, text) for row, text in members if text is not None]
        if not wrong:
            yield None
            continue
        (first, text), *rest = wrong
        yield Contradiction(row=first, arithmetic=text, others=tuple(row for row, _ in rest))


@rule("intensity that is attained / bandwidth", tolerance=0.03)
def circular_intensity(rows: Sequence[StatedRow], known: Known, tolerance: float) -> Iterator[Contradiction | None]:
    """Attained FLOP/s / intensity is one and the same number for all rows of a device: the intensity was computed from
    that bandwidth, which puts every point on the memory roof whatever the model. Nothing about the bound follows from
    it. Said of three rows or more whose intensities lie apart."""
    devices: defaultdict[tuple[str, str | None], list[tuple[StatedRow, Number, Number]]] = defaultdict(list)
    for row in rows:
        rate, intensity = row.attained_flop_per_s, row.intensity_flop_per_byte
        if rate is not None and intensity is not None and rate.positive and intensity.positive:
            devices[row.file, row.device].append((row, rate / intensity, intensity))
    for members in devices.values():
        middle = exact(median(traffic.value for _, traffic, _ in members))
        same = [(row, intensity) for row, traffic, intensity in members if agree(traffic, middle, tolerance)]
        if len(members) < _FEWEST:
            continue
        values = [intensity.value for _, intensity in same]
        if len(same) < _FEWEST or 2 * len(same) < len(members) or max(values) < _APART * min(values):
            yield None
            continue
        first, *rest = (row for row, _ in same)
        text = (
            f"attained / intensity is {shown(middle, 'B/s')} in {len(same)} of {len(members)} rows, at intensities from"
            f" {shown(min(values))} to {shown(max(values))} FLOP/byte"
        )
        yield Contradiction(row=first, arithmetic=text, others=tuple(rest))


@rule("peak of another card", tolerance=0.005)
def peak_of_another_card(rows: Sequence[StatedRow], known: Known, tolerance: float) -> Iterator[Contradiction | None]:
    """A stated peak that is published for a card of a similar name (the same number in it), and not for the one the row
    names: a laptop part, a PCIe card and a desktop card of one number are different chips. One finding for each device
    and peak of a file."""
    groups: defaultdict[tuple[object, ...], list[StatedRow]] = defaultdict(list)
    for row in rows:
        groups[row.file, row.device, row.peak_flop_per_s, row.peak_byte_per_s].append(row)
    for row, *rest in groups.values():
        own = None if row.device is None else known.devices.find(row.device)
        stated = [
            (figure, unit, is_byte)
            for figure, unit, is_byte in ((row.peak_flop_per_s, "FLOP/s", False), (row.peak_byte_per_s, "B/s", True))
            if figure is not None
        ]
        if own is None or not stated:
            continue
        found = [
            f"{shown(figure, unit)} is published for {', '.join(others)}, and {_instead(own, unit, is_byte)}"
            for figure, unit, is_byte in stated
            if (others := _published_for(figure, is_byte, own, known.devices, tolerance))
        ]
        yield Contradiction(row=row, arithmetic="; ".join(found), others=tuple(rest)) if found else None


def _flop_figures(row: StatedRow, model: KnownModel) -> Iterator[tuple[str, Number, tuple[tuple[str, Number], ...]]]:
    """List the row's statements on the FLOP of one sample, each with the right values."""
    forward, training = ("forward pass", model.forward), (_TRAINING, model.training)
    of_mode = {"train": (training,), "infer": (forward,), None: (forward, training)}[row.mode]
    if row.mac_per_sample is not None:
        yield "2 x MAC as stated", exact(2) * row.mac_per_sample, (forward,)
    if row.flop_per_sample is not None:
        # Beside a training row may stand the FLOP of its forward pass.
        yield "FLOP a sample as stated", row.flop_per_sample, (forward,) if row.mode == "infer" else (forward, training)
    if row.flop_per_step is not None and row.batch is not None and row.batch.positive:
        yield "FLOP of a step / batch", row.flop_per_step / row.batch, of_mode
    if row.attained_flop_per_s is not None and row.rate is not None and row.rate.positive:
        yield "attained FLOP/s / throughput", row.attained_flop_per_s / row.rate, of_mode


def _mixed_up(what: str, flop: Number, right: tuple[tuple[str, Number], ...], tolerance: float) -> str | None:
    if any(agree(flop, figure, tolerance) for _, figure in right):
        return None
    found = [
        f"{significant(flop.value / figure.value)} times the counted {name} of {shown(figure, 'FLOP')} ({why})"
        for name, figure in right
        for factor, why in (_MIXED_UP + _TRAINING_FACTOR if name == _TRAINING else _MIXED_UP)
        if agree(flop, exact(factor) * figure, tolerance)
    ]
    return f"{what} is {shown(flop, 'FLOP')}: {', or '.join(found)}" if found else None


def _published_for(
    figure: Number, is_byte: bool, own: PublishedDevice, devices: DeviceTable, tolerance: float
) -> list[str]:
    if _publishes(own, figure, is_byte, tolerance):
        return []
    return [
        device.name
        for device in devices.devices
        if _numbers(device.name) & _numbers(own.name) and _publishes(device, figure, is_byte, tolerance)
    ]


def _publishes(device: PublishedDevice, figure: Number, is_byte: bool, tolerance: float) -> bool:
    return any(
        (roof.name in BYTE_ROOFS) == is_byte and agree(figure, exact(roof.value), tolerance) for roof in device.roofs
    )


def _numbers(name: str) -> set[str]:
    """The words of a name that tell the chip: ``4090``, ``a100``, ``l4``; not its memory or its form."""
    words = re.findall(r"[a-z0-9]+", name.casefold())
    return {word for word in words if re.fullmatch(r"(?!hbm|sxm)[a-z]*\d+[a-z]?", word)}


def _instead(own: PublishedDevice, unit: str, is_byte: bool) -> str:
    values = sorted({roof.value for roof in own.roofs if (roof.name in BYTE_ROOFS) == is_byte})
    if not values:
        return f"nothing of the kind for {own.name}"
    return f"for {own.name}: {', '.join(shown(value, unit) for value in values)}"
