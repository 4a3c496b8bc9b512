"""Break a step's time down: every operation against its own speed of light, and what bounds it.

The bound of an operation, from its measured time t, its least times by the roofs (see `speed_of_light.least`) and
launches = calls x launch latency; the first rule that applies decides:

1. No time seen, or no speed of light of the step: **undetermined**.
2. Launches and least time below 5 % of t: none of them is the limit. **undetermined**, far below its roofs.
3. Launches above the least time: **launch**.
4. Arithmetic at least 15 % above transfer: **compute**; 15 % below: **memory**; between: **undetermined**.
5. Where a call's data could lie in the last-level cache, rule 4 must hold for DRAM as well to conclude **compute**:
   what the operation before it left in the cache isn't known.

Times are those under the profiler. They are set against the step as it was timed without, so that what is neither
operation nor roof (Python, gaps, the next batch) is seen: outside = step - sum of the operations. It is negative where
the profiler's times add up to more than the step, which is shown and never clipped.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property
from typing import Literal

from roofline.machine.roof_choice import Roofs
from roofline.model.bounds import FAR_BELOW, NEAR_KNEE, Side, side_of_knee
from roofline.model.speed_of_light import Least, SpeedOfLight, least
from roofline.schema.amounts import total_of, usable, usable_or_zero
from roofline.schema.record import Device, Operation, OutsideTime, Profile, Record

DISAGREEMENT = 0.10
"""The profiler's total and the timed step differ by more than this share of the step: said with both numbers."""

Limit = Literal["compute", "memory", "launch", "undetermined"]
LIMITS: tuple[Limit, ...] = ("compute", "memory", "launch", "undetermined")


@dataclass(frozen=True, slots=True, kw_only=True)
class TimedOperation:
    """All calls in one step of one operation on one set of shapes, with what they took and what they had to take.

    ``least`` is None where the step has no speed of light. ``byte_low`` is what has to pass between cache and DRAM even
    if the cache was full of the operation's inputs before and of its results after every call; ``operation.byte`` is
    the most. ``why`` gives the reason of the limit in a few words.
    """

    operation: Operation
    time_s: float
    least: Least | None
    byte_low: float
    limit: Limit
    why: str

    @property
    def least_s(self) -> float | None:
        return None if self.least is None else self.least.time_s

    @property
    def above_s(self) -> float | None:
        """Time above the speed of light: what a perfect kernel would save. Negative where a roof or count is wrong."""
        return None if self.least_s is None else self.time_s - self.least_s

    @property
    def fraction(self) -> float | None:
        """Speed of light over time."""
        return self.least_s / self.time_s if self.least_s is not None and self.time_s else None

    @property
    def too_fast(self) -> bool:
        """Faster than its speed of light."""
        return self.above_s is not None and self.above_s < 0


@dataclass(frozen=True, slots=True, kw_only=True)
class Group:
    """Operations taken together. ``least_s`` and ``above_s`` are None where the step has no speed of light."""

    name: str
    operations: tuple[TimedOperation, ...]

    @property
    def main_limit(self) -> tuple[Limit, float]:
        """The limit that most of the time is bound by, and how much time."""
        times = [(sum(one.time_s for one in self.operations if one.limit == limit), limit) for limit in LIMITS]
        time_s, limit = max(times, key=lambda pair: pair[0])
        return limit, time_s

    @property
    def calls(self) -> int:
        return sum(one.operation.calls for one in self.operations)

    @property
    def time_s(self) -> float:
        return sum(one.time_s for one in self.operations)

    @property
    def least_s(self) -> float | None:
        return total_of(one.least_s for one in self.operations)

    @property
    def above_s(self) -> float | None:
        return total_of(one.above_s for one in self.operations)


