"""What torchrun tells the processes that it starts. Everybody's pytest asks it, so it imports nothing large."""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import dataclass

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
