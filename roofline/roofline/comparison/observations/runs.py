"""A run: its machine, code and setup; and how the runs of two sides differ.

The runs of a side are taken for runs of the same code, and on one machine the roofs should be the same. What speaks
against it is reported with the files: another commit, a beginning before the baseline, other roofs.
"""

from __future__ import annotations

import statistics
from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace

from roofline.comparison.observations.observation import disturbed_session, rounds_of
from roofline.comparison.observations.observed_machine import (
    NOT_RECORDED,
    MachineIdentity,
    MachineState,
    identity_of,
    machine_difference,
    state_of,
)
from roofline.results.result import ResultFile
from roofline.schema.amounts import usable
from roofline.schema.session import Roof
from roofline.text.units import minute, scaled, short_commit, some_of


def setup_of(result: ResultFile) -> Mapping[str, str]:
    """Collect what may make the same code on the same machine faster or slower, in words: versions, threads, limits."""
    host, machine = result.host, result.machine
    if machine is None:
        named = {
            "python": host.python,
            "pytest-benchmark": result.pytest_benchmark_version,
            "system": host.system,
            "host": host.node,
        }
        return {name: value for name, value in named.items() if value is not None}
    threads = {f"threads ({name.replace('_', ' ')})": count for name, count in machine.threads.items()}
    parts = {**machine.versions, **threads, **machine.limits, "system": machine.os, "label": machine.label}
    return {name: str(value) for name, value in parts.items() if value is not None}


def setup_differences(base: Iterable[Mapping[str, str]], new: Iterable[Mapping[str, str]]) -> tuple[str, ...]:
    """List what the sides don't have in common, ``torch 2.14.1, baseline 2.11.0``, and what one side has several of."""
    of_base, of_new = sides = defaultdict[str, list[str]](list), defaultdict[str, list[str]](list)
    for found, setups in zip(sides, (base, new), strict=True):
        for name, value in (item for setup in setups for item in setup.items()):
            if value not in found[name]:
                found[name].append(value)
    return tuple(
        f"{name} {_listed(of_new[name])}, baseline {_listed(of_base[name])}"
        for name in dict.fromkeys((*of_base, *of_new))
        if {*of_base[name]} != {*of_new[name]}
    )


def _listed(values: Iterable[str]) -> str:
    return " and ".join(values) or NOT_RECORDED


@dataclass(frozen=True, slots=True, kw_only=True)
class ObservedRun:
    """One session: a run that wrote one file.

    ``not_measured``: id of a case -> why it has no number in it. ``when`` it began: ISO 8601 in UTC, or empty.
    ``disturbed`` is why it says nothing of any case that knows what disturbed it, or empty. ``roofs``: those that it
    measured, without their samples; ``state`` is what the machine told meanwhile. ``incomplete`` says how far it came
    where it did not end; ``not_run`` are the ids of the cases that were planned and not run, which are among
    ``not_measured``, too.
    """

    file: str
    machine: MachineIdentity
    setup: Mapping[str, str]
    when: str
    commit: str | None
    dirty: bool | None
    not_measured: Mapping[str, str]
    disturbed: str = ""
    roofs: tuple[Roof, ...] = ()
    state: MachineState = field(default_factory=dict)
    incomplete: str = ""
    not_run: frozenset[str] = frozenset()


def run_of(result: ResultFile) -> ObservedRun:
    """The session that wrote a file."""
    session = result.session
    roofs = () if session is None else session.roofs
    return ObservedRun(
        file=str(result.path),
        machine=identity_of(result),
        setup=setup_of(result),
        when=result.when,
        commit=result.commit,
        dirty=result.commit_dirty,
        not_measured={} if session is None else {case.id: case.why for case in session.without_number},
        disturbed=disturbed_session(rounds_of(result)) or "",
        roofs=tuple(replace(roof, samples=()) for roof in roofs if roof.source == "measured" and usable(roof.value)),
        state=state_of(rounds_of(result)),
        incomplete="" if session is None else session.why_incomplete or "",
        not_run=frozenset() if session is None else frozenset(session.not_run),
    )


