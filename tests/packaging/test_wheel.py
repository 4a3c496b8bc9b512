"""What is published: one wheel with both packages, its entry points, and nothing of the repository around them."""

from __future__ import annotations

import configparser
import re
import subprocess
import sys
import tomllib
import zipfile
from collections.abc import Iterator
from email import message_from_bytes
from email.message import Message
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path, PurePosixPath

import pytest

ROOT = Path(__file__).parents[2]
SOURCES = {"pytest_roofline": ROOT / "plugin" / "pytest_roofline", "roofline": ROOT / "roofline" / "roofline"}


def project() -> dict[str, object]:
    table: dict[str, object] = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    return table


@pytest.fixture(scope="module")
def wheel(tmp_path_factory: pytest.TempPathFactory) -> Iterator[zipfile.ZipFile]:
    """The wheel as it would be published, built from this work tree without a network."""
    pytest.importorskip("hatchling", reason="hatchling builds the wheel; it is in the extra dev")
    folder = tmp_path_factory.mktemp("wheel")
    build = subprocess.run(
        [sys.executable, "-m", "hatchling", "build", "-t", "wheel", "-d", str(folder)],
        cwd=ROOT,
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
    )
    assert build.returncode == 0, build.stdout + build.stderr
    (path,) = folder.glob("*.whl")
    with zipfile.ZipFile(path) as archive:
        yield archive


def names(wheel: zipfile.ZipFile) -> set[PurePosixPath]:
    return {PurePosixPath(name) for name in wheel.namelist()}


def metadata(wheel: zipfile.ZipFile) -> Message:
    (path,) = (name for name in wheel.namelist() if name.endswith(".dist-info/METADATA"))
    return message_from_bytes(wheel.read(path))


def test_wheel_holds_exactly_both_packages(wheel: zipfile.ZipFile) -> None:
    """Every file of both packages is in it, and nothing else: no suite, no tests, no results."""
    packaged = {name for name in names(wheel) if not name.parts[0].endswith(".dist-info")}
    sources = {
        PurePosixPath(name, path.relative_to(folder).as_posix())
        for name, folder in SOURCES.items()
        for path in folder.rglob("*")
        if path.is_file() and "__pycache__" not in path.parts
    }
    assert packaged == sources
    assert {PurePosixPath(name, "py.typed") for name in SOURCES} <= packaged


def test_wheel_declares_the_plugin_and_the_command(wheel: zipfile.ZipFile) -> None:
    """pytest finds the plugin and the shell finds ``roofline`` through entry points alone."""
    (path,) = (name for name in wheel.namelist() if name.endswith(".dist-info/entry_points.txt"))
    entries = configparser.ConfigParser()
    entries.read_string(wheel.read(path).decode())
    assert dict(entries["pytest11"]) == {"roofline": "pytest_roofline.plugin"}
    assert dict(entries["console_scripts"]) == {"roofline": "roofline.cli.program:main"}


def test_reading_results_needs_no_torch(wheel: zipfile.ZipFile) -> None:
    """torch comes with an extra: without one the wheel installs on a machine that only reads results."""
    required = [line for line in metadata(wheel).get_all("Requires-Dist", []) if "extra ==" not in line]
    assert required
    assert [line for line in required if line.startswith(("torch", "nvidia", "scikit-"))] == []


def test_version_is_the_same_everywhere(wheel: zipfile.ZipFile) -> None:
    """pyproject, wheel, what is installed and the newest entry of the changelog name one version."""
    declared = project()["version"]
    assert metadata(wheel)["Version"] == declared
    newest = re.search(r"^## (\S+)", (ROOT / "CHANGELOG.md").read_text(encoding="utf-8"), re.MULTILINE)
    assert newest is not None
    assert newest[1] == declared
    try:
        assert version("pytest-roofline") == declared
    except PackageNotFoundError:
        assert "pytest_roofline" in sys.modules  # runs from the sources
