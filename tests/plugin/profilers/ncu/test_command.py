"""Command lines and environments of what runs under ncu."""

from __future__ import annotations

from pathlib import Path

import pytest

from pytest_roofline.profilers.ncu.command import ncu_command, ncu_environment, pytest_command
from pytest_roofline.session.same_project import CommandLine

CHILD = ["-p", "pytest_roofline.profilers.ncu.child"]


def test_ncu_counts_between_start_and_stop_and_holds_nothing_down() -> None:
    """Neither clocks nor caches are touched; numbers are in base units; the CSV goes to a file of its own."""
    command = ncu_command(Path("/opt/ncu"), ("python", "-m", "pytest", "-x"), ("a.sum", "b.sum"), Path("/t/log.csv"))
    assert " ".join(command) == (
        "/opt/ncu --profile-from-start off --target-processes all --replay-mode kernel --clock-control none "
        "--cache-control none --page raw --print-units base --csv --log-file /t/log.csv --metrics a.sum,b.sum "
        "python -m pytest -x"
    )


def test_the_environment_is_the_runs_without_what_is_meant_for_its_pytest() -> None:
    """And with the locale and the temporary folder that ncu needs."""
    given = {"PATH": "/bin", "PYTEST_ADDOPTS": "-x", "PYTEST_XDIST_WORKER": "gw0", "LC_ALL": "de_DE", "TMPDIR": "/tmp"}
    assert ncu_environment(given, Path("/t"), {"ORDER": "1"}) == {
        "PATH": "/bin",
        "LC_ALL": "C",
        "TMPDIR": "/t",
        "ORDER": "1",
    }


@pytest.mark.parametrize(
    ("environment", "cache", "words"),
    [
        ({}, None, [*CHILD, "-k", "a b", "tests"]),
        ({}, Path("/t/cache"), [*CHILD, "-o", "cache_dir=/t/cache", "-k", "a b", "tests"]),
        ({"PYTEST_ADDOPTS": "-m 'not slow'"}, None, [*CHILD, "-m", "not slow", "-k", "a b", "tests"]),
        ({"PYTEST_PLUGINS": "one,two"}, None, [*CHILD, "-p", "one", "-p", "two", "-k", "a b", "tests"]),
        ({"PYTEST_DISABLE_PLUGIN_AUTOLOAD": "1"}, None, [*CHILD, "--disable-plugin-autoload", "-k", "a b", "tests"]),
    ],
)
def test_a_test_is_repeated_by_the_command_of_its_run(
    environment: dict[str, str], cache: Path | None, words: list[str]
) -> None:
    """What the environment added to it stands in it; the run's own arguments are last, and so count."""
    again = CommandLine(arguments=["-k", "a b", "tests"])
    command = pytest_command(("py", "-m", "pytest"), again, environment, cache=cache)
    assert list(command) == ["py", "-m", "pytest", *words]


def test_it_is_repeated_in_the_project_of_its_run() -> None:
    """A results folder that the run has made since is not taken for the path of tests."""
    again = CommandLine(
        arguments=["--results", "/r", "tests"], flags=frozenset({"--results", "--label"}), pinned=["--rootdir=."]
    )
    command = pytest_command(("py", "-m", "pytest"), again, {"PYTEST_ADDOPTS": "--label results"}, cache=None)
    assert list(command) == ["py", "-m", "pytest", *CHILD, "--label=results", "--rootdir=.", "--results=/r", "tests"]
