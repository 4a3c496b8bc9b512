"""Write the notes below the tables of a step, of its operations and kernels: facts and what makes them less certain."""

from __future__ import annotations

import re
from collections.abc import Sequence

from roofline.counters.counted_kernels import CountedKernel, flop_by_pipe
from roofline.counters.reconciliation import Reconciled
from roofline.model.counter_values import counters_of, tensor_share, unit_fails
from roofline.model.operations import DISAGREEMENT, Breakdown, lines_outside
from roofline.model.points import Point
from roofline.model.speed_of_light import compiled
from roofline.schema.amounts import total_of, usable, usable_or_zero
from roofline.schema.record import Counters, Profile, Record
from roofline.text.units import counted, percent, scaled, shares, significant, some_of
from roofline.text.wrapping import cut

OUTSIDE = "outside of operations"

RESERVATIONS = ("margin", "unsteady", "disturbed", "bimodal")
"""Flags of the timing that say how far the step's time is to be trusted."""

_LISTED = 4


def heading(point: Point) -> str:
    """Case, time of the step, its speed of light."""
    record = point.benchmark.record
    name = f"{point.id} (compiled)" if record is not None and compiled(record) else point.id
    text = f"{name}: {scaled(point.step_time_s, 's')} a step"
    if point.sol.time_s is None:
        return f"{text}, no speed of light"
    return f"{text}, speed of light {scaled(point.sol.time_s, 's')} ({percent(point.fraction_of_sol)})"


def short(name: str) -> str:
    """An operation's name without torch's own namespace."""
    return name.removeprefix("aten::")


def kernel(name: str, width: int) -> str:
    """A kernel's name in at most ``width`` columns of a terminal. Those of inductor end in a number."""
    return cut(name, width, last=9)


def plain_kernel(name: str) -> str:
    """A kernel's name without what many names of C++ have: return type, arguments, torch's own namespaces.

    >>> plain_kernel("void at::native::(anonymous namespace)::softmax_warp<float, 4>(float*, int)")
    'softmax_warp<float, 4>'
    """
    short = name.removeprefix("void ").replace("(anonymous namespace)::", "").replace("at::native::", "")
    return re.sub(r"(?<=\S)\([^()]*\)$", "", short) or name


def about_step(point: Point, step: Breakdown) -> list[str]:
    """Below the table of bounds."""
    flags = [flag for flag in point.flags if flag.invalid or flag.name in (*RESERVATIONS, "uncovered")]
    lines = [f"{'The row is invalid: ' if flag.invalid else ''}{flag.name}: {flag.evidence}" for flag in flags]
    return [*lines, *_light(step), *_outside(step), *about_profile(step.profile, step.step_s)]


def about_operations(step: Breakdown) -> list[str]:
    """Below the table of operations: those that beat their speed of light."""
    return [f"{beats_light(step)}: `roofline ops RESULT CASE --format csv` marks them"] if step.too_fast else []


def beats_light(step: Breakdown) -> str:
    """Say how many operations are faster than their own speed of light."""
    fast = step.too_fast
    return (
        f"Faster than their own speed of light: {counted(len(fast), 'operation')} with"
        f" {part_of_step(step, sum(one.time_s for one in fast))}. There a roof or a count is wrong, or a nearer cache"
        " held the data"
    )


def about_untimed(profile: Profile, step_s: float, why: str) -> list[str]:
    """Below the table of what the profiler saw of a step whose operations have no times."""
    return [
        f"No speed of light for each of these: {why}. What one of them computes is not known, so neither is what it has"
        " to take; the step's own is the larger of all its arithmetic and its least traffic",
        *about_profile(profile, step_s),
        *about_busy(profile, step_s),
    ]


def about_profile(profile: Profile, step_s: float) -> list[str]:
    """Say how the times came about, and whether they agree with the timed step."""
    whose = "of operators on the host" if profile.source == "operators" else "of kernels on the device"
    times = (
        f"Times {whose}: medians of {counted(profile.steps, 'step')} under the profiler, in a pass of its own"
        f" ({scaled(profile.step_s, 's') if usable(profile.step_s) else 'not known how long'} a step there)"
    )
    skipped = len(profile.outside) - len(lines_outside(profile))
    unusable = f"Left out of what the profiler saw: {counted(skipped, 'line')} whose time or calls are no usable number"
    return [times, *([unusable] if skipped else []), *disagreement(profile, step_s)]


def about_busy(profile: Profile, step_s: float | None) -> list[str]:
    """Say how busy the device was in the timed step, and its longest gap; nothing where that isn't known.

    The share is of the step as it was timed: under the profiler launching takes longer, and gaps are wider.
    """
    busy_s, gap_s = profile.device_busy_s, profile.longest_gap_s
    if busy_s is None or step_s is None or not usable(busy_s) or not usable(step_s):
        return []
    busy = f"The device was busy for {percent(busy_s / step_s)} of the step: {scaled(busy_s, 's')} of kernels, copies"
    busy += " and fills, those at the same time counted once"
    if gap_s is not None and usable(gap_s):
        busy += f". The longest gap between two, under the profiler, which widens them: {scaled(gap_s, 's')}"
    return [busy]


