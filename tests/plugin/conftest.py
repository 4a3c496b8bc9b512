"""What several of the plugin's tests need."""

from __future__ import annotations

import pytest

from tests.plugin.fake_run import STEP_S
from tests.plugin.measuring.fakes import Lab


@pytest.fixture
def lab(monkeypatch: pytest.MonkeyPatch) -> Lab:
    """A step of a quarter of a second, on a host without other programs."""
    lab = Lab(STEP_S)
    monkeypatch.setattr("pytest_roofline.measuring.loop.HostTelemetry", lambda: lab)
    return lab
