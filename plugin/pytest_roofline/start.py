"""Make the run of a session whose tests measure: device, machine, results file, and the hooks that belong to it."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
import torch

from pytest_roofline.config import (
    ANNOUNCED,
    NOT_MEASURED,
    NOTES,
    deselect,
    disabled,
    idle_flags,
    options_of,
    project_options,
    spelled,
    uses_roofline,
)
from pytest_roofline.device import cpus
from pytest_roofline.device.system import System
from pytest_roofline.options import SETTINGS, without_effect
from pytest_roofline.parallel import ranks, torchrun
from pytest_roofline.profilers.ncu import counting_pass
from pytest_roofline.profilers.perf_stat import PerfStat
from pytest_roofline.session import case_timeout, expected_bounds, results_file, resume
from pytest_roofline.session.case_timeout import TimeLimit
from pytest_roofline.session.hooks import SessionHooks, commit_info
from pytest_roofline.session.outcomes import CaseHooks
from pytest_roofline.session.progress import on_terminal
from pytest_roofline.session.run import RUN, Run
from pytest_roofline.workers.device_shares import select_device, take_share
from pytest_roofline.workers.isolation import Isolation
from pytest_roofline.workers.role import STANDING, Role, place_of
from pytest_roofline.workers.shared_folder import PlannedTests
from pytest_roofline.workers.xdist_worker import LeavesOut, XdistWorker
from roofline.schema.expected_file import ExpectedFileError, SuiteBounds


def start(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Make the session's run: select the device, describe the machine, open the results file.

    :raises pytest.UsageError: it can't be had.
    """
    chosen = options_of(config)
    plan = PlannedTests.of(items, _of_suite(config, NOTES))
    rank = torchrun.several()
    if rank is not None:
        torchrun.prepare(config, rank)
    # Files are the first rank's business; and a worker without a device of its own measures nothing.
    keeps = not hasattr(config, "workerinput") and (rank is None or rank.rank == 0)
    run = _keeping_run(config, plan) if keeps else _new_run(config, select_device(config), plan)
    _count_events(run)
    counting = _counting(config, run) if keeps and chosen.ncu is not None else None
    if keeps:
        _open(config, run)
    earlier = run.earlier
    if earlier is not None:
        deselect(config, items, {item for item in items if earlier.ended(item.nodeid)})
    run.announced += _of_suite(config, ANNOUNCED)
    if counting is not None:
        config.pluginmanager.register(counting, "roofline-ncu")
    left = {item.nodeid: run.planned[item.nodeid] for item in items if item.nodeid in run.planned}
    hooks = SessionHooks(run, config, len(left))
    config.pluginmanager.register(hooks, "roofline-session")
    config.pluginmanager.register(CaseHooks(run), "roofline-cases")
    if chosen.isolate and disabled(config) is None:
        config.pluginmanager.register(Isolation(run, config), "roofline-isolation")
    elif chosen.case_timeout is not None and disabled(config) is None and keeps:
        case_timeout.watch(run, config, chosen.case_timeout, hooks.save)
    run.progress = None if chosen.no_progress or not keeps else on_terminal(config, left, place_of(config))
    if run.progress is not None:
        config.pluginmanager.register(run.progress, "roofline-progress")
    if rank is not None:
        ranks.connect(run, rank)


def control(config: pytest.Config, plan: PlannedTests) -> tuple[Run, SessionHooks]:
    """Make the run of pytest-xdist's controller, which keeps what its workers measure.

    :raises pytest.UsageError: it can't be had.
    """
    if options_of(config).isolate:
        asked = spelled(config, "isolate")
        raise pytest.UsageError(f"{asked}: with -n one that dies loses its case alone, too. Leave one of them out.")
    if options_of(config).ncu is not None:
        asked = spelled(config, "ncu")
        raise pytest.UsageError(f"{asked}: counters are read by one process at a time. Leave it out, or -n.")
    rank = torchrun.several()
    if rank is not None:
        torchrun.prepare(config, rank)
    run = _keeping_run(config, plan)
    _open(config, run)
    run.announced += plan.announced
    hooks = SessionHooks(run, config, len(plan.planned))
    config.pluginmanager.register(hooks, "roofline-session")
    return run, hooks


def join(config: pytest.Config, role: Role, items: list[pytest.Item]) -> None:
    """Make the run of a worker of pytest-xdist, and tell the controller what is planned.

    :raises pytest.UsageError: it can't be had.
    """
    plan = PlannedTests.of(items, _of_suite(config, NOTES))
    share = take_share(config)
    assert share is not None
    device = select_device(config)
    if device.type == "cuda":
        torch.cuda.set_device(device)  # what a test calls "cuda" is this one
    if all(uses_roofline(item) for item in items if "benchmark" in getattr(item, "fixturenames", ())):
        # pytest-benchmark would say that it was switched off.
        config._benchmarksession.xdist_benchmark_found = False  # type: ignore[attr-defined]
    run = _new_run(config, device, plan)
    run.neighbours = share.neighbours
    _count_events(run)
    config.pluginmanager.register(CaseHooks(run), "roofline-cases")
    config.pluginmanager.register(XdistWorker(run, config, role), "roofline-worker")
    config.pluginmanager.register(LeavesOut(role.folder), "roofline-left-out")
    limit = run.options.case_timeout
    if limit is not None:
        name = config.workerinput["workerid"]  # type: ignore[attr-defined]
        config.pluginmanager.register(TimeLimit(limit, role.folder / f"{name}.txt"), "roofline-time-limit")
    announced = (*run.announced, *_of_suite(config, ANNOUNCED))
    replace(plan, announced=announced).write(role)


