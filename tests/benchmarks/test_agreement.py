"""The largest deviation of each kind of step stands for all."""

from __future__ import annotations

import pytest

agreement = pytest.importorskip("benchmarks.agreement")


def deviation(model: str, mode: str, precision: str, counted: float) -> object:
    return agreement.Deviation(model, mode, precision, counted, 1000)


def test_the_worst_model_is_named() -> None:
    """In its mode and precision; too many FLOPs are as wrong as too few. The bound itself is allowed."""
    steps = [deviation("a", mode, precision, 1000.0) for mode in agreement.MODES for precision in agreement.PRECISIONS]
    steps += [deviation("b", "train", "fp32", 1004.0), deviation("c", "infer", "bf16", 990.0)]
    *worst, exact = agreement.figures(steps)
    assert [figure.name.rpartition(" ")[2] for figure in worst if figure.median] == ["b", "c"]
    assert [figure.reached for figure in worst] == [True] * 5 + [False]
    assert exact.name.startswith("of 8 steps")
    assert exact.median == 6


def test_a_small_model_agrees_in_every_mode_and_precision() -> None:
    """To the last FLOP, in six steps."""
    found = agreement.deviations_of("squeezenet1_1")
    assert {(one.mode, one.precision) for one in found} == {
        (mode, precision) for mode in agreement.MODES for precision in agreement.PRECISIONS
    }
    assert [one.share for one in found] == [0.0] * 6
