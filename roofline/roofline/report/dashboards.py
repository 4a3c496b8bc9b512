"""Step times for dashboards that keep a history: github-action-benchmark and Bencher, a file for each machine."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

from roofline.model.point_groups import by_machine, cases, machine_names, newest
from roofline.model.points import Point
from roofline.plots.style import slug
from roofline.schema.amounts import usable
from roofline.show.columns import pick
from roofline.show.export import json_text
from roofline.show.render import one_line
from roofline.text.units import significant

_EXTRA = pick("samples_per_s", "fraction_of_roof", "bound")


def dashboard_files(points: Sequence[Point]) -> Iterator[tuple[str, str]]:
    """Name and content of each file. Invalid rows are left out: they are no measurement."""
    shown = newest(cases(points))[0]
    names = machine_names(shown)
    for machine, points_of_one in by_machine(shown).items():
        name, timed = names[machine], [one for one in points_of_one if one.valid and usable(one.step_time_s or 0.0)]
        if own := {_name(point): point for point in timed}:
            yield f"github-action-benchmark-{slug(name)}.json", json_text(github_action_benchmark(own))
            yield f"bencher-{slug(name)}.json", json_text(bencher(own))


def _name(point: Point) -> str:
    """Equal from run to run, and another for each case: two tests without a record may have one name."""
    return point.id if point.benchmark.record is not None else point.benchmark.fullname


def github_action_benchmark(points: dict[str, Point]) -> list[dict[str, Any]]:
    """Make the list that github-action-benchmark reads with ``tool: customSmallerIsBetter``: milliseconds of a step.

    https://github.com/benchmark-action/github-action-benchmark
    """
    entries = []
    for name, point in points.items():
        assert point.step_time_s is not None
        time_ms = 1e3 * point.step_time_s
        entry: dict[str, Any] = {"name": name, "unit": "ms", "value": time_ms}
        if point.margin is not None:
            entry["range"] = f"± {significant(point.margin * time_ms)}"
        known = [(column, value) for column in _EXTRA if (value := column.get(point)) is not None]
        if known:
            entry["extra"] = "\n".join(f"{one_line(column.title)}: {column.show(value)}" for column, value in known)
        entries.append(entry)
    return entries


def bencher(points: dict[str, Point]) -> dict[str, Any]:
    """Make the JSON in the Bencher Metric Format: latency of a step in nanoseconds, throughput in samples per second,
    each with the ends of its margin.

    https://bencher.dev/docs/reference/bencher-metric-format
    """
    return {
        name: {
            "latency": _metric(1e9 * (point.step_time_s or 0.0), point.margin),
            **({} if (rate := point.samples_per_s) is None else {"throughput": _metric(rate, point.margin)}),
        }
        for name, point in points.items()
    }


def _metric(value: float, margin: float | None) -> dict[str, float]:
    if margin is None:
        return {"value": value}
    return {"value": value, "lower_value": value * (1 - margin), "upper_value": value * (1 + margin)}
