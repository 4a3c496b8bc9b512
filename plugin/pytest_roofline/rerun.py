"""Run this pytest once more: the same command, in the project that it found, for a process that ends with this one.

One that repeats a single test begins no files of the run's anew.
"""

from __future__ import annotations

import argparse
import os
import shlex
import signal
import subprocess
import sys
import threading
from collections.abc import Iterable, Iterator, Mapping, MutableMapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from types import FrameType
from typing import Any, TypeVar

import msgspec
import psutil
import pytest

from pytest_roofline.config import change_options, flags_with_value

GRACE_S = 5.0
"""Ctrl-C in a terminal reaches the child, too. One that still runs after this time didn't get it."""

_LOOK_S = 1.0
"""Seconds between two looks at the parent."""


def command_of(config: pytest.Config) -> list[str]:
    """The command that repeats this run in its folder: interpreter and its flags, pytest, root folder, arguments."""
    return [*started_as(), *arguments_of(config)]


def started_as() -> list[str]:
    """The start of the command line this pytest was called with: interpreter, its flags, and how pytest was named."""
    own = len(sys.argv) - 1
    name = Path(sys.argv[0])
    by_name = name.stem in ("pytest", "py.test") or name.parts[-2:] == ("pytest", "__main__.py")
    start = sys.orig_argv[1 : len(sys.orig_argv) - own]
    # A program that calls pytest.main() is not to be run again.
    return [sys.executable, *(start if by_name and start else ("-m", "pytest"))]


def arguments_of(config: pytest.Config) -> tuple[str, ...]:
    """pytest's arguments, behind the root folder and the ini file that it found: it may find others another time.

    A path that is the value of a flag is a test's to it until it knows the flag, and a results folder exists from the
    first run on.
    """
    given = config.invocation_params
    found = {"--rootdir": config.rootpath, "--config-file": config.inipath}
    # From here, so that a result that says how it was called doesn't tell where the project lies.
    pinned = [f"{flag}={os.path.relpath(path, given.dir)}" for flag, path in found.items() if path is not None]
    return (*pinned, *joined(map(str, given.args), flags_with_value(config)))


def joined(words: Iterable[str], flags: frozenset[str]) -> Iterator[str]:
    """The words of a command line with ``--flag=value`` for ``--flag value``, which no pytest takes for a path."""
    rest = iter(words)
    for word in rest:
        value = next(rest, None) if word in flags else None
        yield word if value is None else f"{word}={value}"


def environment_of(config: pytest.Config) -> dict[str, str]:
    """The variables to change for a process that repeats this run: what they add to every command line."""
    added = os.environ.get("PYTEST_ADDOPTS")
    words = () if added is None else joined(shlex.split(added), flags_with_value(config))
    return {} if added is None else {"PYTEST_ADDOPTS": shlex.join(words)}


Order = TypeVar("Order")


def variables_of(variable: str, order: object) -> dict[str, str]:
    """The environment variable that tells a child what it is to do, a dataclass, for `take_order`."""
    return {variable: msgspec.json.encode(order, enc_hook=str).decode()}


def take_order(environment: MutableMapping[str, str], variable: str, kind: type[Order]) -> Order | None:
    """Take out of the environment what the process that started this one wants of it; None where it is no child.

    Nothing is left of it: no process that a test starts is one of ours.

    :raises pytest.UsageError: somebody else has set the variable.
    """
    text = environment.pop(variable, None)
    if text is None:
        return None
    try:
        return msgspec.json.decode(text, type=kind, dec_hook=lambda of, value: of(value))
    except (msgspec.DecodeError, ValueError, RecursionError) as error:
        raise pytest.UsageError(not_ours(variable, text)) from error


def not_ours(variable: str, text: str) -> str:
    return (
        f"{variable} in the environment is {text[:_SHOWN]!r}. Only pytest-roofline sets it, for the processes that it"
        " starts. Unset it."
    )


_SHOWN = 60
"""So many characters of a wrong value are shown."""


def wait_for(command: Sequence[str], variables: Mapping[str, str], folder: Path) -> int:
    """Run a child to its end and return its exit code. Interrupted, let it write what it has, and return 2."""
    with subprocess.Popen(command, env={**os.environ, **variables}, cwd=folder) as child:
        try:
            with _passing_termination_on(child):
                return child.wait()
        except KeyboardInterrupt:
            try:
                _finish(child)
            except KeyboardInterrupt:  # once more: now
                child.kill()
            return pytest.ExitCode.INTERRUPTED


def signal_of(code: int) -> str:
    """Name the signal that ended a process, by its negative exit code."""
    try:
        return signal.Signals(-code).name
    except ValueError:  # a real-time signal
        return f"signal {-code}"


