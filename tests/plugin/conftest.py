"""What several of the plugin's tests need."""

from __future__ import annotations

import gc
import os
import sys
from collections.abc import Iterator
from functools import partial

import pytest

from tests import forked
from tests.plugin.fake_run import STEP_S
from tests.plugin.measuring.fakes import Lab


@pytest.fixture(scope="session", autouse=True)
def short_collections() -> Iterator[None]:
    """Seek garbage among what tests made, not in torch and all tests: a measurement seeks it after each round."""
    with pytest.MonkeyPatch.context() as patch:
        gc.collect()
        gc.freeze()
        patch.setattr(gc, "unfreeze", lambda: None)
        yield


@pytest.fixture
def lab(monkeypatch: pytest.MonkeyPatch) -> Lab:
    """A step of a quarter of a second, on a host without other programs."""
    lab = Lab(STEP_S)
    monkeypatch.setattr("pytest_roofline.measuring.rounds.HostTelemetry", lambda: lab)
    return lab


@pytest.fixture
def pytester(pytester: pytest.Pytester, monkeypatch: pytest.MonkeyPatch) -> pytest.Pytester:
    """As pytest's own, but the pytest that it starts has torch already (see `tests.forked`)."""
    run = pytester.run

    def quick(*command: str | os.PathLike[str], timeout: float | None = None, **more: object) -> pytest.RunResult:
        python, module, *arguments = map(str, command)
        if (python, module) != (sys.executable, "-mpytest") or more:
            return run(*command, timeout=timeout, **more)  # type: ignore[arg-type]
        ran = forked.run("pytest", arguments, pytester.path, timeout=timeout)
        print(ran.stdout, ran.stderr, sep="\n")
        code = pytest.ExitCode(ran.returncode) if ran.returncode in list(pytest.ExitCode) else ran.returncode
        return pytest.RunResult(code, ran.stdout.splitlines(), ran.stderr.splitlines(), 0)

    monkeypatch.setattr(pytester, "run", quick)
    return pytester


@pytest.fixture
def forked_children(monkeypatch: pytest.MonkeyPatch) -> None:
    """What the pytest of a test starts has torch already, too, where it is an interpreter."""
    monkeypatch.setenv(forked.CHILDREN, "yes")


@pytest.fixture
def started_anew(pytester: pytest.Pytester, monkeypatch: pytest.MonkeyPatch) -> pytest.Pytester:
    """A pytester whose pytest has loaded nothing yet when it starts, as a user's."""
    monkeypatch.setattr(pytester, "run", partial(pytest.Pytester.run, pytester))
    return pytester


@pytest.fixture
def project(pytester: pytest.Pytester) -> pytest.Pytester:
    """A project that measures and asked for the markers."""
    others = "-p no:playwright -p no:hypothesispytest -p no:anyio"
    pytester.makeini(f"[pytest]\nroofline_markers = true\naddopts = --strict-markers {others}\n")
    return pytester
