"""Define what a suite expects of a case: what bounds it, and how near to its limits it comes at least.

Expectations stand in a test's markers (and from there in the record) and in ``expected_bounds.toml``. This module has
their words and values and imports nothing, for the record and everybody's pytest load it.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from functools import cache
from typing import Any, Literal, get_args

BoundClass = Literal["compute", "memory", "launch", "input", "communication", "capacity"]
"""What may bound a step, and so may be expected; `roofline.model.bounds` says what each means."""

ANY = "*"

FLOORS = ("min_fraction_of_roof", "min_fraction_of_speed_of_light")
MARKER_KEYS = ("bound", *FLOORS, "device", "precision")
FILE_KEYS = ("case", *MARKER_KEYS, "fingerprint", "workload_hash", "roofs", "roofs_source")


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
        """Tell whether it is of this case, on the devices it is for."""
        return matches(self.case, case) and matches(self.precision, precision)

    def is_on(self, device: Iterable[str]) -> bool:
        """Tell whether it is for this device.

        :param device: what the device is called: kind, name, the machine's label.
        """
        return any(matches(self.device.casefold(), name.casefold()) for name in device)

    def is_of_machine(self, fingerprint: str) -> bool:
        """Tell whether it was worked out on this machine, or on none in particular."""
        return matches(self.fingerprint, fingerprint)

    def is_of_work(self, workload_hash: str) -> bool:
        """Tell whether it was worked out from this work, or from none in particular."""
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
    given = {key: value for key, value in values.items() if value is not None}
    for key, value in given.items():
        is_right, what = _VALUES[key]
        if not is_right(value):
            raise ExpectationError(f"{key} is {value!r:.60}; use {what}")
    if not given.keys() & {"bound", *FLOORS}:
        raise ExpectationError(f"nothing is expected; give a bound, {' or '.join(FLOORS)}")
    return Expected(**{**given, "roofs": tuple(given.get("roofs", {}).items())}, source=source)


def _is_number(value: object, most: float) -> bool:
    # Compared, not converted: a whole number may be beyond every float. Of what is no number no comparison is true.
    return isinstance(value, int | float) and not isinstance(value, bool) and 0 < value <= most


_VALUES: dict[str, tuple[Callable[[Any], bool], str]] = {
    "bound": (lambda value: value in get_args(BoundClass), f"one of {', '.join(get_args(BoundClass))}"),
    **dict.fromkeys(FLOORS, (lambda value: _is_number(value, 1), "a number above 0 and at most 1, 0.4 for 40 %")),
    **dict.fromkeys(
        ("case", "device", "precision", "fingerprint", "workload_hash"),
        (lambda value: isinstance(value, str) and bool(value.strip()), "a text; * is any"),
    ),
    "roofs": (
        lambda value: isinstance(value, Mapping) and all(_is_number(one, 1e30) for one in value.values()),
        "values above 0, such as { fp32 = 1e13, dram = 1e11 }",
    ),
    "roofs_source": (lambda value: isinstance(value, str), "a text"),
}
"""By key, whether a value is allowed, and which are."""


def why_none(expected: Expected) -> str | None:
    """Say why one that stands in a result, which may have been edited, is no expectation; None where it is one."""
    values = {key: value for key in FILE_KEYS if (value := getattr(expected, key)) is not None}
    values["roofs"] = dict(expected.roofs)
    try:
        expectation(values, FILE_KEYS, expected.source)
    except ExpectationError as error:
        return str(error)
    return None


def matches(pattern: str, text: str) -> bool:
    """Tell whether a text is what the pattern says: ``*`` stands for any text, everything else for itself."""
    return _compiled(pattern).fullmatch(text) is not None


@cache
def _compiled(pattern: str) -> re.Pattern[str]:
    # A file's entries are each held against every case.
    return re.compile(".*".join(map(re.escape, pattern.split("*"))), re.DOTALL)
