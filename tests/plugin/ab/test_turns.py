"""What a measuring process of ``roofline ab`` says, and when."""

from __future__ import annotations

import os
import sys
import sysconfig
from collections.abc import Iterator
from dataclasses import replace
from importlib.machinery import EXTENSION_SUFFIXES
from pathlib import Path
from types import ModuleType

import pytest
import torch

from pytest_roofline.ab.turns import OtherSide, Slowed, Turns, loaded_files
from roofline.ab.messages import Agreed, Begin, Channel, Done, Enough, Next, Ready, Took, Turn
from roofline.schema.record import Case
from tests.plugin.measuring.fakes import Lab, a_round

CASE = Case(id="mlp", workload_hash="h", model="mlp", mode="infer", precision="fp32", batch=1, samples_per_step=1)


@pytest.fixture
def ends() -> Iterator[tuple[Turns, Channel]]:
    """The process's turns, and the parent's end of the pipes."""
    down, up = os.pipe(), os.pipe()
    own = Channel(os.fdopen(down[0], "rb"), os.fdopen(up[1], "wb"))
    parent = Channel(os.fdopen(up[0], "rb"), os.fdopen(down[1], "wb"))
    turns = Turns(own)
    turns.files()  # what other tests loaded may fill a pipe that nobody reads meanwhile
    turns.next_test("test_a.py::test_it")
    yield turns, parent
    own.close()
    parent.close()


def test_a_case_waits_for_its_turns(ends: tuple[Turns, Channel]) -> None:
    """It says that it is warm and with how many steps, takes what was agreed, and a round a turn."""
    turns, parent = ends
    for message in (Agreed(steps=9), Turn(), Enough(), Next()):
        parent.send(message)
    pace = turns.pace(CASE)
    assert pace.agree(7) == 9
    assert pace.next_round()
    pace.took(a_round(0.125))
    assert not pace.next_round()
    assert turns.last
    assert not turns.end(None)
    ready = parent.receive()
    assert isinstance(ready, Ready)
    assert (ready.test, ready.case, ready.workload_hash, ready.steps) == ("test_a.py::test_it", "mlp", "h", 7)
    assert (ready.work["id"], ready.work["precision"], ready.work["config"]) == ("mlp", "fp32", {})
    assert parent.receive() == Took(wall_s=0.125)
    assert parent.receive() == Done(test="test_a.py::test_it", disturbed=(None,))


def test_a_case_s_work_is_told_whatever_it_holds(ends: tuple[Turns, Channel]) -> None:
    """An option of an optimiser may be a tensor, which no message can hold: told as its hash has it."""
    turns, parent = ends
    parent.send(Agreed(steps=9))
    turns.pace(replace(CASE, config={"optimizer": {"lr": torch.tensor(0.5), "betas": (0.9, 0.99)}})).agree(7)
    ready = parent.receive()
    assert isinstance(ready, Ready)
    assert ready.work["config"] == {"optimizer": {"lr": "tensor(0.5000)", "betas": [0.9, 0.99]}}


def test_a_case_may_be_built_anew(ends: tuple[Turns, Channel]) -> None:
    """The word is told when the turns are over, before proofs and counts, for they are made at the last building."""
    turns, parent = ends
    for message in (Agreed(steps=9), Enough(last=False), Next(again=True)):
        parent.send(message)
    pace = turns.pace(CASE)
    assert pace.agreed_before is None
    pace.agree(7)
    assert not pace.next_round()
    assert not turns.last
    assert turns.end(None)
    turns.next_test("test_a.py::test_it")
    assert turns.last
    assert turns.pace(CASE).agreed_before == 9
    turns.next_test("test_a.py::test_other")
    assert turns.pace(CASE).agreed_before is None


def test_a_round_that_was_disturbed_is_told_at_the_end(ends: tuple[Turns, Channel]) -> None:
    """Which one it is shows only beside the others."""
    turns, parent = ends
    parent.send(Next())
    turns.taken = [a_round(steal_s=0.0), a_round(steal_s=0.05)]
    turns.end("failed: why")
    done = parent.receive()
    assert isinstance(done, Done)
    assert done.problem == "failed: why"
    assert done.disturbed == (None, "50 ms stolen by the hypervisor")


def test_a_test_that_measured_nothing_is_told(ends: tuple[Turns, Channel]) -> None:
    """Though it passed: benchmarks may be disabled, or it measures a roof."""
    turns, parent = ends
    parent.send(Next())
    turns.end(None)
    assert parent.receive() == Done(test="test_a.py::test_it", problem="it measured no model")