def _finish(child: subprocess.Popen[bytes]) -> None:
    try:
        child.wait(GRACE_S)
    except subprocess.TimeoutExpired:
        _interrupt(child)
        child.wait()


def _interrupt(child: subprocess.Popen[bytes]) -> None:
    child.send_signal(signal.SIGINT if os.name == "posix" else signal.SIGTERM)


@contextmanager
def _passing_termination_on(child: subprocess.Popen[bytes]) -> Iterator[None]:
    """Pass SIGTERM on, which is sent to this process alone: the child would go on measuring."""
    if threading.current_thread() is not threading.main_thread():
        yield
        return

    def stop(_number: int, _frame: FrameType | None) -> None:
        _interrupt(child)
        raise KeyboardInterrupt

    before = signal.signal(signal.SIGTERM, stop)
    try:
        yield
    finally:
        signal.signal(signal.SIGTERM, before)


def end_with_parent() -> None:
    """Have this process end, at whatever it is then, a few seconds after the one that started it at the latest.

    Whatever it measured on would disturb whoever measures next.
    """
    try:
        parent = psutil.Process(os.getppid())
    except psutil.NoSuchProcess:
        os._exit(pytest.ExitCode.INTERRUPTED)
    threading.Thread(target=_watch, args=(parent,), name="roofline-parent", daemon=True).start()


def _watch(parent: psutil.Process) -> None:
    # A child of a process that has ended gets another parent, which costs a microsecond to see, for steps are timed
    # meanwhile; on Windows it keeps the number. Tests may replace time.sleep, and the look would never rest.
    rest = threading.Event()
    while os.getppid() == parent.pid and (os.name != "nt" or parent.is_running()):
        rest.wait(_LOOK_S)
    os._exit(pytest.ExitCode.INTERRUPTED)


ONE_TEST_OFF: dict[str, Any] = {
    # A debugger has no terminal to ask.
    "usepdb": False,
    "trace": False,
    # Files of the run that this process would begin anew.
    "basetemp": None,
    "log_file": os.devnull,
    "xmlpath": None,
    "pastebin": None,
    "report_log": None,  # pytest-reportlog
    "htmlpath": None,  # pytest-html
    "json_report": False,  # pytest-json-report
    "allure_report_dir": None,  # allure-pytest
    "cov_source": [],  # pytest-cov
    "benchmark_json": None,
    "benchmark_save": None,
    "benchmark_autosave": False,
    "benchmark_compare": None,
    "benchmark_compare_fail": [],
    "benchmark_histogram": False,
    "benchmark_cprofile": None,
    "numprocesses": 0,  # pytest-xdist
}
"""What a process that repeats one test does without: options of pytest and of other plugins, where they are there,
wherever their values are from."""

_OF_A_RUN: dict[str, Any] = {
    **dict.fromkeys(("results", "resume", "gate", "ncu", "expected_bounds", "case_timeout", "shard")),
    **dict.fromkeys(("report", "assert_bounds", "isolate"), False),
    "roofs": "off",
    "sessions": 1,
    "no_progress": True,
}
"""The plugin's own options that are the business of the run that repeats one of its tests."""


def switch_off(early_config: pytest.Config, off: Mapping[str, Any]) -> None:
    """Set options before conftest files are loaded: what begins before a later hook is called, as pytest-cov does."""
    set_options(early_config.known_args_namespace, off)
    # After the plugins that are installed and before any conftest.py: pytest configures the last one first.
    early_config.pluginmanager.register(_StaysOff(off), "roofline-stays-off")


class _StaysOff:
    """Switches off what a conftest.py has switched on while it was configured, before the plugins look at it."""

    def __init__(self, off: Mapping[str, Any]) -> None:
        self._off = off

    def pytest_configure(self, config: pytest.Config) -> None:
        set_options(config.option, self._off)


def repeat_one_test(config: pytest.Config, off: Mapping[str, Any], **more: Any) -> None:
    """Leave out what belongs to a whole run, before any other plugin decides what this one is to be.

    :param off: as `switch_off` has them.
    :param more: options of the plugin that this process is without, too.
    :raises pytest.UsageError: there is nothing that could measure.
    """
    plugin = sys.modules.get("pytest_roofline.plugin")
    if plugin is None or not config.pluginmanager.is_registered(plugin):
        raise pytest.UsageError(f"the plugin pytest-roofline is not loaded by {sys.executable}")
    change_options(config, **_OF_A_RUN, **more)
    set_options(config.option, off)


def set_options(options: argparse.Namespace, values: Mapping[str, Any]) -> None:
    """Set those options that there are."""
    for name, value in values.items():
        if hasattr(options, name):
            setattr(options, name, value)
