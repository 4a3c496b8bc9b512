"""What turns show: which are left out, the ratio of a pair of processes, and the effect over several pairs."""

from __future__ import annotations

import math
import random
import statistics
from collections.abc import Sequence
from dataclasses import replace

import pytest

from roofline.comparison.effects.paired import (
    BUSY_DEVIATION,
    PROCESS_PAIRS,
    UNLIKELY,
    PairObservation,
    PairTurns,
    confidence_of_a_look,
    effect_of_pairs,
    observe_pair,
    prior_scale,
    why_busy,
)
from roofline.comparison.effects.verdict import judge_effects, least_detectable
from roofline.comparison.observations.observation import Unusable


def pair(base: list[float], new: list[float], *, noise: dict[int, str] | None = None) -> PairTurns:
    """:param noise: turns of the new side that something disturbed."""
    return PairTurns(
        first="base",
        steps=2,
        base_s=tuple(base),
        new_s=tuple(new),
        base_disturbed=(None,) * len(base),
        new_disturbed=tuple((noise or {}).get(turn) for turn in range(len(new))),
    )


def seen(log_ratio: float, error: float | None = 0.001) -> PairObservation:
    return PairObservation(log_ratio=log_ratio, error=error, base_step_s=1.0, new_step_s=1.0, turns=50, left_out=0)


def test_the_ratio_is_the_median_of_the_turns_own() -> None:
    """A machine that gets twice as slow on the way slows both turns of a pair: their ratio stays what it is."""
    observed = observe_pair(pair([1.0, 1.0, 2.0, 2.0, 2.0], [1.1, 1.1, 2.2, 2.2, 2.2]))
    assert observed.log_ratio == pytest.approx(math.log(1.1))
    assert observed.error == pytest.approx(0.0, abs=1e-9)
    assert (observed.base_step_s, observed.new_step_s) == (1.0, 1.1)
    assert (observed.turns, observed.left_out) == (5, 0)


def test_a_disturbed_turn_is_left_out_with_its_partner() -> None:
    """On the evidence alone, and on both sides: else the side that was disturbed more would have the better half."""
    observed = observe_pair(pair([2.0] * 10, [2.0] * 9 + [6.0], noise={9: "another program"}))
    assert (observed.turns, observed.left_out, observed.log_ratio) == (9, 1, 0.0)
    assert observed.base_step_s == 1.0


def test_where_hardly_a_turn_was_left_alone_all_are_taken() -> None:
    """A shared machine is never quiet: nothing could be said there; the scatter tells how little is known."""
    random_ = random.Random(1)
    new = [2.0 * math.exp(random_.gauss(0, 0.2)) for _ in range(40)]
    observed = observe_pair(pair([2.0] * 40, new, noise=dict.fromkeys(range(1, 40), "another program")))
    assert (observed.turns, observed.left_out, observed.disturbed) == (40, 0, 39)
    assert observed.error is not None
    assert observed.error > 0.2 / math.sqrt(40)


@pytest.mark.parametrize(("turns", "quiet", "taken"), [(8, 4, 8), (8, 5, 5), (10, 5, 5), (12, 5, 12)])
def test_half_of_the_turns_and_at_least_five_are_enough(turns: int, quiet: int, taken: int) -> None:
    """With fewer left alone all are taken."""
    observed = observe_pair(pair([2.0] * turns, [2.0] * turns, noise=dict.fromkeys(range(quiet, turns), "steal")))
    assert (observed.turns, observed.disturbed) == (taken, turns - quiet if taken == turns else 0)


def test_interruptions_make_the_median_no_worse_known() -> None:
    """A turn that took ten times as long, or a hundred times, says the same of it; nor does the median move."""
    random_ = random.Random(2)
    quiet = [2.0 * math.exp(random_.gauss(0, 0.01)) for _ in range(40)]
    found = []
    for far in (10.0, 100.0):
        new = [time * far if turn % 8 == 0 else time for turn, time in enumerate(quiet)]
        found.append(observe_pair(pair([2.0] * 40, new)))
    assert found[0].error == found[1].error
    assert found[0].log_ratio == found[1].log_ratio
    assert found[0].error is not None
    assert found[0].error < 0.01


def test_few_turns_tell_no_error() -> None:
    """Two turns have a ratio, and nothing is known of how good it is."""
    observed = observe_pair(pair([1.0, 1.0], [1.0, 1.2]))
    assert (observed.error, observed.log_ratio) == (None, pytest.approx(math.log(1.1)))