def test_a_side_that_waited_in_vain_skips(ends: tuple[Turns, Channel]) -> None:
    """The other one can't measure the case, or it is another workload there."""
    turns, parent = ends
    parent.send(Enough())
    with pytest.raises(pytest.skip.Exception, match="the other side does not measure it"):
        turns.pace(CASE).agree(7)


def test_a_word_out_of_place_is_told(ends: tuple[Turns, Channel]) -> None:
    """The two ends must not guess."""
    turns, parent = ends
    parent.send(Next())
    with pytest.raises(OtherSide, match=r"expected Turn or Enough, got Next\(again=False\)"):
        turns.pace(CASE).next_round()


def test_files_are_those_of_projects(tmp_path: Path) -> None:
    """Python's own are left out; of installed packages only the package itself is told. Compiled ones are told, too."""
    installed = Path(sysconfig.get_path("purelib"))
    mine = {
        "mine": tmp_path / "mine.py",
        "mine.part": tmp_path / "part.py",
        "mine.fast": tmp_path / f"fast{EXTENSION_SUFFIXES[0]}",
        "package": installed / "package" / "__init__.py",
        "fast": installed / f"fast{EXTENSION_SUFFIXES[-1]}",
    }
    places = {
        **mine,
        "package.part": installed / "package" / "part.py",
        "package.fast": installed / "package" / f"fast{EXTENSION_SUFFIXES[0]}",
        "json": Path(os.__file__),
        "_json": Path(os.__file__).parent / "lib-dynload" / f"_json{EXTENSION_SUFFIXES[0]}",
        "data": tmp_path / "data.txt",
        "__main__": tmp_path / "main.py",
    }
    modules = {name: ModuleType(name) for name in ("builtin", *places)}
    for name, place in places.items():
        modules[name].__file__ = str(place)
    modules["builtin"].__file__ = "_only_a_name.py"
    assert loaded_files(modules) == {os.path.realpath(place) for place in mine.values()}


def test_files_are_told_once(ends: tuple[Turns, Channel], monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """With the message after they were loaded."""
    turns, _ = ends
    late = ModuleType("late")
    late.__file__ = str(tmp_path / "late.py")
    monkeypatch.setitem(sys.modules, "late", late)
    assert turns.files() == (os.path.realpath(tmp_path / "late.py"),)
    assert turns.files() == ()
    again = ModuleType("late")
    again.__file__ = str(tmp_path / "elsewhere" / "late.py")
    monkeypatch.setitem(sys.modules, "late", again)
    assert turns.files() == (os.path.realpath(tmp_path / "elsewhere" / "late.py"),)


@pytest.mark.parametrize(("share", "busy_s"), [(0.0, 0.0), (0.25, 0.125)])
def test_a_slowed_step_is_longer_by_its_share(share: float, busy_s: float) -> None:
    """Of the time that the device was busy with it: it waits for the device first. What it adds is CPU time."""
    lab, cpu = Lab(0.25, sync_s=0.25), Ticking()
    Slowed(lab.step, share, lab, lab.clock, cpu)()
    assert cpu.now == pytest.approx(busy_s, abs=0.01)
    assert lab.calls == ["clock", "step", "synchronize", "clock"]


def test_an_interrupted_step_is_no_longer_step() -> None:
    """One that took ten times as long is slowed as the others are."""
    lab, cpu = Lab(*[1.0] * 7, 10.0), Ticking()
    slowed = Slowed(lab.step, 0.5, lab, lab.clock, cpu)
    for _ in range(8):
        before = cpu.now
        slowed()
        assert cpu.now - before == pytest.approx(0.5, abs=0.01)


class Ticking:
    """A clock that ticks with each reading."""

    def __init__(self) -> None:
        self.now = 0.0

    def __call__(self) -> float:
        self.now += 2**-10
        return self.now


def test_only_who_was_told_to_is_slowed(ends: tuple[Turns, Channel]) -> None:
    """There is no other way to it than the parent's word."""
    turns, _ = ends
    lab = Lab()
    turns.begin(Begin(tests=()))
    assert turns.slowed(lab.step, lab, lab.clock) == lab.step
    turns.begin(Begin(tests=(), slowdown=0.05))
    assert isinstance(turns.slowed(lab.step, lab, lab.clock), Slowed)
