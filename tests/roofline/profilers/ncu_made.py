"""Files as ``ncu --csv`` prints them, small and made here."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path

IDENTITY = (
    "ID",
    "Process ID",
    "Process Name",
    "Host Name",
    "Kernel Name",
    "Context",
    "Stream",
    "Block Size",
    "Grid Size",
    "Device",
    "CC",
)
DETAILS = (*IDENTITY, "Section Name", "Metric Name", "Metric Unit", "Metric Value")
SUMMARY = (
    *("Process ID", "Process Name", "Host Name", "Kernel Name", "Block Size", "Grid Size", "Device", "CC"),
    *("Invocations", "Section Name", "Metric Name", "Metric Unit", "Minimum", "Maximum", "Average"),
)

Metric = tuple[str, str, str]
"""Name, unit, value."""

TIME: Metric = ("gpu__time_duration.sum", "ns", "4,896")
READ: Metric = ("dram__bytes_read.sum", "byte", "2,000,000")
WRITE: Metric = ("dram__bytes_write.sum", "byte", "500,000")


def line(*cells: object) -> str:
    return ",".join('"{}"'.format(str(cell).replace('"', '""')) for cell in cells) + "\n"


def identity(number: int, kernel: str = "kernel", *, cc: str = "8.0", grid: str = "(64, 1, 1)") -> tuple[str, ...]:
    return (str(number), "77", "python", "127.0.0.1", kernel, "1", "7", "(128, 1, 1)", grid, "0", cc)


def row(number: int, metric: Metric, kernel: str = "kernel", *, cc: str = "8.0") -> str:
    """A row of the details page."""
    return line(*identity(number, kernel, cc=cc), "Command line profiler metrics", *metric)


def details(launches: Sequence[tuple[str, Sequence[Metric]]], *, cc: str = "8.0") -> str:
    """A details page: (kernel, metrics) by launch."""
    rows = [row(number, one, kernel, cc=cc) for number, (kernel, metrics) in enumerate(launches) for one in metrics]
    return line(*DETAILS) + "".join(rows)


def sections(rows: Sequence[tuple[str, str, Metric]], kernel: str = "kernel") -> str:
    """A details page of one launch, as sections print it: (section, part of it, label with unit and value)."""
    header = line(*DETAILS[:12], "Body Item Label", *DETAILS[12:])
    return header + "".join(line(*identity(0, kernel), section, item, *metric) for section, item, metric in rows)


def raw(units: Mapping[str, str], launches: Sequence[tuple[str, Sequence[str]]], *, cc: str = "8.0") -> str:
    """A raw page: unit by metric, and (kernel, values) by launch."""
    lines = [line(*IDENTITY, *units), line(*("",) * len(IDENTITY), *units.values())]
    lines += [line(*identity(number, kernel, cc=cc), *values) for number, (kernel, values) in enumerate(launches)]
    return "".join(lines)


def summary(kernels: Sequence[tuple[str, int, Sequence[Metric]]]) -> str:
    """A page of ``--print-summary per-kernel``: (kernel, invocations, metrics), each value as minimum, maximum
    and average."""
    rows = [
        line(
            "77",
            "python",
            "h",
            kernel,
            "(1, 1, 1)",
            "(1, 1, 1)",
            "0",
            "8.0",
            invocations,
            "s",
            name,
            unit,
            *[value] * 3,
        )
        for kernel, invocations, metrics in kernels
        for name, unit, value in metrics
    ]
    return line(*SUMMARY) + "".join(rows)


def written(path: Path, text: str) -> Path:
    path.write_text(text, encoding="utf-8")
    return path
