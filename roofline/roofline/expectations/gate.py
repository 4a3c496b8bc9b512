"""Whether results pass by what is expected of them; what is in the way in words, as in `comparison.gate`.

An entry of a device that nobody knows passes with a warning, and does not under ``strict``: it was meant to expect
something.
"""

from __future__ import annotations

from roofline.comparison.gate import Gate, lines_of_unreadable
from roofline.expectations.bounds_table import summary
from roofline.expectations.unmatched import Checked
from roofline.text.units import first_lines


def expected_gate(checked: Checked, *, strict: bool, in_full: bool = True) -> Gate:
    """The outcome of a check against expected bounds: one line for all findings, for each has its row and note.

    :param in_full: with a line for each file. Else only the first of a kind have theirs.
    """
    failures = [] if checked.all_held else [f"Expected bounds: {summary(checked)}"]
    failures += lines_of_unreadable(checked.unreadable, in_full=in_full)
    failures += first_lines("runs that did not end", [(line, 1) for line in checked.incomplete], in_full=in_full)
    warnings: list[str] = []
    (failures if strict else warnings).extend(checked.unknown_devices)
    return Gate(
        exit_code=checked.exit_code or (3 if failures else 0),
        failures=tuple(failures),
        warnings=tuple(warnings),
        strict=strict,
    )
