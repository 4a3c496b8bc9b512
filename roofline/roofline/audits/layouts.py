"""The columns that a table may have, with their meaning and unit: the one home of a column's name.

Names are compared in lower case with every run of other characters than letters and digits as one ``_``:
``Images/s`` is ``images_s``. A unit stands in the name (timm's tables, which print milliseconds and 1e9 MAC without
saying so, have layouts of their own). A column that no layout knows is left alone, and
named where the table is a plain one.
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


def _rates() -> dict[str, NumberColumn]:
    names = ["throughput", "throughput_ips", "ips", *(f"{sample}_{per}" for sample in _SAMPLE for per in _PER_SECOND)]
    stated = {name: NumberColumn(field="samples_per_s") for name in names}
    spread = {f"{name}_{sd}": NumberColumn(field="samples_per_s_sd") for name in names for sd in _SPREAD}
    return stated | spread


def _times() -> dict[str, NumberColumn]:
    columns: dict[str, NumberColumn] = {}
    for unit, factor in _SECONDS.items():
        for base in _STEP:
            columns[f"{base}_{unit}"] = NumberColumn(field="step_time_s", factor=factor)
            columns |= {f"{base}_{sd}_{unit}": NumberColumn(field="step_time_sd_s", factor=factor) for sd in _SPREAD}
        for name in (f"mean_{unit}", f"mean_latency_{unit}", f"latency_mean_{unit}"):
            columns[name] = NumberColumn(field="mean_s", factor=factor)
        for word, share in _PERCENTILES.items():
            for name in (f"{word}_{unit}", f"{word}_latency_{unit}", f"latency_{word}_{unit}"):
                columns[name] = NumberColumn(field="percentiles", factor=factor, share=share)
    for unit, factor in _SECONDS.items():
        for device in ("device", "gpu", "cuda", "kernel"):
            columns[f"{device}_time_{unit}"] = NumberColumn(field="device_time_s", factor=factor)
        columns[f"wall_time_{unit}"] = NumberColumn(field="wall_time_s", factor=factor)
    return columns


def _work() -> dict[str, NumberColumn]:
    columns: dict[str, NumberColumn] = {}
    for unit, factor in _FLOP.items():
        attained = NumberColumn(field="attained_flop_per_s", factor=factor)
        peak = NumberColumn(field="peak_flop_per_s", factor=factor)
        for per in (f"{unit}_per_s", f"{unit}_s", f"{unit}s"):
            columns |= {f"attained_{per}": attained, f"achieved_{per}": attained, f"peak_{per}": peak}
        columns |= {f"{unit}_per_s": attained, f"{unit}_s": attained, f"compute_roof_{unit}_per_s": peak}
        for of in ("step", "batch", "iteration", "call"):
            columns[f"{unit}_per_{of}"] = NumberColumn(field="flop_per_step", factor=factor)
        for of in ("sample", "image"):
            columns[f"{unit}_per_{of}"] = NumberColumn(field="flop_per_sample", factor=factor)
    for unit, factor in _MAC.items():
        names = (f"{unit}s", f"forward_{unit}s", f"{unit}_per_sample", f"{unit}_per_image")
        columns |= {name: NumberColumn(field="mac_per_sample", factor=factor) for name in names}
    for name in ("intensity_flop_per_byte", "arithmetic_intensity", "intensity"):
        columns[name] = NumberColumn(field="intensity_flop_per_byte")
    return columns


def _memory() -> dict[str, NumberColumn]:
    columns: dict[str, NumberColumn] = {}
    for unit, factor in _BYTE.items():
        columns |= {f"peak_{unit}_per_s": NumberColumn(field="peak_byte_per_s", factor=factor)}
        columns |= {f"{name}_{unit}": NumberColumn(field="reserved_byte", factor=factor) for name in _RESERVED}
        columns |= {f"{name}_{unit}": NumberColumn(field="memory_byte", factor=factor) for name in _TOTAL}
    return columns


_RESERVED = ("reserved", "peak_reserved", "memory_reserved")
_TOTAL = ("memory", "memory_total", "total_memory", "device_memory", "total")

_SIZE = ("img_size", "image_size", "input_size", "resolution", "size_pixel")
_LENGTH = ("seq_len", "seq_length", "sequence_length", "length_token", "tokens_per_sequence")

_COUNTS = {
    **{name: NumberColumn(field="batch", count=True) for name in ("batch", "batch_size")},
    **{name: NumberColumn(field="size_pixel", count=True) for name in _SIZE},
    **{name: NumberColumn(field="length_token", count=True) for name in _LENGTH},
    # A name without a unit holds millions in one table and a plain number in the next.
    "parameter_count": NumberColumn(field="parameter_count", count=True),
    **{f"{name}_m": NumberColumn(field="parameter_count", factor=1e6) for name in ("params", "parameters")},
    **{name: NumberColumn(field="runs", count=True) for name in ("runs", "repeats")},
}

_MEASURED = frozenset(
    {
        "samples_per_s",
        "step_time_s",
        "mean_s",
        "attained_flop_per_s",
        "flop_per_sample",
        "mac_per_sample",
        "peak_flop_per_s",
        "peak_byte_per_s",
    }
)
"""Fields of which a plain table must state one: without any there is nothing that could contradict anything."""

_PLAIN_NUMBERS = {**_rates(), **_times(), **_work(), **_memory(), **_COUNTS}

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
        **{f"{unit}s": NumberColumn(field="flop_per_sample", factor=factor) for unit, factor in _FLOP.items()},
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
