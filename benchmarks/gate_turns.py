"""Measure what ``roofline ab`` catches in 60 s a case, and its false alarms, on recorded turns.

    python -m benchmarks.gate_turns --label quiet --record 16 --seconds 15
    python -m benchmarks turns

Recording takes turns between two processes of unchanged code, in as many fresh pairs of processes as ``--record`` says,
so many seconds a case in each, and writes ``benchmarks/data/gate_turns_quiet.npz``. From these pairs of processes
comparisons are drawn, all cases of one at once: as many pairs as `roofline ab` takes (of fewer, as it would with their
number as ``--pairs``), of each the first turns, as many as fit into its share of a case's 60 s, with a look after each
from the third on. The code is the same on both sides, so each comparison is made twice, with either as the new one:
what one side had in its favour all the time then counts as often against it. As they are, every *slower* or *faster* is
a false alarm: at most 1 % of ours may be one. With all turns of the new side made 5 or 3 % longer, *slower* is right,
and must be found in 99 and 95 % of the comparisons, except in a loud hour. *Same* is wrong then: in at most 1 % of the
comparisons, and never in a loud hour.

Beside our own stand three rules that others use (`gate_others`), on all turns of the same pairs, disturbed or not. Ours
must not have more false alarms than any of them, and except in a loud hour not find less where all are wrong as often
(`gate_counts`).

Comparisons of one recording share pairs of processes, so the Clopper-Pearson intervals, which take them for
independent, are too narrow: of ten pairs there are no more than 252 sets of five.
"""

from __future__ import annotations

import argparse
import math
import os
import subprocess
import sys
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import combinations, permutations
from pathlib import Path
from typing import Any

import msgspec
import numpy as np

from benchmarks.figures import Figure
from benchmarks.gate_counts import (
    OURS,
    SLOWDOWNS,
    Count,
    at_equal_false_alarms,
    beyond_others,
    count_of,
    evidence,
    false_alarms_beyond,
    is_disturbed,
    pace,
    rates,
    summary,
    total,
)
from benchmarks.gate_others import Values, by_rule
from benchmarks.gate_record import CASES, DATA
from roofline.ab.measuring_in_turns import AbCase, Rules, judge_cases
from roofline.comparison.effects.effect import Effect
from roofline.comparison.effects.paired import LEAST_PAIRS, PairTurns, effect_of_pairs, observe_pair

LEAST_CAUGHT = {0.05: 0.99, 0.03: 0.95}
"""Slowdown -> the share of comparisons that must find it."""

TRIALS = 500
"""Comparisons drawn, at most."""

_ROOT = Path(__file__).parents[1]

