"""Check that both sides measured the same work: as it was declared, and as it was counted.

The hash covers what was declared: model, shapes, batch, precision. What the model then computes is counted, and may
change under the same hash. By time such cases are compared, with a note, for a change may be meant to save work. By
roof they aren't, for the least time is worked out from the count. Of two machines not all counts can be compared:

- FLOP are the code's, whatever the machine.
- The most bytes hold no cache, but other kinds of device run other operations: compared on devices of one kind.
- The least bytes are those behind the last-level cache: compared where it is of one size.
- Bytes from hardware counters depend on the whole memory system: compared on one machine.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import fields
from typing import Any

from roofline.comparison.sides.session_results import CountedWork, SessionResult
from roofline.schema.record import Case
from roofline.text.units import scaled

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


def _value(value: object) -> str:
    return "none" if value is None else f"{value!s:.100}"


def _all(*mappings: Mapping[str, Any]) -> Iterable[str]:
    return dict.fromkeys(name for mapping in mappings for name in mapping)


TOLERANCE = 1e-6
"""Relative difference up to which two counts are one: sums of whole numbers, kept as floats."""

COUNTERS_FLOP = 0.01
"""The same of FLOP that counters read. The same kernels count the same instructions each time, but for the few that
depend on data or on who comes first; another algorithm, as Winograd's for a convolution, is far from that.
"""

COUNTERS_BYTE = 0.05
"""The same of bytes that counters read: what lies in a cache when a kernel begins depends on what ran before."""

_DIGITS = 4
"""Significant digits of a count."""


def counted_otherwise(base: Sequence[SessionResult], new: Sequence[SessionResult]) -> str:
    """Say what work each side counted of a step; empty where it is the same, or where neither side tells."""
    sides = [[(seen, seen.counted) for seen in side if seen.counted is not None] for side in (base, new)]
    before, now = (_listed(side, _flop) for side in sides)
    if not before or not now:
        only = "the baseline" if before else "new"
        return f"counted {before or now} a step in {only} alone" if before or now else ""
    first, *others = [*sides[0], *sides[1]]
    if all(_same_flop(first, other) for other in others):
        if all(_same_bytes(first, other) for other in others):
            return ""
        before, now = (_listed(side, _bytes) for side in sides)
    return (
        f"counted {before} a step in the baseline, {now} in new: the model's computation changed, the kernels that ran,"
        " or how it is counted"
    )


_Row = tuple[SessionResult, CountedWork]


def _same_flop(one: _Row, other: _Row) -> bool:
    (_, first), (_, second) = one, other
    tolerance = COUNTERS_FLOP if "counters" in (first.flop_source, second.flop_source) else TOLERANCE
    return math.isclose(first.flop, second.flop, rel_tol=tolerance)


def _same_bytes(one: _Row, other: _Row) -> bool:
    """As far as they can be held against each other."""
    (here, first), (there, second) = one, other
    if "counters" in (first.byte_source, second.byte_source):
        same_machine = here.run.machine == there.run.machine
        return not same_machine or math.isclose(first.byte_high, second.byte_high, rel_tol=COUNTERS_BYTE)
    assert here.device is not None
    assert there.device is not None
    if here.device.kind != there.device.kind:
        return True
    same_cache = here.device.last_level_cache_byte == there.device.last_level_cache_byte
    return math.isclose(first.byte_high, second.byte_high, rel_tol=TOLERANCE) and (
        not same_cache or math.isclose(first.byte_low, second.byte_low, rel_tol=TOLERANCE)
    )


def _listed(side: Iterable[_Row], show: Callable[[CountedWork], str]) -> str:
    return " and ".join(dict.fromkeys(show(counted) for _, counted in side))


def _flop(counted: CountedWork) -> str:
    return scaled(counted.flop, "FLOP", _DIGITS)


def _bytes(counted: CountedWork) -> str:
    if counted.byte_source == "counters":
        return scaled(counted.byte_high, "B", _DIGITS)
    return f"{scaled(counted.byte_low, 'B', _DIGITS)} to {scaled(counted.byte_high, 'B', _DIGITS)}"
