"""pytest's entry point: flags, markers, the ``roofline`` fixture, and the decision whether this session measures.

Everybody's pytest loads this module, so it imports nothing that is large, and in a project that doesn't use the
fixture it does nothing.
"""

from __future__ import annotations

from collections.abc import Generator, Iterator
from contextlib import contextmanager
from functools import partial
from random import Random
from typing import TYPE_CHECKING

import pytest

from pytest_roofline.config import (
    NOT_MEASURED,
    deselect,
    disabled,
    misread_path,
    note_options,
    options_of,
    spelled,
    uses_roofline,
)
from pytest_roofline.device.selection import KINDS
from pytest_roofline.options import GENERAL_MARKERS, MARKERS, SETTINGS
from pytest_roofline.settings import add_flags, source
from pytest_roofline.workers.device_shares import device_kind, require_torch, select_device
from pytest_roofline.workers.role import KEY as ROLE_KEY
from pytest_roofline.workers.role import ROLE, STANDING, Role, role_of, session_of
from pytest_roofline.workers.shared_folder import PlannedTests
from pytest_roofline.workers.xdist_controller import Controller, distributes, workers_of

if TYPE_CHECKING:
    import torch
    from pytest_benchmark.fixture import BenchmarkFixture

    from pytest_roofline.fixture import Roofline
    from pytest_roofline.session.hooks import SessionHooks
    from pytest_roofline.session.run import Run

_COLLECTED = pytest.StashKey[int]()
_WITHOUT_VALUES = pytest.StashKey[frozenset[str]]()
_WRONG = pytest.StashKey[str]()
"""Why a worker of pytest-xdist can't measure: it tells the controller, for nobody sees it end."""


def pytest_addoption(parser: pytest.Parser, pluginmanager: pytest.PytestPluginManager) -> None:
    add_flags(parser, pluginmanager, parser.getgroup("roofline", "deep-learning performance"), SETTINGS)
    parser.addini(
        "roofline_markers",
        "Register the markers cpu, cuda, mps, train, infer, input; mark measuring tests with their device.",
        type="bool",
        default=False,
    )


@pytest.hookimpl(tryfirst=True)
def pytest_load_initial_conftests(early_config: pytest.Config, parser: pytest.Parser) -> None:
    note_options(early_config, parser)


def _marks(config: pytest.Config) -> bool:
    """Tell whether the general markers are ours.

    :raises pytest.UsageError: the option is neither true nor false; pytest's own message doesn't name it.
    """
    try:
        return bool(config.getini("roofline_markers"))
    except (ValueError, pytest.UsageError) as error:  # which of them depends on pytest's version
        raise pytest.UsageError(f"roofline_markers in the ini file: {error}: use true or false") from error


def pytest_configure(config: pytest.Config) -> None:
    # Words such as cpu and train may be markers of the project's own, with a meaning of their own.
    for marker in (*MARKERS, *(GENERAL_MARKERS if _marks(config) else ())):
        config.addinivalue_line("markers", marker)
    told = getattr(config, "workerinput", {}).get(ROLE_KEY)
    if told is not None:
        config.stash[ROLE] = Role.from_json(told)
    elif distributes(config) and disabled(config) is None:
        controller = Controller(config, partial(_control, config), session_of(config))
        config.pluginmanager.register(controller, "roofline-controller")


@pytest.hookimpl(optionalhook=True, tryfirst=True)
def pytest_xdist_auto_num_workers(config: pytest.Config) -> int | None:
    """``-n auto`` of a run whose command line has one of our flags: as many as there are GPUs or NUMA nodes.

    Too many are refused as those of ``-n`` are.
    """
    given = any((source(config, setting) or "").startswith("-") for setting in SETTINGS)
    return workers_of(config) if given else None


@pytest.hookimpl(tryfirst=True)
def pytest_cmdline_main(config: pytest.Config) -> int | None:
    """Refuse a project that pytest found by our flags' values, and a gate without a baseline; start the sessions of a
    set, and return their exit code.
    """
    if hasattr(config, "workerinput") or _only_shows(config):
        return None
    wrong = misread_path(config)
    if wrong is not None:
        raise pytest.UsageError(wrong)
    chosen = options_of(config)
    if chosen.sessions == 1 and chosen.gate is None:
        return None
    from pytest_roofline.session.gating import sets

    config.stash[STANDING] = standing = sets.settle(config)
    return standing.exit_code


