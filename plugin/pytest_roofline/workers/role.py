"""Tell which process of a run this is: its place among pytest-xdist's workers, and its session in a set.

Everybody's pytest imports this module.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

if TYPE_CHECKING:
    from pytest_roofline.session.gating.sets import Standing
    from roofline.schema.session import SessionSet

KEY = "roofline"
"""Of what pytest-xdist hands to a worker, and back."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Role:
    """A process's place among ``count`` that measure beside each other. The controller has the first worker's, and so
    describes the machine, and measures its roofs, as the workers see it.

    :param folder: that all of them share.
    :param cpus: numbers of the CPUs that all of them may use.
    :param session: which of a set of sessions it is.
    """

    folder: Path
    place: int
    count: int
    cpus: tuple[int, ...]
    session: int = 1

    def to_json(self) -> dict[str, Any]:
        return {**asdict(self), "folder": str(self.folder), "cpus": list(self.cpus)}

    @classmethod
    def from_json(cls, value: Mapping[str, Any]) -> Role:
        return cls(**{**value, "folder": Path(value["folder"]), "cpus": tuple(value["cpus"])})


ROLE = pytest.StashKey[Role]()
"""In pytest's stash, of a process among several."""

STANDING: pytest.StashKey[Standing] = pytest.StashKey()
"""In pytest's stash, of a process that runs a session of a set, or has a baseline."""


def role_of(config: pytest.Config) -> Role | None:
    """The process's place among several; None for one that measures alone, or nothing."""
    return config.stash.get(ROLE, None)


def place_of(config: pytest.Config) -> SessionSet | None:
    """Tell which session of a set this process runs; None without a set, and in a worker."""
    standing = config.stash.get(STANDING, None)
    return None if standing is None or standing.member is None else standing.member.place


def session_of(config: pytest.Config) -> int:
    """Give the number of the session, in a worker, too; 1 without a set."""
    role, place = role_of(config), place_of(config)
    if role is not None:
        return role.session
    return 1 if place is None else place.index