Turns = Mapping[str, Sequence[PairTurns]]
"""Case -> its pairs of processes, in the order they were taken."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Recording:
    """:param seconds: of turns, of each case in each pair of processes."""

    turns: Turns
    seconds: float


def record(pairs: int, seconds: float, threads: int, folder: Path) -> Path:
    """Take turns between this working tree, which must be as committed, and the same commit in another folder.

    Nothing is settled on the way: no effect is small enough to matter, and no confidence high enough.
    """
    subprocess.run(["git", "clone", "-q", str(_ROOT), str(folder / "base")], check=True)
    subprocess.run(
        [
            *(sys.executable, "-m", "roofline", "ab", "--base-path", str(folder / "base"), "--results", str(folder)),
            *("--pairs", str(pairs), "--max-time", str(pairs * seconds)),
            *("--least-effect", "0.001%", "--confidence", "99.9999%", "--"),
            *("perftests/test_models.py", "--matrix", str(CASES.relative_to(_ROOT)), "--device", "cpu"),
        ],
        cwd=_ROOT,
        env={**os.environ, "OMP_NUM_THREADS": str(threads)},
        check=True,
    )
    return next(folder.glob("*-ab.json"))


def pack(recording: Recording, path: Path) -> None:
    """Write the turns: step times of either side, which of them were disturbed, and the number of their pair."""
    arrays: dict[str, Any] = {"seconds": np.array(recording.seconds)}
    for case, pairs in recording.turns.items():
        for name, values in (
            ("base", [time / pair.steps for pair in pairs for time in pair.base_s]),
            ("new", [time / pair.steps for pair in pairs for time in pair.new_s]),
        ):
            arrays[f"{case}.{name}"] = np.array(values, dtype=np.float32)
        for name, marks in (
            ("base_disturbed", [mark is not None for pair in pairs for mark in pair.base_disturbed]),
            ("new_disturbed", [mark is not None for pair in pairs for mark in pair.new_disturbed]),
        ):
            arrays[f"{case}.{name}"] = np.array(marks)
        lengths = [len(pair.base_s) for pair in pairs]
        builds = [build for pair in pairs for build in pair.build or (0,) * len(pair.base_s)]
        arrays[f"{case}.build"] = np.array(builds, dtype=np.uint8)
        arrays[f"{case}.pair"] = np.repeat(np.arange(len(pairs), dtype=np.uint8), lengths)
    np.savez_compressed(path, **arrays)
    print(f"{path.name}: {len(recording.turns)} cases, {path.stat().st_size / 1e3:.0f} kB")


def recordings() -> dict[str, Recording]:
    """Label -> its turns. Which side began a pair is not kept: nothing is concluded from it."""
    found: dict[str, Recording] = {}
    for path in sorted(DATA.glob("gate_turns_*.npz")):
        with np.load(path) as file:
            cases = sorted(name.removesuffix(".pair") for name in file.files if name.endswith(".pair"))
            turns: dict[str, Sequence[PairTurns]] = {}
            for case in cases:
                numbers = file[f"{case}.pair"]
                turns[case] = [
                    PairTurns(
                        first="base",
                        steps=1,
                        base_s=tuple(file[f"{case}.base"][numbers == number].tolist()),
                        new_s=tuple(file[f"{case}.new"][numbers == number].tolist()),
                        base_disturbed=_marks(file[f"{case}.base_disturbed"][numbers == number].tolist()),
                        new_disturbed=_marks(file[f"{case}.new_disturbed"][numbers == number].tolist()),
                        build=tuple(file[f"{case}.build"][numbers == number].tolist()),
                    )
                    for number in range(int(numbers.max()) + 1)
                ]
            label = path.stem.removeprefix("gate_turns_")
            found[label] = Recording(turns=turns, seconds=float(file["seconds"]))
    return found


def _marks(disturbed: Sequence[bool]) -> tuple[str | None, ...]:
    return tuple("marked" if mark else None for mark in disturbed)


def first_turns(recording: Recording, seconds: float) -> Turns:
    """Of each pair of processes as many turns as fit into ``seconds`` of a case, from the first on.

    Had there been no more time, each building would have had fewer turns, instead of there being fewer buildings.

    :raises ValueError: less was recorded.
    """
    if recording.seconds < seconds:
        raise ValueError(
            f"{recording.seconds:g} s a case were recorded in each pair, and a comparison takes {seconds:g}"
        )
    share = seconds / recording.seconds
    return {case: [_first(pair, share) for pair in pairs] for case, pairs in recording.turns.items()}


def _first(pair: PairTurns, share: float) -> PairTurns:
    spent = np.cumsum(np.add(pair.base_s, pair.new_s))
    turns = int(np.searchsorted(spent, share * spent[-1] * (1 + 1e-9), side="right"))
    return replace(
        pair,
        base_s=pair.base_s[:turns],
        new_s=pair.new_s[:turns],
        base_disturbed=pair.base_disturbed[:turns],
        new_disturbed=pair.new_disturbed[:turns],
        build=pair.build[:turns],
    )


def draws(recorded: int, rules: Rules, most: int, rng: np.random.Generator) -> list[tuple[int, ...]]:
    """Numbers of the pairs of processes of each comparison, in the order that they are looked at.

    Every way to draw them, once each, if these are at most ``most``: nobody looks before the third pair, so of the
    first three the order is nothing. Else so many at random.

    :raises ValueError: fewer pairs were recorded than a comparison takes.
    """
    if recorded < rules.pairs:
        raise ValueError(f"{recorded} pairs of processes were recorded, and a comparison takes {rules.pairs}")
    first = min(LEAST_PAIRS, rules.pairs)
    later = rules.pairs - first
    ways = math.comb(recorded, first) * math.perm(recorded - first, later)
    if ways > most:
        return [tuple(rng.permutation(recorded)[: rules.pairs].tolist()) for _ in range(most)]
    every = [
        (*seen, *rest)
        for seen in combinations(range(recorded), first)
        for rest in permutations([number for number in range(recorded) if number not in seen], later)
    ]
    return [every[index] for index in rng.permutation(ways)]


def exchanged(turns: Turns) -> Turns:
    """With base and new in each other's place."""
    return {
        case: [
            replace(
                pair,
                base_s=pair.new_s,
                new_s=pair.base_s,
                base_disturbed=pair.new_disturbed,
                new_disturbed=pair.base_disturbed,
            )
            for pair in pairs
        ]
        for case, pairs in turns.items()
    }


def compare(turns: Turns, chosen: Sequence[int], rules: Rules, slowed: float = 0.0) -> dict[str, Count]:
    """The verdicts of one comparison over these pairs of processes, in this order."""
    cases = {case: AbCase(test=case, case=case) for case in turns}
    for number in chosen:
        for case, pairs in turns.items():
            cases[case] = replace(cases[case], pairs=(*cases[case].pairs, slower(pairs[number], slowed)))
        cases = judge_cases(cases, rules)
    return {name: count_of(case.outcome) for name, case in cases.items()}


