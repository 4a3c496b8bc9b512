"""Judge what an effect shows: slower, faster, the same, or nothing yet.

Two settings are kept apart. ``least`` is the least effect that matters; the confidence is how sure to be.

- **slower** and **faster**: the difference is shown not to be chance, and estimated to be at least ``least``. Of the
  cases that are called so, at most 1 - confidence did not change, on average; where none changed, that is the chance
  that any is called so (`significant`).
- **same**: the difference is shown to be smaller than ``least`` either way (two one-sided tests, each case by itself).
- **inconclusive**: neither; with the number of sessions a side that would settle it if estimate and scatter stay.

An interval at the same confidence, each case's by itself, is wider than what *same* asks for and narrower than what
*slower* does among several cases. Where that makes a verdict look wrong beside it, the verdict says why.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import TYPE_CHECKING, Literal

from roofline.comparison.effects.effect import Effect
from roofline.text.units import percent

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

Kind = Literal["slower", "faster", "same", "inconclusive"]

LEAST_EFFECT = 0.02
"""Where nobody says what matters."""

CONFIDENCE = 0.99
"""Where nobody says how sure to be."""

LEAST_CONFIDENCE = 0.5
"""Below it a difference would be called the same though it is estimated to matter."""

MOST_CONFIDENCE = 0.999999
"""Beyond it the tails of the distributions decide, of which few rounds tell nothing, and soon a float's last digit."""

MOST_SESSIONS = 100
"""Beyond this many more sessions nobody waits for the answer."""


AT_THE_BORDER = 0.5
"""So near to the least effect that matters, in standard errors, an estimate is as good as on either side of it: that it
stays on its own is no ground to promise a verdict on."""


