"""Roofs that one machine measured otherwise on the two sides of a comparison by roof.

Fractions of a machine's own roofs are compared so that machines of other speed can be. On one machine the roofs should
be the same: where something slowed their measuring down in the new run, a slower case reaches as large a fraction of
them, and where it did in the baseline, a case looks slower that isn't.
"""

from __future__ import annotations

import statistics
from collections.abc import Iterable, Sequence

from roofline.comparison.identity import told_apart
from roofline.comparison.seen import Run
from roofline.schema.record import Roof
from roofline.text.units import scaled

_LEVELS = ("dram", "llc")


def roofs_apart(base: Sequence[Run], new: Sequence[Run]) -> list[str]:
    """At most a line, for roofs of one machine that differ between the sides by more than their samples scattered.

    :param base: the sessions of each side, of one machine a side.
    """
    apart = changed_roofs(base, new)
    if not apart:
        return []
    return [
        f"This machine's own roofs differ between the sides by more than their samples scattered ({'; '.join(apart)})."
        " A lower roof hides slower cases, a higher one makes up some: on one machine compare times (--by time)"
    ]


def changed_roofs(base: Sequence[Run], new: Sequence[Run]) -> list[str]:
    """The roofs of one machine that differ between the sides, with both values; none of different machines."""
    if not base[0].machine.proven or any(
        told_apart(base[0].machine, run.machine) is not None for run in (*base[1:], *new)
    ):
        return []
    of_base, of_new = _by_name(base), _by_name(new)
    return [
        f"{name} {_value(of_new[name])}, baseline {_value(of_base[name])}"
        for name in of_base
        if name in of_new and _apart(of_base[name], of_new[name])
    ]


def _by_name(runs: Iterable[Run]) -> dict[str, list[Roof]]:
    """The roofs that the least time of a step is worked out from: no links, and no launches."""
    found: dict[str, list[Roof]] = {}
    for run in runs:
        for roof in run.roofs:
            if roof.kind == "flop" or roof.name in _LEVELS:
                found.setdefault(roof.name, []).append(roof)
    return found


def _apart(base: Sequence[Roof], new: Sequence[Roof]) -> bool:
    """Whether all samples of one side lie below all of the other's: of each roof the best is the value."""
    (base_low, base_high), (new_low, new_high) = _ends(base), _ends(new)
    return base_high < new_low or new_high < base_low


def _ends(roofs: Sequence[Roof]) -> tuple[float, float]:
    worst = min(roof.value * (1 - min(1.0, abs(roof.spread or 0.0))) for roof in roofs)
    return worst, max(roof.value for roof in roofs)


def _value(roofs: Sequence[Roof]) -> str:
    return scaled(statistics.median(roof.value for roof in roofs), "FLOP/s" if roofs[0].kind == "flop" else "B/s")
