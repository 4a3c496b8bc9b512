"""Trials of a test's own making."""

from __future__ import annotations

import math
from typing import Any

from roofline.ab.measuring_in_turns import AbCase, AbResult, Rules, judge_cases
from roofline.ab.messages import PROTOCOL, Hello
from roofline.comparison.effects.paired import PairTurns
from tests.roofline.ab.fakes import side

HELLO = Hello(protocol=PROTOCOL, tests=("a",), cases=("a",), files=(), python="3.12", torch="2.11", plugin="/plugin")


def turns(ratio: float = 1.0, count: int = 9, noise: float = 0.0, *, disturbed: bool = False) -> PairTurns:
    """Turns of 0.1 s whose ratio alternates around ``ratio``; all disturbed, or none."""
    return PairTurns(
        first="base",
        steps=10,
        base_s=(0.1,) * count,
        new_s=tuple(0.1 * ratio * (1 + noise * (-1) ** turn) for turn in range(count)),
        base_disturbed=(None,) * count,
        new_disturbed=("another program" if disturbed else None,) * count,
    )


def case(name: str, *pairs: PairTurns, **of: Any) -> AbCase:
    return AbCase(test=f"test_it.py::test_it[{name}]", case=name, pairs=pairs, **of)


def trial(*cases: AbCase, rules: Rules | None = None) -> AbResult:
    """With the verdicts of a look at all of them."""
    rules = rules or Rules(pairs=2)
    judged = judge_cases({case.test: case for case in cases}, rules)
    return AbResult(
        sides={"base": side("base"), "new": side("new")},
        rules=rules,
        arguments=("-k", "x"),
        cases=tuple(judged.values()),
        hellos={"base": HELLO, "new": HELLO},
        notes=("base: the base; 3 files", "new: the new; 3 files"),
    )


SLOWER = case("slow", turns(1.1), turns(1.1))
SAME = case("same", turns(), turns())
OPEN = case("open", turns(1.0, noise=0.4), turns(1.1, noise=0.4))
BUSY = case("busy", turns(1.05, disturbed=True), turns(1.05, disturbed=True))
SCATTERED = case("scattered", turns(1.4), turns(0.8))
TIMELESS = case("timeless", turns(math.nan), turns(math.nan))
FAILED = case("failed", problem="new: failed: precision\n  | it ran in tf32")
REMOVED = case("old", only_in="base")
NEW = case("young", only_in="new")
SKIPPED = case("left", problem="base: skipped: no; new: skipped: no", skipped=True)
