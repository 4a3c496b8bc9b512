"""Does the margin hold? Runs cut from recorded step times, judged against the step time of the whole recording.

    python -m benchmarks margin

For every recording in ``benchmarks/data`` (see `margin_record`) and every workload in it, stretches that begin at
random are handed to the product's own loop: its warm-up, its rounds, its stopping rule, under a clock that the recorded
times advance. A run *holds* if the recording's step time, the median of its undisturbed rounds, lies within the margin
that the run claims; the recording is taken in rounds as long as the run's. Runs that claim nothing are counted apart.
The same for synthetic series, whose long-run median is known, or drawn once at great length.

Stretches of one recording overlap, so they are not independent and the Clopper-Pearson intervals, which take them for
that, are too narrow. The recordings: ``loud``, beside other programs, on which the margin's method was tuned;
``quiet``, the machine alone, taken when the method was fixed; ``crowded``, beside programs that came and went, so that
what one run sees says little of the whole. All of them count.
"""

from __future__ import annotations

import json
import statistics
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import stats

from benchmarks.figures import Figure
from benchmarks.margin_series import SERIES
from pytest_roofline.device.nvml import DeviceState, HeldDown
from pytest_roofline.measuring import Plan, measure
from pytest_roofline.measuring.disturbance import disturbances
from pytest_roofline.measuring.host_telemetry import Reading
from pytest_roofline.measuring.loop import REPLACED_SHARE
from pytest_roofline.measuring.rounds import Stopwatch
from roofline.timing.step_time import undisturbed

DATA = Path(__file__).parent / "data"

LEAST_COVERAGE = 0.93
"""Bound for runs that claim 95 %."""

SPARE_S = 3.0
"""Recorded time kept for a run's warm-up, beside its budget."""

Values = NDArray[np.float64]


@dataclass(frozen=True, slots=True)
class Tally:
    """The runs of one series, counted. ``margins`` are those claimed."""

    held: int
    runs: int
    margins: tuple[float, ...]
    seconds: tuple[float, ...]

    @property
    def claims(self) -> int:
        return len(self.margins)

    @property
    def silence(self) -> float:
        """Share of the runs that claim nothing; at least one run."""
        return 1 - self.claims / self.runs

    def __add__(self, other: Tally) -> Tally:
        return Tally(
            self.held + other.held,
            self.runs + other.runs,
            self.margins + other.margins,
            self.seconds + other.seconds,
        )


NOTHING = Tally(0, 0, (), ())


class Exhausted(Exception):
    """A run wanted more steps than the stretch has."""


@dataclass(frozen=True, slots=True)
class Stretch:
    """Consecutive steps.

    :param times: seconds of each step.
    :param counters: field of `Reading` -> how far it advanced with each step; none for a synthetic series.
    """

    times: Values
    counters: Mapping[str, Values]

    def __getitem__(self, part: slice) -> Stretch:
        return Stretch(self.times[part], {name: values[part] for name, values in self.counters.items()})


class Playback:
    """A step that takes as long as the recorded one did, on a clock of its own, beside the counters recorded with it.

    Serves as step, clock, instruments (of a device without events) and telemetry of one measurement.
    """

    missing: Mapping[str, str] = {}

    def __init__(self, stretch: Stretch) -> None:
        self._ends = [0.0, *np.cumsum(stretch.times).tolist()]
        self._counters = {name: [0.0, *np.cumsum(values).tolist()] for name, values in stretch.counters.items()}
        self._steps = 0

    def step(self) -> None:
        if self._steps + 1 == len(self._ends):
            raise Exhausted
        self._steps += 1

    def clock(self) -> float:
        return float(self._ends[self._steps])

    def synchronize(self) -> None:
        return None

    def mark(self) -> None:
        return None

    def between_s(self, _first: object, _second: object) -> float:
        raise TypeError("no events were recorded")

    def state(self) -> DeviceState:
        return DeviceState()

    def held_so_far(self) -> HeldDown:
        return HeldDown()

    def energy_j(self) -> None:
        return None

    def read(self) -> Reading:
        now = {name: values[self._steps] for name, values in self._counters.items()}
        switches = now.get("involuntary_switches")
        return Reading(
            process_cpu_s=None,
            involuntary_switches=None if switches is None else round(switches),
            steal_s=now.get("steal_s"),
            others_cpu_s=now.get("others_cpu_s"),
        )


def judge(stretches: Iterator[Stretch], truth: Callable[[int], float], plan: Plan) -> Tally:
    """Measure every stretch and compare what is claimed with the true step time.

    :param truth: by rounds of so many steps.
    """
    held, runs = 0, 0
    margins: list[float] = []
    seconds: list[float] = []
    for stretch in stretches:
        player: Any = Playback(stretch)  # in the place of the device and of the host's counters
        try:
            timing = measure(Stopwatch(player.step, player, player.clock, player), plan).timing
        except Exhausted:
            continue
        runs += 1
        seconds.append(sum(timing.rounds.wall_s))
        if timing.margin is not None:
            margins.append(timing.margin)
            true_s = truth(timing.rounds.steps)
            held += abs(timing.step_time_s - true_s) <= timing.margin * timing.step_time_s
    return Tally(held, runs, tuple(margins), tuple(seconds))


