"""pytest on the ranks that torchrun started: which of them this is, and what only the first one shows and writes.

Everybody's pytest asks it, so it imports nothing large.
"""

from __future__ import annotations

import io
import os
from collections.abc import Mapping
from dataclasses import dataclass

import pytest

from pytest_roofline.config import options_of, spelled

_VARIABLES = ("RANK", "WORLD_SIZE", "LOCAL_RANK", "GROUP_RANK", "GROUP_WORLD_SIZE")


@dataclass(frozen=True, slots=True, kw_only=True)
class Place:
    """Which process this is: ``rank`` of ``ranks``, on machine ``node`` of ``nodes``; counted from 0."""

    rank: int
    ranks: int
    local_rank: int
    node: int
    nodes: int

    @property
    def suffix(self) -> str:
        """Give the ending of a name that tells several ranks apart: ``r8``, and on two machines ``r16-n2``."""
        return f"r{self.ranks}" + (f"-n{self.nodes}" if self.nodes > 1 else "")


def place(environment: Mapping[str, str] = os.environ) -> Place | None:
    """Read the place that torchrun gave this process; None where torchrun did not start it."""
    if "TORCHELASTIC_RUN_ID" not in environment:
        return None
    try:
        rank, ranks, local_rank, node, nodes = (int(environment[name]) for name in _VARIABLES)
    except (KeyError, ValueError):
        return None  # a process that one of torchrun's started with other variables
    return Place(rank=rank, ranks=ranks, local_rank=local_rank, node=node, nodes=nodes)


def several(environment: Mapping[str, str] = os.environ) -> Place | None:
    """Read the place of this process among several; None where it measures by itself."""
    found = place(environment)
    return None if found is None or found.ranks == 1 else found


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
