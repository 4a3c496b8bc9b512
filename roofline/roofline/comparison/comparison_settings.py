"""By which settings two sides are compared."""

from __future__ import annotations

import math
from dataclasses import dataclass
from pathlib import Path
from typing import get_args

from roofline.comparison.effects.verdict import CONFIDENCE, LEAST_CONFIDENCE, LEAST_EFFECT, MOST_CONFIDENCE
from roofline.comparison.sides.compared_figures import FIGURES, FigureName
from roofline.comparison.sides.session_results import By


@dataclass(frozen=True, slots=True, kw_only=True)
class Settings:
    """:param least_effect: the least difference that matters, relative.
    :param confidence: of the cases that are called slower or faster, the share that is so and not by chance.
    :param floor_s: differences of a time below it never matter.
    :param by: what is compared: times, on one machine; or times over what each machine's own measured roofs allow.
    :param figure: what is compared; by roof the step time.
    :param learn_from: files and folders with earlier sessions, which tell how far those of each machine scatter.
    """

    least_effect: float = LEAST_EFFECT
    confidence: float = CONFIDENCE
    floor_s: float = 0.0
    by: By = "time"
    figure: FigureName = "step_time"
    learn_from: tuple[Path, ...] = ()

    def __post_init__(self) -> None:
        """:raises ValueError: a setting by which nothing can be judged, or everything would pass."""
        allowed = {
            "least_effect": (
                _is_number(self.least_effect) and 0 < self.least_effect < 1,
                "a share above 0 and below 1, such as 0.02",
            ),
            "confidence": (
                _is_number(self.confidence) and LEAST_CONFIDENCE <= self.confidence <= MOST_CONFIDENCE,
                f"a share from {LEAST_CONFIDENCE:g} to {MOST_CONFIDENCE:g}, such as {CONFIDENCE:g}",
            ),
            "floor_s": (_is_number(self.floor_s) and 0 <= self.floor_s < math.inf, "seconds, 0 or more"),
            "by": (self.by in get_args(By), f"one of {', '.join(get_args(By))}"),
            "figure": (self.figure in FIGURES, f"one of {', '.join(FIGURES)}"),
        }
        for name, (holds, what) in allowed.items():
            if not holds:
                raise ValueError(f"{name} is {getattr(self, name)!r}: give {what}.")
        if self.by == "roof" and self.figure != "step_time":
            raise ValueError(f"by roof the step time is compared: {self.figure} is compared by time alone.")
        if self.learn_from and self.by == "roof":
            raise ValueError("scatter is learned of times on one machine: by roof nothing is learned.")
        if self.learn_from and FIGURES[self.figure].prior is None:
            raise ValueError(f"scatter is learned of what scatters, and {self.figure} doesn't.")
        if self.floor_s and not FIGURES[self.figure].is_time:
            raise ValueError(f"a floor is in seconds, and {self.figure} is no time: give a least effect alone.")


def _is_number(value: object) -> bool:
    """Tell a number from a text such as ``2%``, which only the command reads."""
    return isinstance(value, int | float)
