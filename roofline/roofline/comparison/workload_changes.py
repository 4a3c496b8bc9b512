"""What changed in the work of a case whose hash is another one, or which says that it was measured otherwise."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import fields
from typing import Any

from roofline.schema.record import Case

_NO_WORK = frozenset({"id", "workload_hash"})
"""Fields of a case that name it, or stand for all the others."""


def declared(case: Case) -> dict[str, Any]:
    """The fields of a case by their names."""
    return {one.name: getattr(case, one.name) for one in fields(Case)}


def workload_changes(base: Mapping[str, Any], new: Mapping[str, Any], side: str) -> str:
    """``precision tf32, baseline fp32``: the fields in which two cases differ; empty where they differ in none.

    :param base: the fields of a `roofline.schema.record.Case` by their names; ``new`` likewise.
    :param side: what the base is called.
    """
    names = [name for name in _all(base, new) if name not in _NO_WORK and name != "config"]
    found = [(name, new.get(name), base.get(name)) for name in names]
    if base.get("workload_hash") != new.get("workload_hash"):
        # What doesn't change the hash of the work is no other work.
        ours, theirs = (case.get("config") or {} for case in (new, base))
        found += [(name, ours.get(name), theirs.get(name)) for name in _all(ours, theirs)]
    return _in_words(found, side)


def parameter_changes(base: Mapping[str, Any] | None, new: Mapping[str, Any] | None, side: str) -> str:
    """The same of the parameters of two tests without a record; empty where a side's file doesn't tell them.

    What JSON can't hold is left out: pytest-benchmark writes its repr, which may have an address in it.
    """
    if base is None or new is None:
        return ""
    names = [
        name for name in _all(base, new) if not (_unserializable(base.get(name)) or _unserializable(new.get(name)))
    ]
    return _in_words([(name, new.get(name), base.get(name)) for name in names], side)


def _in_words(found: Iterable[tuple[str, object, object]], side: str) -> str:
    return ", ".join(
        f"{name} {_value(ours)}, {side} {_value(theirs)}" for name, ours, theirs in found if ours != theirs
    )


def _unserializable(value: object) -> bool:
    return isinstance(value, str) and value.startswith("UNSERIALIZABLE[")


_SHOWN = 100
"""So many characters of a value are shown."""


def _value(value: object) -> str:
    text = "none" if value is None else str(value)
    return text if len(text) <= _SHOWN else f"{text[:_SHOWN]}... ({len(text)} characters)"


def _all(*mappings: Mapping[str, Any]) -> Iterable[str]:
    return dict.fromkeys(name for mapping in mappings for name in mapping)
