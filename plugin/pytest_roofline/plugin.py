"""pytest's entry point: flags, markers, the ``roofline`` fixture, and the decision whether this session measures.

Everybody's pytest loads this module, so it imports nothing that is large, and in a project that doesn't use the
fixture it does nothing.
"""

from __future__ import annotations

from collections.abc import Generator
from pathlib import Path
from random import Random
from typing import TYPE_CHECKING

import pytest

from pytest_roofline.config import disabled, idle_flags, misread_path, options_of, spelled
from pytest_roofline.device import cpus
from pytest_roofline.device import selection as devices
from pytest_roofline.items import case_name, uses_roofline
from pytest_roofline.options import GENERAL_MARKERS, MARKERS, SETTINGS, Options, without_effect
from pytest_roofline.parallel import launch
from pytest_roofline.settings import LongFlags, add_flags

if TYPE_CHECKING:
    import torch
    from pytest_benchmark.fixture import BenchmarkFixture

    from pytest_roofline.fixture import Roofline
    from pytest_roofline.profilers.ncu.counting_pass import NcuPass
    from pytest_roofline.session.asserted_bounds import Suite
    from pytest_roofline.session.run import Run
    from pytest_roofline.session.sets import Standing

_NO_TORCH = (
    "measuring needs torch 2.9 or newer, which can't be imported: {}. "
    "Install it with: pip install 'pytest-roofline[torch]'"
)

NOTES = pytest.StashKey[list[str]]()
"""What a suite wants readers of the results to know; it puts it there while tests are collected."""

_STANDING: pytest.StashKey[Standing] = pytest.StashKey()
_COLLECTED = pytest.StashKey[int]()
_WITHOUT_VALUES = pytest.StashKey[frozenset[str]]()


ANNOUNCED = pytest.StashKey[list[str]]()
"""What a suite tells before the first test; it puts it there while tests are collected."""


def pytest_addoption(parser: pytest.Parser, pluginmanager: pytest.PytestPluginManager) -> None:
    flags = add_flags(parser, parser.getgroup("roofline", "deep-learning performance"), SETTINGS)
    pluginmanager.register(LongFlags(flags), LongFlags.PLUGIN)
    parser.addini(
        "roofline_markers",
        "Register the markers cpu, cuda, mps, train, infer, input; mark measuring tests with their device.",
        type="bool",
        default=False,
    )


def _marks(config: pytest.Config) -> bool:
    """Whether the general markers are ours.

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
    from pytest_roofline.session import sets

    try:
        config.stash[_STANDING] = standing = sets.settle(config, chosen)
    except sets.Refused as error:
        raise pytest.UsageError(str(error)) from error
    return standing.exit_code


@pytest.hookimpl(wrapper=True)
def pytest_collection(session: pytest.Session) -> Generator[None, object, object]:
    config = session.config
    chosen = options_of(config)
    if chosen.device.kind is not None and not config.option.collectonly:
        _select(config)
    result = yield
    cases = [item for item in session.items if uses_roofline(item)]
    if not _only_shows(config):
        _refuse_empty(config, session.items)
        if cases:
            _start(config, chosen, session.items)
        else:
            _refuse_vacuous(config, session, chosen)
    return result


@pytest.hookimpl(wrapper=True, tryfirst=True)
def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> Generator[None, None, None]:
    """Prepare the measuring tests before others choose among them, and leave those of other shards out after that."""
    _prepare(config, items)
    yield
    _leave_out_shards(config, items)


def _prepare(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Mark measuring tests with the device they will run on, put roofs first, deselect those for another device."""
    measuring = [item for item in items if uses_roofline(item)]
    config.stash[_COLLECTED] = len(measuring)
    # pytest makes one item of a parametrisation without values, to skip it: it is no case.
    cases = [item for item in measuring if getattr(getattr(item, "callspec", None), "id", None) != "NOTSET"]
    unset = set(measuring) - set(cases)
    if unset:
        config.stash[_WITHOUT_VALUES] = frozenset(item.nodeid.removesuffix("[NOTSET]") for item in unset)
        _deselect(config, items, unset)
    if not cases:
        return
    if not config.pluginmanager.hasplugin("pytest-benchmark"):
        raise pytest.UsageError("-p no:benchmark: measuring needs pytest-benchmark. Leave that out, or install it.")
    from pytest_roofline.measuring import benchmark_timer

    for item in cases:
        benchmark_timer.install(item)
    items.sort(key=lambda item: item.get_closest_marker("roofs") is None)
    _put_in_order(config, items, cases)
    if not _marks(config):
        return
    kind = kind_of(config)
    other = set()
    for item in cases:
        marked = {marker.name for marker in item.iter_markers() if marker.name in devices.KINDS}
        if not marked:
            item.add_marker(kind)
        elif kind not in marked:
            other.add(item)
    if other:
        _deselect(config, items, other)


