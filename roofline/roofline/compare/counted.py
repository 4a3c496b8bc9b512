"""Work that is declared the same on both sides and was counted otherwise.

A workload's hash covers what was declared of it: the model's name and configuration, shapes, batch, precision. What the
model then computes is counted, and may change under the same hash: a layer that is no longer run, an operation that
saves FLOP, another version of torch or of the formulas. The times may be compared all the same, for a change that saves
work is a change of the code like any other; but who reads them has to know of it.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Mapping, Sequence

from roofline.compare.identity import setup_differences
from roofline.compare.sides import By, Counted, Seen
from roofline.units import scaled

TOLERANCE = 1e-6
"""Relative difference up to which two counts are one: sums of whole numbers, kept as floats."""

_DIGITS = (3, 5, 7)
"""Significant digits that are tried until two counts look different. Of seven, `TOLERANCE` is the last."""

_DECIDING = ("torch", "torchvision", "pytest-roofline")
"""Versions that decide what a model computes, and how that is counted."""


def counted_otherwise(base: Sequence[Seen], new: Sequence[Seen], by: By) -> str:
    """What each side counted of a step, in a sentence; empty where it is the same, or where a side doesn't tell.

    Counted bytes depend on the size of the last-level cache. By roof the sides may be of two machines: only FLOP are
    held against each other.
    """
    of_base, of_new = _kinds(base, by), _kinds(new, by)
    if not of_base or not of_new or _all_same([*of_base, *of_new], by):
        return ""
    show = _bytes if _all_same([*of_base, *of_new], "roof") else _flop
    before, now = _told_apart(of_base, of_new, show)
    return f"counted {before} a step in the baseline, {now} in new: {_why(base, new)}"


def _kinds(side: Iterable[Seen], by: By) -> list[Counted]:
    """The different counts of a side's sessions: one, unless they are of several versions."""
    kinds: list[Counted] = []
    for seen in side:
        if seen.counted is not None and not any(_same(seen.counted, known, by) for known in kinds):
            kinds.append(seen.counted)
    return kinds


def _all_same(counts: Sequence[Counted], by: By) -> bool:
    return all(_same(counts[0], other, by) for other in counts[1:])


def _same(one: Counted, other: Counted, by: By) -> bool:
    pairs = [(one.flop, other.flop)]
    if by == "time":
        pairs += [(one.byte_low, other.byte_low), (one.byte_high, other.byte_high)]
    return all(math.isclose(first, second, rel_tol=TOLERANCE) for first, second in pairs)


def _told_apart(
    base: Sequence[Counted], new: Sequence[Counted], show: Callable[[Counted, int], str]
) -> tuple[str, str]:
    """Both sides in words, with as many digits as it takes to see a difference."""
    told = ("", "")
    for digits in _DIGITS:
        told = (_listed(base, show, digits), _listed(new, show, digits))
        if told[0] != told[1]:
            break
    return told


def _listed(side: Sequence[Counted], show: Callable[[Counted, int], str], digits: int) -> str:
    return " and ".join(dict.fromkeys(show(counted, digits) for counted in side))


def _flop(counted: Counted, digits: int) -> str:
    return scaled(counted.flop, "FLOP", digits)


def _bytes(counted: Counted, digits: int) -> str:
    return f"{scaled(counted.byte_low, 'B', digits)} to {scaled(counted.byte_high, 'B', digits)}"


def _why(base: Sequence[Seen], new: Sequence[Seen]) -> str:
    differing = setup_differences(map(_versions, base), map(_versions, new))
    if differing:
        return f"the model's computation changed, or another version counts otherwise ({'; '.join(differing)})"
    same = ", ".join(f"{name} {version}" for name, version in _versions(new[-1]).items())
    return f"the model's computation changed, or how it is counted{f' ({same} on both sides)' if same else ''}"


def _versions(seen: Seen) -> Mapping[str, str]:
    return {name: seen.run.setup[name] for name in _DECIDING if name in seen.run.setup}
