"""The columns of machines: device, processor, memory, versions, threads and limits."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from functools import partial
from typing import Any, Literal

from roofline.model.point_groups import by_machine, machine_names
from roofline.model.points import Point
from roofline.results.result import ResultFile
from roofline.show.render import text_of
from roofline.show.tables import Column, Dtype, grouped, number, plain_value, words
from roofline.text.units import scaled, unit_of


def _of_machine(name: str, of_host: str) -> Callable[[ResultFile], Any]:
    """Gets what pytest-benchmark knows of the host, too, where there is no record of the machine."""
    return lambda result: getattr(result.host, of_host) if result.machine is None else getattr(result.machine, name)


def _size(name: str, title: str, path: str) -> Column[ResultFile]:
    return number(name, title, path, lambda value: scaled(value, "B"), dtype="Int64")


MACHINE_COLUMNS: tuple[Column[ResultFile], ...] = (
    words("fingerprint", get="machine_key"),
    words("machine", "label", "machine_label", dtype="category"),
    words("device_kind", "kind", "machine.device.kind", dtype="category"),
    words("device", get="machine.device.name", dtype="category"),
    _size("device_memory_byte", "device memory", "machine.device.memory_byte"),
    _size("last_level_cache_byte", "last-level cache", "machine.device.last_level_cache_byte"),
    words("compute_capability", "compute capability", "machine.device.compute_capability"),
    words("cpu", "processor", _of_machine("cpu", "cpu"), dtype="category"),
    number("cpu_count", "logical processors", _of_machine("cpu_count", "cpus"), dtype="Int64"),
    _size("memory_byte", "memory", "machine.memory_byte"),
    words("os", "operating system", _of_machine("os", "system"), dtype="category"),
    words(
        "version_python",
        "python",
        lambda result: result.host.python if result.machine is None else result.machine.versions.get("python"),
    ),
)
"""What is known of every machine, and of its device."""

_LIMIT_DTYPES: Mapping[str, Dtype] = {
    "affinity_cpus": "Int64",
    "effective_cpus": "Int64",
    "cgroup_cpu_quota_cpus": "Float64",
    "container": "boolean",
    "cpu_governor": "category",
    "power_limit_w": "Float64",
}
"""Of limits that may be unknown; the others are in a record only where they are known."""


_GROUPS: tuple[tuple[str, str, Dtype | Literal[""]], ...] = (
    ("version", "versions", "string"),
    ("threads", "threads", "Int64"),
    ("limit", "limits", ""),
)
"""Beginning of a column's name, what it is of in a record, and dtype."""


def machine_columns(results: Sequence[ResultFile]) -> list[Column[ResultFile]]:
    """The columns of machines, with one for each version, number of threads and limit that one of them has."""
    machines = [result.machine for result in results if result.machine is not None]
    columns = {column.name: column for column in MACHINE_COLUMNS}
    for prefix, group, dtype in _GROUPS:
        for name in dict.fromkeys(name for machine in machines for name in getattr(machine, group)):
            unit = unit_of(name)
            title = (
                name if group == "versions" else (name if unit is None else name.rpartition("_")[0]).replace("_", " ")
            )
            column: Column[ResultFile] = number(
                f"{prefix}_{name}",
                f"threads, {title}" if group == "threads" else title,
                f"machine.{group}.{name}",
                partial(_in_words, unit=unit),
            )
            columns.setdefault(column.name, replace(column, dtype=_LIMIT_DTYPES.get(name, dtype)))
    return list(columns.values())


def differences_under_a_label(points: Sequence[Point], listed: Callable[[list[str]], str]) -> list[str]:
    """Say in a line for each label of several machines what differs between their newest results, versions last.

    :param listed: joins what differs, or some of it.
    """
    own, names = by_machine(points), machine_names(points)
    lines = []
    for machines in grouped(own, lambda machine: machine.label).values():
        results = [
            max((point.result for point in own[machine]), key=lambda result: result.when) for machine in machines
        ]
        columns = sorted(machine_columns(results), key=lambda column: column.name.startswith("version_"))
        shown = [
            (column.title.replace(",", ""), [text_of(column, plain_value(column, result)) for result in results])
            for column in columns
            if column.name != "fingerprint"
        ]
        differing = [f"{title} {' v '.join(texts)}" for title, texts in shown if len({*texts}) > 1]
        if differing:
            named = " and ".join(names[machine] for machine in machines)
            lines.append(f"What differs between {named}: {listed(differing)}")
    return lines


def _in_words(value: Any, unit: str | None) -> str:
    if isinstance(value, bool):
        return "yes" if value else "no"
    # A whole number in a file may be beyond the range of floats: shown as it stands.
    fits = isinstance(value, int | float) and abs(value) < 1e300
    return scaled(value, unit) if unit is not None and fits else str(value)
