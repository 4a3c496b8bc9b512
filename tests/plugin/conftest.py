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


@pytest.fixture
def project(pytester: pytest.Pytester, monkeypatch: pytest.MonkeyPatch) -> pytest.Pytester:
    """A project that measures and asked for the markers, whether or not these tests run under pytest-xdist."""
    monkeypatch.delenv("PYTEST_XDIST_WORKER", raising=False)
    pytester.makeini("[pytest]\nroofline_markers = true\naddopts = --strict-markers -p no:playwright\n")
    return pytester