def disagreement(profile: Profile, step_s: float) -> list[str]:
    """The notice where all that the profiler saw and the timed step are more than 10 % apart, else nothing."""
    if not usable(profile.step_s) or not usable_or_zero(profile.operations_s):
        return ["The profile's own totals are no usable numbers: whether it agrees with the timed step isn't known"]
    total = profile.operations_s + sum(one.time_s for one in lines_outside(profile))
    apart = total / step_s - 1
    if abs(apart) <= DISAGREEMENT:
        return []
    return [
        f"The profiler's times add up to {scaled(total, 's')}, the timed step took {scaled(step_s, 's')}"
        f" ({'+' if apart > 0 else '-'}{percent(abs(apart))}): another pace there, kernels that overlap, or time of the"
        " host"
    ]


def _light(step: Breakdown) -> list[str]:
    compute, memory, total = step.light_s("compute"), step.light_s("memory"), step.sol.time_s
    if compute is None or memory is None or not total:
        return [f"No speed of light: {step.sol.why_none}"]
    arithmetic, traffic = percent(compute / total), percent(memory / total)
    return [f"Speed of light: {arithmetic} of it for arithmetic, {traffic} for traffic", *step.sol.reservations]


def _outside(step: Breakdown) -> list[str]:
    lines = []
    if step.input_wait_s:
        wait = f"{scaled(step.input_wait_s, 's')} ({percent(step.input_wait_s / step.step_s)} of the step)"
        lines.append(f"{OUTSIDE.capitalize()}: {wait} waiting for the next batch")
    if step.outside_s < 0:
        lines.append(NEGATIVE_OUTSIDE)
    if not step.has_shares:
        lines.append(NO_SHARES)
    seen = lines_outside(step.profile)
    if seen:
        listed = some_of([f"{one.name} ({one.calls:g} x, {scaled(one.time_s, 's')})" for one in seen], _LISTED)
        lines.append(
            f"Seen by the profiler in no counted operation: {scaled(step.outside_operations_s, 's')}: {listed}"
        )
    return lines


NEGATIVE_OUTSIDE = (
    f"{OUTSIDE.capitalize()}: negative, for the operations' times, of the profiler's pass, add up to more than the"
    " timed step"
)

NO_SHARES = (
    "No shares of the step: operations were timed in the profiler's pass and the step in rounds of its own, at another"
    " pace or with kernels that overlap"
)


def part_of_step(step: Breakdown, time_s: float) -> str:
    """A share of the step in words; the time itself where the step has no shares."""
    return f"{percent(step.share(time_s))} of the step" if step.has_shares else scaled(time_s, "s")


def about_status(record: Record | None) -> list[str]:
    """Say why there are no counters, or not all, where they were asked for."""
    counters = None if record is None else record.counters
    if record is None or counters is None or counters.status in ("ok", "not_requested"):
        return []
    why = f"({counters.status}): {counters.reason or 'no reason is given'}"
    if counters_of(record) is not None:
        return [f"Counters are incomplete {why}"]
    return [f"No counters {why}"]


def about_counted(record: Record, kernels: Sequence[CountedKernel]) -> list[str]:
    """Below the table of kernels by counters.

    :param kernels: those of this record's counters.
    """
    counters = counters_of(record)
    if counters is None:
        return []
    launches = sum(one.launches for one in kernels)
    read = f"Read by {counters.source}: " if counters.source else "Read: "
    read += f"{counted(len(kernels), 'kernel')} in {launches} launch{'' if launches == 1 else 'es'}"
    time_s = total_of(one.time_s for one in kernels)
    together = "" if time_s is None else f" of {scaled(time_s, 's')}"
    read += f". Their time{together} is under that profiler, and no timing"
    return [read, *_tensor_cores(kernels), *_unit_check(record, counters)]


def about_reasons(rows: Sequence[Reconciled]) -> list[str]:
    """Below the table of count and counters."""
    return [f"{row.name[0].upper()}{row.name[1:]}: {reason}" for row in rows for reason in row.reasons]


def _tensor_cores(kernels: Sequence[CountedKernel]) -> list[str]:
    """Say whether tensor cores were used, for how much of the FLOPs, and by how many kernels."""
    known = [one for one in kernels if one.flop_by_pipe is not None]
    if not known:
        return ["Tensor cores: not known, for no FLOPs were read"]
    by_pipe = flop_by_pipe(known)
    share = tensor_share(by_pipe)
    if not share:
        return [
            f"Tensor cores: not used{'' if len(known) == len(kernels) else ' by the kernels whose FLOPs were read'}"
        ]
    users = counted(sum(bool(one.tensor_share) for one in known), "kernel")
    return [f"Tensor cores: {percent(share, 3)} of the FLOPs ({shares(by_pipe)}), in {users}"]


def _unit_check(record: Record, counters: Counters) -> list[str]:
    """Say what a product of known size showed of the counters' unit."""
    ratio = counters.unit_check
    why = record.missing.get("counters.unit_check")
    if ratio is None and why is not None:
        return [f"A matrix product of known size, which would show what a counted FLOP is, was not counted: {why}"]
    if ratio is None or not usable(ratio):
        return []
    checked = f"A matrix product of known size was counted at {significant(ratio, 4)} of its FLOPs"
    if not unit_fails(counters):
        return [checked]
    return [f"{checked}: the counters' FLOPs are not to be trusted on this machine"]
