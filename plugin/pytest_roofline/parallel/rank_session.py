"""pytest on the ranks that torchrun started: all measure the same cases, and the first one alone shows and writes."""

from __future__ import annotations

import io
from typing import TYPE_CHECKING

import pytest

from pytest_roofline.config import options_of, spelled

if TYPE_CHECKING:
    from pytest_roofline.parallel.launch import Place
    from pytest_roofline.session.run import Run

_FILES = ("json", "save", "autosave")
"""What names files in pytest-benchmark's session."""


def prepare(config: pytest.Config, place: Place) -> None:
    """Refuse what only a process by itself can do. On another rank than the first, show and write nothing from now on.

    :raises pytest.UsageError: such a thing is asked for.
    """
    chosen = options_of(config)
    alone = {
        "sessions": chosen.sessions > 1,
        "resume": chosen.resume is not None,
        "ncu": chosen.ncu is not None,
        "perf_stat": chosen.perf_stat,
        "isolate": chosen.isolate,
    }
    flags = [spelled(config, name) for name, asked in alone.items() if asked]
    if getattr(config.option, "dist", "no") != "no":
        flags.append("-n")
    if flags:
        raise pytest.UsageError(
            f"{flags[0]}: torchrun started {place.ranks} processes that measure together, and this is for one. Leave it"
            " out."
        )
    if place.rank:
        for name in _FILES:
            setattr(config._benchmarksession, name, None)  # type: ignore[attr-defined]
        reporter = config.pluginmanager.getplugin("terminalreporter")
        if reporter is not None:
            reporter._tw._file = io.StringIO()


def connect(run: Run, place: Place) -> None:
    """Have the run's cases measured in step with the other ranks.

    :raises pytest.UsageError: they can't be reached.
    """
    from pytest_roofline.parallel.ranks import Ranks, RanksError

    try:
        run.ranks = Ranks(place, run.device)
    except RanksError as error:
        raise pytest.UsageError(str(error)) from error