def _put_in_order(config: pytest.Config, items: list[pytest.Item], cases: list[pytest.Item]) -> None:
    """Shuffle the cases where that was asked for. Roofs and tests that don't measure stay where they are."""
    chosen = options_of(config)
    if chosen.order == "given":
        return
    member = None if (standing := config.stash.get(_STANDING, None)) is None else standing.member
    own = {item for item in cases if item.get_closest_marker("roofs") is None}
    places = [place for place, item in enumerate(items) if item in own]
    shuffled = [items[place] for place in places]
    Random(f"{chosen.seed} {1 if member is None else member.place.index}").shuffle(shuffled)
    for place, item in zip(places, shuffled, strict=True):
        items[place] = item


def _leave_out_shards(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Deselect the cases of other shards. Roofs and tests that don't measure stay: each machine has its own."""
    chosen = options_of(config)
    cases = {item.nodeid: item for item in items if uses_roofline(item) and not item.get_closest_marker("roofs")}
    if chosen.shard is None or not cases:
        return
    from pytest_roofline.session import shard

    others = shard.others(config, chosen, [*cases])
    _deselect(config, items, {cases[name] for name in others})


def _deselect(config: pytest.Config, items: list[pytest.Item], left_out: set[pytest.Item]) -> None:
    config.hook.pytest_deselected(items=[item for item in items if item in left_out])
    items[:] = [item for item in items if item not in left_out]


@pytest.fixture
def roofline(request: pytest.FixtureRequest, benchmark: BenchmarkFixture) -> Roofline:
    """Measures a model: ``roofline(model, *inputs)``. One call for each test."""
    import torch

    from pytest_roofline.fixture import Roofline, defaults, parameters_of
    from pytest_roofline.session import asserted_bounds
    from pytest_roofline.session.run import run_of

    run = run_of(request.config)
    if run is None or not uses_roofline(request.node):
        pytest.fail("name the roofline fixture among the test's arguments: it can't be requested later", pytrace=False)
    if hasattr(request.config, "workerinput") and not (disabled(request.config) and run.options.results is None):
        pytest.fail(
            "-n: pytest-xdist runs tests beside each other, so nothing can be measured. Leave -n out. "
            "(With --benchmark-disable beside it, each test takes one step and nothing is measured.)",
            pytrace=False,
        )
    wrong = None
    try:
        chosen = defaults(request.node.iter_markers("roofline"), parameters_of(request.node))
        expected = asserted_bounds.marked(request.node)
    except ValueError as error:
        wrong = str(error)
    if wrong is not None:
        pytest.fail(wrong, pytrace=False)
    torch.manual_seed(run.options.seed)
    return Roofline(run, benchmark, request.node, chosen, expected)


def device_of(config: pytest.Config) -> torch.device:
    """The device of the running session."""
    from pytest_roofline.session.run import run_of

    run = run_of(config)
    assert run is not None
    return run.device


def kind_of(config: pytest.Config) -> devices.Kind:
    """The kind of device this session is for, whether or not it works.

    :raises pytest.UsageError: torch is needed to tell and can't be imported.
    """
    try:
        return devices.kind_of(options_of(config).device)
    except ImportError as error:
        raise pytest.UsageError(_NO_TORCH.format(error)) from error


def _select(config: pytest.Config) -> torch.device:
    wanted = options_of(config).device
    if (rank := launch.several()) is not None and wanted.index is None and kind_of(config) == "cuda":
        wanted = devices.Wanted("cuda", rank.local_rank)
    try:
        return devices.select(wanted)
    except devices.DeviceError as error:
        raise pytest.UsageError(f"{spelled(config, 'device')} {wanted}: {error}") from error
    except ImportError as error:
        raise pytest.UsageError(_NO_TORCH.format(error)) from error


_SHOWS = (
    *("help", "version", "markers", "showfixtures", "show_fixtures_per_test", "cacheshow"),
    *("collectonly", "setupplan", "setuponly"),
)
"""pytest's options with which no test runs."""


def _only_shows(config: pytest.Config) -> bool:
    return any(getattr(config.option, name, None) for name in _SHOWS)


def _refuse_vacuous(config: pytest.Config, session: pytest.Session, chosen: Options) -> None:
    """Where no test measures: neither a gate nor bounds pass because there was nothing to look at."""
    if session.testsfailed:
        return  # tests that can't be collected have a message of their own
    standing = config.stash.get(_STANDING, None)
    if standing is not None and standing.baseline is not None:
        raise pytest.UsageError(
            f"{spelled(config, 'gate')}: no test here uses the fixture roofline, so there is nothing to compare. Of"
            " tests with pytest-benchmark's own fixture hold the --benchmark-json files against each other with"
            " `roofline check`."
        )
    # Under pytest-xdist nothing is measured, and the process that starts the others has no tests.
    beside_others = hasattr(config, "workerinput") or getattr(config.option, "dist", "no") != "no"
    asked = spelled(config, "assert_bounds")
    # An ini file's is for all runs of a project: those of its other tests don't ask for bounds.
    if chosen.assert_bounds and asked.startswith("-") and not beside_others:
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
    kind = kind_of(config)
    by_mark, by_name = config.option.markexpr, config.option.keyword
    selection = " and ".join(f"-{flag} {one!r}" for flag, one in (("m", by_mark), ("k", by_name)) if one)
    # Markers name devices; names don't.
    advice = "" if by_name and not by_mark else f"Choose the device with {spelled(config, 'device')}; "
    raise pytest.UsageError(
        f"no case is left to measure: {collected} were collected for the device {kind}, and "
        f"{selection or 'the selection'} leaves none. {advice}--collect-only shows the cases."
    )


def _start(config: pytest.Config, chosen: Options, items: list[pytest.Item]) -> None:
    """Make the session's run: select the device, describe the machine, open the results file."""
    import torch

    from pytest_roofline.profilers.perf_stat import PerfStat
    from pytest_roofline.session import results_file
    from pytest_roofline.session.case_timeout import CaseTimeout
    from pytest_roofline.session.hooks import SessionHooks, commit_info
    from pytest_roofline.session.progress import on_terminal
    from pytest_roofline.session.run import RUN, Run

    cases = [item for item in items if uses_roofline(item)]
    rank = launch.several()
    if rank is not None:
        from pytest_roofline.parallel import rank_session

        rank_session.prepare(config, chosen, rank)
    # Files are the first rank's business.
    worker = hasattr(config, "workerinput") or (rank is not None and rank.rank > 0)
    if chosen.results is not None and not worker:
        _refuse_disabled(config)
    if not worker:
        _refuse_unwritable(config.option.benchmark_json)
    device = _select(config)
    # torch counts the visible cores; a container's quota may allow fewer, and threads beyond it stall each other.
    torch.set_num_threads(min(torch.get_num_threads(), cpus.effective_cpus()))
    found: list[str] = config.stash.get(NOTES, [])
    standing = config.stash.get(_STANDING, None)
    member = None if standing is None else standing.member
    place = None if member is None else member.place
    run = Run(
        chosen,
        device,
        tuple(config.invocation_params.args),
        tuple(found),
        place=place,
        baseline=None if standing is None else standing.baseline,
        bounds=None if worker else _bounds(config, chosen, cases),
    )
    run.planned = {item.nodeid: case_name(item) for item in cases if item.get_closest_marker("roofs") is None}
    if chosen.perf_stat:
        run.perf_stat = perf_stat = PerfStat.here(chosen.perf_path)
        if not perf_stat.check.usable:
            run.announced.append(perf_stat.check.line)
    counting = None if worker or chosen.ncu is None else _counting(config, run)
    try:
        if chosen.resume is not None and not worker:
            _resume(config, run, items)
        elif not worker:
            run.open_results(results_file.commit_of(commit_info(config)))
            if member is not None and run.file is not None:
                member.point_to(run.file.path)
    except results_file.ResultsError as error:
        raise pytest.UsageError(f"{spelled(config, 'results')}: {error}") from error
    run.fills_roofs = chosen.roofs != "off" and not worker and disabled(config) is None and _writes(config, run)
    config.stash[RUN] = run
    run.announced += idle_flags(config, SETTINGS, without_effect(chosen, device.type)) + config.stash.get(ANNOUNCED, [])
    if counting is not None:
        config.pluginmanager.register(counting, "roofline-ncu")
    left = {item.nodeid: run.planned[item.nodeid] for item in items if item.nodeid in run.planned}
    hooks = SessionHooks(run, config, len(left))
    config.pluginmanager.register(hooks, "roofline-session")
    if chosen.case_timeout is not None and disabled(config) is None and not worker:
        limit = CaseTimeout(run, config, chosen.case_timeout, spelled(config, "case_timeout"), hooks.save)
        config.pluginmanager.register(limit, "roofline-case-timeout")
    run.progress = None if chosen.no_progress or worker else on_terminal(config, left, place)
    if run.progress is not None:
        config.pluginmanager.register(run.progress, "roofline-progress")
    if rank is not None:
        rank_session.connect(run, rank)


def _resume(config: pytest.Config, run: Run, items: list[pytest.Item]) -> None:
    """Go on with a run that did not come to its end: leave out what has ended.

    :raises pytest.UsageError: there is none, it is of another run, or nothing of it is left.
    :raises ResultsError: its file can't be opened.
    """
    from pytest_roofline.session import resume
    from pytest_roofline.session.hooks import commit_info

    asked, folder, file = spelled(config, "resume"), run.options.results, run.options.resume
    if run.options.sessions > 1:
        raise pytest.UsageError(f"{asked}: it goes on with one run. Leave {spelled(config, 'sessions')} out.")
    if folder is None:
        raise pytest.UsageError(f"{asked}: name the folder of its results with {spelled(config, 'results')}.")
    try:
        path = file if isinstance(file, Path) else resume.newest(folder / run.machine.label)
        earlier = resume.earlier(path, run.machine, run.session(), commit_info(config), run.planned)
    except resume.NotResumed as error:
        raise pytest.UsageError(f"{asked}: {error}") from error
    ended = {item for item in items if earlier.ended(item.nodeid)}
    left = sum(not earlier.ended(test) for test in run.planned)
    if not left:
        raise pytest.UsageError(
            f"{asked}: all {len(run.planned)} cases of {path} have ended. `roofline recover {earlier.journal}` makes"
            " its JSON."
        )
    run.resume(earlier)
    _deselect(config, items, ended)
    done = len(run.planned) - left
    run.announced.append(f"resumed: {done} of {len(run.planned)} cases of {path} have ended; {left} are left.")
    if earlier.died_in is not None:
        run.announced.append(f"left out: the run ended without a word in {earlier.died_in}. Measure it by itself.")


def _refuse_unwritable(benchmark_json: str | None) -> None:
    """Make the folder of pytest-benchmark's file, which it writes after all tests: where it can't, all is lost.

    :raises pytest.UsageError: the file can't be written.
    """
    if not benchmark_json:
        return
    path = Path(benchmark_json)
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        there = path.exists()
        if not path.is_fifo():  # it would wait for its reader
            path.open("ab").close()
        if not there:
            path.unlink()
    except OSError as error:
        why = f"can't write {path}: {error.strerror}"
        raise pytest.UsageError(f"--benchmark-json: {why}. Name another file.") from error


def _writes(config: pytest.Config, run: Run) -> bool:
    """Whether a results file will be written, by this plugin or by pytest-benchmark."""
    flags = ("benchmark_json", "benchmark_save", "benchmark_autosave")
    return run.file is not None or any(getattr(config.option, flag, None) for flag in flags)


def _counting(config: pytest.Config, run: Run) -> NcuPass:
    """What has the cases counted under ncu.

    :raises pytest.UsageError: nothing would be measured, or counters are required and can't be had.
    """
    from pytest_roofline.device.system import System
    from pytest_roofline.profilers.ncu import counting_pass

    asked = spelled(config, "ncu")
    flag = disabled(config)
    if flag is not None:
        raise pytest.UsageError(f"{flag}: nothing would be measured, so {asked} could count nothing. Leave one out.")
    required = asked if run.options.ncu == "require" else None
    try:
        return counting_pass.prepare(config, run, System.here(), required=required)
    except counting_pass.NotUsable as error:
        raise pytest.UsageError(str(error)) from error


def _bounds(config: pytest.Config, chosen: Options, cases: list[pytest.Item]) -> Suite | None:
    """What bounds are asserted by; None where they aren't.

    :raises pytest.UsageError: it can't be used, or there would be nothing to assert.
    """
    from pytest_roofline.session import asserted_bounds
    from roofline.schema.expected_file import ExpectedFileError

    asserting, naming = spelled(config, "assert_bounds"), spelled(config, "expected_bounds")
    if not chosen.assert_bounds:
        if chosen.expected_bounds is not None:
            raise pytest.UsageError(f"{naming}: only {asserting} reads it. Give both.")
        return None
    flag = disabled(config)
    if flag is not None:
        raise pytest.UsageError(
            f"{flag}: nothing would be measured, so {asserting} could assert nothing. Leave one out."
        )
    try:
        return asserted_bounds.suite(cases, config.rootpath, chosen.expected_bounds)
    except ExpectedFileError as error:
        raise pytest.UsageError(f"{asserting if chosen.expected_bounds is None else naming}: {error}") from error
    except asserted_bounds.NothingExpected as error:
        raise pytest.UsageError(
            f"{asserting}: {error} Write one with `roofline lock`, or name another file with {naming}."
        ) from error


def _refuse_disabled(config: pytest.Config) -> None:
    """A project with a results folder measures or says why not; others may run their tests once without measuring."""
    flag = disabled(config)
    if flag is not None:
        raise pytest.UsageError(
            f"{flag}: nothing would be measured. Leave it out, or run only the tests that don't measure."
        )
