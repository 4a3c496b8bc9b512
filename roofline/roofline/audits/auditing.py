"""All rules over all files."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace

from roofline.audits.known_models import load
from roofline.audits.row import StatedRow
from roofline.audits.rule import Known, Rule, RuleResult, run
from roofline.audits.rules import RULES
from roofline.machine.published import DeviceTable


@dataclass(frozen=True, slots=True, kw_only=True)
class Audit:
    """The rows that were read and the results of the rules."""

    rows: tuple[StatedRow, ...]
    results: tuple[RuleResult, ...]

    @property
    def contradicted(self) -> bool:
        return any(result.contradictions for result in self.results)

    @property
    def examined(self) -> int:
        """The number of times that a rule had something to look at. 0: this audit says nothing."""
        return sum(result.examined for result in self.results)


def audit(
    rows: Sequence[StatedRow],
    devices: DeviceTable,
    tolerances: Mapping[str, float] | None = None,
    rules: Iterable[Rule] = RULES,
) -> Audit:
    """Apply rules to rows of any number of files.

    :param tolerances: by the name of a rule, instead of its own.
    """
    known = Known(devices=devices, models=load())
    chosen = tolerances or {}
    results = tuple(run(rule, rows, known, chosen.get(rule.name)) for rule in rules)
    return Audit(rows=tuple(rows), results=results)


def on_devices(rows: Iterable[StatedRow], names: Mapping[str, str], otherwise: str | None) -> tuple[StatedRow, ...]:
    """The rows with the full names of their devices in place of what the table calls them.

    :param names: a table's word -> the name in the table of published roofs.
    :param otherwise: the device of rows that state none.
    """
    renamed = []
    for row in rows:
        device = otherwise if row.device is None else names.get(row.device, row.device)
        kind = row.device_kind if device == row.device else row.device_kind or "accelerator"
        renamed.append(replace(row, device=device, device_kind=kind))
    return tuple(renamed)
