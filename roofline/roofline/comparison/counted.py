"""Work that is declared the same on both sides and was counted otherwise.

A workload's hash covers what was declared of it: the model's name and configuration, shapes, batch, precision. What the
model then computes is counted, and may change under the same hash: a layer that is no longer run, an operation that
saves FLOP, another version of torch or of the formulas. The times may be compared all the same, for a change that saves
work is a change of the code like any other; but who reads them has to know of it.

By roof the work is what the case was placed by, be it read from hardware counters: the least time that the roofs allow
is worked out from it. Of two machines not all of it can be held against each other:

- FLOP are the code's, whatever the machine. Counters read those of the kernels that ran, and other kernels may take
  others: then the least times are those of other work all the same.
- The most bytes are what every operation reads and writes by itself. No cache is in them, but other kinds of device run
  other operations: they are compared on devices of one kind.
- The least bytes are those behind the last-level cache: compared where it is of one size.
- Bytes from counters depend on all that the memory is behind: compared on one machine.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Mapping, Sequence

from roofline.comparison.identity import setup_differences
from roofline.comparison.seen import Counted, Seen
from roofline.text.units import scaled

TOLERANCE = 1e-6
"""Relative difference up to which two counts are one: sums of whole numbers, kept as floats."""

COUNTERS_FLOP = 0.01
"""The same of FLOP that counters read. The same kernels count the same instructions each time, but for the few that
depend on data or on who comes first; another algorithm, as Winograd's for a convolution, is far from that.
"""

COUNTERS_BYTE = 0.05
"""The same of bytes that counters read: what lies in a cache when a kernel begins hangs on what ran before."""

_DIGITS = (3, 5, 7)
"""Significant digits that are tried until two counts look different. Of seven, `TOLERANCE` is the last."""

_DECIDING = ("torch", "torchvision", "pytest-roofline")
"""Versions that decide what a model computes, and how that is counted."""


def counted_otherwise(base: Sequence[Seen], new: Sequence[Seen]) -> str:
    """What each side's work is of a step, in a sentence; empty where it is the same, or where neither side tells."""
    of_base, of_new = _kinds(base), _kinds(new)
    if _all_same([*of_base, *of_new], _same):
        if (of_base and of_new) or not of_base + of_new:
            return ""
        only = "new" if of_new else "the baseline"
        return f"counted {_listed(of_base or of_new, _flop, _DIGITS[0])} a step in {only} alone"
    show = _bytes if _all_same([*of_base, *of_new], _same_flop) else _flop
    before, now = _told_apart(of_base, of_new, show)
    last = _work(of_new[-1])
    by_counters = (last.byte_source if show is _bytes else last.flop_source) == "counters"
    verb = "counters read" if by_counters else "counted"
    return f"{verb} {before} a step in the baseline, {now} in new: {_why(base, new, by_counters=by_counters)}"


def _kinds(side: Iterable[Seen]) -> list[Seen]:
    """A session of each of the side's different counts: one, unless they are of several versions."""
    kinds: list[Seen] = []
    for seen in side:
        if seen.counted is not None and not any(_same(seen, known) for known in kinds):
            kinds.append(seen)
    return kinds


def _all_same(seen: Sequence[Seen], same: Callable[[Seen, Seen], bool]) -> bool:
    return all(same(seen[0], other) for other in seen[1:])


def _same(one: Seen, other: Seen) -> bool:
    return _same_flop(one, other) and _same_bytes(one, other)


def _same_flop(one: Seen, other: Seen) -> bool:
    first, second = _work(one), _work(other)
    tolerance = COUNTERS_FLOP if "counters" in (first.flop_source, second.flop_source) else TOLERANCE
    return math.isclose(first.flop, second.flop, rel_tol=tolerance)


def _same_bytes(one: Seen, other: Seen) -> bool:
    """As far as they can be held against each other."""
    first, second = _work(one), _work(other)
    if "counters" in (first.byte_source, second.byte_source):
        same_machine = one.run.machine.parts == other.run.machine.parts
        return not same_machine or math.isclose(first.byte_high, second.byte_high, rel_tol=COUNTERS_BYTE)
    assert one.device is not None
    assert other.device is not None
    if one.device.kind != other.device.kind:
        return True
    same_cache = one.device.last_level_cache_byte == other.device.last_level_cache_byte
    return math.isclose(first.byte_high, second.byte_high, rel_tol=TOLERANCE) and (
        not same_cache or math.isclose(first.byte_low, second.byte_low, rel_tol=TOLERANCE)
    )


def _work(seen: Seen) -> Counted:
    assert seen.counted is not None
    return seen.counted


def _told_apart(base: Sequence[Seen], new: Sequence[Seen], show: Callable[[Counted, int], str]) -> tuple[str, str]:
    """Both sides in words, with as many digits as it takes to see a difference."""
    told = ("", "")
    for digits in _DIGITS:
        told = (_listed(base, show, digits), _listed(new, show, digits))
        if told[0] != told[1]:
            break
    return told


def _listed(side: Sequence[Seen], show: Callable[[Counted, int], str], digits: int) -> str:
    return " and ".join(dict.fromkeys(show(_work(seen), digits) for seen in side))


def _flop(counted: Counted, digits: int) -> str:
    return scaled(counted.flop, "FLOP", digits)


def _bytes(counted: Counted, digits: int) -> str:
    if counted.byte_source == "counters":
        return scaled(counted.byte_high, "B", digits)
    return f"{scaled(counted.byte_low, 'B', digits)} to {scaled(counted.byte_high, 'B', digits)}"


def _why(base: Sequence[Seen], new: Sequence[Seen], *, by_counters: bool) -> str:
    differing = setup_differences(map(_versions, base), map(_versions, new))
    if differing:
        other = "chose other kernels" if by_counters else "counts otherwise"
        return f"the model's computation changed, or another version {other} ({'; '.join(differing)})"
    same = ", ".join(f"{name} {version}" for name, version in _versions(new[-1]).items())
    other = "the kernels that ran" if by_counters else "how it is counted"
    return f"the model's computation changed, or {other}{f' ({same} on both sides)' if same else ''}"


def _versions(seen: Seen) -> Mapping[str, str]:
    return {name: seen.run.setup[name] for name in _DECIDING if name in seen.run.setup}
