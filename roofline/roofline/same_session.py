"""Files of one session: a copy, or what another option wrote of the same run, is no second session.

A copy doesn't scatter. Four files of one session would be as good as four sessions, and show that nothing changed; and
a baseline that is the new result itself would pass whatever the code does.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterable
from pathlib import Path

from roofline.reader import ResultFile


def digest(result: ResultFile) -> bytes:
    """Equal for two files of one session, however they were written: of the machine, when the run began, and the times
    of all rows.
    """
    rows = sorted(
        (row.fullname, row.stats.mean_s or 0.0, row.stats.min_s or 0.0, row.stats.max_s or 0.0)
        for row in result.benchmarks
    )
    return hashlib.blake2b(repr((result.machine_key, result.when, rows)).encode(errors="backslashreplace")).digest()


def told_apart(results: Iterable[ResultFile]) -> tuple[list[ResultFile], list[str]]:
    """One file of each session, and a line for each other one."""
    first: dict[bytes, Path] = {}
    kept: list[ResultFile] = []
    again: list[str] = []
    for result in results:
        known = first.setdefault(digest(result), result.path)
        if known is result.path:
            kept.append(result)
        else:
            again.append(f"{result.path}: {same_as(known)}")
    return kept, again


def same_as(known: Path) -> str:
    return f"the same session as {known}, taken once"
