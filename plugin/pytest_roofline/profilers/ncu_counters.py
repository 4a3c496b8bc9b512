"""From what ``roofline ncu`` reads in ncu's files to the record's counters."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from pytest_roofline import analysis
from pytest_roofline.profilers.ncu_run import NotCounted
from roofline.record import Counters, KernelCounters

_NEEDED = ("flop", "dram_byte", "l2_byte", "l1_byte", "time_s")
"""What a step's counters have to have: without one of them the status says so."""

_SUMMED = ("time_s", "dram_byte", "l2_byte", "l1_byte")


def of_step(files: Sequence[Path], source: str, *, no_flop: str | None = None) -> Counters:
    """The counters of a step in ncu's files: the first of the run for bytes, the others of more runs of the same step.

    ``passes`` are those of the first; more than one are told, for then its bytes are not those of the step.

    :param source: the program that wrote them.
    :param no_flop: why there are no FLOPs, whatever stands in the files; None where they tell them.
    :raises NotCounted: the first can't be read, or has no kernel.
    """
    first = _ask(files[:1])
    try:
        answer = _ask(files) if files[1:] else first
    except NotCounted as refusal:
        answer, no_flop = first, no_flop or refusal.reason
    found = counters(answer, source, no_flop=no_flop)
    passes = first.get("passes")
    if passes is None or passes == 1:
        return replace(found, passes=passes)
    replayed = f"the bytes were counted in {passes} passes and not in one: replay changes what the caches hold"
    return replace(found, passes=passes, reason="; ".join(filter(None, (found.reason, replayed))))


def of_flops(file: Path, source: str) -> Counters:
    """The counters in the file of a run that has counted FLOPs alone.

    :raises NotCounted: it can't be read, or has no kernel.
    """
    return counters(_ask([file]), source)


def _ask(files: Sequence[Path]) -> Mapping[str, Any]:
    """The answer of ``roofline ncu``, which joins the files launch by launch."""
    answer = analysis.ask("ncu", *map(str, files), "--format", "json")
    if answer.code:
        raise NotCounted("failed", f"what ncu wrote can't be read: {answer.err.removeprefix('Error: ')}")
    read: Mapping[str, Any] = json.loads(answer.out)
    return read


def counters(answer: Mapping[str, Any], source: str, *, no_flop: str | None = None) -> Counters:
    """The counters in an answer of ``roofline ncu --format json``.

    :param no_flop: as in `of_step`.
    :raises NotCounted: no kernel is in it.
    """
    total, launches = answer["total"], answer["kernels"]
    if not launches:
        raise NotCounted("no_kernels", "ncu wrote down no kernel")
    reasons = total.get("missing") or {}
    if no_flop is not None:
        total, reasons = {**total, "flop": None}, {**reasons, "flop": no_flop}
    lacking = {name: reasons.get(name, "not told") for name in _NEEDED if total.get(name) is None}
    return Counters(
        status="missing_metric" if lacking else "ok",
        source=source,
        reason="; ".join(f"{', '.join(names)}: {why}" for why, names in _turned(lacking).items()) or None,
        flop=total.get("flop"),
        dram_byte=total.get("dram_byte"),
        dram_read_byte=total.get("dram_read_byte"),
        dram_write_byte=total.get("dram_write_byte"),
        l2_byte=total.get("l2_byte"),
        l1_byte=total.get("l1_byte"),
        time_s=total.get("time_s"),
        flop_by_pipe=total.get("flop_by_pipe"),
        kernels=_by_name(launches),
        metrics=dict(answer.get("metrics") or {}),
        passes=answer.get("passes"),
    )


def _turned(reasons: Mapping[str, str]) -> dict[str, list[str]]:
    """The quantities by their reason."""
    found: dict[str, list[str]] = {}
    for quantity, reason in reasons.items():
        found.setdefault(reason, []).append(quantity)
    return found


def _by_name(launches: Iterable[Mapping[str, Any]]) -> tuple[KernelCounters, ...]:
    """The launches of each kernel together, longest first. A sum that lacks one of its parts is None."""
    found: dict[str, KernelCounters] = {}
    for launch in launches:
        one = KernelCounters(
            name=launch["name"],
            launches=launch.get("launches", 1),
            flop_by_pipe=launch.get("flop_by_pipe"),
            **{name: launch.get(name) for name in _SUMMED},
        )
        found[one.name] = _together(found[one.name], one) if one.name in found else one
    return tuple(sorted(found.values(), key=lambda kernel: -(kernel.time_s or 0.0)))


def _together(first: KernelCounters, second: KernelCounters) -> KernelCounters:
    pipes = None
    if first.flop_by_pipe is not None and second.flop_by_pipe is not None:
        both = [name for name in first.flop_by_pipe if name in second.flop_by_pipe]
        pipes = {name: first.flop_by_pipe[name] + second.flop_by_pipe[name] for name in both}
    sums: dict[str, Any] = {name: _sum(getattr(first, name), getattr(second, name)) for name in _SUMMED}
    return replace(first, launches=first.launches + second.launches, flop_by_pipe=pipes, **sums)


def _sum(first: float | None, second: float | None) -> float | None:
    return None if first is None or second is None else first + second