@pytest.mark.parametrize("time", [0.0, -1.0, math.nan, math.inf])
def test_what_is_no_time_is_refused(time: float) -> None:
    """Whether or not it was disturbed; and so is no turn at all."""
    with pytest.raises(Unusable, match="not a time"):
        observe_pair(pair([1.0] * 6, [1.0] * 5 + [time], noise={5: "x"}))
    with pytest.raises(Unusable, match="no turns were taken"):
        observe_pair(pair([], []))


def test_the_effect_is_the_mean_with_a_moderated_scatter() -> None:
    """By hand: prior 4 of variance 0.005^2 + 0.012^2, and two pairs 0.02 apart (sum of squares 0.0002), 1 degree."""
    effect = effect_of_pairs([seen(0.04, 0.012), seen(0.06, 0.012)])
    variance = (4 * (0.000025 + 0.000144) + 0.0002) / 5
    assert effect.log_ratio == pytest.approx(0.05)
    assert effect.freedom == 5
    assert effect.error == pytest.approx(math.sqrt(variance / 2))
    assert effect.deviation * math.sqrt(1 / 2 + 1 / 2) == pytest.approx(effect.error)
    assert (effect.base_sessions, effect.new_sessions) == (2, 2)


def test_pairs_further_apart_than_the_prior_has_it_are_believed_more_than_it() -> None:
    """By hand: the chance of a scatter beyond this, of an F distribution with 2 and 4 degrees of freedom, is
    (1 + F / 2)^-2. In the share that it is of `UNLIKELY` the prior counts.
    """
    effect = effect_of_pairs([seen(0.015, 0.0), seen(-0.015, 0.0), seen(0.0, 0.0)])
    trusted = 4 * (1 + 9 / 2) ** -2 / UNLIKELY
    assert trusted < 4
    assert effect.freedom == pytest.approx(trusted + 2)
    assert effect.error == pytest.approx(math.sqrt((trusted * 0.000025 + 0.00045) / (trusted + 2) / 3))
    assert effect.own_deviation == pytest.approx(math.sqrt(0.00045 / 2 / 2))


def test_a_busy_machine_s_pairs_may_agree_by_chance() -> None:
    """Where most turns were disturbed three pairs tell a change of 5 % from none as little as one does."""
    busy = [replace(seen(0.05), disturbed=30)] * 3
    effect = effect_of_pairs(busy)
    assert effect.error == pytest.approx(math.sqrt(4 * (BUSY_DEVIATION**2 + 0.001**2) / 6 / 3))
    assert judge_effects([effect], [0.02], [0.99])[0].kind == "inconclusive"
    assert judge_effects([effect_of_pairs([seen(0.05)] * 3)], [0.02], [0.99])[0].kind == "slower"
    assert judge_effects([effect_of_pairs([replace(seen(0.7), disturbed=30)] * 3)], [0.02], [0.99])[0].kind == "slower"


def test_one_busy_pair_counts_for_one() -> None:
    """The mean's variance is that of all of them."""
    one = effect_of_pairs([seen(0.0, 0.0), seen(0.0, 0.0), replace(seen(0.0, 0.0), disturbed=30)])
    expected = (2 * PROCESS_PAIRS.deviation**2 + BUSY_DEVIATION**2) / 3
    assert one.error == pytest.approx(math.sqrt(4 * expected / 6 / 3))


def test_the_sign_of_a_busy_machine_is_told() -> None:
    """Disturbed turns, or pairs too far apart; a machine that shows neither is none."""
    for quiet in ([seen(0.05), seen(0.051), seen(0.049)], [seen(0.05)]):
        assert why_busy(quiet) is None
    busy = replace(seen(0.0), disturbed=30)
    assert why_busy([busy, busy, seen(0.0)]) == "60 of 150 turns were disturbed from outside"
    scattered = [seen(math.log(1.24)), seen(math.log(0.89)), seen(0.08)]
    assert why_busy(scattered) == (
        "its pairs of processes lie from -11.0 to +24.0 %, further apart than on one left alone"
    )


def test_a_pair_more_adds_a_degree_of_freedom() -> None:
    """Each is one ratio of two processes: what is expected of more of them is what so many then show."""
    two, three = [seen(0.05), seen(0.0515)], [seen(0.05), seen(0.0515), seen(0.05075)]
    assert effect_of_pairs(two).after(1).freedom == effect_of_pairs(three).freedom == PROCESS_PAIRS.freedom + 2


