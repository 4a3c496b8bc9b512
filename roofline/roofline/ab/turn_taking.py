"""Let two measuring processes take turns at a test until its budget is spent: one process runs at a time."""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import TypeVar

from roofline.ab.messages import Agreed, Begin, Done, Enough, Message, Next, Ready, Took, Turn
from roofline.ab.process import MeasuringProcess, ProcessFailed
from roofline.comparison.effects.paired import SIDES, PairTurns, SideName
from roofline.comparison.sides.workload import workload_changes

LEAST_TURNS = 5
"""A side, even where they overrun the budget: of fewer nothing can be said of how well their ratio is known."""

BUILDS = 12
"""Times that either side's model is built in a pair of processes, at most: each building has an offset of its own."""

LEAST_TURNS_A_BUILD = 2
"""Their median alone is used, and how far it is off shows beside the other buildings."""

Clock = Callable[[], float]
Processes = Mapping[SideName, MeasuringProcess]
OnFiles = Callable[[SideName, Sequence[str]], None]

_Value = TypeVar("_Value")


@dataclass(frozen=True, slots=True, kw_only=True)
class TurnsOfTest:
    """The result of one test in one pair of processes: its turns, or the problem.

    :param case: its id and workload, as far as either side reported.
    :param skipped: both sides skip it.
    """

    test: str
    case: str
    workload_hash: str | None = None
    turns: PairTurns | None = None
    problem: str | None = None
    skipped: bool = False


def alternate(
    processes: Processes,
    tests: Sequence[str],
    first: SideName,
    budget_s: float,
    on_files: OnFiles = lambda _side, _files: None,
    clock: Clock = time.perf_counter,
) -> Iterator[TurnsOfTest]:
    """Measure tests that both processes have collected and that wait for their `Begin`.

    :param first: the side that is warmed up first and has the first turn.
    :param budget_s: of each test, both sides together, for all that happens within its turns.
    :param on_files: called with the files that a side has loaded since; what it raises ends it all.
    """
    order = SIDES if first == "base" else SIDES[::-1]
    messages: dict[SideName, Message] = {
        name: Begin(tests=tuple(tests), slowdown=processes[name].side.slowdown) for name in SIDES
    }
    for name in tests:
        test = _Test(processes, order, name, on_files, clock)
        try:
            found = test.run(messages, budget_s)
        except ProcessFailed as error:
            yield TurnsOfTest(test=name, case=test.case, workload_hash=test.workload_hash, problem=str(error))
            return
        messages = {side: Next() for side in SIDES}
        yield found
    for side in order:
        processes[side].send(Next() if tests else messages[side])


class _Test:
    """One test in two processes: its models are built and take turns, again and again until the budget is spent."""

    def __init__(
        self, processes: Processes, order: Sequence[SideName], test: str, on_files: OnFiles, clock: Clock
    ) -> None:
        self.processes = processes
        self.test = test
        self.on_files = on_files
        self.clock = clock
        self._order = order
        self._builds: list[_Build] = []

    @property
    def case(self) -> str:
        return next((ready.case for build in self._builds for ready in build.ready.values()), self.test)

    @property
    def workload_hash(self) -> str | None:
        return next((ready.workload_hash for build in self._builds for ready in build.ready.values()), None)

    def run(self, messages: Mapping[SideName, Message], budget_s: float) -> TurnsOfTest:
        """:param messages: what lets either side begin.
        :raises ProcessFailed: a process has ended, or hangs.
        """
        steps, turns, spent_s = 0, 0, 0.0
        while True:
            # A B, B A, A B, ... over all buildings.
            build = _Build(self, self._order[:: -1 if turns % 2 else 1])
            self._builds.append(build)
            built = len(self._builds)
            preparing_s = build.prepare(messages)
            steps = steps or build.steps
            # No more time is spent on building than on turns.
            most = BUILDS if preparing_s * BUILDS <= budget_s else math.ceil(budget_s / preparing_s)
            final = built >= most
            # The first one takes longest to prepare, and doesn't tell how many more there will be.
            left = 1 if final else (BUILDS if built == 1 else most) - built + 1
            least = max(LEAST_TURNS_A_BUILD, LEAST_TURNS - turns) if final else LEAST_TURNS_A_BUILD
            took_s = build.take_turns(steps, least, (budget_s - spent_s) / left)
            turns, spent_s = turns + build.turns, spent_s + took_s
            build.end(last=final or (turns >= LEAST_TURNS and spent_s + took_s > budget_s))
            if build.last or build.problem is not None:
                break
            messages = {name: Next(again=True) for name in SIDES}
        return TurnsOfTest(
            test=self.test,
            case=self.case,
            workload_hash=self.workload_hash,
            turns=None if build.problem is not None else self._turns(steps),
            problem=build.problem,
            skipped=build.skipped,
        )

    def _turns(self, steps: int) -> PairTurns:
        def together(series: Callable[[_Build], Sequence[_Value]]) -> tuple[_Value, ...]:
            return tuple(value for build in self._builds for value in series(build)[: build.turns])

        return PairTurns(
            first=self._order[0],
            steps=steps,
            base_s=together(lambda build: build.times["base"]),
            new_s=together(lambda build: build.times["new"]),
            base_disturbed=together(lambda build: build.done["base"].disturbed),
            new_disturbed=together(lambda build: build.done["new"].disturbed),
            build=tuple(number for number, build in enumerate(self._builds) for _ in range(build.turns)),
        )


