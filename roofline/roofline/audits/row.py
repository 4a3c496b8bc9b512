"""A row of stated numbers, which every file is read into, and what rounding may hide of each number.

A table prints a few digits: 0.10 images/s may be anything from 0.095 to 0.105. Two printed numbers contradict each
other only where no values behind them would agree. So every number carries the interval it may lie in, and a
contradiction is a gap between two intervals.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from roofline.text.units import scaled, significant

Mode = Literal["train", "infer"]
DeviceKind = Literal["cpu", "accelerator"]

_DIGITS = 5
"""Significant digits of a number in a sentence: as many as the tables that are audited print."""


@dataclass(frozen=True, slots=True)
class Number:
    """A number of at least 0 in SI base units and the least and most it may be."""

    value: float
    low: float
    high: float

    @property
    def positive(self) -> bool:
        return self.value > 0

    def __add__(self, other: Number) -> Number:
        return Number(self.value + other.value, self.low + other.low, self.high + other.high)

    def __mul__(self, other: Number) -> Number:
        return Number(self.value * other.value, self.low * other.low, self.high * other.high)

    def __truediv__(self, other: Number) -> Number:
        """:raises ZeroDivisionError: ``other`` is 0: check `positive` first."""
        high = self.high / other.low if other.low > 0 else float("inf")
        return Number(self.value / other.value, self.low / other.high, high)


def exact(value: float) -> Number:
    return Number(value, value, value)


def rounded(value: float, slack: float) -> Number:
    """``value`` as printed, ``slack`` half a unit of its last digit."""
    return Number(value, max(0.0, value - slack), value + slack)


def gap(found: Number, expected: Number) -> float:
    """The difference that rounding does not explain, relative to ``expected``: 0.03 is 3 % too much, 0 is none."""
    if found.low > expected.high:
        return (found.low - expected.high) / expected.high if expected.high > 0 else float("inf")
    if found.high < expected.low:
        return (found.high - expected.low) / expected.low
    return 0.0


def agree(found: Number, expected: Number, tolerance: float) -> bool:
    return abs(gap(found, expected)) <= tolerance


def shown(figure: Number | float, unit: str = "") -> str:
    """In a sentence: with a prefix where there is a unit, else plain."""
    value = figure.value if isinstance(figure, Number) else figure
    if unit:
        return scaled(value, unit, _DIGITS)
    return f"{value:.{_DIGITS}g}" if 1e-4 <= abs(value) < 10**_DIGITS else significant(value, _DIGITS)


def difference(found: Number, expected: Number) -> str:
    """Say the difference of ``found`` from ``expected``: ``+59.9 %``, or a large one as ``3.34 times``."""
    ratio = found.value / expected.value
    return f"{100 * (ratio - 1):+.1f} %" if 0.5 < ratio < 2 else f"{significant(ratio)} times"


@dataclass(frozen=True, slots=True, kw_only=True)
class Ceiling:
    """A ceiling a row is held against, FLOP/s, and where the figure comes from."""

    flop_per_s: Number
    source: str


@dataclass(frozen=True, slots=True, kw_only=True)
class StatedRow:
    """One row of a table or one benchmark of a result file. None: not stated.

    Where it stands: ``file``, and ``number`` counted in ``counted_in`` (lines of a table, benchmarks of a file).
    ``name`` is what the row calls itself. ``work`` is equal for rows of the same work on whatever device.
    ``variant`` tells apart what the other fields don't (layout, data source).

    ``size_pixel`` is the side of the images, of others than square ones that of as many pixels; ``length_token`` is the
    length of the sequences.
    ``flop_per_sample`` is of a forward pass or of a training step, ``mac_per_sample`` of a forward pass.
    ``device_time_s`` is the time in which the device ran, of ``wall_time_s``. ``nonfinite``
    names those that are nan or inf, which no rule can look at.
    ``step_time_s`` is the time of one step, ``total_s`` that of ``steps`` steps. ``percentiles`` are (share, time):
    0 is the minimum, 1 the maximum. ``device_proven``: what ran on which device was checked while it was measured.
    """

    file: str
    number: int
    counted_in: Literal["line", "benchmark"]
    name: str
    work: tuple[str, ...]
    model: str | None = None
    mode: Mode | None = None
    precision: str | None = None
    variant: str | None = None
    device: str | None = None
    device_kind: DeviceKind | None = None
    device_proven: bool = False
    batch: Number | None = None
    size_pixel: Number | None = None
    length_token: Number | None = None
    parameter_count: Number | None = None
    runs: Number | None = None

    samples_per_s: Number | None = None
    samples_per_s_sd: Number | None = None
    step_time_s: Number | None = None
    step_time_sd_s: Number | None = None
    steps_per_s: Number | None = None
    steps: Number | None = None
    total_s: Number | None = None
    mean_s: Number | None = None
    percentiles: tuple[tuple[float, Number], ...] = ()
    attained_flop_per_s: Number | None = None
    intensity_flop_per_byte: Number | None = None

    flop_per_sample: Number | None = None
    mac_per_sample: Number | None = None
    flop_per_step: Number | None = None
    peak_flop_per_s: Number | None = None
    peak_byte_per_s: Number | None = None
    roof: Ceiling | None = None
    speed_of_light_s: Number | None = None
    launch_s: Number | None = None
    reserved_byte: Number | None = None
    memory_byte: Number | None = None
    device_time_s: Number | None = None
    wall_time_s: Number | None = None
    nonfinite: tuple[str, ...] = ()

    @property
    def place(self) -> str:
        return f"{self.counted_in} {self.number}"

    @property
    def time_s(self) -> Number | None:
        """Of one step: stated as such, else the mean."""
        return self.step_time_s if self.step_time_s is not None else self.mean_s

    @property
    def mean_time_s(self) -> Number | None:
        """The mean, stated as such, else the time of a step: tables print the mean where they don't say."""
        return self.mean_s if self.mean_s is not None else self.step_time_s

    @property
    def rate(self) -> Number | None:
        """Samples per second: stated, else batch / time of a step."""
        if self.samples_per_s is not None:
            return self.samples_per_s
        if self.batch is None or self.time_s is None or not self.time_s.positive:
            return None
        return self.batch / self.time_s