def effects(ways: Sequence[Turns], sets: Sequence[Sequence[int]], slowed: float) -> list[Effect]:
    """Over all pairs of each set, both ways, of every case, in the order that the others are asked."""
    seen = [
        {case: [observe_pair(slower(pair, slowed)) for pair in pairs] for case, pairs in way.items()} for way in ways
    ]
    return [
        effect_of_pairs([pairs[number] for number in chosen])
        for chosen in sets
        for way in seen
        for pairs in way.values()
    ]


def slower(pair: PairTurns, by: float) -> PairTurns:
    """With the new side's turns made longer."""
    return replace(pair, new_s=tuple(time * (1 + by) for time in pair.new_s))


def step_times(turns: Turns, chosen: Sequence[int], slowed: float = 0.0) -> Iterator[tuple[Values, Values]]:
    """The times for the other rules: of each case all turns of base and new in these pairs of processes."""
    for pairs in turns.values():
        base, new = np.array([times for number in chosen for times in pairs[number].step_times_s]).T
        yield base, new * (1 + slowed)


def run(*, quick: bool = False) -> tuple[Figure, ...]:
    """Error rates of every rule on every recording."""
    rng = np.random.default_rng(0)
    figures: list[Figure] = []
    for label, recording in recordings().items():
        recorded = min(len(pairs) for pairs in recording.turns.values())
        rules = replace(Rules(), pairs=min(Rules().pairs, recorded))
        turns = first_turns(recording, rules.max_time_s / rules.pairs)
        drawn = draws(recorded, rules, 10 if quick else TRIALS, rng)
        # The others look once, at the end, so that the order is nothing to them.
        sets = list(dict.fromkeys(tuple(sorted(draw)) for draw in drawn))
        title = f"{label}, in turns"
        ways = (turns, exchanged(turns))
        counts, scores = {}, {}
        for slowed in (0.0, *SLOWDOWNS):
            others = by_rule(step_times(way, chosen, slowed) for chosen in sets for way in ways)
            own = [compare(way, draw, rules, slowed) for draw in drawn for way in ways]
            counts[slowed] = {
                OURS: total(count for cases in own for count in cases.values()),
                **{rule: asked.count for rule, asked in others.items()},
            }
            scores[slowed] = {
                OURS: [evidence(effect) for effect in effects(ways, sets, slowed)],
                **{rule: asked.slower for rule, asked in others.items()},
            }
            print(f"{title}, {pace(slowed)}")
            for case in turns:
                print(f"  {case:36} {total(cases[case] for cases in own)}")
        distinct = f"{len(sets)} different sets of {rules.pairs} of {recorded} pairs of processes"
        print(summary(title, len(drawn), f"{distinct}, each both ways", counts))
        figures.append(Figure(name=f"different sets of pairs, {title}", unit="", samples=(float(len(sets)),)))
        figures.extend(rates(label, title, counts, LEAST_CAUGHT))
        figures.extend(false_alarms_beyond(title, counts))
        if not is_disturbed(label):
            figures.extend(at_equal_false_alarms(title, scores))
            figures.extend(beyond_others(title, [scores]))
    return tuple(figures)


def main() -> None:
    """Record, or take a file of turns, and write the recording."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--label", required=True, help="goes into the file name: quiet, loud")
    parser.add_argument("--record", type=int, default=16, help="pairs of fresh processes (default %(default)s)")
    parser.add_argument("--seconds", type=float, default=15.0, help="a case in each pair (default %(default)s)")
    parser.add_argument("--threads", type=int, default=1, help="torch's threads (default %(default)s)")
    parser.add_argument("--pack", type=Path, metavar="FILE", help="a file of turns to take, instead of recording")
    arguments = parser.parse_args()
    path = DATA / f"gate_turns_{arguments.label}.npz"
    with tempfile.TemporaryDirectory() as folder:
        file = arguments.pack or record(arguments.record, arguments.seconds, arguments.threads, Path(folder))
        turns = {_case(one.test): one.pairs for one in msgspec.json.decode(file.read_bytes(), type=_TurnsFile).cases}
        pack(Recording(turns=turns, seconds=arguments.seconds), path)


class _Case(msgspec.Struct):
    test: str
    pairs: tuple[PairTurns, ...]


class _TurnsFile(msgspec.Struct):
    """What is packed of a file of `roofline ab --results`."""

    cases: tuple[_Case, ...]


def _case(test: str) -> str:
    return test.rpartition("[")[2].rstrip("]")


if __name__ == "__main__":
    main()
