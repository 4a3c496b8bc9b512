"""What an effect shows, at the borders of each verdict."""

from __future__ import annotations

import math

import pytest
from scipy import stats

from roofline.comparison.effects.effect import Effect, effect_of
from roofline.comparison.effects.verdict import Verdict, judge_effects, significant
from roofline.comparison.observations.observation import Observation


def effect(ratio: float, error: float, freedom: float = 10.0, *, drift: float = 0.0, sessions: int = 5) -> Effect:
    deviation = math.sqrt(max(0.0, error**2 - drift**2) * sessions / 2)
    return Effect(
        log_ratio=math.log(ratio),
        error=error,
        freedom=freedom,
        deviation=deviation,
        drift=drift,
        base_sessions=sessions,
        new_sessions=sessions,
    )


@pytest.mark.parametrize(
    ("ratio", "error", "kind"),
    [
        (1.05, 0.01, "slower"),
        (0.95, 0.01, "faster"),
        (1.05, 0.02, "inconclusive"),  # may be chance
        (1.019, 0.0003, "same"),  # shown to be slower, and by less than matters
        (1.019, 0.004, "inconclusive"),  # shown to be slower, perhaps by more than matters
        (1.0, 0.005, "same"),
        (1.0, 0.01, "inconclusive"),  # may hide what matters
    ],
)
def test_kinds(ratio: float, error: float, kind: str) -> None:
    """2 % matter, at 99 %."""
    (verdict,) = judge_effects([effect(ratio, error)], [0.02], [0.99])
    assert verdict.kind == kind


def test_the_border_of_slower() -> None:
    """Slower begins where the two-sided chance is 1 %."""
    border = math.log(1.05) / stats.t.ppf(0.995, 10)
    kinds = [judge_effects([effect(1.05, border * factor)], [0.02], [0.99])[0].kind for factor in (0.999, 1.001)]
    assert kinds == ["slower", "inconclusive"]


def test_the_border_of_same() -> None:
    """Same ends where the upper end of the one-sided interval passes what matters."""
    border = math.log(1.02) / stats.t.ppf(0.99, 10)
    kinds = [judge_effects([effect(1.0, border * factor)], [0.02], [0.99])[0].kind for factor in (0.999, 1.001)]
    assert kinds == ["same", "inconclusive"]


def test_more_cases_ask_for_more() -> None:
    """What is significant alone is not among fifty cases, of which some always look odd."""
    odd, others = effect(1.05, 0.0135), [effect(1.0, 0.0135)] * 49
    assert judge_effects([odd], [0.02], [0.99])[0].kind == "slower"
    assert judge_effects([odd, *others], [0.02] * 50, [0.99] * 50)[0].kind == "inconclusive"


def test_each_case_may_have_its_own_confidence() -> None:
    """One that has to be ten times as sure as another alarms at a tenth of its chance: here, where the other one is
    shown, at its own confidence.
    """
    border = math.log(1.05) / stats.t.ppf(1 - 0.001 / 2, 10)
    for factor, kinds in ((0.999, ["slower", "slower"]), (1.001, ["inconclusive", "slower"])):
        both = [effect(1.05, border * factor), effect(1.05, border)]
        assert [one.kind for one in judge_effects(both, [0.02] * 2, [0.999, 0.99])] == kinds


def test_each_case_has_its_own_least_effect() -> None:
    """A floor in seconds makes it larger for short steps."""
    kinds = [verdict.kind for verdict in judge_effects([effect(1.4, 0.01)] * 2, [0.02, 2.0], [0.99] * 2)]
    assert kinds == ["slower", "same"]


@pytest.mark.parametrize(
    ("chances", "expected"),
    [
        ([0.01, 0.04, 0.035], (True, True, True)),  # the largest is held against all of the level
        ([0.01, 0.06, 0.03], (True, False, True)),  # 0.03 <= 0.05 * 2 / 3
        ([0.01, 0.06, 0.034], (True, False, False)),
        ([0.02, 0.06, 0.06], (False, False, False)),  # 0.02 > 0.05 / 3
        ([0.02, 0.02, 0.06], (True, True, False)),
        ([], ()),
    ],
)
def test_significant(chances: list[float], expected: tuple[bool, ...]) -> None:
    """The k-th least of n is held against k/n of the level; where it is below, so are all before it."""
    assert significant(chances, 0.05) == expected


def test_no_number_of_sessions_beats_the_drift() -> None:
    """Where the drift alone is as wide as what matters, more sessions are not promised to help."""
    (verdict,) = judge_effects([effect(1.0, 0.03, drift=0.02)], [0.02], [0.99])
    assert verdict.kind == "inconclusive"
    assert verdict.more_sessions is None
    assert verdict.why.endswith("; more sessions may not settle it, either")


