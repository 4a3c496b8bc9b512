"""Measuring processes that take no time but that of a clock of their own, and remember who was spoken to."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from itertools import cycle
from pathlib import Path
from typing import Any

from roofline.ab.messages import PROTOCOL, Agreed, Begin, Done, Enough, Hello, Message, Next, Ready, Took, Turn
from roofline.ab.process import ProcessFailed
from roofline.ab.side import MeasuredSide
from roofline.comparison.effects.paired import SideName


def side(name: SideName, root: Path = Path("/tree")) -> MeasuredSide:
    return MeasuredSide(name=name, what=f"the {name}", root=root, folder=root, tree=root, python="python")


def case_of(test: str) -> str:
    """What the fakes call a test's case."""
    return f"case {test}"


class Table:
    """Where two fakes sit: the clock they share, what was said in which order.

    :param round_s: of a side's rounds (``new``), or of those in one test (``new b``), in turn, endlessly; else 0.1.
    """

    def __init__(self, **round_s: Sequence[float]) -> None:
        self.now = 0.0
        self.heard: list[str] = []
        self._times = {name: cycle(times) for name, times in round_s.items()}
        self._usual = cycle((0.1,))

    def clock(self) -> float:
        return self.now

    def round(self, name: SideName, test: str) -> float:
        times = self._times.get(f"{name} {test}") or self._times.get(name) or self._usual
        time = next(times)
        self.now += time
        return time


class FakeProcess:
    """Says what a pytest with these tests would say.

    :param steps: of a round, on this side. ``preparing_s``: to build and warm up.
    :param work: the fields of its cases, beside the hash.
    :param skips: tests it skips; ``fails``: tests that fail after they were measured, with the reason.
    :param dies_in: the process ends in this test, after a turn.
    """

    def __init__(
        self,
        name: SideName,
        table: Table,
        tests: Sequence[str] = ("a",),
        *,
        steps: int = 3,
        preparing_s: float = 0.0,
        hashes: Mapping[str, str] | None = None,
        work: Mapping[str, Any] | None = None,
        skips: Sequence[str] = (),
        fails: Mapping[str, str] | None = None,
        dies_in: str | None = None,
        disturbs: Callable[[int], str | None] = lambda _turn: None,
        files: Sequence[str] = (),
    ) -> None:
        self.side = side(name)
        self.tests = tuple(tests)
        self.closed = False
        self._name: SideName = name
        self._table = table
        self._steps = steps
        self._preparing_s = preparing_s
        self._hashes = hashes or {}
        self._work = work or {}
        self._skips = skips
        self._fails = fails or {}
        self._dies_in = dies_in
        self._disturbs = disturbs
        self._files = tuple(files)
        self._answers: list[Message] = []
        self._queue: list[str] = []
        self._taken = 0
        self._dead = False
        self.begun: tuple[str, ...] = ()
        self.slowdown: float | None = None

    def __enter__(self) -> FakeProcess:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: object, trace: object) -> None:
        self.closed = True

    def hello(self) -> Hello:
        return Hello(
            protocol=PROTOCOL,
            tests=self.tests,
            cases=tuple(map(case_of, self.tests)),
            files=self._files,
            python="3",
            torch="2",
            plugin="/plugin",
        )

    def send(self, message: Message) -> None:
        self._table.heard.append(f"{self._name} {type(message).__name__}")
        if self._dead:
            raise ProcessFailed(f"{self._name}: ended")
        answer = self._answer(message)
        if answer is not None:
            self._answers.append(answer)

    def receive(self, _doing: str) -> Message:
        if self._dead:
            raise ProcessFailed(f"{self._name}: ended")
        return self._answers.pop(0)

    def _answer(self, message: Message) -> Message | None:
        if isinstance(message, Begin):
            self.begun, self.slowdown = message.tests, message.slowdown
            self._queue = list(message.tests)
            return self._next_test()
        if isinstance(message, Next):
            if not message.again and self._queue:
                self._queue.pop(0)
            return self._next_test()
        test = self._queue[0]
        if isinstance(message, Turn):
            self._dead = test == self._dies_in
            self._taken += 1
            return Took(wall_s=self._table.round(self._name, test))
        if isinstance(message, Enough):
            marks = tuple(self._disturbs(turn) for turn in range(self._taken))
            if not self._taken:
                problem: str | None = "skipped: the other side does not measure it"
            else:
                # Proofs come at the last building.
                problem = self._fails.get(test) if message.last else None
            return Done(test=test, disturbed=marks, problem=problem)
        assert isinstance(message, Agreed)
        return None

    def _next_test(self) -> Message | None:
        self._taken = 0
        if not self._queue:
            return None
        test = self._queue[0]
        if test in self._skips:
            return Done(test=test, problem="skipped: not here")
        self._table.now += self._preparing_s
        named = self._hashes.get(test, "h")
        work = {**self._work, "workload_hash": named}
        return Ready(test=test, case=case_of(test), workload_hash=named, steps=self._steps, work=work)