def test_pairs_of_all_cases_tell_a_machine_whose_processes_differ() -> None:
    """Three pairs of one case agree by chance, those of the others lie 4 % apart: the prior widens for all of them."""
    agree, differ = [seen(0.03), seen(0.031), seen(0.032)], [seen(-0.02), seen(0.0), seen(0.02)]
    assert prior_scale([agree, agree, differ]) == 1
    assert prior_scale([differ, differ]) == 1
    assert prior_scale([differ[:2], differ[:2], differ[:2]]) == 1
    scale = prior_scale([agree, differ, differ])
    assert scale == pytest.approx((0.001**2 + 2 * 0.02**2) / 3 / (0.001**2 + 0.005**2))
    assert effect_of_pairs(agree).error < 0.005 / math.sqrt(3)
    effect = effect_of_pairs(agree, scale)
    assert (effect.freedom, effect.error) == (4 + 2, pytest.approx(0.00771, abs=0.00001))
    # Pairs that lie as far apart as it has it don't speak against it.
    assert effect_of_pairs(differ, scale).freedom == 4 + 2


def test_a_machine_whose_processes_have_two_levels_seldom_alarms() -> None:
    """Ten cases, each process 3 % above or below: what three pairs of a case have in common is mostly chance."""
    random_ = random.Random(0)
    alarms = 0
    for _ in range(100):
        cases = [
            [seen(random_.choice((-0.06, 0.0, 0.0, 0.06)) + random_.gauss(0, 0.003)) for _ in range(3)]
            for _ in range(10)
        ]
        effects = [effect_of_pairs(pairs, prior_scale(cases)) for pairs in cases]
        alarms += any(one.kind != "inconclusive" for one in judge_effects(effects, [0.02] * 10, [0.99] * 10))
    assert alarms <= 1


def test_a_single_pair_that_knows_little_does_not_outvote_the_others() -> None:
    """Its estimate of what it leaves open is a bad one; what it was really off by shows beside the others."""
    known, doubtful = ([seen(0.05)] * 3 + [seen(0.05, error)] for error in (0.001, 0.4))
    assert effect_of_pairs(doubtful).error == effect_of_pairs(known).error
    assert effect_of_pairs([*known[:3], seen(0.4, 0.4)]).error > 10 * effect_of_pairs(known).error


def test_what_is_built_several_times_is_known_by_how_far_the_buildings_lie_apart() -> None:
    """However well the turns of each agree: the pair's ratio is the mean of theirs, and its error that mean's."""
    for offsets, error in (((0.03, -0.01, 0.01), 0.02 / math.sqrt(3)), ((0.03, -0.01), 0.02)):
        turns = replace(
            pair([1.0] * 3 * len(offsets), [math.exp(offset) for offset in offsets for _ in range(3)]),
            build=tuple(number for number in range(len(offsets)) for _ in range(3)),
        )
        seen = observe_pair(turns)
        assert seen.log_ratio == pytest.approx(0.01)
        assert seen.error == pytest.approx(error)
        assert seen.builds == len(offsets)
    assert observe_pair(replace(turns, build=())).builds == 1


def test_a_building_of_which_every_turn_was_disturbed_says_nothing() -> None:
    """It is one fewer; where only one is left, its turns alone tell how well it is known."""
    quiet = [1.0, 1.01, 1.0, 0.99, 1.0, 1.01]
    turns = replace(pair([1.0] * 8, [*quiet, 9.0, 9.0], noise={6: "noise", 7: "noise"}), build=(0, 0, 0, 1, 1, 1, 2, 2))
    seen = observe_pair(turns)
    assert (seen.builds, seen.error) == (2, 0.0)
    medians = [math.log(1.0), math.log(1.0)]
    assert seen.log_ratio == pytest.approx(statistics.fmean(medians))
    alone = replace(turns, build=(0,) * 6 + (1, 1))
    assert observe_pair(alone) == observe_pair(pair([1.0] * 8, [*quiet, 9.0, 9.0], noise={6: "noise", 7: "noise"}))


