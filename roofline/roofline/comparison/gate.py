"""Turn what was found into an exit code, with a line for each thing in the way: the one policy of every gate.

`GATE_RULES` is all of it. Who compares, holds results against expected bounds or measures in turns gives each thing
that it found under a situation's name (its `found_in`), and `judge` makes the outcome.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

from roofline.comparison.judged_case import BETTER, MATCHED
from roofline.comparison.sides.compared_figures import FigureOutcome
from roofline.text.units import counted

WARNING = 0
"""The exit code of a situation that passes: it is reported all the same."""


@dataclass(frozen=True, slots=True)
class GateRule:
    """The exit code that a situation comes to: 1, 3, or `WARNING`; by default and with either option.

    :param meaning: what the situation is, in a few words.
    """

    default: int
    meaning: str
    strict: int | None = None
    allow_removed: int | None = None

    def code(self, *, strict: bool, allow_removed: bool) -> int:
        if allow_removed and self.allow_removed is not None:
            return self.allow_removed
        return self.strict if strict and self.strict is not None else self.default


GATE_RULES = {
    "slower": GateRule(1, "shown not to be chance, and large enough to matter"),
    "more": GateRule(1, "the same of memory, energy or work; of counted ones, more by what matters"),
    "all together": GateRule(1, "cases share a change that is slower, or more, whatever each shows by itself"),
    "not as expected": GateRule(1, "another bound than is expected, or a floor that is missed"),
    "nothing to judge": GateRule(3, "no case matched, or none was left alone by the machine"),
    "not comparable": GateRule(
        3, "another machine, device, workload or unit; a proof that the new side lacks; by roof, other work"
    ),
    "invalid": GateRule(
        3, "a row that is disproved, failed, contradicts itself or has no number, in half or more of the new sessions"
    ),
    "run not ended": GateRule(3, "a new run that was killed"),
    "removed": GateRule(3, "renamed, moved, or missing from half or more of the new sessions", allow_removed=WARNING),
    "all together, disturbed": GateRule(
        3, "cases share a change that is slower, or more, in an hour full of other programs, which may be why"
    ),
    "within the floor": GateRule(3, "a case that is no longer than `--floor`"),
    "expectation not judged": GateRule(3, "not measured, undetermined, or nothing is expected"),
    "history too short": GateRule(
        3, "`roofline history`: a case with too few points, since the revision or before, to see a change"
    ),
    "file not read": GateRule(3, "broken, in part too, or without results, in a folder too"),
    "invalid before, too": GateRule(WARNING, "the same kind of fault in the baseline: nothing was lost", strict=3),
    "stale session": GateRule(
        WARNING, "a new session older than the baseline, or of another commit than the newest", strict=3
    ),
    "baseline run not ended": GateRule(WARNING, "it was killed", strict=3),
    "sessions missing": GateRule(
        WARNING, "fewer than half of the new sessions lack the case, or any of the baseline", strict=3
    ),
    "not measured since": GateRule(WARNING, "`roofline history`: a case that ended before the revision"),
    "inconclusive": GateRule(WARNING, "neither slower nor the same", strict=3),
    "unknown device": GateRule(WARNING, "an entry of a device that nobody knows: a typo?", strict=3),
    "roofs changed": GateRule(WARNING, "what is not as expected may be so by the roofs alone"),
}
"""What may be found -> what it comes to, in the order in which it is reported. What isn't here passes in silence: a
case that is faster, less, the same or new, and an expectation that holds or isn't applicable."""

Found = tuple[str, str]
"""A situation of `GATE_RULES`, and the line that says it of this comparison."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Gate:
    """``failures`` say why the exit code isn't 0, ``warnings`` what a pass does not cover, one line each.

    ``strict`` and ``allow_removed`` are what it was judged by.
    """

    exit_code: int
    failures: tuple[str, ...] = ()
    warnings: tuple[str, ...] = ()
    strict: bool = False
    allow_removed: bool = False

    @property
    def lines(self) -> tuple[str, ...]:
        """All that it says."""
        return (*self.failures, *self.warnings)

    @property
    def messages(self) -> tuple[str, ...]:
        """The same, each line with how bad it is, the worst last."""
        return (*(f"Warning: {line}" for line in self.warnings), *(f"Error: {line}" for line in self.failures))


def judge(found: Iterable[Found], *, strict: bool = False, allow_removed: bool = False) -> Gate:
    """The outcome of all that was found: 1 wins over 3, for a regression is there whatever could not be compared."""
    order = list(GATE_RULES)
    failures: dict[str, None] = {}
    warnings: dict[str, None] = {}
    codes = {0}
    for situation, line in sorted(found, key=lambda one: order.index(one[0])):
        code = GATE_RULES[situation].code(strict=strict, allow_removed=allow_removed)
        codes.add(code)
        (warnings if code == WARNING else failures)[line] = None
    return Gate(
        exit_code=1 if 1 in codes else max(codes),
        failures=tuple(failures),
        warnings=tuple(warnings),
        strict=strict,
        allow_removed=allow_removed,
    )


def sentence_of(
    counts: Mapping[Any, int], compared: int, exit_code: int, what: str = "", worse: FigureOutcome = "slower"
) -> str:
    """Say in one sentence if a gate passed, with the number of cases of each verdict, in the order of ``counts``.

    :param compared: how many cases were; 0 where none could be judged.
    :param what: what was compared, in words.
    :param worse: the verdict of a case that is worse, in the words of its figure.
    """
    verb = "be slower" if worse == "slower" else "need more"
    slower, decided = counts[worse], sum(counts.get(one, 0) for one in (*BETTER, "same"))
    none = f"no case shown to {verb}"
    if exit_code == 1 and slower:
        head, rest = "Regression", f"{counted(slower, 'case')} {worse}, of {compared} compared"
    elif exit_code == 1:
        head, rest = "Regression", f"all cases together {worse}, none of {compared} by itself"
    elif exit_code == 0 and decided:
        head, rest = "Passed", f"{none}{not_known(counts)}"
    elif exit_code == 0:
        head, rest = "Undecided", f"{none}, and none to be the same"
    elif compared:
        head, rest = "Not passed", f"{none}, but not all of it could be judged"
    else:
        head, rest = "Cannot compare", "no case could be judged"
    parts = [f"{count} {verdict}" for verdict, count in counts.items() if count]
    return f"{': '.join(filter(None, (head, what, rest)))} ({', '.join(parts) or 'no cases'})"


def not_known(counts: Mapping[Any, int]) -> str:
    """Say behind a pass how much of it is no answer: ``; 149 of 150 inconclusive``. Empty where each case has one."""
    open_, matched = counts["inconclusive"], sum(counts.get(one, 0) for one in MATCHED)
    return f"; {open_} of {matched} inconclusive" if open_ else ""
