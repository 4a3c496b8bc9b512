"""Two things are timed in turn, each in both positions."""

from __future__ import annotations

from benchmarks.overhead import Pairs, alternate


def test_order_is_reversed_from_pair_to_pair() -> None:
    """A drift from call to call then favours neither of the two."""
    calls: list[str] = []

    def timed(name: str) -> float:
        calls.append(name)
        return float(len(calls))

    pairs = alternate(lambda: timed("a"), lambda: timed("b"), 3)
    assert calls == ["a", "b", "b", "a", "a", "b"]
    assert pairs == Pairs((1.0, 4.0, 5.0), (2.0, 3.0, 6.0))


def test_pairs_are_compared_one_by_one() -> None:
    """Ratios and differences are those of the pairs, not of the averages."""
    pairs = Pairs((2.0, 9.0), (1.0, 3.0))
    assert pairs.ratios() == (2.0, 3.0)
    assert pairs.differences_s() == (1.0, 6.0)
