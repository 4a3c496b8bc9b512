"""Tell the machine and the state that a session was measured in, and how two sessions differ in them.

A machine is what decides its speed: the fingerprint, or of another project's file the processor, how many of them, the
system and the architecture (the host's name only where no processor is named). Host names, clock readings and kernel
versions change on one machine and decide nothing. Two files without a fingerprint are of one machine only if they tell
all of that alike: what one of them leaves open may be anything.

Tables and histories tell machines apart by `roofline.model.points.MachineKey`, whose key has the host's name of such
files in it. A CI gives its machines another name in each run, and a gate has to compare them.

The state, clocks and others' load, decides no verdict: it is what may have caused a change that all cases share.
"""

from __future__ import annotations

import statistics
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field

from roofline.model.point_groups import unique_labels
from roofline.results.result import Host, ResultFile
from roofline.schema.amounts import usable
from roofline.schema.record import Rounds
from roofline.text.units import percent, scaled
from roofline.timing import readings


@dataclass(frozen=True, slots=True)
class MachineIdentity:
    """A machine.

    ``parts`` are what it is known by, in pairs of words and values: two that have the same are equal. ``label`` is for
    people. ``hashed`` is what a fingerprint is made from, in words: it says which of it differs, and decides nothing.
    ``device`` and ``key`` tell it from another machine of its label.
    """

    label: str = field(compare=False)
    parts: tuple[tuple[str, str], ...]
    hashed: tuple[tuple[str, str], ...] = field(default=(), compare=False)
    device: str = field(default="", compare=False)
    key: str = field(default="", compare=False)

    @property
    def fingerprint(self) -> str | None:
        return dict(self.parts).get(_FINGERPRINT)


_FINGERPRINT = "fingerprint"
_PROCESSOR = "processor"
_HOST = "host"
NOT_RECORDED = "not recorded"

_OF_A_MAC = ("i386", "arm")
"""What Python calls the processor of any Mac, by the architecture."""


def identity_of(result: ResultFile) -> MachineIdentity:
    """The machine of a result."""
    host, machine = result.host, result.machine
    named: dict[str, str | None]
    hashed: dict[str, str | None] = {}
    if machine is not None:
        named = {
            _PROCESSOR: machine.cpu,
            "device": f"{machine.device.name} ({machine.device.kind})",
            "processor as pytest-benchmark has it": _processor(host),
            _FINGERPRINT: machine.fingerprint,
        }
        device, cache = machine.device, machine.device.last_level_cache_byte
        hashed = {
            "processors": str(machine.limits.get("effective_cpus", machine.cpu_count)),
            "memory": _gib(machine.memory_byte),
            "compute capability": device.compute_capability,
            "device memory": _gib(device.memory_byte),
            "last-level cache": None if cache is None else f"{cache} byte",
        }
    else:
        named = {
            _PROCESSOR: _processor(host),
            "number of processors": None if host.cpus is None else str(host.cpus),
            "system": None if host.system is None else host.system.partition(" ")[0],
            "architecture": host.architecture,
            _HOST: host.node if _processor(host) is None else None,
        }
    told = (host.cpu, host.system) if machine is None else (machine.device.name, machine.fingerprint[-6:])
    return MachineIdentity(
        label=result.machine_label, parts=_known(named), hashed=_known(hashed), device=told[0] or "", key=told[1] or ""
    )


def names_of(machines: Iterable[MachineIdentity]) -> dict[MachineIdentity, str]:
    """A name for each machine: its label, with more where labels are not unique, as every table of machines has it."""
    return unique_labels(
        {machine: machine.label for machine in machines}, lambda machine: machine.device, lambda machine: machine.key
    )


def _processor(host: Host) -> str | None:
    """Where nothing else is known of it, pytest-benchmark has the architecture, which is no processor."""
    return None if host.cpu in (host.architecture, *_OF_A_MAC) else host.cpu


def _known(values: Mapping[str, str | None]) -> tuple[tuple[str, str], ...]:
    return tuple((name, value) for name, value in values.items() if value is not None)


def _gib(byte: int | None) -> str | None:
    """As a fingerprint has it: what a system keeps for itself wobbles."""
    return None if byte is None else f"{(byte + 2**29) // 2**30} GiB"


def machine_difference(base: MachineIdentity, new: MachineIdentity) -> str | None:
    """Say what shows that two machines are not the same, or leaves it open, in words; None where nothing does."""
    of_base, of_new = dict(base.parts), dict(new.parts)
    differing = [name for name in {**of_base, **of_new} if of_base.get(name) != of_new.get(name)]
    proven = [one for one in (base, new) if one.fingerprint is not None]
    if len(proven) > 1:
        differing = [name for name in differing if name in of_base and name in of_new]
    elif proven:
        differing = [_FINGERPRINT]
    elif not {_PROCESSOR, _HOST} & of_base.keys() & of_new.keys() and not differing:
        return "whether it is the same machine is not known: neither processor nor host is recorded"
    if differing == [_FINGERPRINT]:
        of_base, of_new = {**of_base, **dict(base.hashed)}, {**of_new, **dict(new.hashed)}
        hashed = [name for name, _ in base.hashed if name in of_new and of_base[name] != of_new[name]]
        differing = hashed or differing
    named = [name for name in differing if name != _FINGERPRINT] or differing
    told = [f"{name} {of_new.get(name, NOT_RECORDED)}, baseline {of_base.get(name, NOT_RECORDED)}" for name in named]
    return f"another machine: {', '.join(told)}" if told else None


CLOCK_APART = 0.03
"""A change of the device's clock that is reported, relative."""

SHARE_APART = 0.1
"""The same of a share of the rounds."""

MachineState = Mapping[str, float]
"""Name of a reading -> its median over a session's cases. One that no record has is not there."""


def _disturbed_share(rounds: Rounds) -> float | None:
    marks = rounds.disturbed
    return 1 - marks.count(None) / len(marks) if marks else None


def _shares_apart(before: float, now: float) -> bool:
    return abs(now - before) > SHARE_APART


_Reading = tuple[Callable[[Rounds], float | None], Callable[[float, float], bool], Callable[[float], str]]

_READINGS: dict[str, _Reading] = {
    "SM clock": (
        lambda rounds: readings.mean(rounds.sm_clock_hz),
        lambda before, now: usable(before) and abs(now / before - 1) > CLOCK_APART,
        lambda value: scaled(value, "Hz"),
    ),
    "rounds with clocks held down": (readings.throttle_share, _shares_apart, percent),
    "rounds disturbed from outside": (_disturbed_share, _shares_apart, percent),
}
"""What is read of a case, when two sides differ in it, and how it is shown."""


def state_of(cases: Iterable[Rounds]) -> MachineState:
    """Take the median of each reading over a session's cases."""
    rounds = tuple(cases)
    known = {
        name: [value for one in rounds if (value := get(one)) is not None] for name, (get, *_) in _READINGS.items()
    }
    return {name: statistics.median(values) for name, values in known.items() if values}


def state_differences(base: Sequence[MachineState], new: Sequence[MachineState]) -> list[str]:
    """In words what a side's sessions tell otherwise than the other's: ``SM clock 990 MHz, baseline 1.98 GHz``."""
    found = []
    for name, (_, apart, show) in _READINGS.items():
        sides = [[state[name] for state in side if name in state] for side in (base, new)]
        if all(sides):
            before, now = map(statistics.median, sides)
            if apart(before, now):
                found.append(f"{name} {show(now)}, baseline {show(before)}")
    return found