def step_time_of(steps: Stretch) -> Callable[[int], float]:
    """The step time that a measurement of all of it would report, by rounds of so many steps."""

    @cache
    def by_rounds_of(count: int) -> float:
        player: Any = Playback(steps)  # in the place of the device and of the host's counters
        stopwatch = Stopwatch(player.step, player, player.clock, player, None)
        rounds = [stopwatch.round(count) for _ in range(len(steps.times) // count)]
        walls_s = [round.wall_s for round in rounds]
        return statistics.median(undisturbed(walls_s, disturbances(rounds))) / count

    return by_rounds_of


def recordings() -> dict[str, dict[str, Stretch]]:
    """Label -> workload -> all its steps."""
    found = {}
    for path in sorted(DATA.glob("step_times_*.npz")):
        with np.load(path) as file:
            about = json.loads(str(file["about"]))
            units = {"time": about["tick_s"], "involuntary_switches": 1.0, "steal_s": 1e-3, "others_cpu_s": 1e-3}
            columns: dict[str, dict[str, Values]] = {}
            for name in file.files:
                if name != "about":
                    workload, _, column = name.partition(".")
                    columns.setdefault(workload, {})[column] = file[name] * units[column]
        found[path.stem.removeprefix("step_times_")] = {
            workload: Stretch(series.pop("time"), series) for workload, series in columns.items()
        }
    return found


def cut(steps: Stretch, seconds: float, count: int, rng: np.random.Generator) -> Iterator[Stretch]:
    """``count`` stretches of ``seconds`` each that begin at random steps."""
    ends = np.cumsum(steps.times)
    last = int(np.searchsorted(ends, ends[-1] - seconds))
    for start in rng.integers(0, max(1, last), count).tolist():
        before = ends[start - 1] if start else 0.0
        yield steps[start : int(np.searchsorted(ends, before + seconds)) + 1]


def line(name: str, tally: Tally) -> str:
    """One row: coverage with its interval, width of the claims, length of the runs."""
    if not tally.claims:
        return f"{name:32} {tally.runs:5} runs, no claim"
    interval = stats.binomtest(tally.held, tally.claims).proportion_ci(0.95, method="exact")
    return (
        f"{name:32} {100 * tally.held / tally.claims:5.1f} % [{100 * interval.low:.1f}, {100 * interval.high:.1f}] hold"
        f"; margin median {100 * np.median(tally.margins):5.2f} %, nine tenths below "
        f"{100 * np.quantile(tally.margins, 0.9):5.2f} %; "
        f"{100 * tally.silence:3.0f} % claim nothing; {np.median(tally.seconds):4.1f} s"
    )


@dataclass(frozen=True, slots=True)
class Coverage:
    """Of every recording by its label, and of the synthetic series together."""

    recorded: Mapping[str, Tally]
    synthetic: Tally

    @property
    def all_recorded(self) -> Tally:
        return sum(self.recorded.values(), NOTHING)


def cover(plan: Plan, runs: int, rng: np.random.Generator, show: Callable[[str], None]) -> Coverage:
    """Judge ``runs`` runs of every series; one line each is shown."""
    seconds = (1 + REPLACED_SHARE) * plan.max_time_s + SPARE_S
    recorded: dict[str, Tally] = {}
    for label, series in recordings().items():
        together = NOTHING
        for name, steps in series.items():
            tally = judge(cut(steps, seconds, runs, rng), step_time_of(steps), plan)
            show(line(f"{label} {name}", tally))
            together += tally
        show(line(f"{label}: all", together))
        recorded[label] = together
    synthetic = NOTHING
    for name, draw in SERIES.items():
        tally = judge((Stretch(draw(rng, seconds), {}) for _ in range(runs)), draw.median_of, plan)
        show(line(f"synthetic {name}", tally))
        synthetic += tally
    coverage = Coverage(recorded, synthetic)
    show(line("recordings: all", coverage.all_recorded))
    show(line("synthetic: all", synthetic))
    return coverage


def run(*, quick: bool) -> tuple[Figure, ...]:
    """The figures of the benchmark."""
    coverage = cover(Plan(), 5 if quick else 200, np.random.default_rng(0), lambda text: print(text, flush=True))
    figures = []
    for name, tally in (("recorded", coverage.all_recorded), ("synthetic", coverage.synthetic)):
        if not tally.claims:
            raise SystemExit(f"no run of the {name} step times made a claim: record more with benchmarks.margin_record")
        figures += [
            _coverage(name, tally, LEAST_COVERAGE),
            Figure(name=f"{name} step times: margin claimed", unit="", samples=tally.margins),
            Figure(name=f"{name} step times: share of runs that claim nothing", unit="", samples=(tally.silence,)),
        ]
    parts = (_coverage(f"recording {label}", tally) for label, tally in coverage.recorded.items() if tally.claims)
    return (*figures, *parts)


def _coverage(name: str, tally: Tally, at_least: float | None = None) -> Figure:
    return Figure(
        name=f"{name} step times: true step time within the 95 % margin claimed, share of runs that claim one",
        unit="",
        samples=(tally.held / tally.claims,),
        at_least=at_least,
    )
