"""Which machine a result is of, whether two results are of one, and what may explain a difference between them.

A machine is what decides its speed: our fingerprint, the processor and the device. Host names, clock readings and
kernel versions wobble on one machine and decide nothing.

Of another project's file there is no fingerprint: the processor, how many of them, the system and the architecture
stand in for it, and the host's name only where no processor is told. Two such files are of one machine if they tell all
of that alike. What one of them leaves open may be anything: a file that tells less, taken for one of two machines,
would be taken for the other one as well.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field

from roofline.results.reader import Host, ResultFile


@dataclass(frozen=True, slots=True)
class Identity:
    """A machine. ``parts`` are what it is told by, in pairs of words and values; ``label`` is for people. ``hashed`` is
    what a fingerprint is made from, in words: it says which of it differs, and decides nothing.
    """

    label: str
    parts: tuple[tuple[str, str], ...]
    hashed: tuple[tuple[str, str], ...] = field(default=(), compare=False)

    @property
    def proven(self) -> bool:
        """Whether there is a fingerprint."""
        return any(name == _FINGERPRINT for name, _ in self.parts)


_FINGERPRINT = "fingerprint"
_PROCESSOR = "processor"
_HOST = "host"

_OF_A_MAC = ("i386", "arm")
"""What Python calls the processor of any Mac, by the architecture."""


def identity_of(result: ResultFile) -> Identity:
    """The machine of a result."""
    host, machine = result.host, result.machine
    told: dict[str, str | None]
    hashed: dict[str, str | None] = {}
    if machine is not None:
        told = {
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
        told = {
            _PROCESSOR: _processor(host),
            "number of processors": None if host.cpus is None else str(host.cpus),
            "system": None if host.system is None else host.system.partition(" ")[0],
            "architecture": host.architecture,
            _HOST: host.node if _processor(host) is None else None,
        }
    return Identity(label=result.machine_label, parts=_known(told), hashed=_known(hashed))


def _processor(host: Host) -> str | None:
    """Where nothing else is told of it, pytest-benchmark has the architecture, which is no processor."""
    return None if host.cpu in (host.architecture, *_OF_A_MAC) else host.cpu


def _known(values: Mapping[str, str | None]) -> tuple[tuple[str, str], ...]:
    return tuple((name, value) for name, value in values.items() if value is not None)


def _gib(byte: int | None) -> str | None:
    """As a fingerprint has it: what a system keeps for itself wobbles."""
    return None if byte is None else f"{(byte + 2**29) // 2**30} GiB"


def told_apart(base: Identity, new: Identity) -> str | None:
    """What shows that two machines are not the same, in words; None where nothing does."""
    of_base, of_new = dict(base.parts), dict(new.parts)
    if base.proven != new.proven:
        return _not_known("new results" if base.proven else "baseline", [_FINGERPRINT])
    differing = [name for name in of_base if name in of_new and of_base[name] != of_new[name]]
    if not differing:
        return None if base.proven else _left_open(of_base, of_new)
    named = [name for name in differing if name != _FINGERPRINT]
    if not named:
        of_base, of_new = {**of_base, **dict(base.hashed)}, {**of_new, **dict(new.hashed)}
        named = [name for name, _ in base.hashed if name in of_new and of_base[name] != of_new[name]] or differing
    return "another machine: " + ", ".join(f"{name} {of_new[name]}, baseline {of_base[name]}" for name in named)


def _left_open(base: Mapping[str, str], new: Mapping[str, str]) -> str | None:
    """What keeps two machines without a fingerprint from being one, though nothing is told of them that differs."""
    for side, own, other in (("baseline", base, new), ("new results", new, base)):
        # The host's name is told only where there is no processor.
        missing = [name for name in other if name not in own and not (name == _HOST and _PROCESSOR in own)]
        if missing:
            return _not_known(side, missing)
    if not {_PROCESSOR, _HOST} & set(base):
        return "whether it is the same machine is not known: neither processor nor host is told"
    return None


def _not_known(side: str, missing: Sequence[str]) -> str:
    return f"whether it is the same machine is not known: of the {side} no {' and no '.join(missing)} is told"


def setup_of(result: ResultFile) -> Mapping[str, str]:
    """What may make the same code on the same machine faster or slower, in words: versions, threads, limits."""
    host, machine = result.host, result.machine
    if machine is None:
        told = {
            "python": host.python,
            "pytest-benchmark": result.pytest_benchmark_version,
            "system": host.system,
            "host": host.node,
        }
        return {name: value for name, value in told.items() if value is not None}
    threads = {f"threads ({name.replace('_', ' ')})": count for name, count in machine.threads.items()}
    parts = {**machine.versions, **threads, **machine.limits, "system": machine.os, "label": machine.label}
    return {name: str(value) for name, value in parts.items() if value is not None}


def setup_differences(base: Iterable[Mapping[str, str]], new: Iterable[Mapping[str, str]]) -> tuple[str, ...]:
    """What the two sides don't have in common, ``torch 2.14.1, baseline 2.11.0``, and what one side has several of."""
    of_base, of_new = _gathered(base), _gathered(new)
    return tuple(
        f"{name} {_listed(of_new.get(name, ()))}, baseline {_listed(of_base.get(name, ()))}"
        for name in dict.fromkeys((*of_base, *of_new))
        if set(of_base.get(name, ())) != set(of_new.get(name, ()))
    )


def _gathered(setups: Iterable[Mapping[str, str]]) -> dict[str, list[str]]:
    found: dict[str, list[str]] = {}
    for setup in setups:
        for name, value in setup.items():
            values = found.setdefault(name, [])
            if value not in values:
                values.append(value)
    return found


def _listed(values: Sequence[str]) -> str:
    return " and ".join(values) if values else "not told"
