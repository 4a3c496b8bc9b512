"""The pytest plugin of ``roofline ab``'s measuring processes, loaded with ``-p`` by them alone.

It tells the parent which tests there are, runs those it is asked for in the order it is asked, and after each waits for
the word. What belongs to a whole session (results file, report, sessions, gate) is the parent's business, and left out.
"""

from __future__ import annotations

import os
import platform
import sys
from collections.abc import Generator, Iterator, Mapping
from contextlib import contextmanager
from typing import IO

import pytest

from pytest_roofline.ab.turns import OtherSide, Turns
from pytest_roofline.config import case_name, change_options, deselect, options_of, spelled, uses_roofline
from pytest_roofline.rerun import end_with_parent, not_ours
from pytest_roofline.session.run import run_of
from roofline.ab.messages import PIPES, PROTOCOL, WORKER, Begin, Channel, Closed, Hello, Unreadable

ALONE = f"{WORKER} is for the processes that `roofline ab` starts. Leave -p {WORKER} out."

NOT_LOADED = (
    "the plugin pytest-roofline is not loaded: it is not installed for {}. Install it there, or give the pytest "
    "arguments -p pytest_roofline.plugin with its folders on PYTHONPATH."
)

BESIDE_EACH_OTHER = (
    "-n: both sides take turns test by test, and pytest-xdist runs tests beside each other. Leave -n out of the ini "
    "file and of PYTEST_ADDOPTS, or give the pytest arguments -n 0 --dist no."
)


@pytest.hookimpl(wrapper=True)
def pytest_cmdline_main(config: pytest.Config) -> Generator[None, object, object]:
    """Become a process of ``roofline ab``, before any other plugin decides what this run is to be.

    :raises pytest.UsageError: this is none, or nothing could be measured.
    """
    pipes = os.environ.pop(PIPES, None)
    if pipes is None:
        raise pytest.UsageError(ALONE)
    end_with_parent()
    if not config.pluginmanager.is_registered(sys.modules.get("pytest_roofline.plugin")):
        raise pytest.UsageError(NOT_LOADED.format(sys.executable))
    if getattr(config.option, "numprocesses", None) or getattr(config.option, "dist", "no") != "no":
        raise pytest.UsageError(BESIDE_EACH_OTHER)
    if options_of(config).isolate:
        raise pytest.UsageError(f"{spelled(config, 'isolate')}: roofline ab has processes of its own. Leave it out.")
    change_options(config, results=None, roofs="off", report=False, sessions=1, gate=None, ncu=None)
    try:
        reading, writing = (_end(int(one), mode) for one, mode in zip(pipes.split(","), ("rb", "wb"), strict=True))
    except (ValueError, OverflowError, OSError) as error:
        raise pytest.UsageError(not_ours(PIPES, pipes)) from error
    config.pluginmanager.register(Worker(config, Turns(Channel(reading, writing))), "roofline-turns")
    return (yield)


def _end(number: int, mode: str) -> IO[bytes]:
    # Not for this process's own children: the parent learns from the closed pipe that this one is gone.
    os.set_inheritable(number, False)
    return os.fdopen(number, mode)


class Worker:
    """Connects `Turns` to pytest."""

    def __init__(self, config: pytest.Config, turns: Turns) -> None:
        self._config = config
        self._turns = turns

    @pytest.hookimpl(wrapper=True, trylast=True)
    def pytest_collection_modifyitems(self, items: list[pytest.Item]) -> Generator[None, None, None]:
        """Tests that don't measure a model have nothing to compare."""
        yield
        others = {item for item in items if not uses_roofline(item) or item.get_closest_marker("roofs") is not None}
        deselect(self._config, items, others)

    @pytest.hookimpl(wrapper=True)
    def pytest_runtestloop(self, session: pytest.Session) -> Generator[None, object, object]:
        if session.testsfailed or self._config.option.collectonly:
            return (yield)
        run = run_of(self._config)
        tests = {item.nodeid: item for item in session.items}
        if run is not None:
            run.turns = self._turns
        with _parent():
            order = self._turns.ask(_hello(tests, self._turns.files()), Begin)
        assert isinstance(order, Begin)
        self._turns.begin(order)
        session.items[:] = [tests[test] for test in order.tests]
        return (yield)

    @pytest.hookimpl(wrapper=True)
    def pytest_runtest_protocol(self, item: pytest.Item) -> Generator[None, object, object]:
        self._turns.next_test(item.nodeid)
        result = yield
        again = False
        with _parent():
            again = self._turns.end(self._problem(item))
        if again:
            # pytest goes through this list as it is; an item that is run twice gets its fixtures twice.
            item.session.items.insert(item.session.items.index(item) + 1, item)
        return result

    def _problem(self, item: pytest.Item) -> str | None:
        """Tell why the test didn't pass."""
        run = run_of(self._config)
        entries = () if run is None else run.not_measured
        return next((entry.why for entry in entries if entry.id == case_name(item)), None)


@contextmanager
def _parent() -> Iterator[None]:
    """End the session when the parent has ended, or is of another mind."""
    try:
        yield
    except Closed:
        pytest.exit("roofline ab has ended")
    except (Unreadable, OtherSide) as error:
        pytest.exit(f"roofline ab and this process don't understand each other: {error}")


def _hello(tests: Mapping[str, pytest.Item], files: tuple[str, ...]) -> Hello:
    import torch

    import pytest_roofline

    return Hello(
        protocol=PROTOCOL,
        tests=tuple(tests),
        cases=tuple(map(case_name, tests.values())),
        files=files,
        python=platform.python_version(),
        torch=str(torch.__version__),
        plugin=os.path.dirname(os.path.realpath(pytest_roofline.__file__)),
    )
