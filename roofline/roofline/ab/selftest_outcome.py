"""Judge a selftest: unchanged code must pass, a slowdown put in on purpose must be found."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TypeGuard

from roofline.ab.measuring_in_turns import AbCase, AbResult
from roofline.ab.side import MeasuredSide
from roofline.comparison.effects.paired import SideName
from roofline.comparison.effects.verdict import least_detectable
from roofline.show.tables import Table, number, words
from roofline.text.units import counted, percent, signed

SMALL_CASES = "pytest_roofline.ab.selftest_cases"
"""Shipped with the plugin; a name and not a file, for the analysis knows nothing of where that lies."""


@dataclass(frozen=True, slots=True, kw_only=True)
class SelftestCase:
    """One case of unchanged and of slowed code.

    :param slowed: None where the second measurement had no such case.
    :param least_detectable: the least slowdown that would be found here in 19 of 20 tries; None where that isn't known.
    """

    case: str
    unchanged: AbCase
    slowed: AbCase | None
    least_detectable: float | None

    @property
    def failures(self) -> tuple[str, ...]:
        """The wrong verdicts, in words."""
        found = []
        if self.unchanged.outcome in ("slower", "faster"):
            found.append(f"{self.case}: false alarm: unchanged code is called {self.unchanged.outcome}")
        if _is_measured(self.slowed) and self.slowed.outcome != "slower":
            found.append(f"{self.case}: missed: the slowed code is called {self.slowed.outcome}")
        return tuple(found)

    @property
    def compared(self) -> bool:
        """True if it has turns of unchanged and of slowed code."""
        return _is_measured(self.unchanged) and _is_measured(self.slowed)

    @property
    def skipped(self) -> bool:
        """True if the test skips itself."""
        return self.unchanged.outcome == "skipped" and self.slowed is not None and self.slowed.outcome == "skipped"


def _is_measured(case: AbCase | None) -> TypeGuard[AbCase]:
    return case is not None and case.problem is None and case.effect is not None


def unchanged(root: Path, folder: Path, python: str) -> dict[SideName, MeasuredSide]:
    """Make two sides of the same code."""
    base = MeasuredSide(name="base", what="the same code", root=root, folder=folder, tree=root, python=python)
    return {"base": base, "new": replace(base, name="new", what="this code")}


def slowed(sides: Mapping[SideName, MeasuredSide], share: float) -> dict[SideName, MeasuredSide]:
    """Make every step of the new side longer by ``share``. The base waits for the device as the new side does, and no
    longer.
    """
    return {
        "base": replace(sides["base"], slowdown=0.0),
        "new": replace(sides["new"], slowdown=share, what=f"this code, slowed by {percent(share)},"),
    }


def small_case_arguments(folder: Path) -> tuple[str, ...]:
    """pytest's arguments for the shipped cases: no project's settings and conftests, wherever the package lies.

    :param folder: an empty one, for the settings.
    """
    settings = folder / "pytest.ini"
    settings.write_text("[pytest]\n", encoding="utf-8")
    return ("-c", str(settings), "--rootdir", str(folder), "--noconftest", "--pyargs", SMALL_CASES)


def selftest_cases(first: AbResult, second: AbResult) -> tuple[SelftestCase, ...]:
    """Put the cases of unchanged and of slowed code side by side."""
    slow = {case.test: case for case in second.cases}
    rules = first.rules
    level = (1 - rules.look_confidence(rules.pairs)) / max(1, len(first.cases))
    return tuple(
        SelftestCase(
            case=case.case,
            unchanged=case,
            slowed=slow.get(case.test),
            least_detectable=None
            if case.effect is None
            # What is decided early says what it is after fewer pairs than a slowdown has until it is given up.
            else least_detectable(case.effect.after(rules.pairs - len(case.pairs)), rules.least, level),
        )
        for case in first.cases
    )


def selftest_table(cases: tuple[SelftestCase, ...], share: float, notes: tuple[str, ...]) -> Table[SelftestCase]:
    """A row a case; below it what went wrong, and the least slowdown that is found here."""
    known = [case.least_detectable for case in cases if case.least_detectable is not None]
    lines = [f"Each case against itself: unchanged, and slowed by {percent(share)}."]
    lines += [failure for case in cases for failure in case.failures]
    if any(case.failures and case.slowed is not None and case.slowed.outcome == "inconclusive" for case in cases):
        lines.append(
            "Inconclusive is no wrong verdict: the slowdown can't be seen above this hour's noise in the time it has. "
            "Try again in a quieter hour, with a longer --max-time, or with more --pairs."
        )
    if known:
        lines.append(f"Detectable here in 19 of 20 tries: slowdowns from {percent(max(known))} in every case compared.")
    return Table(
        title=_title(cases),
        columns=[
            words("case", dtype="category"),
            number("unchanged_change", "unchanged:\nchange", "unchanged.change", signed, drop=2),
            words("unchanged_verdict", "unchanged:\nverdict", "unchanged.outcome", dtype="category"),
            number("slowed_change", "slowed:\nchange", "slowed.change", signed, drop=1),
            words("slowed_verdict", "slowed:\nverdict", "slowed.outcome", dtype="category"),
            number("least_detectable", "detectable\nfrom", show=percent),
        ],
        rows=cases,
        notes=[*lines, *notes],
    )


def not_compared(cases: tuple[SelftestCase, ...]) -> tuple[SelftestCase, ...]:
    """The cases that should have been compared, and could not be."""
    return tuple(case for case in cases if not case.compared and not case.skipped)


def _title(cases: tuple[SelftestCase, ...]) -> str:
    compared, lost = sum(case.compared for case in cases), len(not_compared(cases))
    if any(case.failures for case in cases):
        verdict = "failed"
    elif not compared:
        verdict = "not made"
    else:
        verdict = "not completed" if lost else "passed"
    return f"Selftest {verdict}: {compared} of {counted(compared + lost, 'case')} compared"
