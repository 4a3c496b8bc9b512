"""The machine's own ceilings. They run before any case, and again in the middle and at the end of the session."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from pytest_roofline.roofs import kernels as roofs

if TYPE_CHECKING:
    from pytest_roofline.fixture import Roofline


@pytest.mark.roofs
@pytest.mark.parametrize("case", [f"roof-{name}" for name in roofs.NAMES])
def test_roof(case: str, roofline: Roofline) -> None:
    """Compute per dtype, DRAM and last-level cache bandwidth, the link to the host, launch latency."""
    try:
        roofline.roof(case.removeprefix("roof-"))
    except roofs.RoofUnavailable as reason:
        pytest.skip(str(reason))
