"""The suite's fixtures (device, data loader, warm-up), its cases, and the short spellings of the flags."""

from __future__ import annotations

from collections.abc import Generator, Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from perftests import sharing, suite, suite_options
from perftests.data_options import DataError
from pytest_roofline.options import SETTINGS
from pytest_roofline.plugin import device_of
from pytest_roofline.settings import add_flags, add_short_flags
from pytest_roofline.workers.xdist_controller import workers_of

if TYPE_CHECKING:
    import torch

    from perftests.matrix import CaseSpec
    from pytest_roofline.fixture import Roofline
    from pytest_roofline.workload.step import Batches, Workload

_PERFTESTS = Path(__file__).parent / "perftests"


def pytest_addoption(parser: pytest.Parser, pluginmanager: pytest.PytestPluginManager) -> None:
    group = parser.getgroup("perftests", "performance tests of this repository")
    add_flags(parser, pluginmanager, group, suite_options.SETTINGS)
    add_short_flags(pluginmanager, group, (*SETTINGS, *suite_options.SETTINGS))


@pytest.hookimpl(optionalhook=True, tryfirst=True)
def pytest_xdist_auto_num_workers(config: pytest.Config) -> int | None:
    """``-n auto`` of the suite: as many workers as there are devices."""
    return workers_of(config) if suite.is_asked_for(config, _PERFTESTS) else None


@pytest.hookimpl(tryfirst=True)
def pytest_collection(session: pytest.Session) -> None:
    """Build the cases before anything is collected, so that a bad flag ends the run with exit code 4 and its reason."""
    if suite.is_asked_for(session.config, _PERFTESTS):
        sharing.refuse_alone(session.config.args)
        suite.prepare(session.config)
    else:
        suite.refuse_flags(session.config)


@pytest.hookimpl(tryfirst=True)
def pytest_collection_finish(session: pytest.Session) -> None:
    """Say which flags have no effect on the cases that are left."""
    if suite.is_asked_for(session.config, _PERFTESTS):
        suite.announce_idle(session.config, session.items)


def pytest_generate_tests(metafunc: pytest.Metafunc) -> None:
    """Give ``test_train`` and ``test_infer`` their cases; a module with a parametrisation of its own does so itself."""
    if "case" in metafunc.fixturenames and metafunc.function.__name__ in ("test_train", "test_infer"):
        mode: Any = metafunc.function.__name__.removeprefix("test_")
        metafunc.parametrize("case", suite.parameters(metafunc.config, mode), indirect=True)


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport(call: pytest.CallInfo[None]) -> Generator[None, pytest.TestReport, pytest.TestReport]:
    """Tell of data that can't be loaded by the reason alone, without a traceback."""
    report = yield
    if call.excinfo is not None and isinstance(call.excinfo.value, DataError):
        report.longrepr = str(call.excinfo.value)
    return report


@pytest.fixture
def case(request: pytest.FixtureRequest) -> Iterator[CaseSpec]:
    """The case a test measures, from its id.

    Where this device can't run it, it is skipped here, and where memory lacks it ends here, before anything is built.
    """
    chosen = suite.prepare(request.config)
    case = chosen.case(request.param)
    obstacle = chosen.obstacle(case, device_of(request.config))
    if obstacle is not None:
        pytest.skip(obstacle)
    with suite.room_for(request.config, case, device_of(request.config), step="workload" in request.fixturenames):
        yield case


@pytest.fixture
def device(roofline: Roofline) -> torch.device:
    """The device that ``--device`` selects, tried before the first case."""
    return roofline.device


@pytest.fixture
def dataloader(request: pytest.FixtureRequest, case: CaseSpec, device: torch.device) -> Iterator[Batches]:
    """Batches of the case without end; loader workers are started, and stopped at the end of the test."""
    chosen = suite.prepare(request.config)
    with chosen.threads(case):
        batches = chosen.open_batches(case, device)
        yield batches
        batches.close()


@pytest.fixture
def warm_up(roofline: Roofline) -> int | None:
    """Steps before the first timed round; None: until steady (compiled, tuned, memory and clocks settled), bounded."""
    return roofline.plan.warmup_steps


@pytest.fixture
def workload(request: pytest.FixtureRequest, case: CaseSpec, device: torch.device, dataloader: Batches) -> Workload:
    """The case's model on the device, with its batches and optimiser."""
    return suite.prepare(request.config).workload(case, device, dataloader)