def newest(runs: Iterable[ObservedRun]) -> ObservedRun:
    return max(runs, key=lambda run: run.when)


def code_of(run: ObservedRun) -> str:
    """In words: ``commit 0123456789 with changes``."""
    if run.commit is None:
        return "no commit recorded"
    return f"commit {short_commit(run.commit)}{' with changes' if run.dirty else ''}"


def other_code(side: str, runs: Sequence[ObservedRun]) -> list[str]:
    """At most a line, for the sessions of a side that say that they are of other code than its newest.

    :param side: in words.
    """
    last = newest(runs)
    other = [
        run
        for run in runs
        if run.commit is not None
        and last.commit is not None
        and (run.commit != last.commit or {run.dirty, last.dirty} == {True, False})
    ]
    if not other:
        return []
    return [
        f"{len(other)} of {len(runs)} sessions of the {side} {_are(other)} not of {code_of(last)}, as the newest is,"
        f" and taken for the same code: {some_of([f'{run.file} ({code_of(run)})' for run in other])}"
    ]


def before_the_baseline(base: Sequence[ObservedRun], new: Sequence[ObservedRun]) -> list[str]:
    """At most a line, for new sessions that a run can't have written that was measured after the baseline.

    Where only some began before it, those that are surely of the newest one's code are left out: the sides took turns.
    """
    first, last = min(run.when for run in base), newest(new)
    before = [run for run in new if run.when and run.when < first]
    if len(before) < len(new):
        before = [run for run in before if not _same_code(run, last)]
    stale = [f"{run.file} ({minute(run.when)} UTC)" for run in before]
    if not stale:
        return []
    return [
        f"{len(stale)} of {len(new)} sessions of the new side began before the baseline ({minute(first)} UTC):"
        f" {_are(stale)} {some_of(stale)} of another run?"
    ]


def _same_code(run: ObservedRun, last: ObservedRun) -> bool:
    """Tell whether they say that they are: not where there were changes, for these may have been others."""
    return run.commit is not None and run.commit == last.commit and run.dirty is last.dirty is False


def _are(some: Sequence[object]) -> str:
    return "is" if len(some) == 1 else "are"


_LEVELS = ("dram", "llc")


def changed_roofs(base: Sequence[ObservedRun], new: Sequence[ObservedRun]) -> list[str]:
    """The roofs of one machine that differ between the sides, with both values; none of different machines."""
    if base[0].machine.fingerprint is None or any(
        machine_difference(base[0].machine, run.machine) is not None for run in (*base[1:], *new)
    ):
        return []
    of_base, of_new = _by_name(base), _by_name(new)
    return [
        f"{name} {_value(of_new[name])}, baseline {_value(of_base[name])}"
        for name in of_base
        if name in of_new and _apart(of_base[name], of_new[name])
    ]


def _by_name(runs: Iterable[ObservedRun]) -> dict[str, list[Roof]]:
    """The roofs that the least time of a step is worked out from: no links, and no launches."""
    found: dict[str, list[Roof]] = {}
    for run in runs:
        for roof in run.roofs:
            if roof.kind == "flop" or roof.name in _LEVELS:
                found.setdefault(roof.name, []).append(roof)
    return found


def _apart(base: Sequence[Roof], new: Sequence[Roof]) -> bool:
    """Tell whether all samples of one side lie below all of the other's: of each roof the best is the value."""
    (base_low, base_high), (new_low, new_high) = _ends(base), _ends(new)
    return base_high < new_low or new_high < base_low


def _ends(roofs: Sequence[Roof]) -> tuple[float, float]:
    worst = min(roof.value * (1 - min(1.0, abs(roof.spread or 0.0))) for roof in roofs)
    return worst, max(roof.value for roof in roofs)


def _value(roofs: Sequence[Roof]) -> str:
    return scaled(statistics.median(roof.value for roof in roofs), roofs[0].unit)
