"""The NVTX ranges in which kernels were launched, as ``ncu --nvtx`` prints them, and the choice of one of them."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import replace
from functools import lru_cache

from roofline.files.text import ReadError
from roofline.profilers.captures import Capture, Launch
from roofline.text.printable import printable
from roofline.text.units import some_of

_PUSHED, _STARTED = ":Push/Pop_Range:", ":Start/Stop_Range:"
_FIELDS_BEHIND = 6
"""Behind a range's name: type and value of its payload, its colour, and its message."""

_QUOTED = re.compile(r'"([^"]*)"')
_LISTED = 8


@lru_cache(maxsize=8)
def columns(names: tuple[str, ...]) -> tuple[tuple[int, bool], ...]:
    """Find the columns with ranges: the place of each, and whether an ID stands before the domain in it."""
    return tuple((place, _STARTED in name) for place, name in enumerate(names) if _PUSHED in name or _STARTED in name)


def ranges(cell: str, numbered: bool) -> Iterable[str]:
    """Read the names of the ranges in a cell, outer ones first.

    :param cell: such as ``4711  "<default domain>:timed:none:none:none:none:none:none"``.
    :param numbered: an ID stands before the domain.
    """
    for one in _QUOTED.findall(cell) or [cell.strip()]:
        name = one.split(":", 2 if numbered else 1)[-1].rsplit(":", _FIELDS_BEHIND)[0]
        if name:
            yield printable(name)


def chosen(capture: Capture, name: str | None) -> Capture:
    """Keep the launches of one range; without a name all, with a note of the ranges there are.

    :raises ReadError: the file tells of no ranges, or has none of this name.
    """
    if name is None:
        there = _there(capture.launches)
        if not there:
            return capture
        note = f"Launches stand in NVTX ranges: {there}. --range NAME takes those of one alone."
        return replace(capture, notes=(*capture.notes, note))
    if all(one.ranges is None for one in capture.launches):
        raise ReadError(
            f"{capture.source}: no column of NVTX ranges, so --range has nothing to choose from. Run ncu with --nvtx,"
            " and print its report with --nvtx, too."
        )
    launches = tuple(one for one in capture.launches if name in (one.ranges or ()))
    if not launches:
        there = _there(capture.launches) or "none"
        raise ReadError(f"{capture.source}: no launch in an NVTX range {name!r}. Ranges in it: {there}.")
    of = f"{len(launches)} of {len(capture.launches)} launches are in the NVTX range {name!r}: the others are left out."
    return replace(capture, launches=launches, notes=(*capture.notes, of))


def _there(launches: Sequence[Launch]) -> str:
    """Ranges with their number of launches, in the order of the file."""
    counts = Counter(name for one in launches for name in dict.fromkeys(one.ranges or ()))
    named = [f"{name!r} ({count} launch{'' if count == 1 else 'es'})" for name, count in counts.items()]
    return some_of(named, _LISTED)
