"""Files of one session: a copy, or what another option wrote of the same run, is no second session.

A copy doesn't scatter. Four files of one session would be as good as four sessions, and show that nothing changed; and
a baseline that is the new result itself would pass whatever the code does.

Two files are of one session if more than half of the cases of the smaller one have the same times in the other, to the
last bit. Roofs count only where a file has nothing else: they say nothing of the cases. A clock never gives that twice,
so it holds whatever the copy says of its start and of the machine, and where rows were taken out. Times that don't vary
could be equal by chance: where no row's do, all rows, the start and the machine have to be the same.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from pathlib import Path

from roofline.results.result import Benchmark, ResultFile

_FEWEST = 3
"""Different times that a row needs to count as varying."""


class Sessions:
    """The sessions of some files, by the times of their rows."""

    def __init__(self) -> None:
        self._rows: dict[int, Path] = {}
        self._sizes: dict[Path, int] = {}

    def find(self, result: ResultFile) -> Path | None:
        """The file of an earlier `add` that is of the session of ``result``; None where there is none."""
        rows = _rows(result)
        shared = Counter(self._rows[row] for row in rows if row in self._rows)
        return next((path for path, count in shared.items() if 2 * count > min(len(rows), self._sizes[path])), None)

    def add(self, result: ResultFile) -> None:
        """Take a file for the first one of its session."""
        rows = _rows(result)
        self._sizes[result.path] = len(rows)
        for row in rows:
            self._rows.setdefault(row, result.path)


def told_apart(results: Iterable[ResultFile]) -> tuple[list[ResultFile], list[str]]:
    """One file of each session, and a line for each other one."""
    sessions = Sessions()
    kept: list[ResultFile] = []
    again: list[str] = []
    for result in results:
        known = sessions.find(result)
        if known is None:
            sessions.add(result)
            kept.append(result)
        else:
            again.append(f"{result.path}: {same_as(known)}")
    return kept, again


def same_as(known: Path) -> str:
    return f"the same session as {known}, taken once"


def _rows(result: ResultFile) -> frozenset[int]:
    """A hash of each case whose times vary; where none's do, one of the machine, the start and all of them."""
    cases = [one for one in result.benchmarks if one.record is None or one.record.case.mode != "roof"]
    times = [(benchmark.fullname, _times(benchmark)) for benchmark in cases or result.benchmarks]
    varying = [row for row in times if len(set(row[1]) - {None}) >= _FEWEST]
    return frozenset(map(hash, varying)) or frozenset(
        [hash((result.machine_key, result.when, *sorted(times, key=repr)))]
    )


def _times(benchmark: Benchmark) -> tuple[float | None, ...]:
    record, stats = benchmark.record, benchmark.stats
    if record is not None and record.timing is not None:
        return record.timing.rounds.wall_s
    return (stats.min_s, stats.max_s, stats.mean_s, stats.median_s)
