"""What a suite expects of a case: what bounds it, and how near to its limits it comes at least.

Expectations stand in a test's markers (and from there in the record) and in ``expected_bounds.toml``. This module has
their words and values and imports nothing, for the record and everybody's pytest load it.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any, Literal, get_args

BoundClass = Literal["compute", "memory", "launch", "input", "communication", "capacity"]
"""What may bound a step, and so may be expected; `roofline.model.bounds` says what each means."""

ANY = "*"

FLOORS = ("min_fraction_of_roof", "min_fraction_of_speed_of_light")
MARKER_KEYS = ("bound", *FLOORS, "device", "precision")
FILE_KEYS = ("case", *MARKER_KEYS, "fingerprint", "workload_hash", "roofs", "roofs_source")
_PATTERNS = {
    "case": "'resnet18-train-*'",
    "device": "'cuda' or 'NVIDIA A100*'",
    "precision": "'fp32'",
    "fingerprint": "'9f2c0d5ae1b34877', the machine's in its results",
    "workload_hash": "'4b1d7a90c3e85f26', the case's in its results",
}
"""Keys that hold a pattern, and an example of each."""


class ExpectationError(ValueError):
    """An expectation that can't be used. The message names key and value, and says what is allowed."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Expected:
    """One expectation: at least one of the bound and the two floors.

    The floors are fractions, above 0 and at most 1: of what the roofs allow at the step's intensity, and of the speed
    of light (least time / step time). ``case`` is a pattern of the case's id, ``precision`` of its precision,
    ``device`` of the kind of device (``cuda``), its name or the machine's label; ``*`` stands for any text. These
    choose what it is for. ``fingerprint`` (of a machine) and ``workload_hash`` (of a case) are what it was worked out
    from: of another machine of that name, or of other work under that id, it says nothing. ``roofs`` are the names and
    values (FLOP/s, byte/s) of those it was locked under, none where it wasn't or by an older version, ``roofs_source``
    where these came from. ``source`` tells where it was written, for messages.
    """

    bound: BoundClass | None = None
    min_fraction_of_roof: float | None = None
    min_fraction_of_speed_of_light: float | None = None
    case: str = ANY
    device: str = ANY
    precision: str = ANY
    fingerprint: str = ANY
    workload_hash: str = ANY
    roofs: tuple[tuple[str, float], ...] = ()
    roofs_source: str = ""
    source: str

    def is_for(self, *, case: str, precision: str) -> bool:
        """Whether it is of this case, on the devices it is for."""
        return matches(self.case, case) and matches(self.precision, precision)

    def is_on(self, device: Iterable[str]) -> bool:
        """Whether it is for this device.

        :param device: what the device is called: kind, name, the machine's label.
        """
        return any(matches(self.device.casefold(), name.casefold()) for name in device)

    def is_of_machine(self, fingerprint: str) -> bool:
        """Whether it was worked out on this machine, or on none in particular."""
        return matches(self.fingerprint, fingerprint)

    def is_of_work(self, workload_hash: str) -> bool:
        """Whether it was worked out from this work, or from none in particular."""
        return matches(self.workload_hash, workload_hash)


def own_of(entries: Iterable[Expected], fingerprint: str) -> tuple[Expected, ...]:
    """A file's entries that a machine has to do with: all of them, or, where the file knows the machine (one is of its
    very fingerprint), those that aren't of another one.

    Machines may share a label, and what is locked on one may be undetermined on the other: beside its own entries those
    of a namesake are none of its business. A machine that the file doesn't know may be one that was changed since: of a
    case that is there they tell so.
    """
    entries = tuple(entries)
    if any(one.fingerprint != ANY and one.is_of_machine(fingerprint) for one in entries):
        return tuple(one for one in entries if one.is_of_machine(fingerprint))
    return entries


def expectation(values: Mapping[str, Any], allowed: tuple[str, ...], source: str) -> Expected:
    """Check what somebody wrote.

    :param allowed: the keys that may be given there: `MARKER_KEYS` or `FILE_KEYS`.
    :param source: where it stands.
    :raises ExpectationError: an unknown key, a value that is not allowed, or nothing that could be violated.
    """
    unknown = sorted(set(values) - set(allowed))
    if unknown:
        raise ExpectationError(f"unknown key {unknown[0]!r}; allowed are {', '.join(allowed)}")
    bound = values.get("bound")
    if bound is not None and bound not in get_args(BoundClass):
        raise ExpectationError(f"bound is {_shown(bound)}; use one of {', '.join(get_args(BoundClass))}")
    floors = {key: _fraction(key, values[key]) for key in FLOORS if values.get(key) is not None}
    if bound is None and not floors:
        raise ExpectationError(f"nothing is expected; give a bound, {' or '.join(FLOORS)}")
    patterns = {key: _pattern(key, values[key]) for key in _PATTERNS if values.get(key) is not None}
    return Expected(
        bound=bound,
        min_fraction_of_roof=floors.get("min_fraction_of_roof"),
        min_fraction_of_speed_of_light=floors.get("min_fraction_of_speed_of_light"),
        case=patterns.get("case", ANY),
        device=patterns.get("device", ANY),
        precision=patterns.get("precision", ANY),
        fingerprint=patterns.get("fingerprint", ANY),
        workload_hash=patterns.get("workload_hash", ANY),
        roofs=_roofs(values.get("roofs") or {}),
        roofs_source=str(values.get("roofs_source") or ""),
        source=source,
    )


def why_none(expected: Expected) -> str | None:
    """Why one that stands in a result, which may have been edited, is no expectation; None where it is one."""
    values = {key: value for key in FILE_KEYS if (value := getattr(expected, key)) is not None}
    values["roofs"] = dict(expected.roofs)
    try:
        expectation(values, FILE_KEYS, expected.source)
    except ExpectationError as error:
        return str(error)
    return None


def _fraction(key: str, value: object) -> float:
    # Compared, not converted: a whole number may be beyond every float. Of what is no number no comparison is true.
    if isinstance(value, bool) or not isinstance(value, int | float) or not 0 < value <= 1:
        raise ExpectationError(f"{key} is {_shown(value)}; use a number above 0 and at most 1, such as 0.4 for 40 %")
    return float(value)


def _roofs(value: object) -> tuple[tuple[str, float], ...]:
    usable = isinstance(value, Mapping) and all(
        isinstance(one, int | float) and not isinstance(one, bool) and 0 < one < _NO_ROOF for one in value.values()
    )
    if not isinstance(value, Mapping) or not usable:
        raise ExpectationError(f"roofs is {_shown(value)}; use values above 0, such as {{ fp32 = 1e13, dram = 1e11 }}")
    return tuple((str(name), float(one)) for name, one in value.items())


_NO_ROOF = 1e30


def _pattern(key: str, value: object) -> str:
    if not isinstance(value, str) or not value.strip():
        raise ExpectationError(f"{key} is {_shown(value)}; use a text such as {_PATTERNS[key]}")
    return value


def _shown(value: object) -> str:
    """What somebody wrote, for a message: not the whole of hundreds of digits."""
    try:
        text = repr(value)
    except ValueError:  # Python writes no number of more than sys.get_int_max_str_digits()
        return f"an {type(value).__name__} that is too long to show"
    return text if len(text) <= _LONGEST_SHOWN else f"{text[: _LONGEST_SHOWN - 3]}..."


_LONGEST_SHOWN = 60


def matches(pattern: str, text: str) -> bool:
    """Whether a text is what the pattern says: ``*`` stands for any text, everything else for itself."""
    return re.fullmatch(".*".join(map(re.escape, pattern.split("*"))), text, re.DOTALL) is not None
