"""From what ``roofline ncu`` reads in ncu's files to the record's counters."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from pytest_roofline.profilers.ncu.run import NotCounted
from pytest_roofline.session import analysis
from roofline.schema.record import Counters, KernelCounters

_NEEDED = ("flop", "dram_byte", "l2_byte", "l1_byte", "time_s")
"""What a step's counters have to have: without one of them the status says so."""

_SUMMED = ("time_s", "dram_byte", "l2_byte", "l1_byte")

_NO_KERNEL = "ncu wrote down no kernel"

_PIPE = "flop_by_pipe."
"""Begins the name of a pipe in an answer's reasons."""


def of_step(files: Sequence[Path], source: str, *, no_flop: str | None = None) -> Counters:
    """The counters of a step in ncu's files: the first of the run for bytes, the others of more runs of the same step.

    ``passes`` are those of the first, ``flop_passes`` those of the others. More than one of the first are told,
    for then its bytes are not those of the step.

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
    found = replace(found, passes=passes, flop_passes=_most_passes(answer, files[1:]))
    if passes is None or passes == 1:
        return found
    replayed = f"the bytes were counted in {passes} passes and not in one: replay changes what the caches hold"
    return replace(found, reason="; ".join(filter(None, (found.reason, replayed))))


def of_flops(file: Path) -> float:
    """The FLOPs in the file of a run that has counted nothing else.

    :raises NotCounted: it can't be read, has no kernel, or lacks some of them.
    """
    answer = _ask([file])
    if not answer["kernels"]:
        raise NotCounted("no_kernels", _NO_KERNEL)
    total = answer["total"]
    if total.get("flop") is None:
        raise NotCounted("missing_metric", (total.get("missing") or {}).get("flop", "not told"))
    return float(total["flop"])


def _ask(files: Sequence[Path]) -> Mapping[str, Any]:
    """The answer of ``roofline ncu``: the files joined launch by launch, then the launches of each kernel together, the
    longest kernel first.
    """
    answer = analysis.ask("ncu", *map(str, files), "--by", "kernel", "--format", "json")
    if answer.code:
        raise NotCounted("failed", f"what ncu wrote can't be read: {answer.err.removeprefix('Error: ')}")
    read: Mapping[str, Any] = json.loads(answer.out)
    return read


def counters(answer: Mapping[str, Any], source: str, *, no_flop: str | None = None) -> Counters:
    """The counters in an answer of ``roofline ncu --format json``.

    :param no_flop: as in `of_step`.
    :raises NotCounted: no kernel is in it.
    """
    total, kernels = answer["total"], answer["kernels"]
    if not kernels:
        raise NotCounted("no_kernels", _NO_KERNEL)
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
        kernels=tuple(_kernel(one, no_flop) for one in kernels),
        metrics=dict(answer.get("metrics") or {}),
        passes=answer.get("passes"),
    )


def _turned(reasons: Mapping[str, str]) -> dict[str, list[str]]:
    """The quantities by their reason."""
    found: dict[str, list[str]] = {}
    for quantity, reason in reasons.items():
        found.setdefault(reason, []).append(quantity)
    return found


def _most_passes(answer: Mapping[str, Any], files: Sequence[Path]) -> int | None:
    """How often a kernel was replayed at most in the runs that these files are of, as far as the answer has them."""
    known = answer.get("passes_by_file") or {}
    passes = [known.get(str(file)) for file in files]
    return max((number for number in passes if number is not None), default=None)


def _kernel(row: Mapping[str, Any], no_flop: str | None) -> KernelCounters:
    """:param no_flop: as in `of_step`: then the FLOPs of no kernel are all of them."""
    by_pipe = row.get("flop_by_pipe")
    return KernelCounters(
        name=row["name"],
        launches=row.get("launches", 1),
        flop_by_pipe=by_pipe,
        flop_lacks=None if by_pipe is None else no_flop or _lacking(row),
        **{name: row.get(name) for name in _SUMMED},
    )


def _lacking(row: Mapping[str, Any]) -> str | None:
    """What a kernel's FLOPs by pipe lack: all of it, or, where only some of its launches have a pipe, that pipe."""
    missing: Mapping[str, str] = row.get("missing") or {}
    if row.get("flop") is None:
        return missing.get("flop", "not told")
    partly = (f"{name.removeprefix(_PIPE)}: {why}" for name, why in missing.items() if name.startswith(_PIPE))
    return next(partly, None)
