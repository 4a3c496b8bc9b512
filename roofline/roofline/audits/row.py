"""What every file is read into: one row of figures, whatever the table looked like."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from roofline.audits.figure import Figure

Mode = Literal["train", "infer"]
DeviceKind = Literal["cpu", "accelerator"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Roof:
    """A ceiling a row is held against, FLOP/s, and where the figure comes from."""

    flop_per_s: Figure
    source: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Row:
    """One row of a table or one benchmark of a result file. None: not stated.

    Where it stands: ``file``, and ``number`` counted in ``counted_in`` (lines of a table, benchmarks of a file).
    ``name`` is what the row calls itself. ``work`` is equal for rows of the same work on whatever device.
    ``variant`` tells apart what the other fields don't (layout, data source).

    ``size_pixel`` is the side of the images, of others than square ones that of as many pixels; ``length_token`` is the
    length of the sequences.
    ``flop_per_sample`` is of a forward pass or of a training step, ``mac_per_sample`` of a forward pass.
    ``device_time_s`` is the time in which the device ran, of ``wall_time_s``. ``impossible`` says of figures why they
    can't be, ``nonfinite`` names those that are nan or inf, which no rule can look at.
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
    batch: Figure | None = None
    size_pixel: Figure | None = None
    length_token: Figure | None = None
    parameter_count: Figure | None = None
    runs: Figure | None = None

    samples_per_s: Figure | None = None
    samples_per_s_sd: Figure | None = None
    step_time_s: Figure | None = None
    step_time_sd_s: Figure | None = None
    steps_per_s: Figure | None = None
    steps: Figure | None = None
    total_s: Figure | None = None
    mean_s: Figure | None = None
    percentiles: tuple[tuple[float, Figure], ...] = ()
    attained_flop_per_s: Figure | None = None
    intensity_flop_per_byte: Figure | None = None

    flop_per_sample: Figure | None = None
    mac_per_sample: Figure | None = None
    flop_per_step: Figure | None = None
    peak_flop_per_s: Figure | None = None
    peak_byte_per_s: Figure | None = None
    roof: Roof | None = None
    speed_of_light_s: Figure | None = None
    launch_s: Figure | None = None
    reserved_byte: Figure | None = None
    memory_byte: Figure | None = None
    device_time_s: Figure | None = None
    wall_time_s: Figure | None = None
    impossible: tuple[str, ...] = ()
    nonfinite: tuple[str, ...] = ()

    @property
    def place(self) -> str:
        return f"{self.counted_in} {self.number}"

    @property
    def time_s(self) -> Figure | None:
        """Of one step: stated as such, else the mean."""
        return self.step_time_s if self.step_time_s is not None else self.mean_s

    @property
    def mean_time_s(self) -> Figure | None:
        """The mean, stated as such, else the time of a step: tables print the mean where they don't say."""
        return self.mean_s if self.mean_s is not None else self.step_time_s

    @property
    def rate(self) -> Figure | None:
        """Samples per second: stated, else batch / time of a step."""
        if self.samples_per_s is not None:
            return self.samples_per_s
        if self.batch is None or self.time_s is None or not self.time_s.positive:
            return None
        return self.batch / self.time_s
