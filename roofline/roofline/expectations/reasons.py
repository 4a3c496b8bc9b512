"""Why a case may not be what was expected of it: the likeliest cause that the record gives evidence for."""

from __future__ import annotations

from roofline.expectations.fraction import roofs_over, why_loud
from roofline.expectations.judging import Claim, Finding
from roofline.machine.roofs import LOUD_SPREAD
from roofline.model.bounds import NEAR_KNEE, STRADDLES, input_share, launch_s
from roofline.model.points import Point
from roofline.schema.record import Record, Roof
from roofline.text.units import percent, scaled

NOTABLE_SHARE = 0.10
"""Waiting or launches of this share of a step, or so many disturbed rounds, are named as a cause of a low fraction."""


def reason(finding: Finding) -> str | None:
    """A sentence for the worst part of a finding; None where nothing in the record tells."""
    if not finding.points or not finding.claims:
        return None
    point = finding.points[-1]
    worst = next((claim for claim in finding.claims if claim.verdict == finding.verdict), None)
    if worst is None or finding.verdict == "held":
        return None
    if worst.verdict == "not_evaluable":
        return _not_evaluable(worst, finding, point)
    if worst.what == "bound":
        return _other_bound(finding, point)
    return _slow(point)


def _not_evaluable(claim: Claim, finding: Finding, point: Point) -> str | None:
    if claim.what == "bound":
        if point.bound.why not in (STRADDLES, NEAR_KNEE):
            return None
        return _published_knee(point) or (
            "what is known of the bytes leaves both sides of the knee open; expect min_fraction_of_speed_of_light of"
            " such a case, and no bound"
        )
    fraction = finding.roof if claim.what == "roof" else finding.speed_of_light
    if fraction is None:
        return None
    for one in finding.points:
        if (loud := why_loud(one)) is not None:
            return f"the machine was busy: {loud}: measure again on a quieter machine"
    if fraction.timing is None:
        return "one window doesn't tell how well its time is known: measure several (--repeats 3)"
    if not fraction.timed:
        return "the time is known to no better than itself: leave the machine alone, and measure longer (--max-time)"
    return next((loud for one in finding.points if (loud := _loud(one)) is not None), None)


def _other_bound(finding: Finding, point: Point) -> str | None:
    record = point.benchmark.record
    assert record is not None
    kind, batch = point.bound.kind, record.case.batch
    if kind == "input":
        return (
            "the loader can't keep up: too few workers (--workers), slow storage or decoding, or another program on its"
            " CPUs"
        )
    if kind == "launch":
        return (
            f"a batch of {batch} is too little work for each launch: a larger batch, or --compile; or something else"
            " holds the host's CPUs"
        )
    if kind == "capacity":
        return f"the device's memory is full at a batch of {batch}, or another process holds part of it"
    table = _published_knee(point) if kind in ("compute", "memory") else None
    if table is not None:
        return table
    loud = _loud(point)
    if loud is not None:
        return f"{loud}, and so the knee is not known well"
    if kind == "memory" and finding.expected.bound == "compute":
        return (
            "more bytes for each FLOP than before (a smaller batch, another layout, a fusion that no longer happens),"
            " or a faster compute roof with the same memory"
        )
    if kind == "compute" and finding.expected.bound == "memory":
        measured = ", or a compute roof measured too low" if point.placement.compute_source != "spec" else ""
        return f"fewer bytes for each FLOP than before (fusion, a larger batch){measured}"
    return None


def _slow(point: Point) -> str:
    """Why a fraction may be low: what disturbed the time, then the roofs, then the step itself."""
    record = point.benchmark.record
    assert record is not None
    flags = {flag.name: flag for flag in point.flags}
    if "disturbed" in flags and _disturbed_share(record) >= NOTABLE_SHARE:
        return f"something else used the machine: {flags['disturbed'].evidence}"
    wait = input_share(record)
    if wait is not None and wait >= NOTABLE_SHARE:
        return f"{percent(wait)} of the step is spent waiting for the next batch"
    launches = launch_s(record, point.roofs)
    if launches is not None and point.step_time_s and launches >= NOTABLE_SHARE * point.step_time_s:
        share = percent(launches / point.step_time_s)
        return f"launches alone take {share} of the step: a batch of {record.case.batch} is too little work for each"
    loud = _loud(point)
    if loud is not None:
        return loud
    taken_over = sorted({roof.from_file for roof in roofs_over(point) if roof.from_file is not None})
    if taken_over:
        return f"the roofs are of an earlier run ({', '.join(taken_over)}), when the machine may have been quieter"
    if any(roof.source == "spec" for roof in roofs_over(point)):
        return "a published roof is more than any kernel reaches: measure the machine's own"
    if "unsteady" in flags:
        return f"the step was not steady when its timing began: {flags['unsteady'].evidence}"
    return (
        "its kernels take longer, or the clocks were lower:"
        f" `roofline ops {point.result.path.name}` says in which operations the time goes"
    )


def _disturbed_share(record: Record) -> float:
    marks = record.timing.rounds.disturbed if record.timing is not None else None
    return sum(mark is not None for mark in marks) / len(marks) if marks else 0.0


def _published_knee(point: Point) -> str | None:
    """That the bound hangs on a table; None where the roofs on both sides of the knee were measured."""
    used = [roof for roof in roofs_over(point) if roof.source == "spec"]
    if not used:
        return None
    told = "; ".join(f"{roof.name} {scaled(roof.value, _unit(roof))} by {roof.detail}" for roof in used)
    return (
        f"the knee is that of a device table ({told}): with another table (--devices) the same results have another"
        " bound. Judge with the table that the expectation was written by, or measure the roofs"
    )


def _unit(roof: Roof) -> str:
    return "FLOP/s" if roof.kind == "flop" else "B/s"


def _loud(point: Point) -> str | None:
    loud = [roof for roof in roofs_over(point) if (roof.spread or 0.0) > LOUD_SPREAD]
    if not loud:
        return None
    told = ", ".join(f"{roof.name} by {percent(roof.spread)}" for roof in loud)
    return f"the roofs were measured on a loud machine (their samples differ: {told})"
