"""Which collected tests measure, and what their cases are called. Everybody's pytest asks it, so it imports nothing."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import pytest


def uses_roofline(item: pytest.Item) -> bool:
    """Whether the test asked for this plugin's ``roofline`` fixture, directly or through another one.

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