@dataclass(frozen=True, kw_only=True)
class Breakdown:
    """One step taken apart. ``step_s`` is the timed step; ``operations`` have the most time above their bound first.

    ``input_wait_s`` is the part of the step spent waiting for the next batch, None where batches lay ready or it is no
    usable number.
    """

    step_s: float
    sol: SpeedOfLight
    profile: Profile
    operations: tuple[TimedOperation, ...]
    input_wait_s: float | None

    @cached_property
    def operations_s(self) -> float:
        return sum(one.time_s for one in self.operations)

    @property
    def outside_s(self) -> float:
        """Time of the step in no operation; negative where the operations' times add up to more than the step."""
        return self.step_s - self.operations_s

    @property
    def outside_operations_s(self) -> float:
        """The profiler's lines that belong to no counted operation."""
        return sum(one.time_s for one in lines_outside(self.profile))

    @property
    def fraction(self) -> float | None:
        """Speed of light of the step over its time."""
        return None if self.sol.time_s is None else self.sol.time_s / self.step_s

    @property
    def too_fast(self) -> tuple[TimedOperation, ...]:
        return tuple(one for one in self.operations if one.too_fast)

    def light_s(self, term: Literal["compute", "memory"]) -> float | None:
        """The part of the step's speed of light that operations contribute whose longer term is this one."""
        if self.sol.time_s is None:
            return None
        return sum(one.least.time_s for one in self.operations if one.least is not None and _longer(one.least) == term)

    @property
    def has_shares(self) -> bool:
        """True if its operations' times are parts of the timed step. They are of a pass of their own."""
        return not exceeds(self.operations_s, self.step_s)

    def share(self, time_s: float | None) -> float | None:
        """Of the timed step; None where it has no shares."""
        return None if time_s is None or not self.has_shares else time_s / self.step_s

    def by_limit(self) -> tuple[Group, ...]:
        """A group for each limit that occurs, in the order of `LIMITS`; what is undetermined by its reasons."""
        groups = self._groups(lambda one: one.limit if one.limit != "undetermined" else f"{one.limit}: {one.why}")
        return tuple(sorted(groups.values(), key=lambda group: (LIMITS.index(group.main_limit[0]), -group.time_s)))

    def by_kind(self) -> tuple[Group, ...]:
        """Convolution, matmul, normalisation, …: the kind with the most time above its bound first."""
        return tuple(sorted(self._groups(lambda one: one.operation.kind).values(), key=_worst))

    def time_of(self, limit: Limit) -> float:
        return sum(one.time_s for one in self.operations if one.limit == limit)

    def _groups(self, key: Callable[[TimedOperation], str]) -> dict[str, Group]:
        found: dict[str, list[TimedOperation]] = {}
        for one in self.operations:
            found.setdefault(key(one), []).append(one)
        return {name: Group(name=name, operations=tuple(members)) for name, members in found.items()}


def exceeds(total_s: float, step_s: float) -> bool:
    """True if times under the profiler add up to so much more than the timed step that none is a share of it."""
    return total_s > (1 + DISAGREEMENT) * step_s


def why_untimed(record: Record) -> str | None:
    """Give the reason why the step of this record can't be taken apart; None where it can."""
    if record.timing is None or not usable(record.timing.step_time_s):
        return record.missing.get("timing", "no step time")
    if not record.operations:
        return record.missing.get("operations", record.missing.get("work", "its operations were not counted"))
    if record.profile is None or any(operation.time_s is None for operation in record.operations):
        for path in ("operations.time_s", "profile"):
            if path in record.missing:
                return record.missing[path]
        return "its operations have no times"
    return next((why for operation in record.operations if (why := _unusable(operation)) is not None), None)


def lines_outside(profile: Profile) -> tuple[OutsideTime, ...]:
    """The profiler's lines outside of all operations, without those whose numbers can't be calculated with."""
    return tuple(one for one in profile.outside if usable_or_zero(one.time_s) and usable_or_zero(one.calls))


