"""Tell which collected tests measure and what their cases are called, and leave tests out.

Everybody's pytest loads this module, so it imports nothing.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import pytest


def uses_roofline(item: pytest.Item) -> bool:
    """Tell whether the test asked for this plugin's ``roofline`` fixture, directly or through another one.

    A project may have a fixture of that name for something else; then it is left alone.
    """
    if "roofline" not in getattr(item, "fixturenames", ()):
        return False
    definitions = getattr(getattr(item, "_fixtureinfo", None), "name2fixturedefs", {}).get("roofline", ())
    return any(definition.func.__module__ == "pytest_roofline.plugin" for definition in definitions[-1:])


def case_name(item: pytest.Item) -> str:
    """The id of a suite's case (its parameter ``case``), or the test's own name."""
    callspec = getattr(item, "callspec", None)
    return str(callspec.id) if callspec is not None and "case" in callspec.params else item.name


def deselect(config: pytest.Config, items: list[pytest.Item], left_out: set[pytest.Item]) -> None:
    """Leave tests out, and tell pytest."""
    if left_out:
        config.hook.pytest_deselected(items=[item for item in items if item in left_out])
        items[:] = [item for item in items if item not in left_out]
