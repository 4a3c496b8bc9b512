"""The columns that a table may have, with their meaning and unit: the one home of a column's name.

Names are compared in lower case with every run of other characters than letters and digits as one ``_``:
``Images/s`` is ``images_s``. A unit stands in the name (timm's tables, which print milliseconds and 1e9 MAC without
saying so, have layouts of their own). A column that no layout knows is left alone, and named where the table is a plain
one.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, field, replace

from roofline.audits.row import Mode


@dataclass(frozen=True, slots=True, kw_only=True)
class NumberColumn:
    """A column of numbers: the field of `StatedRow` it fills and the factor to SI base units.

    ``share`` is given for ``percentiles``. A ``count`` is a whole number that was not rounded.
    """

    field: str
    factor: float = 1.0
    share: float | None = None
    count: bool = False

    @property
    def slot(self) -> tuple[str, float | None]:
        """Equal for two columns that would fill the same place."""
        return (self.field, self.share)


@dataclass(frozen=True, slots=True, kw_only=True)
class TableLayout:
    """One form of table. ``words`` maps columns of text to a field, ``numbers`` columns of numbers to a quantity.

    A table has this layout where it has all of ``needs`` and, where that is not empty, one of ``needs_one_of``.
    ``mode`` is that of every row, where the layout implies it.
    """

    name: str
    words: Mapping[str, str]
    numbers: Mapping[str, NumberColumn]
    needs: tuple[str, ...]
    needs_one_of: frozenset[str] = field(default_factory=frozenset)
    mode: Mode | None = None

    def fits(self, columns: frozenset[str]) -> bool:
        if not columns.issuperset(self.needs):
            return False
        return not self.needs_one_of or not self.needs_one_of.isdisjoint(columns)

    def reads(self, column: str) -> bool:
        """True if a column of this name, as `plain` spells it, means something here."""
        return column in self.words or column in self.numbers


def plain(column: str) -> str:
    """The name as layouts spell it: ``Attained GFLOP/s`` is ``attained_gflop_s``."""
    return re.sub(r"[^a-z0-9]+", "_", column.strip().casefold()).strip("_")


_SECONDS = {"s": 1.0, "ms": 1e-3, "us": 1e-6, "ns": 1e-9}
_FLOP = {"flop": 1.0, "mflop": 1e6, "gflop": 1e9, "tflop": 1e12}
_MAC = {"mac": 1.0, "mmac": 1e6, "gmac": 1e9}
_BYTE = {"byte": 1.0, "mb": 1e6, "gb": 1e9, "mib": 2.0**20, "gib": 2.0**30}
UNITS = (_SECONDS, _FLOP, _MAC, _BYTE)
"""Units by the name that a column has them under, and their factors to SI's."""

_PER_SECOND = ("per_s", "per_sec", "per_second", "s", "sec")
_SAMPLE = ("sample", "samples", "image", "images", "img", "imgs", "sequence", "sequences")
_STEP = ("step_time", "latency", "time_per_step", "iteration_time", "batch_time")
_SPREAD = ("std", "sd", "stddev")
_PERCENTILES = {
    "min": 0.0,
    "p25": 0.25,
    "q1": 0.25,
    "median": 0.5,
    "p50": 0.5,
    "p75": 0.75,
    "q3": 0.75,
    "p90": 0.9,
    "p95": 0.95,
    "p99": 0.99,
    "max": 1.0,
}


_RATES = ("throughput", "throughput_ips", "ips", *(f"{sample}_{per}" for sample in _SAMPLE for per in _PER_SECOND))
_NO_UNIT = {"": 1.0}


def _of(
    field: str, *names: str, units: Mapping[str, float] = _NO_UNIT, share: float | None = None, count: bool = False
) -> dict[str, NumberColumn]:
    """Make the columns of a field, by their names, in which * stands for the unit."""
    return {
        name.replace("*", unit): NumberColumn(field=field, factor=factor, share=share, count=count)
        for unit, factor in units.items()
        for name in names
    }


def _percentiles() -> dict[str, NumberColumn]:
    columns: dict[str, NumberColumn] = {}
    for word, share in _PERCENTILES.items():
        names = (f"{word}_*", f"{word}_latency_*", f"latency_{word}_*")
        columns |= _of("percentiles", *names, units=_SECONDS, share=share)
    return columns


