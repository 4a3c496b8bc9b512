"""What the gate finds where it may be wrong as often as another rule: points of its receiver operating characteristic.

Rules that cry wolf at different rates can't be held against each other by what they find: a coin that falls on *slower*
nine times in ten finds nine slowdowns in ten. So ours is asked at each of the others' rates: of the same comparisons,
those are called slower whose one-sided chance, by the gate's own estimate and error, lies below a threshold, the
highest at which unchanged code is called slower no oftener than by the other rule (T. Fawcett, "An Introduction to ROC
Analysis", Pattern Recognition Letters 27 (2006)). What it found then must not be less than the other found.

Only *slower* is asked about, of unchanged code as well: ``mean:5%`` knows nothing else.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

from benchmarks.figures import Figure, Share
from benchmarks.gate_rates import OURS, SLOWDOWNS, Count, Counts, figure_name, pace
from roofline.compare.effect import Effect

CAUGHT = "caught at as many false alarms as"


def at_their_false_alarms(
    title: str, counts: Counts, effects: Mapping[float, Sequence[Effect]], *, asked: bool
) -> Iterator[Figure]:
    """Of each other rule and slowdown, what ours finds and how much more that is than the other's.

    :param effects: slowdown (0: unchanged code) -> of every comparison of a case, in the order in which the other rules
        were asked; a rule that was asked about the first of them alone is held against those.
    :param asked: whether ours must not find less.
    """
    for rule, unchanged in counts[0.0].items():
        if rule == OURS:
            continue
        compared = unchanged.comparisons
        below = threshold(effects[0.0][:compared], unchanged)
        for slowdown in SLOWDOWNS:
            found = sum(chance_of_slower(effect) < below for effect in effects[slowdown][:compared])
            ours, theirs = Share(found, compared), counts[slowdown][rule].found_slower
            yield Figure.of_share(figure_name(f"{CAUGHT} {rule}", title, slowdown), ours)
            yield Figure(
                name=f"caught beyond {rule} at as many false alarms, {title}, {pace(slowdown)}",
                unit="",
                samples=(ours.rate - theirs.rate,),
                at_least=0.0 if asked else None,
            )


def threshold(unchanged: Sequence[Effect], other: Count) -> float:
    """The chance below which of unchanged code no more comparisons lie than another rule called slower."""
    chances = sorted(map(chance_of_slower, unchanged))
    return chances[other.slower] if other.slower < len(chances) else 1.0


def chance_of_slower(effect: Effect) -> float:
    """Probability of an estimate at least as far on the slower side if there were no difference (one-sided)."""
    return effect.chance / 2 if effect.log_ratio > 0 else 1 - effect.chance / 2