@pytest.hookimpl(wrapper=True)
def pytest_collection(session: pytest.Session) -> Generator[None, object, object]:
    config = session.config
    chosen = options_of(config)
    role = role_of(config)
    if chosen.device.kind is not None and not config.option.collectonly and role is None:
        select_device(config)
    result = yield
    if role is not None:
        return result  # a worker has told the controller what it collected, and that measures nothing itself
    cases = [item for item in session.items if uses_roofline(item)]
    if not _only_shows(config):
        _refuse_empty(config, session.items)
        if cases:
            from pytest_roofline.start import start

            start(config, session.items)
        else:
            _refuse_vacuous(config)
    return result


@pytest.hookimpl(tryfirst=True)
def pytest_collection_finish(session: pytest.Session) -> None:
    """In a worker of pytest-xdist, before it names its tests: make its run, and tell the controller what is planned."""
    config, role = session.config, role_of(session.config)
    if role is None or not hasattr(config, "workerinput") or _only_shows(config):
        return
    try:
        if _WRONG in config.stash:
            raise pytest.UsageError(config.stash[_WRONG])
        _refuse_empty(config, session.items)
        if any(map(uses_roofline, session.items)):
            from pytest_roofline.start import join

            join(config, role, session.items)
    except pytest.UsageError as error:
        session.items.clear()
        PlannedTests(wrong=str(error)).write(role)


@pytest.hookimpl(wrapper=True, tryfirst=True)
def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> Generator[None, None, None]:
    """Prepare the measuring tests before others choose among them, and leave those of other shards out after that."""
    with _telling(config):
        _prepare(config, items)
    yield
    with _telling(config):
        _leave_out_shards(config, items)


@contextmanager
def _telling(config: pytest.Config) -> Iterator[None]:
    """In a worker of pytest-xdist, keep what is wrong for the controller."""
    try:
        yield
    except pytest.UsageError as error:
        if role_of(config) is None:
            raise
        config.stash[_WRONG] = str(error)


