"""Does unchanged code pass here, and is a slowdown found? Whole trials of ``roofline selftest``, counted.

    python -m benchmarks.gate_live --label quiet --runs 2
    python -m benchmarks live

A run measures every case of ``gate_cases.toml`` twice as ``roofline ab`` would: the same code on both sides, and with
each step of one side longer by 5 %. Its rows are kept in ``benchmarks/data/gate_live_quiet.json``, one for a case and
run; ``--pack FILE...`` makes that from what ``roofline selftest --format json`` wrote. Nothing is drawn again from a
recording here, so the trials are few and as they come: a process, an hour and a verdict each.

*Slower* or *faster* of unchanged code is a false alarm. Of slowed code *slower* is right, *same* and *faster* are
wrong, and *inconclusive* is neither. In a loud hour nothing may be wrong: it may leave all open.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import tempfile
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from benchmarks.figures import Figure, Share
from benchmarks.gate_counts import MOST_FALSE_ALARMS, Count, count_of, figure_name, most_same, total
from benchmarks.gate_record import CASES, DATA, machine_of

SLOWDOWN = 0.05

DONE = (0, 1)
"""Exit codes of a selftest that was made, whether or not it passed. One that lost some of its cases has written the
others all the same."""

_ROOT = Path(__file__).parents[1]

Row = Mapping[str, Any]
"""A case in one run, as ``roofline selftest`` has it: ``unchanged_verdict``, ``slowed_verdict`` and their changes."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Trials:
    """:param slowdown: of the slowed code, relative."""

    slowdown: float
    rows: tuple[Row, ...]

    @property
    def unchanged(self) -> Count:
        """Of trials that could not be made nothing is counted."""
        return total(count_of(row["unchanged_verdict"]) for row in self.rows)

    @property
    def slowed(self) -> Count:
        return total(count_of(row["slowed_verdict"]) for row in self.rows)


def record(runs: int, seconds: float, threads: int, folder: Path) -> list[Path]:
    """Run the selftest so many times; each run writes a file to ``folder``.

    :param seconds: of turns for each case and trial.
    """
    files = []
    for number in range(1, runs + 1):
        file = folder / f"{number}.json"
        done = subprocess.run(
            [
                *(sys.executable, "-m", "roofline", "selftest", "--slowdown", f"{100 * SLOWDOWN:g}%"),
                *("--max-time", f"{seconds:g}", "--format", "json", "-o", str(file), "--"),
                *("perftests/test_models.py", "--matrix", str(CASES.relative_to(_ROOT)), "--device", "cpu"),
            ],
            cwd=_ROOT,
            env={**os.environ, "OMP_NUM_THREADS": str(threads)},
            check=False,
        )
        if done.returncode not in DONE and not file.exists():
            sys.exit(f"run {number} of {runs}: roofline selftest ended with exit code {done.returncode}")
        print(f"run {number} of {runs}", flush=True)
        files.append(file)
    return files


def pack(files: Sequence[Path], path: Path, about: Mapping[str, Any]) -> None:
    """Write the rows of all runs, without what the program says of them.

    :param about: the machine and its versions.
    """
    rows = [
        {"run": run, **row}
        for run, file in enumerate(files, start=1)
        for row in json.loads(file.read_text(encoding="utf-8"))
    ]
    document = {"about": dict(about), "slowdown": SLOWDOWN, "rows": rows}
    path.write_text(json.dumps(document, indent=1) + "\n", encoding="utf-8")
    print(f"{path.name}: {len(files)} runs, {len(rows)} rows")


def recordings() -> dict[str, Trials]:
    """Label -> its trials."""
    found = {}
    for path in sorted(DATA.glob("gate_live_*.json")):
        document = json.loads(path.read_text(encoding="utf-8"))
        found[path.stem.removeprefix("gate_live_")] = Trials(
            slowdown=document["slowdown"], rows=tuple(document["rows"])
        )
    return found


def run(*, quick: bool = False) -> tuple[Figure, ...]:  # noqa: ARG001 (there is nothing to take fewer of)
    """Error rates of every recording."""
    return tuple(figure for label, trials in recordings().items() for figure in _figures(label, trials))


def _figures(label: str, trials: Trials) -> list[Figure]:
    title, unchanged, slowed = f"{label}, live", trials.unchanged, trials.slowed
    missed = Share(slowed.same + slowed.faster, slowed.comparisons)
    figures = [
        Figure.of_share(figure_name(what, title, slowdown), share, at_most=at_most)
        for what, slowdown, share, at_most in (
            ("false alarms", 0.0, unchanged.alarms, MOST_FALSE_ALARMS),
            ("inconclusive", 0.0, unchanged.left_open, None),
            ("caught", trials.slowdown, slowed.found_slower, None),
            ("missed", trials.slowdown, missed, most_same(label)),
            ("inconclusive", trials.slowdown, slowed.left_open, None),
        )
    ]
    for figure in figures:
        print(f"{figure.name:50} {figure.share}")
    return figures


def main() -> None:
    """Record, or take the files of selftests, and write one file."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--label", required=True, help="goes into the file name: quiet, loud")
    parser.add_argument("--runs", type=int, default=2, help="of all cases (default %(default)s)")
    parser.add_argument("--seconds", type=float, default=60.0, help="a case and trial (default %(default)s)")
    parser.add_argument("--threads", type=int, default=1, help="torch's threads (default %(default)s)")
    parser.add_argument(
        "--pack", type=Path, nargs="+", metavar="FILE", help="of selftests of this machine, instead of recording"
    )
    arguments = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        files = arguments.pack or record(arguments.runs, arguments.seconds, arguments.threads, Path(folder))
        pack(files, DATA / f"gate_live_{arguments.label}.json", machine_of(arguments.threads))


if __name__ == "__main__":
    main()