def break_down(record: Record, roofs: Roofs, sol: SpeedOfLight) -> Breakdown | None:
    """Take the step of a record apart, or None: `why_untimed` has the reason.

    :param sol: the speed of light of this record under these roofs.
    """
    if why_untimed(record) is not None or record.timing is None or record.profile is None:
        return None
    latency = roofs.value("latency", "launch")
    timed = [_timed(operation, record.device, roofs, sol, latency) for operation in record.operations]
    wait = record.timing.input_wait_s
    return Breakdown(
        step_s=record.timing.step_time_s,
        sol=sol,
        profile=record.profile,
        operations=tuple(sorted(timed, key=_worst)),
        input_wait_s=wait if wait is not None and usable(wait) else None,
    )


def _timed(
    operation: Operation, device: Device, roofs: Roofs, sol: SpeedOfLight, latency: float | None
) -> TimedOperation:
    bound = None if sol.time_s is None else least(operation, device, roofs)
    time_s = operation.time_s or 0.0
    limit, why = _limit(operation, time_s, bound, roofs, (latency or 0.0) * operation.calls)
    return TimedOperation(
        operation=operation, time_s=time_s, least=bound, byte_low=_byte_low(operation, device), limit=limit, why=why
    )


def _limit(
    operation: Operation, time_s: float, bound: Least | None, roofs: Roofs, launches_s: float
) -> tuple[Limit, str]:
    if time_s == 0:
        return "undetermined", "no time seen"
    if bound is None:
        return "undetermined", "no speed of light"
    if bound.compute_s is None:
        return "undetermined", f"no compute roof for {operation.dtype}"
    if (limit := not_by_roofs(time_s, bound.time_s, launches_s)) is not None:
        return limit
    dram = roofs.value("byte", "dram")
    from_dram = side_of_knee(bound.compute_s, operation.byte / dram) if dram else None
    if bound.level == "dram":
        return concluded(from_dram)
    from_cache = None if bound.memory_s is None else side_of_knee(bound.compute_s, bound.memory_s)
    if from_cache == from_dram or from_cache == "memory":
        return concluded(from_cache)
    if from_cache is None:
        # Whatever the cache's rate, it is no less than DRAM's.
        return ("compute", "arithmetic") if from_dram == "compute" else ("undetermined", "the cache has no roof")
    return "undetermined", "depends on the cache"


def not_by_roofs(time_s: float, least_s: float, launches_s: float) -> tuple[Limit, str] | None:
    """Give the limit of what the roofs don't limit, by its least time under them; None of what they may."""
    if max(least_s, launches_s) < FAR_BELOW * time_s:
        return "undetermined", "far below its roofs"
    return ("launch", "launches take longer") if launches_s > least_s else None


def concluded(side: Side | None, arithmetic: str = "arithmetic", traffic: str = "traffic") -> tuple[Limit, str]:
    """Give the limit on a side of the knee.

    :param arithmetic: the reason of what arithmetic limits; ``traffic`` likewise.
    """
    if side == "compute":
        return "compute", arithmetic
    return ("memory", traffic) if side == "memory" else ("undetermined", NEAR_KNEE)


def _byte_low(operation: Operation, device: Device) -> float:
    """At most a cache full of each call's inputs was there before, and at most one full of its results stays."""
    cache = device.last_level_cache_byte
    return 0.0 if cache is None else max(0.0, operation.byte - 2.0 * cache * operation.calls)


def _longer(bound: Least) -> Literal["compute", "memory"]:
    return "compute" if (bound.compute_s or 0.0) >= (bound.memory_s or 0.0) else "memory"


def _worst(one: TimedOperation | Group) -> float:
    """Sorts the most time above the bound to the front; by time where there is no bound."""
    return -(one.time_s if one.above_s is None else one.above_s)


def _unusable(operation: Operation) -> str | None:
    for name in ("time_s", "calls", "flop", "byte", "working_set_byte"):
        value = getattr(operation, name)
        if not usable_or_zero(value):
            return f"{name} of {operation.name} {operation.shape} is {value:g}: neither 0 nor an amount of a real step"
    return None
