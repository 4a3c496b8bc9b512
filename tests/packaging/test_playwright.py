"""pytest-playwright owns ``--device`` and a fixture ``device``. Both plugins load side by side, here and elsewhere."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

pytest.importorskip("pytest_playwright", reason="pytest-playwright is in the extra dev")

ROOT = Path(__file__).parents[2]


def run_pytest(*arguments: str, folder: Path) -> str:
    """What a pytest of its own printed; every plugin that is installed loads into it."""
    environment = {name: value for name, value in os.environ.items() if name != "PYTEST_ADDOPTS"}
    child = subprocess.run(
        [sys.executable, "-m", "pytest", "-p", "no:cacheprovider", *arguments],
        cwd=folder,
        env=environment,
        capture_output=True,
        text=True,
        timeout=300,
        check=False,
    )
    assert child.returncode == 0, child.stdout + child.stderr
    return child.stdout


def test_both_load_in_a_foreign_project(tmp_path: Path) -> None:
    """Where nobody measures, --device is playwright's and means what it means there."""
    (tmp_path / "pytest.ini").write_text("[pytest]\nfilterwarnings = error\n")
    (tmp_path / "test_foreign.py").write_text(
        "def test_device(pytestconfig, device):\n"
        "    assert pytestconfig.pluginmanager.has_plugin('playwright')\n"
        "    plugins = pytestconfig.pluginmanager\n"
        "    assert plugins.has_plugin('roofline') or plugins.has_plugin('pytest_roofline.plugin')\n"
        "    assert device == 'iPhone 13'\n"
    )
    assert "1 passed" in run_pytest("--device", "iPhone 13", folder=tmp_path)


def test_suite_measures_beside_it() -> None:
    """Here --device chooses what is measured, whoever registered the flag."""
    printed = run_pytest(
        "perftests/test_models.py",
        *("--device", "cpu", "--model", "mlp", "--batch", "2", "--precision", "fp32"),
        *("--protocol", "window", "--warmup", "1", "--steps", "2"),
        *("-o", "roofline_results=", "-rA"),
        folder=ROOT,
    )
    assert "mlp-train-b2-fp32" in printed
    assert "1 passed" in printed
