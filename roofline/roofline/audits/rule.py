"""Define a rule, and run one.

A rule is a function from all rows to what it examined: None for what it found in order, a `Contradiction` for what it
did not. So it is known of every rule how much it had to look at: silence of a rule that saw nothing means nothing.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass

from roofline.audits.known_models import KnownModels
from roofline.audits.row import StatedRow
from roofline.machine.published import DeviceTable


@dataclass(frozen=True, slots=True, kw_only=True)
class Contradiction:
    """``row`` is the one to look at first, ``others`` those that share its fault."""

    row: StatedRow
    arithmetic: str
    others: tuple[StatedRow, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class Known:
    """The knowledge of the rules beside the rows."""

    devices: DeviceTable
    models: KnownModels


Check = Callable[[Sequence[StatedRow], Known, float], Iterator[Contradiction | None]]


@dataclass(frozen=True, slots=True, kw_only=True)
class Rule:
    """``title`` is the contradiction in a few words, ``meaning`` what follows from it and what it is computed from.

    ``tolerance`` is the relative difference up to which two figures agree, beyond what their printed digits may hide;
    None for a rule that compares nothing of the kind.
    """

    name: str
    title: str
    meaning: str
    tolerance: float | None
    check: Check


@dataclass(frozen=True, slots=True, kw_only=True)
class RuleResult:
    """The findings of one rule: ``examined`` counts what it could be applied to."""

    rule: Rule
    examined: int
    contradictions: tuple[Contradiction, ...]


def rule(title: str, *, tolerance: float | None = None) -> Callable[[Check], Rule]:
    """Make a rule of a function: its name is the rule's, its docstring the meaning.

    A function without a tolerance is handed 0.
    """

    def register(check: Check) -> Rule:
        meaning = " ".join(inspect.cleandoc(check.__doc__ or "").split())
        return Rule(name=check.__name__, title=title, meaning=meaning, tolerance=tolerance, check=check)

    return register


def run(rule: Rule, rows: Sequence[StatedRow], known: Known, tolerance: float | None = None) -> RuleResult:
    """Apply one rule.

    :param tolerance: instead of the rule's own; ignored by a rule that has none.
    """
    used = 0.0 if rule.tolerance is None else rule.tolerance if tolerance is None else tolerance
    examined = list(rule.check(rows, known, used))
    return RuleResult(
        rule=rule, examined=len(examined), contradictions=tuple(one for one in examined if one is not None)
    )