def _prepare(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Mark measuring tests with the device they will run on, put roofs first, deselect those for another device."""
    measuring = [item for item in items if uses_roofline(item)]
    config.stash[_COLLECTED] = len(measuring)
    # pytest makes one item of a parametrisation without values, to skip it: it is no case.
    cases = [item for item in measuring if getattr(getattr(item, "callspec", None), "id", None) != "NOTSET"]
    unset = set(measuring) - set(cases)
    if unset:
        config.stash[_WITHOUT_VALUES] = frozenset(item.nodeid.removesuffix("[NOTSET]") for item in unset)
        deselect(config, items, unset)
    if not cases:
        return
    if not config.pluginmanager.hasplugin("pytest-benchmark"):
        raise pytest.UsageError("-p no:benchmark: measuring needs pytest-benchmark. Leave that out, or install it.")
    if not _only_shows(config):
        require_torch()
    from pytest_roofline.measuring import benchmark_timer

    for item in cases:
        benchmark_timer.install(item)
    items.sort(key=lambda item: item.get_closest_marker("roofs") is None)
    _put_in_order(config, items, cases)
    if not _marks(config):
        return
    kind = device_kind(config)
    other = set()
    for item in cases:
        marked = {marker.name for marker in item.iter_markers() if marker.name in KINDS}
        if not marked:
            item.add_marker(kind)
        elif kind not in marked:
            other.add(item)
    deselect(config, items, other)


def _put_in_order(config: pytest.Config, items: list[pytest.Item], cases: list[pytest.Item]) -> None:
    """Shuffle the cases where that was asked for. Roofs and tests that don't measure stay where they are."""
    chosen = options_of(config)
    if chosen.order == "given":
        return
    own = {item for item in cases if item.get_closest_marker("roofs") is None}
    places = [place for place, item in enumerate(items) if item in own]
    shuffled = [items[place] for place in places]
    Random(f"{chosen.seed} {session_of(config)}").shuffle(shuffled)
    for place, item in zip(places, shuffled, strict=True):
        items[place] = item


def _leave_out_shards(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Deselect the cases of other shards. Roofs and tests that don't measure stay: each machine has its own."""
    chosen = options_of(config)
    cases = {item.nodeid: item for item in items if uses_roofline(item) and not item.get_closest_marker("roofs")}
    if chosen.shard is None or not cases:
        return
    from pytest_roofline.session import shard

    others = shard.others(config, [*cases])
    deselect(config, items, {cases[name] for name in others})


@pytest.fixture
def roofline(request: pytest.FixtureRequest, benchmark: BenchmarkFixture) -> Roofline:
    """Measures a model: ``roofline(model, *inputs)``. One call for each test."""
    import torch

    from pytest_roofline.fixture import Roofline, defaults, parameters_of
    from pytest_roofline.session import expected_bounds
    from pytest_roofline.session.run import run_of

    run = run_of(request.config)
    if run is None or not uses_roofline(request.node):
        pytest.fail("name the roofline fixture among the test's arguments: it can't be requested later", pytrace=False)
    if hasattr(request.config, "workerinput"):
        _let_measure(request.config, run, benchmark)
    try:
        chosen = defaults(request.node.iter_markers("roofline"), parameters_of(request.node))
        expected = expected_bounds.marked(request.node)
    except ValueError as error:
        raise pytest.fail.Exception(str(error), pytrace=False) from None
    torch.manual_seed(run.options.seed)
    return Roofline(run, benchmark, request.node, chosen, expected)


def _let_measure(config: pytest.Config, run: Run, benchmark: BenchmarkFixture) -> None:
    """In a worker of pytest-xdist: pytest-benchmark measures nothing there, for it doesn't know whose the device is."""
    flag = disabled(config)
    if role_of(config) is not None:
        benchmark.disabled = False
    elif flag is None:
        pytest.fail("-n: the process that started this worker doesn't have the plugin pytest-roofline.", pytrace=False)
    elif run.options.results is not None:
        pytest.fail(NOT_MEASURED.format(flag), pytrace=False)


def device_of(config: pytest.Config) -> torch.device:
    """The device of the running session."""
    from pytest_roofline.session.run import run_of

    run = run_of(config)
    assert run is not None
    return run.device


_SHOWS = (
    *("help", "version", "markers", "showfixtures", "show_fixtures_per_test", "cacheshow"),
    *("collectonly", "setupplan", "setuponly"),
)
"""pytest's options with which no test runs."""


def _only_shows(config: pytest.Config) -> bool:
    return any(getattr(config.option, name, None) for name in _SHOWS)


def _control(config: pytest.Config, plan: PlannedTests | None) -> tuple[Run, SessionHooks] | None:
    """Make the run of pytest-xdist's controller.

    :param plan: what a worker has collected; None where none of its tests measures.
    """
    if plan is None:
        _refuse_vacuous(config)
        return None
    from pytest_roofline.start import control

    return control(config, plan)


def _refuse_vacuous(config: pytest.Config) -> None:
    """Refuse a gate, or bounds, where no test measures: they don't pass because there was nothing to look at."""
    session: pytest.Session | None = config.pluginmanager.get_plugin("session")
    if session is not None and session.testsfailed:
        return  # tests that can't be collected have a message of their own
    standing = config.stash.get(STANDING, None)
    if standing is not None and standing.baseline is not None:
        raise pytest.UsageError(
            f"{spelled(config, 'gate')}: no test here uses the fixture roofline, so there is nothing to compare. Of"
            " tests with pytest-benchmark's own fixture hold the --benchmark-json files against each other with"
            " `roofline check`."
        )
    # Of the tests of pytest-xdist's workers where nothing is to be measured this process knows nothing.
    beside_others = disabled(config) is not None and (hasattr(config, "workerinput") or distributes(config))
    asked = spelled(config, "assert_bounds")
    # An ini file's is for all runs of a project: those of its other tests don't ask for bounds.
    if options_of(config).assert_bounds and asked.startswith("-") and not beside_others:
        raise pytest.UsageError(
            f"{asked}: no test here measures, so no bound can be asserted. Leave it out, or name the tests that do."
        )


def _refuse_empty(config: pytest.Config, items: list[pytest.Item]) -> None:
    collected = config.stash.get(_COLLECTED, 0)
    if not collected or items:
        return
    unset = config.stash.get(_WITHOUT_VALUES, frozenset())
    if unset and collected == len(unset):
        raise pytest.UsageError(
            f"no case to measure: there are no values for the parameters of {', '.join(sorted(unset))}"
        )
    kind = device_kind(config)
    by_mark, by_name = config.option.markexpr, config.option.keyword
    selection = " and ".join(f"-{flag} {one!r}" for flag, one in (("m", by_mark), ("k", by_name)) if one)
    # Markers name devices; names don't.
    advice = "" if by_name and not by_mark else f"Choose the device with {spelled(config, 'device')}; "
    raise pytest.UsageError(
        f"no case is left to measure: {collected} were collected for the device {kind}, and "
        f"{selection or 'the selection'} leaves none. {advice}--collect-only shows the cases."
    )
