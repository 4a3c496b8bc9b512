"""Which collected tests measure. Everybody's pytest asks this of every test, so nothing else is imported here."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import pytest


def uses_roofline(item: pytest.Item) -> bool:
    """Whether the test asked for the ``roofline`` fixture, directly or through another one."""
    return "roofline" in getattr(item, "fixturenames", ())
