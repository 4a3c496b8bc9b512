"""Numbers as people read them. Inside everything is SI base units; this is the edge."""

from __future__ import annotations

import math
import re
from collections.abc import Mapping, Sequence
from functools import cache

_PREFIXES = (
    (1e15, "P"),
    (1e12, "T"),
    (1e9, "G"),
    (1e6, "M"),
    (1e3, "k"),
    (1.0, ""),
    (1e-3, "m"),
    (1e-6, "µ"),
    (1e-9, "n"),
)


_BY_ENDING = {
    "flop_per_s": "FLOP/s",
    "byte_per_s": "B/s",
    "flop_per_byte": "FLOP/B",
    "instructions_per_cycle": "instructions/cycle",
    "samples_per_s": "samples/s",
    "flop": "FLOP",
    "mac": "MAC",
    "byte": "B",
    "hz": "Hz",
    "s": "s",
    "w": "W",
    "j": "J",
    "c": "°C",
}
_AFTER_THE_UNIT = re.compile(r"(_low|_high|_sd|_per_step|_per_sample)+$")
_RELATIVE = re.compile(
    r"(.*_)?fraction_of_.*|(.*_)?share(_.*)?|margin|spread|between_sessions|within_session|confidence|speed_up"
    r"|(.*_)?change|drift|scatter|chance|least_effect|least_detectable|.*_over_.*|.*_slowest_round"
)


@cache
def unit_of(name: str) -> str | None:
    """Name the unit that a figure's name says: ``unit_of("step_time_s")`` is "s", of a share "1"; None without one."""
    name = _AFTER_THE_UNIT.sub("", name)
    if _RELATIVE.fullmatch(name):
        return "1"
    return next((unit for ending, unit in _BY_ENDING.items() if f"_{name}".endswith(f"_{ending}")), None)


def scaled(value: float | None, unit: str, digits: int = 3) -> str:
    """``value`` in ``unit`` with an SI prefix and ``digits`` significant digits: ``scaled(0.0025, "s")`` is "2.50 ms".

    None gives ``-``.
    """
    if value is None or not math.isfinite(value):
        return "-"
    if value == 0:
        return f"0 {unit}"
    # Rounded first: 999.96 is "1.00 k", not "1000".
    rounded = float(f"{value:.{digits - 1}e}")
    factor, prefix = next(((f, p) for f, p in _PREFIXES if abs(rounded) >= f), _PREFIXES[-1])
    return f"{significant(rounded / factor, digits)} {prefix}{unit}"


def significant(value: float | None, digits: int = 3) -> str:
    """``value`` with ``digits`` significant digits and no exponent: ``significant(12345.6)`` is ``12346``."""
    if value is None or not math.isfinite(value):
        return "-"
    if value == 0:
        return "0"
    exponent = int(f"{value:.{digits - 1}e}".split("e")[1])
    return f"{value:.{max(0, digits - 1 - exponent)}f}"


def percent(fraction: float | None, digits: int = 2) -> str:
    """``fraction`` as a percentage with ``digits`` significant digits: ``percent(0.0712)`` is ``7.1 %``."""
    return "-" if fraction is None or not math.isfinite(fraction) else f"{significant(100 * fraction, digits)} %"


def minute(time: str) -> str:
    """A time of a record to the minute: ``minute("2026-11-20T10:00:00+00:00")`` is ``2026-11-20 10:00``."""
    return time[:16].replace("T", " ")


def short_commit(commit: str) -> str:
    """As many digits of a commit as tell it apart."""
    return commit[:10]


def percent_of(fraction: float) -> str:
    """Under a heading that says percent: ``percent_of(0.0712)`` is ``7.1``."""
    return significant(100 * fraction, 2)


def prefixed(value: float) -> str:
    """Under a heading that says the unit: ``prefixed(1.2e12)`` is ``1.20 T``."""
    return scaled(value, "").strip()


def signed(change: float) -> str:
    """``signed(0.0512)`` is ``+5.1 %``."""
    percent = round(100 * change, 1)
    return f"{percent:+.1f} %" if percent else "0.0 %"


def signed_range(ends: Sequence[float]) -> str:
    """``signed_range((-0.057, 0.0512))`` is ``-5.7 to +5.1 %``."""
    low, high = map(signed, ends)
    return f"{low.removesuffix(' %')} to {high}"


def counted(count: int, thing: str) -> str:
    """``counted(1, "case")`` is ``1 case``, and of any other number they are ``cases``."""
    return f"{count} {thing}{'' if count == 1 else 's'}"


def some_of(names: Sequence[str], shown: int = 3) -> str:
    """The first names, and how many more there are: ``some_of(["a", "b", "c"], 2)`` is ``a, b and 1 more``."""
    more = f" and {len(names) - shown} more" if len(names) > shown else ""
    return ", ".join(names[:shown]) + more


MOST_SHOWN = 2
"""Lines of a kind, and cases that a line names, below a table, unless all are asked for."""


def named(names: Sequence[str], *, verbose: bool) -> str:
    """The names in a line below a table, the first `MOST_SHOWN` of them or all."""
    return ", ".join(names) if verbose else some_of(names, MOST_SHOWN)


SHOWS_ALL = "(-v shows all)"
"""Ends a line that leaves some out. A document has no ``-v``: `in_document` names the command that has."""


def in_document(text: str) -> str:
    """Say in a document what is below a table of verdicts."""
    return text.replace(SHOWS_ALL, "(`roofline check -v` shows all)")


def first_lines(kind: str, lines: Sequence[str], *, verbose: bool, counts: Sequence[int] | None = None) -> list[str]:
    """Lines of one kind below a table: the first `MOST_SHOWN` of them, and how much the others are of; or all.

    :param verbose: all of them, and all names in each (`named`).
    :param counts: how many cases, files, or whatever is counted of the kind, each line is of. Default: one.
    """
    shown = len(lines) if verbose else MOST_SHOWN
    rest = sum((counts or [1] * len(lines))[shown:])
    return [*lines[:shown], *([f"{kind}: and {rest} more {SHOWS_ALL}"] if rest else [])]


def shares(amounts: Mapping[str, float]) -> str:
    """Who has which share of the sum, largest first: ``99.9 % bf16, 0.100 % fp32``. Empty where there is nothing."""
    ranked = sorted(((name, amount) for name, amount in amounts.items() if amount > 0), key=lambda pair: -pair[1])
    total = sum(amount for _, amount in ranked)
    return ", ".join(f"{percent(amount / total, 3)} {name}" for name, amount in ranked)
