"""A measurement's side of taking turns: when the next round may be taken, and what this side has to tell."""

from __future__ import annotations

import json
import os
import sys
import sysconfig
import time
from collections import deque
from collections.abc import Mapping
from dataclasses import fields
from importlib.machinery import EXTENSION_SUFFIXES
from types import ModuleType
from typing import Any

import pytest

from pytest_roofline.device.instruments import Instruments
from pytest_roofline.measuring.disturbance import disturbances
from pytest_roofline.measuring.rounds import Clock, Round, Step
from roofline.ab.messages import Agreed, Begin, Channel, Done, Enough, Message, Next, Ready, Took, Turn
from roofline.schema.record import Case


class OtherSide(RuntimeError):
    """The parent is gone, or says what makes no sense here."""


class Turns:
    """What this process and the parent say to each other while tests run."""

    def __init__(self, channel: Channel) -> None:
        self._channel = channel
        self._looked_at: set[tuple[str, str]] = set()
        self._told: set[str] = set()
        self._slowdown: float | None = None
        self.test = ""
        """Node id of the test that runs."""
        self.last = True
        """Whether it won't be built anew after this: then it is proven."""
        self.taken: list[Round] = []
        """Its rounds."""
        self.agreed: int | None = None
        """Steps of its rounds, from when it was measured first."""

    def begin(self, order: Begin) -> None:
        """The parent has chosen the tests."""
        self._slowdown = order.slowdown

    def next_test(self, test: str) -> None:
        """A test begins. ``test`` is its node id."""
        if test != self.test:
            self.agreed = None
        self.test = test
        self.last = True
        self.taken = []

    def end(self, problem: str | None) -> bool:
        """A test has ended: say so, and wait for the word to go on.

        :param problem: why what it measured doesn't count; None where it passed.
        :returns: whether it is to be built anew.
        """
        if problem is None and not self.taken:
            problem = "it measured no model"
        marks = (disturbances(self.taken) if self.taken else None) or (None,) * len(self.taken)
        answer = self.ask(Done(test=self.test, disturbed=marks, problem=problem), Next)
        return isinstance(answer, Next) and answer.again

    def pace(self, case: Case) -> TurnPace:
        """For the measurement of a case."""
        return TurnPace(self, case)

    def slowed(self, step: Step, instruments: Instruments, clock: Clock) -> Step:
        """The step, longer by as much as the parent wants for a trial of its own alarm."""
        return step if self._slowdown is None else Slowed(step, self._slowdown, instruments, clock)

    def files(self) -> tuple[str, ...]:
        """Files loaded since the last call; see `loaded_files`."""
        # There are thousands, and to look at them all takes a tenth of a second: once, not at each building.
        loaded = tuple(sys.modules.items())
        modules = {(name, str(getattr(module, "__file__", None))): module for name, module in loaded}
        fresh = {name: module for (name, file), module in modules.items() if (name, file) not in self._looked_at}
        self._looked_at |= modules.keys()
        found = loaded_files(fresh) - self._told
        self._told |= found
        return tuple(sorted(found))

    def ask(self, message: Message, *expected: type[Message]) -> Message:
        """Say something and wait for the answer.

        :raises OtherSide: it is none of those expected.
        """
        self._channel.send(message)
        return self.wait(*expected)

    def say(self, message: Message) -> None:
        self._channel.send(message)

    def wait(self, *expected: type[Message]) -> Message:
        """:raises OtherSide: what comes is none of those expected."""
        answer = self._channel.receive()
        if not isinstance(answer, expected):
            raise OtherSide(f"expected {' or '.join(kind.__name__ for kind in expected)}, got {answer}")
        return answer


class TurnPace:
    """The `pytest_roofline.measuring.Pace` of one case."""

    def __init__(self, turns: Turns, case: Case) -> None:
        self._turns = turns
        self._case = case

    @property
    def agreed_before(self) -> int | None:
        return self._turns.agreed

    def agree(self, steps: int) -> int:
        """Say that this side is warm.

        :raises pytest.skip.Exception: the other side can't measure the case.
        """
        turns = self._turns
        ready = Ready(
            test=turns.test,
            case=self._case.id,
            workload_hash=self._case.workload_hash,
            steps=steps,
            files=turns.files(),
            work=_declared(self._case),
        )
        answer = turns.ask(ready, Agreed, Enough)
        if not isinstance(answer, Agreed):
            pytest.skip("the other side does not measure it")
        turns.agreed = answer.steps
        return answer.steps

    def next_round(self) -> bool:
        answer = self._turns.wait(Turn, Enough)
        if isinstance(answer, Enough):
            self._turns.last = answer.last
        return isinstance(answer, Turn)

    def took(self, round: Round) -> None:
        self._turns.taken.append(round)
        self._turns.say(Took(wall_s=round.wall_s))


def _declared(case: Case) -> dict[str, Any]:
    """The fields of a case as JSON values, what is none (an optimiser's option may be a tensor) as the hash has it."""
    values = {one.name: getattr(case, one.name) for one in fields(Case)}
    declared: dict[str, Any] = json.loads(json.dumps(values, default=str))
    return declared


_SUFFIXES = (".py", *EXTENSION_SUFFIXES)


def loaded_files(modules: Mapping[str, ModuleType]) -> set[str]:
    """Where modules were loaded from: each file of a project, and of what is installed the packages' own files alone.

    Compiled modules are among them; Python's own are left out.

    :param modules: by name, as in ``sys.modules``.
    """
    python, installed = _folders("stdlib", "platstdlib"), _folders("purelib", "platlib")
    found = set()
    for name, module in tuple(modules.items()):
        path = getattr(module, "__file__", None)
        # torch makes modules whose file is only a name.
        if name == "__main__" or not isinstance(path, str) or not (os.path.isabs(path) and path.endswith(_SUFFIXES)):
            continue
        real = os.path.realpath(path)
        in_packages = real.startswith(installed)
        if (in_packages and "." not in name) or not (in_packages or real.startswith(python)):
            found.add(real)
    return found


def _folders(*names: str) -> tuple[str, ...]:
    return tuple({os.path.realpath(sysconfig.get_path(name)) + os.sep for name in names})


_REMEMBERED = 20
"""Steps whose times say how long a step is."""


class Slowed:
    """Takes the step, waits until the device is through with it, and keeps the CPU busy for a share of a step's time.

    A step's time is the lower quartile of the last ones, and the share of it is spent in CPU time: beside other
    programs a slower step does more work, which is stretched as all work is.

    Waiting makes a step on an accelerator slower by itself: a slowdown of 0 does that alone, and is what the other side
    has to be given.

    :param share: of a step's time, from 0 up.
    :param cpu_clock: of this thread.
    """

    def __init__(
        self, step: Step, share: float, instruments: Instruments, clock: Clock, cpu_clock: Clock = time.thread_time
    ) -> None:
        self._step = step
        self._share = share
        self._synchronize = instruments.synchronize
        self._clock = clock
        self._cpu_clock = cpu_clock
        self._times: deque[float] = deque(maxlen=_REMEMBERED)

    def __call__(self) -> None:
        clock, cpu_clock = self._clock, self._cpu_clock
        start = clock()
        self._step()
        self._synchronize()
        self._times.append(clock() - start)
        usual = sorted(self._times)[len(self._times) // 4]
        end = cpu_clock() + self._share * usual
        while cpu_clock() < end:
            pass