POWER = 0.95
"""Share of measurements in which a slowdown is found that passes for detectable."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Verdict:
    """``why`` is a sentence for an inconclusive one, and for one that the case's interval seems to deny; ``by_figures``
    tells that it says no more than the interval does. ``more_sessions``: a side, to settle it if the estimate stays;
    None where it is decided, and where no number up to `MOST_SESSIONS` is likely to. ``least_detectable`` is that of an
    inconclusive one, among the cases it is judged with.
    """

    kind: Kind
    why: str = ""
    by_figures: bool = True
    more_sessions: int | None = None
    least_detectable: float | None = None


def judge_effects(
    effects: Sequence[Effect], least: Sequence[float], confidences: Sequence[float]
) -> tuple[Verdict, ...]:
    """A verdict for each case of one comparison.

    :param least: for each case, the least effect that matters, relative (0.02 is 2 %).
    :param confidences: for each case, how sure to be. Where they differ, a case that must be surer than another has its
        chance weighed as much more: over all cases the least sure one's confidence holds.
    """
    level = max((1 - confidence for confidence in confidences), default=0.0)
    weighed = [effect.chance * level / (1 - sure) for effect, sure in zip(effects, confidences, strict=True)]
    return tuple(
        _verdict(effect, math.log1p(matters), sure, known, len(effects))
        for effect, matters, sure, known in zip(effects, least, confidences, significant(weighed, level), strict=True)
    )


def significant(chances: Sequence[float], level: float) -> tuple[bool, ...]:
    """Tell which of several tests are significant so that of these at most ``level`` are so by chance, on average.

    Where nothing changed, that is the chance that any is. Y. Benjamini and Y. Hochberg, "Controlling the False
    Discovery Rate", Journal of the Royal Statistical Society B 57 (1995): it holds for independent tests and for those
    that err to the same side together, as cases that share their sessions do.
    """
    in_order = sorted(chances)
    ranks = [rank for rank, chance in enumerate(in_order, 1) if chance <= level * rank / len(chances)]
    least = in_order[ranks[-1] - 1] if ranks else -1.0
    return tuple(chance <= least for chance in chances)


def _verdict(effect: Effect, least: float, confidence: float, shown: bool, cases: int) -> Verdict:
    if shown and abs(effect.log_ratio) >= least:
        return Verdict(kind="slower" if effect.log_ratio > 0 else "faster")
    if _same(effect, least, confidence):
        why = _why_same(effect, least, confidence)
        return Verdict(kind="same", why=why, by_figures=not why)
    more = _more_sessions(effect, least, confidence, cases)
    detectable = least_detectable(effect, math.expm1(least), (1 - confidence) / cases)
    by_itself = not shown and effect.chance <= 1 - confidence
    why = _why_open(effect, least, confidence, detectable, shown=shown, by_itself=by_itself, cases=cases)
    return Verdict(
        kind="inconclusive",
        why=why if more is not None else f"{why}; more sessions may not settle it, either",
        by_figures=not by_itself,
        more_sessions=more,
        least_detectable=detectable,
    )


def least_detectable(effect: Effect, least: float, level: float) -> float:
    """The least slowdown that would be called one in `POWER` of such measurements, relative.

    :param least: no smaller difference is called a slowdown, relative.
    :param level: what the chance of no difference must come below, two-sided.
    """
    found = _quantile(effect.freedom, POWER) * effect.error
    alarm = _quantile(effect.freedom, 1 - level / 2) * effect.error
    return math.expm1(max(alarm, math.log1p(least)) + found)


def _same(effect: Effect, least: float, confidence: float) -> bool:
    return abs(effect.log_ratio) + _quantile(effect.freedom, confidence) * effect.error <= least


def _why_same(effect: Effect, least: float, confidence: float) -> str:
    """Where the interval at this confidence reaches what matters: the narrower one that the two tests come to."""
    low, high = map(math.log, effect.interval(confidence))
    if max(-low, high) <= least:
        return ""
    return (
        f"less than the {percent(math.expm1(least))} that matter by the {_of_100(2 * confidence - 1)} interval, that of"
        f" a test at {_of_100(confidence)} to either side"
    )


def _why_open(
    effect: Effect, least: float, confidence: float, detectable: float, *, shown: bool, by_itself: bool, cases: int
) -> str:
    if shown:
        return f"a change of less than the {percent(math.expm1(least))} that matter, perhaps of more"
    if by_itself:
        return f"by itself beyond chance, but among {cases} cases together it could still be chance"
    low, high = effect.interval(confidence)
    ends = f"{100 * (low - 1):+.1f} to {100 * (high - 1):+.1f} %"
    return f"anything from {ends} would look like this, and +{percent(detectable)} or more would be found"


def _more_sessions(effect: Effect, least: float, confidence: float, cases: int) -> int | None:
    """Sessions a side beyond those there are that would settle it, if estimate and scatter stay as they are. None
    where `MOST_SESSIONS` wouldn't, or the estimate lies at what matters: more may move it to either side.

    The estimate itself moves with more sessions: it is an expectation, not a promise.
    """
    import numpy as np

    distance, level = abs(effect.log_ratio), (1 - confidence) / cases
    error, _ = effect.error_after(np.arange(1.0, MOST_SESSIONS + 1))
    same = distance + _quantiles_after(effect.freedom, effect.gain, confidence) * error <= least
    shown = (distance >= least) & (distance >= _quantiles_after(effect.freedom, effect.gain, 1 - level / 2) * error)
    settled = np.flatnonzero(same | shown)
    if not settled.size:
        return None
    first = settled[0]
    at_the_border = not same[first] and distance - least < AT_THE_BORDER * error[first]
    return None if at_the_border else int(first) + 1


def _of_100(share: float) -> str:
    return f"{100 * share:.6g} %"


@lru_cache(maxsize=4096)  # a comparison's cases have the same few degrees of freedom
def _quantile(freedom: float, confidence: float) -> float:
    """One-sided."""
    from scipy import special

    return float(special.stdtrit(freedom, confidence))


@lru_cache(maxsize=256)
def _quantiles_after(freedom: float, gain: int, confidence: float) -> NDArray[np.float64]:
    """`_quantile` after one session more, two, up to `MOST_SESSIONS`."""
    import numpy as np
    from scipy import special

    return np.asarray(special.stdtrit(freedom + gain * np.arange(1, MOST_SESSIONS + 1), confidence))
