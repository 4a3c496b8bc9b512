"""What the tests' own child processes need."""

from __future__ import annotations

import os
from collections.abc import Iterator
from importlib.metadata import entry_points
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]


@pytest.fixture(scope="session", autouse=True)
def no_workers_in_children() -> Iterator[None]:
    """Child processes are no workers of pytest-xdist, though this one may be: in a worker nothing is measured."""
    with pytest.MonkeyPatch.context() as patch:
        for name in [name for name in os.environ if name.startswith("PYTEST_XDIST_")]:
            patch.delenv(name)
        yield


@pytest.fixture(scope="session", autouse=True)
def no_roofs_in_children() -> Iterator[None]:
    """Child processes measure no roofs for want of a test of them, but where a test asks for it: that takes seconds."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("ROOFLINE_ROOFS", "off")
        yield


@pytest.fixture(scope="session", autouse=True)
def plugin_in_children() -> Iterator[None]:
    """Child processes find the plugin as this one does, from whatever folder they run in.

    Where it is installed they load it through its entry point. Where only the sources are there, ``-p`` and a relative
    PYTHONPATH of this process would not reach them.
    """
    if any(entry.value == "pytest_roofline.plugin" for entry in entry_points(group="pytest11")):
        yield
        return
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("PYTEST_PLUGINS", "pytest_roofline.plugin")
        patch.setenv("PYTHONPATH", os.pathsep.join(str(ROOT / folder) for folder in ("plugin", "roofline", ".")))
        yield
