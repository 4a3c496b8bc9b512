"""What an effect shows: slower, faster, the same, or nothing yet.

Two settings are kept apart. ``least`` is the least effect that matters; the confidence is how sure to be.

- **slower** and **faster**: the difference is shown not to be chance, over all cases together (Holm's method: among
  cases that did not change, the chance that any is called slower or faster is at most 1 - confidence), and it is
  estimated to be at least ``least``.
- **same**: the difference is shown to be smaller than ``least`` either way (two one-sided tests, each case by itself).
- **inconclusive**: neither; with the number of sessions a side that would settle it at the scatter seen.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

from roofline.compare.effect import Effect
from roofline.units import percent

Kind = Literal["slower", "faster", "same", "inconclusive"]

LEAST_EFFECT = 0.02
"""Where nobody says what matters."""

CONFIDENCE = 0.99
"""Where nobody says how sure to be."""

MOST_SESSIONS = 100
"""Beyond this many more sessions nobody waits for the answer."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Verdict:
    """``why`` is a sentence for an inconclusive one. ``more_sessions``: a side, to settle it; None where it is settled,
    or where `MOST_SESSIONS` would not do, which ``why`` says.
    """

    kind: Kind
    why: str = ""
    more_sessions: int | None = None


def judge(effects: Sequence[Effect], least: Sequence[float], confidences: Sequence[float]) -> tuple[Verdict, ...]:
    """A verdict for each case of one comparison.

    :param least: for each case, the least effect that matters, relative (0.02 is 2 %).
    :param confidences: for each case, how sure to be. Where they differ, a case that must be surer than another has its
        chance weighed as much more: over all cases the least sure one's confidence holds.
    """
    level = max((1 - confidence for confidence in confidences), default=0.0)
    weighed = [effect.chance * level / (1 - sure) for effect, sure in zip(effects, confidences, strict=True)]
    return tuple(
        _verdict(effect, math.log1p(matters), sure, known, len(effects))
        for effect, matters, sure, known in zip(effects, least, confidences, holm(weighed, level), strict=True)
    )


def holm(chances: Sequence[float], level: float) -> tuple[bool, ...]:
    """Which of several tests are significant so that the chance of any false one is at most ``level``.

    S. Holm, "A Simple Sequentially Rejective Multiple Test Procedure", Scandinavian Journal of Statistics 6 (1979).
    """
    significant = [False] * len(chances)
    for rank, index in enumerate(sorted(range(len(chances)), key=chances.__getitem__)):
        if not chances[index] <= level / (len(chances) - rank):
            break
        significant[index] = True
    return tuple(significant)


def _verdict(effect: Effect, least: float, confidence: float, shown: bool, cases: int) -> Verdict:
    if shown and abs(effect.log_ratio) >= least:
        return Verdict(kind="slower" if effect.log_ratio > 0 else "faster")
    if abs(effect.log_ratio) + _quantile(effect.freedom, confidence) * effect.error <= least:
        return Verdict(kind="same")
    more = _more_sessions(effect, least, confidence, cases)
    why = _why(effect, least, confidence, shown)
    if more is None:
        why += f"; not even {MOST_SESSIONS} more would be likely to settle it"
    return Verdict(kind="inconclusive", why=why, more_sessions=more)


def _why(effect: Effect, least: float, confidence: float, shown: bool) -> str:
    if shown:
        return f"slower or faster by less than the {percent(math.expm1(least))} that matter, perhaps by more"
    low, high = effect.interval(confidence)
    return f"anything from {low - 1:+.1%} to {high - 1:+.1%} would look like this"


def _more_sessions(effect: Effect, least: float, confidence: float, cases: int) -> int | None:
    """Sessions a side beyond those there are that would settle it, if estimate and scatter stay as they are.

    The estimate itself moves with more sessions: it is an expectation, not a promise.
    """
    distance, level = abs(effect.log_ratio), (1 - confidence) / cases
    for more in range(1, MOST_SESSIONS + 1):
        then = effect.after(more)
        if distance + _quantile(then.freedom, confidence) * then.error <= least:
            return more
        if distance >= least and distance >= _quantile(then.freedom, 1 - level / 2) * then.error:
            return more
    return None


def _quantile(freedom: float, confidence: float) -> float:
    """One-sided."""
    from scipy import special

    return float(special.stdtrit(freedom, confidence))
