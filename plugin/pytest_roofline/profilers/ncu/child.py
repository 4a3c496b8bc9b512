"""The pytest plugin of the process that repeats one test under ncu, loaded with ``-p`` by it alone.

The test runs as it is, up to its call of the ``roofline`` fixture. There, in place of a measurement, one step is taken
for the counters, and the test ends. What belongs to a run (results, reports, sessions, gate, bounds) is left out.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Generator
from contextlib import nullcontext
from typing import TYPE_CHECKING, Any, NoReturn

import pytest

from pytest_roofline.config import case_name, deselect
from pytest_roofline.profilers.ncu.child_request import CHILD, StepRequest, request_of
from pytest_roofline.rerun import ONE_TEST_OFF, repeat_one_test, switch_off

if TYPE_CHECKING:
    from pytest_roofline.session.run import Run
    from pytest_roofline.workload.step import Workload

# The plugin itself is imported late: pytest has yet to load it, and to rewrite its assertions, when it loads this one.

ALONE = f"{CHILD} is for the processes that --roofline-ncu starts. Leave -p {CHILD} out."

WARMUP_STEPS = 5
"""After them the optimiser has its state, and memory and the choice of algorithms are steady."""

MOST_WARMUP_STEPS = 30
"""More of them are taken while the gradient scale is still falling: such a step leaves the optimiser out."""

_OFF: dict[str, Any] = {
    **ONE_TEST_OFF,
    # pytest-timeout: replay takes longer than the test that the limit is for.
    "timeout": 0,
    # A test that failed fails again.
    "reruns": 0,
}


@pytest.hookimpl(wrapper=True)
def pytest_load_initial_conftests(early_config: pytest.Config) -> Generator[None, object, object]:
    switch_off(early_config, _OFF)
    return (yield)


@pytest.hookimpl(wrapper=True)
def pytest_cmdline_main(config: pytest.Config) -> Generator[None, object, object]:
    """Become a process that counts, before any other plugin decides what this run is to be.

    :raises pytest.UsageError: this is none, or there is nothing that could count.
    """
    given = request_of(os.environ)
    if given is None:
        raise pytest.UsageError(ALONE)
    repeat_one_test(config, _OFF, perf_stat=False)
    if given.file is not None:
        config.args[:] = [str(given.file)]
    config.pluginmanager.register(CountingChild(config, given), "roofline-ncu-child")
    return (yield)


class CountingChild:
    """Connects a request to pytest, and carries it out."""

    def __init__(self, config: pytest.Config, request: StepRequest) -> None:
        self._config = config
        self._request = request
        self._run: Run | None = None
        self._counted = False

    @pytest.hookimpl(wrapper=True, trylast=True)
    def pytest_collection_modifyitems(
        self, session: pytest.Session, items: list[pytest.Item]
    ) -> Generator[None, None, None]:
        """All but the one test are left out."""
        yield
        others = {item for item in items if item.nodeid != self._request.test}
        # Of a file that can't be collected pytest itself says why.
        if len(others) == len(items) and not session.testsfailed:
            self._request.give(f"it was not collected again, {len(items)} others were: its name is another each time")
        deselect(self._config, items, others)
        del items[1:]

    @pytest.hookimpl(wrapper=True)
    def pytest_runtestloop(self, session: pytest.Session) -> Generator[None, object, object]:
        from pytest_roofline.session.run import run_of

        for item in session.items:
            _without_limit(item)
        self._run = run_of(self._config)
        if self._run is not None:
            self._run.counting = self
        return (yield)

    @pytest.hookimpl(wrapper=True)
    def pytest_runtest_protocol(self, item: pytest.Item) -> Generator[None, object, object]:
        result = yield
        if not self._counted:
            entries = () if self._run is None else self._run.not_measured
            why = next((entry.why for entry in entries if entry.id == case_name(item)), "it measured no model")
            self._request.give(why)
        return result

    def take(self, workload: Workload, case: str) -> NoReturn:
        """Take the step that is counted, and end the test: what it does with a measurement can't be done.

        :raises pytest.skip.Exception: the step was taken.
        """
        from pytest_roofline.workload.compiling import fresh_compiler
        from pytest_roofline.workload.switches import conditions

        run = self._run
        assert run is not None
        with (
            fresh_compiler() if workload.compile else nullcontext(),
            conditions(workload.precision, run.options, run.device, case),
        ):
            problem = count_step(workload, case)
        run.tried += 1
        self._counted = True
        self._request.give(problem or "")
        pytest.skip("one step was taken for the counters")


def _without_limit(item: pytest.Item) -> None:
    """Take the markers of pytest-timeout off, which stand above its option: see `_OFF`."""
    for node in item.listchain():
        node.own_markers[:] = [marker for marker in node.own_markers if marker.name != "timeout"]


def count_step(workload: Workload, case: str) -> str | None:
    """Warm up, and take one step in the profiled range, on a batch that lies ready.

    :param case: the name of the NVTX range.
    :returns: why the step is not the one to count; None where it is.
    """
    from pytest_roofline.workload.step import Step
    from pytest_roofline.workload.switches import profiled_range

    step = Step(workload)
    warm_up(step, step.scale)
    step.freeze_scale()
    scale = step.scale()
    fetched = step.on_fetched_batches()
    with profiled_range(workload.device, case):
        fetched()
    if scale is not None and fetched.scale() != scale:
        return f"its optimiser step was skipped: gradients were not finite at the scale {scale:g}"
    return None


def warm_up(step: Callable[[], object], scale: Callable[[], float | None]) -> int:
    """Take `WARMUP_STEPS`, and more until the gradient scale stands.

    :returns: how many were taken.
    """
    for taken in range(1, MOST_WARMUP_STEPS + 1):
        before = scale()
        step()
        if taken >= WARMUP_STEPS and scale() == before:
            return taken
    return MOST_WARMUP_STEPS