def test_many_buildings_are_trusted_as_far_as_they_are_many() -> None:
    """Where they lie far apart, the pairs' own scatter is small beside what they leave open, and that is known with a
    degree of freedom fewer than there were buildings in each pair; Satterthwaite's formula for the sum.
    """
    built = [replace(seen(log_ratio, 0.01), builds=6) for log_ratio in (0.012, -0.004, 0.001, -0.009)]
    effect = effect_of_pairs(built)
    within, between = 0.01**2, PROCESS_PAIRS.deviation**2
    known = (within + between) ** 2 / (within**2 / 20 + between**2 / PROCESS_PAIRS.freedom)
    scatter = sum(one.log_ratio**2 for one in built)
    assert effect.freedom == pytest.approx(known + 3)
    assert effect.error == pytest.approx(math.sqrt((known * (within + between) + scatter) / (known + 3) / 4))


def looks(pairs: Sequence[PairObservation]) -> list[str]:
    """What each look at five pairs says of one case."""
    return [
        judge_effects([effect_of_pairs(pairs[:count])], [0.001], [confidence_of_a_look(0.99, 5, count)])[0].kind
        for count in (3, 4, 5)
    ]


def test_unchanged_buildings_seldom_alarm_at_any_look() -> None:
    """1000 comparisons of nothing, of which each building lies 3 % off, each process 0.5 %, and each turn 0.5 %, settle
    on a change in at most 1 %.
    """
    random_, alarms = random.Random(11), 0
    for _ in range(1000):
        pairs = []
        for _ in range(5):
            process = random_.gauss(0, 0.005)
            medians = [process + random_.gauss(0, 0.03) + random_.gauss(0, 0.005) for _ in range(6)]
            made = pair([1.0] * 6, [math.exp(one) for one in medians])
            pairs.append(observe_pair(replace(made, build=tuple(range(6)))))
        alarms += any(kind in ("slower", "faster") for kind in looks(pairs))
    assert alarms <= 10


def test_one_pair_alone_knows_no_more_than_the_prior() -> None:
    """However well its turns agree: the offset of a process is in all of them."""
    effect = effect_of_pairs([seen(0.03, 1e-6)])
    assert effect.error == pytest.approx(PROCESS_PAIRS.deviation)
    assert effect.freedom == PROCESS_PAIRS.freedom


def test_an_unknown_error_is_a_large_one() -> None:
    """Pairs of too few turns don't pass for exact ones."""
    assert effect_of_pairs([seen(0.0, None)]).error > PROCESS_PAIRS.unknown_error


def test_each_look_is_surer_than_all_together() -> None:
    """Five pairs are looked at after the third, the fourth and the fifth: what they may be wrong is all that all may,
    and most of it is the last one's. Three or fewer: one look.
    """
    risks = [1 - confidence_of_a_look(0.99, 5, pairs) for pairs in (3, 4, 5)]
    assert risks == pytest.approx([0.001, 0.001, 0.008])
    assert [1 - confidence_of_a_look(0.99, 4, pairs) for pairs in (3, 4)] == pytest.approx([0.002, 0.008])
    assert confidence_of_a_look(0.99, 3, 3) == confidence_of_a_look(0.99, 1, 1) == 0.99


@pytest.mark.parametrize(("deviation", "most"), [(0.006, 10), (0.1, 50)])
def test_unchanged_pairs_seldom_alarm_at_any_look(deviation: float, most: int) -> None:
    """1000 comparisons of nothing, looked at after each pair of processes, settle on a change in at most 1 %. Where
    processes scatter twenty times as far as the prior has it, it is at most 5 %: holding on to it made 14 %.
    """
    random_, alarms = random.Random(7), 0
    for _ in range(1000):
        pairs = [seen(random_.gauss(0, deviation), 0.003) for _ in range(5)]
        alarms += any(kind in ("slower", "faster") for kind in looks(pairs))
    assert alarms <= most


def test_the_least_detectable_is_found_nineteen_times_of_twenty() -> None:
    """An estimate that scatters with the error around it passes the alarm's line in 95 %."""
    effect = effect_of_pairs([seen(0.0)] * 4)
    size = math.log1p(least_detectable(effect, 0.001, level=0.01))
    from scipy import special

    line = float(special.stdtrit(effect.freedom, 0.995)) * effect.error
    assert special.stdtr(effect.freedom, (size - line) / effect.error) == pytest.approx(0.95)


def test_no_less_than_what_matters_is_detectable() -> None:
    """With a perfect clock, a difference smaller than the least effect is still not called."""
    effect = replace(effect_of_pairs([seen(0.0)] * 3), error=1e-9)
    assert least_detectable(effect, 0.02, level=0.01) == pytest.approx(0.02, rel=1e-3)