_PLAIN_NUMBERS = {
    **_of("samples_per_s", *_RATES),
    **_of("samples_per_s_sd", *(f"{rate}_{sd}" for rate in _RATES for sd in _SPREAD)),
    **_of("step_time_s", *(f"{step}_*" for step in _STEP), units=_SECONDS),
    **_of("step_time_sd_s", *(f"{step}_{sd}_*" for step in _STEP for sd in _SPREAD), units=_SECONDS),
    **_of("mean_s", "mean_*", "mean_latency_*", "latency_mean_*", units=_SECONDS),
    **_percentiles(),
    **_of("device_time_s", *(f"{device}_time_*" for device in ("device", "gpu", "cuda", "kernel")), units=_SECONDS),
    **_of("wall_time_s", "wall_time_*", units=_SECONDS),
    **_of(
        "attained_flop_per_s",
        *(f"{word}_*{per}" for per in ("_per_s", "_s", "s") for word in ("attained", "achieved")),
        *("*_per_s", "*_s"),
        units=_FLOP,
    ),
    **_of("peak_flop_per_s", "peak_*_per_s", "peak_*_s", "peak_*s", "compute_roof_*_per_s", units=_FLOP),
    **_of("flop_per_step", *(f"*_per_{of}" for of in ("step", "batch", "iteration", "call")), units=_FLOP),
    **_of("flop_per_sample", "*_per_sample", "*_per_image", units=_FLOP),
    **_of("mac_per_sample", "*s", "forward_*s", "*_per_sample", "*_per_image", units=_MAC),
    **_of("intensity_flop_per_byte", "intensity_flop_per_byte", "arithmetic_intensity", "intensity"),
    **_of("peak_byte_per_s", "peak_*_per_s", units=_BYTE),
    **_of("reserved_byte", "reserved_*", "peak_reserved_*", "memory_reserved_*", units=_BYTE),
    **_of("memory_byte", "memory_*", "memory_total_*", "total_memory_*", "device_memory_*", "total_*", units=_BYTE),
    **_of("batch", "batch", "batch_size", count=True),
    **_of("size_pixel", "img_size", "image_size", "input_size", "resolution", "size_pixel", count=True),
    **_of(
        *("length_token", "seq_len", "seq_length", "sequence_length", "length_token", "tokens_per_sequence"), count=True
    ),
    # A name without a unit holds millions in one table and a plain number in the next.
    **_of("parameter_count", "parameter_count", count=True),
    **_of("parameter_count", "params_*", "parameters_*", units={"m": 1e6}),
    **_of("runs", "runs", "repeats", count=True),
}

_MEASURED = (
    *("samples_per_s", "step_time_s", "mean_s", "attained_flop_per_s"),
    *("flop_per_sample", "mac_per_sample", "peak_flop_per_s", "peak_byte_per_s"),
)
"""Fields of which a plain table must state one: without any there is nothing that could contradict anything."""

JOINED = "variant"
"""The field that several columns of text fill together: all of them tell rows apart, no rule looks at one."""

PLAIN = TableLayout(
    name="plain table",
    words={
        **dict.fromkeys(("model", "arch", "network"), "model"),
        **dict.fromkeys(("device", "env", "environment", "gpu"), "device"),
        **dict.fromkeys(("precision", "dtype"), "precision"),
        **dict.fromkeys(("mode", "phase"), "mode"),
        **dict.fromkeys(("layout", "data"), JOINED),
    },
    numbers=_PLAIN_NUMBERS,
    needs=(),
    needs_one_of=frozenset(name for name, quantity in _PLAIN_NUMBERS.items() if quantity.field in _MEASURED),
)


BESIDE_MAC = replace(
    PLAIN,
    name="plain table with FLOP beside multiply-adds",
    numbers={
        **_of("flop_per_sample", "*s", units=_FLOP),
        **PLAIN.numbers,
    },
    needs_one_of=frozenset(f"{unit}s" for unit in _FLOP),
)
"""``gflops`` may be a rate or a count; beside ``gmacs`` of a sample it is a count of one."""


def _timm(mode: Mode) -> TableLayout:
    """timm's benchmark tables: step time in ms, multiply-adds in 1e9, parameters in 1e6, columns in any order."""
    numbers = {
        f"{mode}_samples_per_sec": NumberColumn(field="samples_per_s"),
        f"{mode}_step_time": NumberColumn(field="step_time_s", factor=1e-3),
        f"{mode}_batch_size": NumberColumn(field="batch", count=True),
        f"{mode}_img_size": NumberColumn(field="size_pixel", count=True),
        f"{mode}_gmacs": NumberColumn(field="mac_per_sample", factor=1e9),
        "param_count": NumberColumn(field="parameter_count", factor=1e6),
    }
    return TableLayout(
        name=f"timm's benchmark table ({mode})",
        words={"model": "model"},
        numbers=numbers,
        needs=("model", f"{mode}_samples_per_sec", f"{mode}_step_time", f"{mode}_batch_size"),
        mode=mode,
    )


TIMM = (_timm("infer"), _timm("train"))


def layouts_of(columns: frozenset[str]) -> tuple[TableLayout, ...]:
    """The layouts of a table with these columns: timm's one or both, else the plain one, else none."""
    found = tuple(layout for layout in TIMM if layout.fits(columns))
    beside_mac = any(PLAIN.numbers[column].field == "mac_per_sample" for column in columns & PLAIN.numbers.keys())
    if not found and beside_mac and BESIDE_MAC.fits(columns):
        return (BESIDE_MAC,)
    return found or ((PLAIN,) if PLAIN.fits(columns) else ())


def needed() -> str:
    """Name the columns that a table must have, for the error of a table without them."""
    timm = "; ".join(f"{layout.name}: {', '.join(layout.needs)}" for layout in TIMM)
    return (
        "Needed: one of images_per_s (samples_per_s, throughput), step_time_ms (latency_s, mean_us),"
        " attained_gflop_per_s, gflop_per_image, gmacs, peak_tflop_per_s, peak_gb_per_s, beside model, device,"
        f" precision, batch_size; or {timm}."
    )
