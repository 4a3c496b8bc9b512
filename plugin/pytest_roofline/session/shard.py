"""``--shard I/N``: which of the cases this process measures, where the jobs of an array share them.

All jobs see the same split: it depends on the names of the tests, and on the earlier results that the user names.
"""

from __future__ import annotations

import statistics
from collections.abc import Mapping, Sequence

import pytest

from pytest_roofline.config import ANNOUNCED, options_of, spelled
from roofline.files.decoding import ReadError
from roofline.results import reader
from roofline.schema.record import Record


def others(config: pytest.Config, cases: Sequence[str]) -> frozenset[str]:
    """Find the cases that other shards measure.

    :param cases: full names of the tests.
    :raises pytest.UsageError: there are more shards than cases, or the earlier results can't be used.
    """
    shard = options_of(config).shard
    assert shard is not None
    index, count = shard
    asked = f"{spelled(config, 'shard')} {index}/{count}"
    if count > len(cases):
        raise pytest.UsageError(f"{asked}: more parts than cases. Use at most I/{len(cases)}.")
    earlier_s = _earlier_s(config)
    if earlier_s.keys().isdisjoint(cases):
        config.stash.setdefault(ANNOUNCED, []).append(
            f"{asked}: how long these cases take is not known, so all count alike."
            f" {spelled(config, 'shard_times')} PATH reads it in earlier results."
        )
    dealt = split(cases, count, earlier_s)
    return frozenset(case for case, shard in zip(cases, dealt, strict=True) if shard != index)


def split(cases: Sequence[str], count: int, seconds: Mapping[str, float]) -> list[int]:
    """Deal cases out so that all shards take about as long: the longest case first, to the shard with the least so far.

    No shard takes more than 4/3 of what the best split has (Graham 1969, multiprocessing timing anomalies).

    :param cases: names, each once.
    :param seconds: expected of cases; of the others it is the median of these.
    :returns: the shard of each case, from 1.
    """
    known = [seconds[case] for case in cases if case in seconds]
    usual_s = statistics.median(known) if known else 1.0
    expected_s = {case: seconds.get(case, usual_s) for case in cases}
    load_s = [0.0] * count
    shard: dict[str, int] = {}
    for case in sorted(cases, key=lambda case: (-expected_s[case], case)):
        least = min(range(count), key=load_s.__getitem__)
        load_s[least] += expected_s[case]
        shard[case] = least + 1
    return [shard[case] for case in cases]


def _earlier_s(config: pytest.Config) -> dict[str, float]:
    """Seconds that cases took, by the full names of their tests; those of the newest run count."""
    path, results = options_of(config).shard_times, options_of(config).results
    if path is None:
        return {}
    asked = f"{spelled(config, 'shard_times')} {path}"
    if results is not None and results.resolve().is_relative_to(path.resolve()):
        raise pytest.UsageError(
            f"{asked}: this run writes into it, so that a shard that begins later would see another split. Name a file,"
            " or a copy."
        )
    try:
        files = reader.read([path]).files
    except ReadError as error:
        raise pytest.UsageError(f"{asked}: {error}") from error
    rows = [row for file in sorted(files, key=lambda file: file.when) for row in file.benchmarks]
    return {row.fullname: took_s for row in rows if row.record is not None and (took_s := _took_s(row.record))}


def _took_s(record: Record) -> float | None:
    """From before warm-up to after the last timed step."""
    if record.process is not None and record.process.real_s is not None:
        return record.process.real_s
    timing = record.timing
    return None if timing is None else timing.warmup_s + timing.elapsed_s
