"""``--sessions N`` and ``--gate BASELINE``: what is decided before a test is collected.

Processes scatter by more than the rounds of one do: each has other addresses, another heap and another hour. So a set
repeats the whole run, each time in a process of its own. This process then only starts the children, waits and sums up.
A child knows by an environment variable which of the set it is.
"""

from __future__ import annotations

import os
import secrets
import shutil
import sys
from collections.abc import Callable, Iterable, Mapping, MutableMapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path

import pytest

from pytest_roofline.config import disabled, options_of, spelled
from pytest_roofline.rerun import (
    command_of,
    end_with_parent,
    environment_of,
    signal_of,
    take_order,
    variables_of,
    wait_for,
)
from pytest_roofline.session.gating import analysis
from pytest_roofline.session.gating import baseline as baselines
from pytest_roofline.session.gating.baseline import Baseline
from roofline.files.writing import private_folder
from roofline.results import journal
from roofline.schema.session import SessionSet

VARIABLE = "ROOFLINE_SESSION"
"""Set for the children of a set, and taken away by the first to read it: no pytest that a test starts is a member."""


@dataclass(frozen=True, slots=True, kw_only=True)
class EndedSession:
    """How a session ended. ``code`` is the process's: one of pytest's, or a crash; negative is a signal.

    ``cut_off``: it left its journal, so pytest didn't come to its end, as where a test calls ``os._exit(0)``.
    """

    index: int
    code: int
    file: Path | None
    cut_off: bool = False

    @property
    def crash(self) -> str | None:
        """Tell what it died of; None where it ended as pytest does."""
        if 0 <= self.code <= pytest.ExitCode.NO_TESTS_COLLECTED:
            whole = (pytest.ExitCode.OK, pytest.ExitCode.TESTS_FAILED, pytest.ExitCode.NO_TESTS_COLLECTED)
            return f"exit code {self.code} before pytest had ended" if self.cut_off and self.code in whole else None
        return f"exit code {self.code}" if self.code > 0 else signal_of(self.code)


@dataclass(frozen=True, slots=True, kw_only=True)
class Member:
    """What a child knows: which session of which set it is, and the file in which it writes where its results are."""

    place: SessionSet
    pointer: Path

    def environment(self) -> dict[str, str]:
        return variables_of(VARIABLE, self)

    def point_to(self, results: Path) -> None:
        self.pointer.write_text(str(results.absolute()), encoding="utf-8")

    def ended(self, code: int) -> EndedSession:
        """Tell how it ended, with its results file, which is made of the journal of one that was killed.

        A journal without a measurement is taken away, and so is one whose JSON is made; one that can't be read stays.
        """
        index = self.place.index
        if not self.pointer.exists():
            return EndedSession(index=index, code=code, file=None)
        path = Path(self.pointer.read_text(encoding="utf-8"))
        left = path.with_suffix(journal.SUFFIX)
        cut_off = left.exists() and not path.exists()
        if cut_off:
            try:
                if left.stat().st_size and journal.load(left)["benchmarks"]:
                    journal.recover(left)
                left.unlink()
            except ValueError:  # damaged: what is left in it is the user's to restore
                pass
            except OSError:  # the disk is full: every command reads the journal as well
                path = left
        file = path if path.exists() else None
        return EndedSession(index=index, code=code, file=file, cut_off=cut_off)


def member(environment: MutableMapping[str, str]) -> Member | None:
    """Tell which member of a set this process is; None for a member of none.

    :raises pytest.UsageError: the variable is somebody else's.
    """
    return take_order(environment, VARIABLE, Member)


@dataclass(frozen=True, slots=True, kw_only=True)
class Standing:
    """``member``: which session of a set this process runs. ``baseline``: what it is held against at the end.
    ``exit_code``: that of a set, which was run in place of this process.
    """

    member: Member | None = None
    baseline: Baseline | None = None
    exit_code: int | None = None


def settle(config: pytest.Config) -> Standing:
    """Find out what this process is of, look for the baseline, and run the sessions of a set.

    :raises pytest.UsageError: sessions or gate can't be had.
    """
    chosen = options_of(config)
    if chosen.sessions > 1:
        place = member(os.environ)
        if place is not None:
            end_with_parent()
            # The gate is asked once, of all sessions, by the process that started this one.
            return Standing(member=place)
    _refuse_obstacles(config)
    baseline = None if chosen.gate is None else _baseline(config, chosen.gate, chosen.gate_options)
    return Standing(baseline=baseline, exit_code=None if chosen.sessions == 1 else _repeat(config, baseline))


def _refuse_obstacles(config: pytest.Config) -> None:
    chosen = options_of(config)
    asked = spelled(config, "gate" if chosen.sessions == 1 else "sessions")
    one_file = next((flag for flag, name in _ONE_FILE.items() if config.getoption(name, None)), None)
    if chosen.results is None:
        why = f"nothing would be kept of the run. Name a folder for its results: {spelled(config, 'results')} FOLDER"
    elif (flag := disabled(config)) is not None:
        why = f"with {flag} nothing would be measured. Leave it out"
    elif chosen.sessions > 1 and one_file is not None:
        why = (
            f"each session would overwrite the file of {one_file}. Leave it out: the results folder has a file of each"
        )
    else:
        return
    raise pytest.UsageError(f"{asked}: {why}.")


_ONE_FILE = {"--benchmark-json": "benchmark_json", "--junit-xml": "xmlpath"}
"""Flags that name a single file for what a session writes at its end, with pytest's name of the option."""


