"""Values of a record that are missing without a reason."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import fields, is_dataclass

from roofline.schema.record import Counters, HostCounters, KernelCounters, Record

_NULL_TELLS_ENOUGH = frozenset(
    {
        "device.index",
        *("parallel", "parallel.strategy"),
        *(f"counters.{one.name}" for one in fields(Counters)),
        *(f"counters.kernels.{one.name}" for one in fields(KernelCounters)),
        *(f"host_counters.{one.name}" for one in fields(HostCounters)),
        *("expected.bound", "expected.min_fraction_of_roof", "expected.min_fraction_of_speed_of_light"),
    }
)
"""What None means here stands in the class: the only device of its kind, counters whose status gives the reason, and
what isn't expected."""


def unexplained(record: Record) -> tuple[str, ...]:
    """Dotted paths of the values that are None without a reason in ``missing``, in the order of the fields.

    The reason of a part covers all in it. Parts of one tuple share a path: ``operations.time_s`` stands for every
    operation without a time. A null setting in ``case.config`` and a quiet round in ``disturbed`` are values.
    """

    def walk(value: object, path: str) -> Iterator[str]:
        if path in record.missing or path in _NULL_TELLS_ENOUGH:
            return
        if value is None:
            yield path
        for part in value if isinstance(value, tuple) else (value,):
            if is_dataclass(part):
                for one in fields(part):
                    yield from walk(getattr(part, one.name), f"{path}.{one.name}".lstrip("."))

    return tuple(dict.fromkeys(walk(record, "")))
