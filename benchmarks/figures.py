"""A measured figure, the bound it is meant to keep, and how both are shown and stored."""

from __future__ import annotations

import json
import statistics
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from roofline.text.units import scaled, significant

RESULTS = Path(__file__).parent / "results"


@dataclass(frozen=True, slots=True)
class Share:
    """So many of so many that were counted."""

    count: int
    of: int

    @property
    def rate(self) -> float:
        return self.count / self.of

    @property
    def interval(self) -> tuple[float, float]:
        """Of the rate, at 95 %.

        Exact: C. J. Clopper and E. S. Pearson, "The Use of Confidence or Fiducial Limits Illustrated in the Case of the
        Binomial", Biometrika 26 (1934). It takes what was counted for independent.
        """
        from scipy import stats

        found = stats.binomtest(self.count, self.of).proportion_ci(0.95, method="exact")
        return float(found.low), float(found.high)

    def __str__(self) -> str:
        low, high = self.interval
        return f"{100 * self.rate:.2f} % [{100 * low:.2f}, {100 * high:.2f}]"


@dataclass(frozen=True, slots=True, kw_only=True)
class Figure:
    """One number about the suite itself, with everything it was concluded from.

    :param unit: SI base unit; empty for a ratio.
    :param samples: at least one value; the median of them is the figure.
    :param at_least: the figure must not be below this; None: no such bound.
    :param at_most: the figure must not be above this; None: no such bound.
    :param share: what the only sample is the rate of; None: it isn't one.
    """

    name: str
    unit: str
    samples: tuple[float, ...]
    at_least: float | None = None
    at_most: float | None = None
    share: Share | None = None

    @classmethod
    def of_share(
        cls, name: str, share: Share, *, at_least: float | None = None, at_most: float | None = None
    ) -> Figure:
        """A rate, with the counts that it was concluded from."""
        return cls(name=name, unit="", samples=(share.rate,), at_least=at_least, at_most=at_most, share=share)

    @property
    def median(self) -> float:
        return statistics.median(self.samples)

    @property
    def quartiles(self) -> tuple[float, float]:
        """First and third quartile; the value itself, twice, where there is only one."""
        if len(self.samples) == 1:
            return self.samples[0], self.samples[0]
        first, _, third = statistics.quantiles(self.samples, n=4, method="inclusive")
        return first, third

    @property
    def reached(self) -> bool:
        above = self.at_least is None or self.median >= self.at_least
        return above and (self.at_most is None or self.median <= self.at_most)

    @property
    def bound(self) -> str:
        low, high = (None if value is None else self.show(value) for value in (self.at_least, self.at_most))
        if low is not None and high is not None:
            return f"{low} to {high}"
        return f"at least {low}" if low is not None else f"at most {high}" if high is not None else "-"

    def show(self, value: float) -> str:
        return scaled(value, self.unit) if self.unit else significant(value, 4)


def as_json(benchmark: str, figures: Sequence[Figure], machine: dict[str, Any]) -> dict[str, Any]:
    """Make the JSON of one benchmark."""
    return {
        "benchmark": benchmark,
        "measured_at": datetime.now(UTC).isoformat(timespec="seconds"),
        "machine": machine,
        "figures": [_as_json(figure) for figure in figures],
    }


def _as_json(figure: Figure) -> dict[str, Any]:
    """Of a rate, its counts and interval, too."""
    stored: dict[str, Any] = {
        "name": figure.name,
        "unit": figure.unit,
        "median": figure.median,
        "quartiles": list(figure.quartiles),
        "at_least": figure.at_least,
        "at_most": figure.at_most,
        "reached": figure.reached,
        "samples": list(figure.samples),
    }
    if figure.share is not None:
        stored |= {"count": figure.share.count, "of": figure.share.of, "interval": list(figure.share.interval)}
    return stored


def store(benchmark: str, figures: Sequence[Figure], machine: dict[str, Any]) -> Path:
    """Write ``benchmarks/results/<benchmark>.json``, replacing the last one."""
    RESULTS.mkdir(exist_ok=True)
    path = RESULTS / f"{benchmark}.json"
    path.write_text(json.dumps(as_json(benchmark, figures, machine), indent=1) + "\n", encoding="utf-8")
    return path


def show(benchmark: str, figures: Sequence[Figure]) -> None:
    """Print the figures as a table: beside a median its quartiles, beside a rate its interval and how many it is of."""
    from rich.console import Console
    from rich.table import Table

    table = Table(
        "figure", "median or rate", "quartiles or 95 %", "n", "bound", "reached", title=benchmark, title_justify="left"
    )
    for figure in figures:
        low, high = figure.quartiles if figure.share is None else figure.share.interval
        table.add_row(
            figure.name,
            figure.show(figure.median),
            f"{figure.show(low)} .. {figure.show(high)}",
            str(len(figure.samples) if figure.share is None else figure.share.of),
            figure.bound,
            "yes" if figure.reached else "NO",
        )
    Console().print(table)
