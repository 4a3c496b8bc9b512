"""Sessions of a side in which a case has no usable number: how many, and whether that is too many to judge by the rest.

What is left of five sessions of which three are disproved is no measurement of the case: the gate was meant to see
five. Sessions of a loud hour are not among these, as they can be measured again and then may say something.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Literal

from roofline.comparison.seen import Run, Seen
from roofline.text.units import some_of

SideName = Literal["baseline", "new"]

TOO_MANY = 0.5
"""Of the new side's sessions: with so many or more unusable the case counts as invalid, or as removed."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Shortfall:
    """``count`` of the ``of`` sessions of a side have no usable number of a case.

    ``invalid``: a row is there that can't be used; ``missing``: there is no row. ``why`` has the reason and the files.
    """

    side: SideName
    kind: Literal["invalid", "missing"]
    count: int
    of: int
    why: str

    @property
    def short(self) -> str:
        """``3 of 5 new sessions invalid``, ``missing from 1 of 5 new sessions``."""
        share = f"{self.count} of {self.of} {self.side} sessions"
        return f"{share} invalid" if self.kind == "invalid" else f"missing from {share}"

    @property
    def told(self) -> str:
        return f"{self.short}: {self.why}"


@dataclass(frozen=True, slots=True, kw_only=True)
class Shortfalls:
    """Of a case. ``too_many``: half or more of the new sessions that should have it, so it can't be judged."""

    found: tuple[Shortfall, ...] = ()
    too_many: bool = False

    @property
    def told(self) -> str:
        return "; ".join(one.told for one in self.found)

    @property
    def of_new(self) -> tuple[Shortfall, ...]:
        return tuple(one for one in self.found if one.side == "new")


NONE = Shortfalls()


def shortfalls(
    case: str, base: Sequence[Seen], new: Sequence[Seen], base_runs: Sequence[Run], new_runs: Sequence[Run]
) -> Shortfalls:
    """What sessions lack of a case that is on both sides.

    A session that was never meant to have it (the tests were run in several parts) is not one that lost it: where the
    baseline lacks it in as large a share of its sessions, and no session tells that it failed, nothing is missing.

    :param case: its id.
    :param base_runs: the sessions of each side that are of one machine with it.
    """
    invalid = [*_invalid("baseline", base, len(base_runs)), *_invalid("new", new, len(new_runs))]
    of_base, of_new = _missing("baseline", case, base, base_runs), _missing("new", case, new, new_runs)
    shares = [0.0 if one is None else one.count / one.of for one in (of_base, of_new)]
    missing = []
    if of_base is not None and (shares[0] > shares[1] or _told(case, base_runs)):
        missing.append(of_base)
    if of_new is not None and (shares[1] > shares[0] or _told(case, new_runs)):
        missing.append(of_new)
    found = (*invalid, *missing)
    should = len(new_runs) - (of_new.count if of_new is not None and of_new not in missing else 0)
    return Shortfalls(found=found, too_many=_too_many(found, should))


def shortfalls_of_new(new: Sequence[Seen]) -> Shortfalls:
    """The same of a case that only the new side has: which of its sessions should have it isn't known."""
    found = tuple(_invalid("new", new, len(new)))
    return Shortfalls(found=found, too_many=_too_many(found, len(new)))


def _too_many(found: Sequence[Shortfall], should: int) -> bool:
    count = sum(one.count for one in found if one.side == "new")
    return count > 0 and count >= TOO_MANY * should


def _invalid(side: SideName, seen: Sequence[Seen], of: int) -> list[Shortfall]:
    bad = [one for one in seen if one.observation is None and not one.loud]
    if not bad:
        return []
    why = f"{bad[0].problem} ({_files([one.run for one in bad])})"
    return [Shortfall(side=side, kind="invalid", count=len(bad), of=of, why=why)]


def _missing(side: SideName, case: str, seen: Sequence[Seen], runs: Sequence[Run]) -> Shortfall | None:
    there = {one.run.file for one in seen}
    without = [run for run in runs if run.file not in there]
    if not without:
        return None
    found = Shortfall(side=side, kind="missing", count=len(without), of=len(runs), why=f"not in {_files(without)}")
    told = next((run.not_measured[case] for run in without if case in run.not_measured), None)
    return found if told is None else replace(found, why=f"{found.why} ({told})")


def _told(case: str, runs: Sequence[Run]) -> bool:
    return any(case in run.not_measured for run in runs)


def _files(runs: Sequence[Run]) -> str:
    return some_of([run.file for run in runs], 1)
