"""Tox's environments that need torch are one folder, in which it is installed once."""

from __future__ import annotations

import configparser
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]

INSTALLING = {"deps", "extras", "package", "dependency_groups", "constraints", "base_python", "env_dir", "runner"}


def sections() -> dict[str, configparser.SectionProxy]:
    tox = configparser.ConfigParser(interpolation=None)
    tox.read_string((ROOT / "tox.ini").read_text(encoding="utf-8"))
    return {name: tox[name] for name in tox.sections()}


def test_the_environments_of_the_readme_exist() -> None:
    """The two commands a newcomer types, and those of CONTRIBUTING."""
    named = {name.removeprefix("testenv:") for name in sections() if name.startswith("testenv:")}
    assert {"perf", "tests", "lint", "bench"} <= named


def test_all_share_one_folder() -> None:
    """What makes that possible is said once, for all."""
    shared = sections()["testenv"]
    assert shared["runner"] == "shared"
    assert shared["env_dir"] == "{work_dir}/suite"


def test_the_docs_have_a_folder_of_their_own() -> None:
    """They need no torch: their notebooks read results."""
    docs = sections()["testenv:docs"]
    assert (docs["runner"], docs["env_dir"], docs["extras"]) == ("virtualenv", "{work_dir}/docs", "store")


@pytest.mark.parametrize(
    "name", [name for name in sections() if name.startswith("testenv:") and name != "testenv:docs"]
)
def test_none_installs_anything_of_its_own(name: str) -> None:
    """One that did would make tox install anew at each switch, torch included."""
    assert INSTALLING & set(sections()[name]) == set()
