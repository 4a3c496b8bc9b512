"""What is run under ncu, and how: command lines and environments as plain values."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path

from pytest_roofline.profilers.ncu.order import CHILD
from pytest_roofline.session.same_project import CommandLine

_FLAGS = (
    *("--profile-from-start", "off"),
    *("--target-processes", "all"),
    *("--replay-mode", "kernel"),
    # The clocks that the roofs were measured at, and the caches as the step before leaves them.
    *("--clock-control", "none"),
    *("--cache-control", "none"),
    *("--page", "raw"),
    *("--print-units", "base"),
    "--csv",
)
"""Counts only between cudaProfilerStart and cudaProfilerStop, of whichever process calls them."""


def ncu_command(ncu: Path, application: Sequence[str], metrics: Sequence[str], log: Path) -> tuple[str, ...]:
    """The command that counts ``metrics`` of every kernel of a program.

    :param log: ncu writes its CSV there, and its own words before and after it.
    """
    return (str(ncu), *_FLAGS, "--log-file", str(log), "--metrics", ",".join(metrics), *application)


def ncu_environment(environment: Mapping[str, str], folder: Path, variables: Mapping[str, str]) -> dict[str, str]:
    """The variables of a process under ncu: the run's own, without what is meant for the run's pytest.

    :param folder: for temporary files: ncu serialises on one file there, which another user may own in a shared one.
    :param variables: more of them.
    """
    kept = {name: value for name, value in environment.items() if not name.startswith("PYTEST_")}
    # In other locales ncu groups digits and separates decimals in other ways.
    return {**kept, "LC_ALL": "C", "TMPDIR": str(folder), **variables}


def pytest_command(
    start: Sequence[str],
    again: CommandLine,
    environment: Mapping[str, str],
    *,
    cache: Path | None,
) -> tuple[str, ...]:
    """The command that repeats a test of a run: the run's own, with what the environment added to it.

    Selection, root folder, configuration files and plugins are those of the run. What the process is not to do (report,
    compare, distribute, debug) is switched off in it by the plugin `CHILD`.

    :param start: interpreter and pytest.
    :param again: what repeats the run.
    :param environment: the run's.
    :param cache: a folder for pytest's cache, which the run is writing itself; None where it has none.
    """
    plugins = [name for name in environment.get("PYTEST_PLUGINS", "").split(",") if name]
    return (
        *start,
        *("-p", CHILD),
        *(() if cache is None else ("-o", f"cache_dir={cache}")),
        *(("--disable-plugin-autoload",) if environment.get("PYTEST_DISABLE_PLUGIN_AUTOLOAD") else ()),
        *(word for name in plugins for word in ("-p", name)),
        *again.words(environment.get("PYTEST_ADDOPTS")),
    )