def _baseline(config: pytest.Config, path: Path, options: Sequence[str]) -> Baseline:
    from roofline.comparison.comparison import how_to_make

    try:
        judging = baselines.options_of_check(options, verbose=config.option.verbose > 0)
    except ValueError as error:
        raise pytest.UsageError(f"{spelled(config, 'gate_options')}: {error}") from error
    try:
        return baselines.baseline(path, judging)
    except baselines.NoBaseline as error:
        raise pytest.UsageError(f"{spelled(config, 'gate')} {path}: {error}. {how_to_make(path)}") from error


def _repeat(config: pytest.Config, baseline: Baseline | None) -> int:
    count, command, folder = options_of(config).sessions, command_of(config), config.invocation_params.dir
    more = environment_of(config)
    width = shutil.get_terminal_size().columns
    ended = run(
        count,
        lambda variables: wait_for(command, {**more, **variables}, folder),
        lambda text: say(f" {text} ".center(width, "=")),
        stop_at_failure=bool(config.getvalue("maxfail")),
    )
    code, lines = conclude(ended, count, width, baseline)
    say("\n".join([f" set of {count} sessions ".center(width, "="), *lines]))
    return code


_FOLDER = "roofline-sessions-"

Launch = Callable[[Mapping[str, str]], int]
"""Runs one session to its end, with these variables in its environment, and returns its exit code."""


def run(
    count: int, launch: Launch, announce: Callable[[str], None], *, stop_at_failure: bool = False
) -> tuple[EndedSession, ...]:
    """Run the sessions of a set, and return how each ended.

    The set ends early with a session that was interrupted, that was asked for wrongly or measured nothing (so would the
    others), and, on request, that had a failure. One that crashed is no reason to stop: the others are data all the
    same.

    :param announce: is called with the session that begins.
    """
    identity = f"{datetime.now(UTC):%Y%m%dT%H%M%SZ}-{secrets.token_hex(4)}"
    stops = {pytest.ExitCode.INTERRUPTED, pytest.ExitCode.USAGE_ERROR, pytest.ExitCode.NO_TESTS_COLLECTED}
    if stop_at_failure:
        stops.add(pytest.ExitCode.TESTS_FAILED)
    ended: list[EndedSession] = []
    with private_folder(_FOLDER) as folder:
        for index in range(1, count + 1):
            place = SessionSet(id=identity, index=index, count=count)
            child = Member(place=place, pointer=folder / str(index))
            announce(f"session {index} of {count}")
            code = launch(child.environment())
            ended.append(child.ended(code))
            if ended[-1].crash is None and (code in stops or ended[-1].file is None):
                break
    return tuple(ended)


_WORST_FIRST = (
    *(pytest.ExitCode.INTERNAL_ERROR, pytest.ExitCode.USAGE_ERROR, pytest.ExitCode.INTERRUPTED),
    *(pytest.ExitCode.TESTS_FAILED, pytest.ExitCode.NO_TESTS_COLLECTED, pytest.ExitCode.OK),
)
"""What is broken comes before what was asked wrongly, that before what was cut short, and all before a verdict: a
failed test tells something of the code, the others of the run."""


def worst(codes: Iterable[int]) -> int:
    """Find the worst of several sessions' exit codes."""
    return min(codes, key=_WORST_FIRST.index, default=pytest.ExitCode.OK)


def conclude(
    ended: Sequence[EndedSession], count: int, width: int, baseline: Baseline | None = None
) -> tuple[int, list[str]]:
    """Give a set's exit code, and what to show. It passes if each session that was asked for did and left a
    file, and if a case of one of them can be used.

    Scatter and gate are of all sessions together. The gate is not asked of a set that was interrupted.
    """
    files = [one.file for one in ended if one.file is not None]
    code = worst(one.code if one.crash is None else pytest.ExitCode.INTERNAL_ERROR for one in ended)
    if code == pytest.ExitCode.OK and len(files) < count:
        code = pytest.ExitCode.USAGE_ERROR
    lines: list[str] = []
    if len(files) > 1:
        try:
            shown, usable = analysis.scatter(files, width)
        except analysis.AnalysisError as error:
            shown, usable = [f"ERROR: how far the sessions scatter could not be shown: {error}"], True
        lines += shown
        if not usable and baseline is None:
            lines.append("no session of this set has a case that can be used, for the reasons above. Measure again.")
            code = pytest.ExitCode.USAGE_ERROR if code == pytest.ExitCode.OK else code
    if baseline is not None and code == pytest.ExitCode.INTERRUPTED:
        lines.append(f"not held against {baseline.path}: interrupted")
    elif baseline is not None and files:
        gated = baselines.verdict(baseline, files, width)
        lines += gated.lines
        code = gated.code if code == pytest.ExitCode.OK else code
    elif baseline is not None:
        lines.append(f"gate against {baseline.path}: FAILED: nothing was measured")
        code = worst((code, pytest.ExitCode.USAGE_ERROR))
    lines += remarks(ended, count)
    lines += [f"results: {file}" for file in files]
    return code, lines


def remarks(ended: Sequence[EndedSession], count: int) -> list[str]:
    """Say what must be known of a set beside its results: sessions that crashed or failed, and that it ended early."""
    lines = []
    for one in ended:
        name = f"session {one.index} of {count}"
        kept = (
            "nothing was measured with the fixture roofline" if one.file is None else f"{one.file} has what it measured"
        )
        if one.crash is not None:
            lines.append(f"{name} crashed ({one.crash}): {kept}")
        elif one.code != pytest.ExitCode.OK or one.file is None:
            lines.append(f"{name} ended with exit code {one.code}: {kept}")
    if len(ended) < count:
        lines.append(f"stopped after session {len(ended)} of {count}")
    return lines


def say(text: str) -> None:
    """Print at once: the next to write to the terminal is another process."""
    encoding = sys.stdout.encoding or "utf-8"
    print(text.encode(encoding, "replace").decode(encoding), flush=True)
