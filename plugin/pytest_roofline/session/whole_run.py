"""``--sessions`` and ``--gate``: what is settled before a test is collected.

A gate has its baseline, or the run is refused. A process that is to repeat the run does so here, and measures nothing.
"""

from __future__ import annotations

import os
import shlex
import shutil
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from pytest_roofline.options import SETTINGS, Options, disabled, spelled
from pytest_roofline.session import gate, same_project
from pytest_roofline.session import sets as session_set
from pytest_roofline.session.orphan import end_with_parent

if TYPE_CHECKING:
    import pytest


class Refused(ValueError):
    """The run can't be had as it was asked for. The message says why and what to do."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Standing:
    """``member``: which session of a set this process runs. ``baseline``: what it is held against at the end.
    ``exit_code``: that of a set, which was run in place of this process.
    """

    member: session_set.Member | None = None
    baseline: gate.Baseline | None = None
    exit_code: int | None = None


def settle(config: pytest.Config, chosen: Options) -> Standing:
    """Find out what this process is of, look for the baseline, and run the sessions of a set.

    :raises Refused: sessions or gate can't be had.
    """
    if chosen.sessions > 1:
        try:
            member = session_set.member(os.environ)
        except ValueError as error:
            raise Refused(str(error)) from error
        if member is not None:
            end_with_parent()
            # The gate is asked once, of all sessions, by the process that started this one.
            return Standing(member=member)
    _refuse_obstacles(config, chosen)
    baseline = None if chosen.gate is None else _baseline(config, chosen.gate, chosen.gate_options)
    return Standing(baseline=baseline, exit_code=None if chosen.sessions == 1 else _repeat(config, chosen, baseline))


def _refuse_obstacles(config: pytest.Config, chosen: Options) -> None:
    asked = spelled(config, "gate" if chosen.sessions == 1 else "sessions")
    if chosen.results is None:
        why = f"nothing would be kept of the run. Name a folder for its results: {spelled(config, 'results')} FOLDER"
    elif getattr(config.option, "numprocesses", None) or getattr(config.option, "dist", "no") != "no":
        why = "with -n nothing can be measured, for pytest-xdist runs tests beside each other. Leave -n out"
    elif (flag := disabled(config)) is not None:
        why = f"with {flag} nothing would be measured. Leave it out"
    elif (flag := _given(config, _BY_THE_RUN_BEFORE)) is not None:
        why = (
            f"with {flag} the tests and their order hang on how the run before ended, so that other tests could be "
            "compared than those that are meant. Leave it out, and name the tests"
        )
    elif chosen.sessions > 1 and (flag := _given(config, _ONE_FILE)) is not None:
        why = f"each session would overwrite the file of {flag}. Leave it out: the results folder has a file of each"
    else:
        return
    raise Refused(f"{asked}: {why}.")


_ONE_FILE = {"--benchmark-json": "benchmark_json", "--junit-xml": "xmlpath"}
"""Flags that name a single file for what a session writes at its end, with pytest's name of the option."""

_BY_THE_RUN_BEFORE = {
    "--lf": "lf",
    "--ff": "failedfirst",
    "--nf": "newfirst",
    "--sw": "stepwise",
    "--sw-skip": "stepwise_skip",
    "--sw-reset": "stepwise_reset",
}
"""Flags by which pytest chooses tests, or their order, by what it remembers of earlier runs."""


def _given(config: pytest.Config, flags: Mapping[str, str]) -> str | None:
    return next((flag for flag, name in flags.items() if getattr(config.option, name, None)), None)


def _baseline(config: pytest.Config, path: Path, options: Sequence[str]) -> gate.Baseline:
    try:
        found = gate.baseline(path)
    except gate.NoBaseline as error:
        anew = ("gate", "gate_options", "sessions", "results")
        flags = [flag for setting in SETTINGS if setting.name in anew for flag in (setting.flag, setting.short_flag)]
        how = gate.making(path, config.invocation_params.args, flags)
        raise Refused(f"{spelled(config, 'gate')} {path}: {error}. {how}") from error
    objection = gate.objection(found, options) if options else None
    if objection is not None:
        raise Refused(f"{spelled(config, 'gate_options')}: roofline check says: {objection}")
    return found


def _repeat(config: pytest.Config, chosen: Options, baseline: gate.Baseline | None) -> int:
    again = same_project.repeating(config)
    command = [*session_set.started_as(), *again.words()]
    added = os.environ.get("PYTEST_ADDOPTS")
    more = {} if added is None else {"PYTEST_ADDOPTS": shlex.join(again.joined(added))}
    folder = config.invocation_params.dir
    width = shutil.get_terminal_size().columns
    ended = session_set.run(
        chosen.sessions,
        lambda variables: session_set.wait_for(command, {**more, **variables}, folder),
        lambda text: session_set.say(f" {text} ".center(width, "=")),
        stop_at_failure=bool(config.getvalue("maxfail")),
    )
    code, lines = session_set.conclude(ended, chosen.sessions, width, baseline, chosen.gate_options)
    session_set.say("\n".join([f" set of {chosen.sessions} sessions ".center(width, "="), *lines]))
    return code