class _Build:
    """The models of one test, from when they are built until they are thrown away."""

    def __init__(self, test: _Test, order: Sequence[SideName]) -> None:
        self._test = test
        self._order = order
        self.ready: dict[SideName, Ready] = {}
        self.done: dict[SideName, Done] = {}
        self.times: dict[SideName, list[float]] = {name: [] for name in SIDES}
        self.problem: str | None = None
        self.last = False

    @property
    def steps(self) -> int:
        """That make a round long enough on both sides."""
        return max((ready.steps for ready in self.ready.values()), default=0)

    @property
    def turns(self) -> int:
        """Of each side."""
        return min(map(len, self.times.values()))

    @property
    def skipped(self) -> bool:
        """By both sides."""
        return not self.ready and all((done.problem or "").startswith("skipped") for done in self.done.values())

    def prepare(self, messages: Mapping[SideName, Message]) -> float:
        """Let both build their models and warm up; seconds.

        :raises ProcessFailed: a process has ended, or hangs.
        """
        start = self._test.clock()
        for name in self._order:
            self._send(name, messages[name])
            self._receive(name, "preparing")
        self.problem = self._another_workload()
        return self._test.clock() - start

    def take_turns(self, steps: int, least: int, budget_s: float) -> float:
        """A B, B A, A B, ... in pairs that are complete; a pair isn't begun if it would end beyond the budget.

        :param least: pairs that are taken all the same.
        :returns: seconds.
        :raises ProcessFailed: a process has ended, or hangs.
        """
        if self.done or self.problem is not None:
            return 0.0
        for name in self._order:
            self._send(name, Agreed(steps=steps))
        order, pairs, start = tuple(self._order), 0, self._test.clock()
        while True:
            for name in order:
                self._send(name, Turn())
                self._receive(name, "in a turn of")
                if name in self.done:
                    return self._test.clock() - start
            order, pairs = order[::-1], pairs + 1
            spent_s = self._test.clock() - start
            if pairs >= least and spent_s + spent_s / pairs > budget_s:
                return spent_s

    def end(self, *, last: bool) -> None:
        """Take no more turns.

        :param last: it is to be proven and counted, for it isn't built anew.
        :raises ProcessFailed: a process has ended, or hangs.
        """
        self.last = last or bool(self.done) or self.problem is not None
        for name in self._order:
            if name not in self.done:
                self._send(name, Enough(last=self.last))
                self._receive(name, "proving and counting")
        self.problem = self.problem or self._problem()

    def _send(self, name: SideName, message: Message) -> None:
        self._test.processes[name].send(message)

    def _receive(self, name: SideName, doing: str) -> None:
        """Keep what a side answers.

        :raises ProcessFailed: it has ended, hangs, or speaks of another test.
        """
        test = self._test.test
        message = self._test.processes[name].receive(f"{doing} {test}")
        if isinstance(message, Took):
            self.times[name].append(message.wall_s)
        elif isinstance(message, Ready) and message.test == test:
            self.ready[name] = message
            self._test.on_files(name, message.files)
        elif isinstance(message, Done) and message.test == test:
            self.done[name] = message
        else:
            raise ProcessFailed(f"{name}: out of step in {test}: {message}")

    def _another_workload(self) -> str | None:
        if len(self.ready) < len(SIDES):
            return None
        base, new = (self.ready[name] for name in SIDES)
        if base.workload_hash == new.workload_hash:
            return None
        changes = workload_changes(base.work, new.work, "base") or "its hash differs"
        return (
            f"another workload in the same test: {changes} (hash {new.workload_hash}, base {base.workload_hash}). If "
            "that is intended, give the test another name (then it is a new case, and the old one is removed: "
            "--allow-removed), or let a person decide"
        )

    def _problem(self) -> str | None:
        """Join the sides' problems. A side that only waited for the other in vain is left out."""
        sides = [name for name in SIDES if name not in self.ready] or SIDES
        problems = [f"{name}: {problem}" for name in sides if (problem := self.done[name].problem) is not None]
        return "; ".join(dict.fromkeys(problems)) or None
