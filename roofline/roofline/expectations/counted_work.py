"""What is expected is expected of the counted work, whether or not hardware counters saw the step, too.

Not every run reads them, and a run with ``--assert-bounds`` judges a case before it does. They see other FLOPs and
bytes than are counted: by one source here and by the other there, a case would change its bound, and miss or reach its
floor, without a change of the code.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace

from roofline.expectations.judging import bounded
from roofline.machine.published import DeviceTable
from roofline.model.counter_values import counters_of
from roofline.model.points import points_of
from roofline.results.reader import Benchmark, ResultFile


def by_counted_work(results: Iterable[ResultFile]) -> tuple[ResultFile, ...]:
    """The results without what hardware counters saw."""
    return tuple(_without_counters(result) for result in results)


def otherwise_by_counters(results: Iterable[ResultFile], table: DeviceTable) -> tuple[str, ...]:
    """The cases that hardware counters have bound otherwise than the count has, a sentence each.

    :param results: with their counters.
    """
    told: dict[str, None] = {}
    for result in results:
        if not any(map(_was_seen, result.benchmarks)):
            continue
        for seen, counted in zip(points_of(result, table), points_of(_without_counters(result), table), strict=True):
            if seen.bound.kind != counted.bound.kind:
                told[
                    f"By hardware counters, which not every run reads, {seen.id} on {result.machine_label} is"
                    f" {bounded(seen.bound.kind, seen.bound.why)}; what is expected is held against the counted work,"
                    f" by which it is {bounded(counted.bound.kind, counted.bound.why)}"
                ] = None
    return tuple(told)


def _was_seen(benchmark: Benchmark) -> bool:
    return benchmark.record is not None and counters_of(benchmark.record) is not None


def _without_counters(result: ResultFile) -> ResultFile:
    return replace(
        result,
        benchmarks=tuple(
            one if one.record is None else replace(one, record=replace(one.record, counters=None))
            for one in result.benchmarks
        ),
    )
