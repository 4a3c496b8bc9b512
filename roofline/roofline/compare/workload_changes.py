"""What changed in the work of a case whose hash is another one, or which says that it was measured otherwise."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import fields
from typing import Any

from roofline.record import Case

_NO_WORK = frozenset({"id", "workload_hash"})
"""Fields of a case that name it, or stand for all the others."""


def declared(case: Case) -> dict[str, Any]:
    """The fields of a case by their names."""
    return {one.name: getattr(case, one.name) for one in fields(Case)}


def workload_changes(base: Mapping[str, Any], new: Mapping[str, Any], side: str) -> str:
    """``precision tf32, baseline fp32``: the fields in which two cases differ; empty where they differ in none.

    :param base: the fields of a `roofline.record.Case` by their names; ``new`` likewise.
    :param side: what the base is called.
    """
    names = [name for name in _all(base, new) if name not in _NO_WORK and name != "config"]
    found = [(name, new.get(name), base.get(name)) for name in names]
    if base.get("workload_hash") != new.get("workload_hash"):
        # What doesn't change the hash of the work is no other work.
        ours, theirs = (case.get("config") or {} for case in (new, base))
        found += [(name, ours.get(name), theirs.get(name)) for name in _all(ours, theirs)]
    return ", ".join(
        f"{name} {_value(ours)}, {side} {_value(theirs)}" for name, ours, theirs in found if ours != theirs
    )


def _value(value: object) -> str:
    return "none" if value is None else str(value)


def _all(*mappings: Mapping[str, Any]) -> Iterable[str]:
    return dict.fromkeys(name for mapping in mappings for name in mapping)