@pytest.mark.parametrize("change", [1.0, 1.03])
def test_what_was_told_of_more_sessions_comes_true(change: float) -> None:
    """Sessions that scatter less than is taken for granted beforehand: with as many more of their kind it is settled,
    and with one fewer it is not.
    """

    def compared(sessions: int) -> Verdict:
        times = [1.0 + 0.002 * (-1) ** number for number in range(sessions)]
        base, new = (
            [Observation(value=scale * time, error=0.001, started_at="") for time in times] for scale in (1.0, change)
        )
        return judge_effects([effect_of(base, new)], [0.02], [0.99])[0]

    more = compared(4).more_sessions
    assert more is not None
    assert [compared(4 + added).kind == "inconclusive" for added in (more - 1, more)] == [True, False]


def test_more_cases_ask_for_more_sessions() -> None:
    """What is told of one among fifty is the least with which it is shown among fifty, and not by itself."""

    def told(error: float, freedom: float, sessions: int, cases: int) -> Verdict:
        one, others = effect(1.06, error, freedom, sessions=sessions), [effect(1.0, 0.02)] * (cases - 1)
        return judge_effects([one, *others], [0.02] * cases, [0.99] * cases)[0]

    error, sessions = 0.024, 4
    alone, more = (told(error, 8.0, sessions, cases).more_sessions for cases in (1, 50))
    assert alone is not None
    assert more is not None
    assert alone < more
    kinds = []
    for added in (more - 1, more):
        later = error * math.sqrt(sessions / (sessions + added))
        kinds.append(told(later, 8.0 + 2 * added, sessions + added, 50).kind)
    assert kinds == ["inconclusive", "slower"]


def test_no_number_is_told_of_an_estimate_at_the_border() -> None:
    """It is significant before long, and by then as likely to be below what matters as above."""
    at, beyond = (judge_effects([effect(ratio, 0.01)], [0.02], [0.99])[0] for ratio in (1.0205, 1.03))
    assert (at.kind, at.more_sessions) == ("inconclusive", None)
    assert beyond.kind == "inconclusive"
    assert beyond.more_sessions is not None
    assert at.why.endswith("; more sessions may not settle it, either")
    (below,) = judge_effects([effect(1.0195, 0.01)], [0.02], [0.99])
    assert below.more_sessions is None


def test_what_is_beyond_chance_by_itself_and_not_among_all_says_so() -> None:
    """Its own interval lies beyond nothing, so without that word the verdict looks wrong."""
    odd, others = effect(1.05, 0.0135), [effect(1.0, 0.0135)] * 49
    verdict, quiet = judge_effects([odd, *others], [0.02] * 50, [0.99] * 50)[:2]
    low, _ = odd.interval(0.99)
    assert low > 1
    assert verdict.why.startswith("by itself beyond chance, but among 50 cases together it could still be chance")
    assert not verdict.by_figures
    assert quiet.by_figures


@pytest.mark.parametrize(("sure", "why"), [(0.9925, True), (0.9955, False)])
def test_the_same_says_which_interval_shows_it_where_the_own_one_reaches_what_matters(sure: float, why: bool) -> None:
    """Two tests at 99 % are the 98 % interval, which is narrower than the 99 % one."""
    (verdict,) = judge_effects([effect(1.0, math.log(1.02) / stats.t.ppf(sure, 10))], [0.02], [0.99])
    assert verdict.kind == "same"
    text = "less than the 2.0 % that matter by the 98 % interval, that of a test at 99 % to either side"
    assert (verdict.why, verdict.by_figures) == ((text, False) if why else ("", True))


def test_why_tells_the_interval() -> None:
    """An open verdict says what the data allow."""
    (verdict,) = judge_effects([effect(1.0, 0.02)], [0.02], [0.99])
    half = 0.02 * stats.t.ppf(0.995, 10)
    assert f"{100 * math.expm1(-half):+.1f} to {100 * math.expm1(half):+.1f} % would" in verdict.why


def test_an_open_verdict_tells_what_would_be_found() -> None:
    """Among more cases it is larger. A decided one has no such figure."""
    of_one, of_two = (judge_effects([effect(1.0, 0.02)] * cases, [0.02] * cases, [0.99] * cases) for cases in (1, 2))
    least = math.expm1(0.02 * (stats.t.ppf(0.995, 10) + stats.t.ppf(0.95, 10)))
    assert of_one[0].least_detectable == pytest.approx(least)
    assert f", and +{100 * least:.0f} % or more would be found" in of_one[0].why
    assert (of_two[0].least_detectable or 0.0) > least
    assert judge_effects([effect(1.5, 0.02)], [0.02], [0.99])[0].least_detectable is None