def _of_suite(config: pytest.Config, key: pytest.StashKey[list[str]]) -> list[str]:
    """Give what a suite has put into pytest's stash."""
    return config.stash.get(key, [])


def _new_run(config: pytest.Config, device: torch.device, plan: PlannedTests, **more: Any) -> Run:
    """Make a run in this process, and let torch use no more threads than there are CPUs for it."""
    # torch counts the visible cores; a container's quota may allow fewer, and threads beyond it stall each other.
    torch.set_num_threads(min(torch.get_num_threads(), cpus.effective_cpus()))
    run = Run(options_of(config), device, tuple(config.invocation_params.args), **more)
    run.planned = plan.planned
    config.stash[RUN] = run
    return run


def _keeping_run(config: pytest.Config, plan: PlannedTests) -> Run:
    """Make the run of a process that keeps its results.

    :raises pytest.UsageError: nothing would be measured, or it can't be kept or judged.
    """
    flag = disabled(config)
    # Without that folder tests may run once, unmeasured.
    if options_of(config).results is not None and flag is not None:
        raise pytest.UsageError(NOT_MEASURED.format(flag))
    _refuse_unwritable(config.option.benchmark_json)
    device = select_device(config)
    standing = config.stash.get(STANDING, None)
    return _new_run(
        config,
        device,
        plan,
        notes=plan.notes,
        place=place_of(config),
        baseline=None if standing is None else standing.baseline,
        bounds=bounds(config, plan),
        project_options=project_options(config),
    )


def _open(config: pytest.Config, run: Run) -> None:
    """Open the file of a run's results.

    :raises pytest.UsageError: it can't be written, or not be gone on with.
    """
    chosen = run.options
    standing = config.stash.get(STANDING, None)
    member = None if standing is None else standing.member
    try:
        if chosen.resume is not None:
            _resume(config, run)
        else:
            run.open_results(results_file.commit_of(commit_info(config)))
            if member is not None and run.file is not None:
                member.point_to(run.file.path)
    except results_file.ResultsError as error:
        raise pytest.UsageError(f"{spelled(config, 'results')}: {error}") from error
    except OSError as error:
        raise pytest.UsageError(f"can't write {error.filename}: {error.strerror}") from error
    run.roofs.fills = chosen.roofs != "off" and disabled(config) is None and _writes(config, run)
    run.announced += idle_flags(config, SETTINGS, without_effect(chosen, run.device.type))


def _count_events(run: Run) -> None:
    """Have events counted on the host's cores where that was asked for."""
    if run.options.perf_stat:
        run.perf_stat = perf_stat = PerfStat.here(run.options.perf_path)
        if not perf_stat.check.usable:
            run.announced.append(perf_stat.check.line)


def _resume(config: pytest.Config, run: Run) -> None:
    """Go on with a run that did not come to its end.

    :raises pytest.UsageError: there is none, it is of another run, or nothing of it is left.
    :raises ResultsError: its file can't be opened.
    """
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
    left = sum(not earlier.ended(test) for test in run.planned)
    if not left:
        raise pytest.UsageError(
            f"{asked}: all {len(run.planned)} cases of {path} have ended. `roofline recover {earlier.journal}` makes"
            " its JSON."
        )
    run.resume(earlier)
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
    """Tell whether a results file will be written, by this plugin or by pytest-benchmark."""
    flags = ("benchmark_json", "benchmark_save", "benchmark_autosave")
    return run.file is not None or any(getattr(config.option, flag, None) for flag in flags)


def _counting(config: pytest.Config, run: Run) -> counting_pass.NcuPass:
    """Make the pass that counts the cases under ncu.

    :raises pytest.UsageError: nothing would be measured, or counters are required and can't be had.
    """
    asked = spelled(config, "ncu")
    flag = disabled(config)
    if flag is not None:
        raise pytest.UsageError(f"{flag}: nothing would be measured, so {asked} could count nothing. Leave one out.")
    required = asked if run.options.ncu == "require" else None
    try:
        return counting_pass.prepare(config, run, System.here(), required=required)
    except counting_pass.NotUsable as error:
        raise pytest.UsageError(str(error)) from error


def bounds(config: pytest.Config, plan: PlannedTests) -> SuiteBounds | None:
    """Find what bounds are asserted by; None where they aren't.

    :raises pytest.UsageError: it can't be used, or there would be nothing to assert.
    """
    chosen = options_of(config)
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
        return expected_bounds.suite_bounds(plan.tests, config.rootpath, chosen.expected_bounds, marked=plan.expects)
    except ExpectedFileError as error:
        raise pytest.UsageError(f"{asserting if chosen.expected_bounds is None else naming}: {error}") from error
    except expected_bounds.NothingExpected as error:
        raise pytest.UsageError(
            f"{asserting}: {error} Write one with `roofline lock`, or name another file with {naming}."
        ) from error
