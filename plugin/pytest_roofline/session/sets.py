"""``--sessions N`` and ``--gate BASELINE``: what is decided before a test is collected.

Processes scatter by more than the rounds of one do: each has other addresses, another heap and another hour. So a set
repeats the whole run, each time in a process of its own. This process then only starts the children, waits and sums up.
A child knows by an environment variable which of the set it is.
"""

from __future__ import annotations

import json
import os
import secrets
import shlex
import shutil
import signal
import sys
import tempfile
import textwrap
from collections.abc import Callable, Mapping, MutableMapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING

from pytest_roofline import pytest_exit_codes
from pytest_roofline.config import disabled, spelled
from pytest_roofline.options import SETTINGS, Options
from pytest_roofline.rerun import command_of, end_with_parent, environment_of, wait_for
from pytest_roofline.session import analysis
from pytest_roofline.session import baseline as baselines
from pytest_roofline.session.baseline import Baseline
from roofline.results import journal
from roofline.schema.record import KEY, SessionSet

if TYPE_CHECKING:
    import pytest

VARIABLE = "ROOFLINE_SESSION"
"""Set for the children of a set, and taken away by the first to read it: no pytest that a test starts is a member."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Member:
    """What a child knows: which session of which set it is, and the file in which it writes where its results are."""

    place: SessionSet
    pointer: Path

    def environment(self) -> dict[str, str]:
        place = self.place
        return {VARIABLE: json.dumps([place.id, place.index, place.count, str(self.pointer)])}

    def point_to(self, results: Path) -> None:
        self.pointer.write_text(str(results.absolute()), encoding="utf-8")

    def conclude(self) -> None:
        """Tell that pytest has come to the session's end. A process that a test leaves (``os._exit``) never does."""
        with suppress(OSError):  # the process that started this one is gone, and its folder with it
            self._end.touch()

    @property
    def concluded(self) -> bool:
        return self._end.exists()

    @property
    def _end(self) -> Path:
        return self.pointer.with_suffix(".concluded")

    def collect(self) -> Path | None:
        """The results file, once the child has ended; of one that was killed, made of its journal.

        A journal without a measurement is taken away, and so is one whose JSON is made; one that can't be read stays.
        """
        if not self.pointer.exists():
            return None
        path = Path(self.pointer.read_text(encoding="utf-8"))
        left = path.with_suffix(journal.SUFFIX)
        if left.exists() and not path.exists():
            try:
                if left.stat().st_size and journal.load(left)["benchmarks"]:
                    journal.recover(left)
                left.unlink()
            except ValueError:  # damaged: what is left in it is the user's to restore
                return None
            except OSError:  # the disk is full: every command reads the journal as well
                return baselines.plain(left)
        return baselines.plain(path) if path.exists() else None


def member(environment: MutableMapping[str, str]) -> Member | None:
    """Which member of a set this process is. None: of none.

    :raises ValueError: the variable holds something else.
    """
    text = environment.pop(VARIABLE, None)
    if text is None:
        return None
    try:
        identity, index, count, pointer = json.loads(text)
        place = SessionSet(id=str(identity), index=int(index), count=int(count))
        return Member(place=place, pointer=Path(pointer))
    except (ValueError, TypeError) as error:
        raise ValueError(f"{VARIABLE} is for the processes that --sessions starts. Unset it.") from error


class Refused(ValueError):
    """The run can't be had as it was asked for. The message says why and what to do."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Standing:
    """``member``: which session of a set this process runs. ``baseline``: what it is held against at the end.
    ``exit_code``: that of a set, which was run in place of this process.
    """

    member: Member | None = None
    baseline: Baseline | None = None
    exit_code: int | None = None


def settle(config: pytest.Config, chosen: Options) -> Standing:
    """Find out what this process is of, look for the baseline, and run the sessions of a set.

    :raises Refused: sessions or gate can't be had.
    """
    if chosen.sessions > 1:
        try:
            place = member(os.environ)
        except ValueError as error:
            raise Refused(str(error)) from error
        if place is not None:
            end_with_parent()
            # The gate is asked once, of all sessions, by the process that started this one.
            return Standing(member=place)
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


def _baseline(config: pytest.Config, path: Path, options: Sequence[str]) -> Baseline:
    try:
        found = baselines.baseline(path)
    except baselines.NoBaseline as error:
        anew = ("gate", "gate_options", "sessions", "results")
        flags = [flag for setting in SETTINGS if setting.name in anew for flag in (setting.flag, setting.short_flag)]
        how = baselines.making(path, config.invocation_params.args, flags)
        raise Refused(f"{spelled(config, 'gate')} {path}: {error}. {how}") from error
    objection = baselines.objection(found, options) if options else None
    if objection is not None:
        raise Refused(f"{spelled(config, 'gate_options')}: roofline check says: {objection}")
    return found


def _repeat(config: pytest.Config, chosen: Options, baseline: Baseline | None) -> int:
    command, folder = command_of(config), config.invocation_params.dir
    more = environment_of(config)
    width = shutil.get_terminal_size().columns
    ended = run(
        chosen.sessions,
        lambda variables: wait_for(command, {**more, **variables}, folder),
        lambda text: say(f" {text} ".center(width, "=")),
        stop_at_failure=bool(config.getvalue("maxfail")),
    )
    code, lines = conclude(ended, chosen.sessions, width, baseline, chosen.gate_options)
    say("\n".join([f" set of {chosen.sessions} sessions ".center(width, "="), *lines]))
    return code


@dataclass(frozen=True, slots=True, kw_only=True)
class Ended:
    """How a session ended. ``code`` is the process's: one of pytest's, or a crash; negative is a signal.

    ``concluded``: pytest came to its end. Where a code of pytest's is that of something else that left the process, the
    file lacks what would have been measured after it, and doesn't tell so.
    """

    index: int
    code: int
    file: Path | None
    concluded: bool = True

    @property
    def crash(self) -> str | None:
        """What it died of; None where it ended as pytest does."""
        if not self.concluded and self.code in _AT_THE_END:
            return f"exit code {self.code} before pytest had ended"
        if 0 <= self.code <= pytest_exit_codes.NO_TESTS:
            return None
        if self.code > 0:
            return f"exit code {self.code}"
        try:
            return signal.Signals(-self.code).name
        except ValueError:
            return f"signal {-self.code}"


_AT_THE_END = (pytest_exit_codes.PASSED, pytest_exit_codes.FAILED, pytest_exit_codes.NO_TESTS)
"""What pytest ends with after a whole session, and not before one, as where it could not do what was asked."""

Launch = Callable[[Mapping[str, str]], int]
"""Runs one session to its end, with these variables in its environment, and returns its exit code."""


def run(
    count: int, launch: Launch, announce: Callable[[str], None], *, stop_at_failure: bool = False
) -> tuple[Ended, ...]:
    """Run the sessions of a set, and return how each ended.

    The set ends early with a session that was interrupted, that was asked for wrongly or measured nothing (so would the
    others), and, on request, that had a failure. One that crashed is no reason to stop: the others are data all the
    same.

    :param announce: is told which session begins.
    """
    identity = f"{datetime.now(UTC):%Y%m%dT%H%M%SZ}-{secrets.token_hex(4)}"
    stops = {pytest_exit_codes.INTERRUPTED, pytest_exit_codes.USAGE_ERROR, pytest_exit_codes.NO_TESTS}
    if stop_at_failure:
        stops.add(pytest_exit_codes.FAILED)
    ended: list[Ended] = []
    with tempfile.TemporaryDirectory(prefix="roofline-sessions-") as folder:
        for index in range(1, count + 1):
            place = SessionSet(id=identity, index=index, count=count)
            child = Member(place=place, pointer=Path(folder) / str(index))
            announce(f"session {index} of {count}")
            code = launch(child.environment())
            ended.append(Ended(index=index, code=code, file=child.collect(), concluded=child.concluded))
            if ended[-1].crash is None and (code in stops or ended[-1].file is None):
                break
    return tuple(ended)


def conclude(
    ended: Sequence[Ended],
    count: int,
    width: int,
    baseline: Baseline | None = None,
    gate_options: Sequence[str] = (),
) -> tuple[int, list[str]]:
    """What came of a set: its exit code, and what to show. It passes if each session that was asked for did and left a
    file, and if a case of one of them can be used.

    How far its sessions scatter and whether they pass the gate are the ``roofline`` program's to tell, each once for
    all. The gate is not asked of a set that was interrupted.
    """
    files = [one.file for one in ended if one.file is not None]
    code = pytest_exit_codes.worst(one.code if one.crash is None else pytest_exit_codes.INTERNAL_ERROR for one in ended)
    if code == pytest_exit_codes.PASSED and len(files) < count:
        code = pytest_exit_codes.USAGE_ERROR
    lines: list[str] = []
    if len(files) > 1:
        shown = analysis.ask("sessions", *map(str, files), "--width", str(width))
        unusable = shown.code == _NOTHING_USABLE and baseline is None and any(map(_has_cases, files))
        lines += [shown.out, *_wrapped(_NO_BASELINE, width)] if unusable else shown.lines()
        if unusable and code == pytest_exit_codes.PASSED:
            code = pytest_exit_codes.USAGE_ERROR
    if baseline is not None and code == pytest_exit_codes.INTERRUPTED:
        lines.append(f"not held against {baseline.path}: interrupted")
    elif baseline is not None and files:
        gated = baselines.verdict(baseline, files, gate_options, width)
        lines += gated.lines
        code = gated.code if code == pytest_exit_codes.PASSED else code
    elif baseline is not None:
        lines.append(f"gate against {baseline.path}: FAILED: nothing was measured")
        code = pytest_exit_codes.worst((code, pytest_exit_codes.USAGE_ERROR))
    lines += remarks(ended, count)
    if any(one.code == pytest_exit_codes.PASSED and one.crash is None and one.file is None for one in ended):
        named = "BASELINE" if baseline is None else shlex.quote(str(baseline.path))
        lines += _wrapped(_NO_FIXTURE + baselines.comparing_plain_benchmarks(named), width)
    lines += [f"results: {file}" for file in files]
    return code, lines


_NOTHING_USABLE = 3
"""The exit code of ``roofline sessions`` where no session has a case that can be used."""

_NO_BASELINE = (
    "not usable as a baseline: no session of this set has a case that can be used, for the reasons above. Measure again"
)

_NO_FIXTURE = "a set keeps what the fixture roofline measures. For tests that use pytest-benchmark's own, "


def _wrapped(text: str, width: int) -> list[str]:
    """A long line in parts; none of them in the middle of a path."""
    return textwrap.wrap(text, width, subsequent_indent="  ", break_long_words=False, break_on_hyphens=False)


def _has_cases(results: Path) -> bool:
    """Whether there is more in a file than roofs, which are no cases and of which nobody makes a baseline."""
    rows = journal.load(results)["benchmarks"]
    return any(row["extra_info"][KEY]["case"]["mode"] != "roof" for row in rows)


def remarks(ended: Sequence[Ended], count: int) -> list[str]:
    """What has to be known of a set beside its results: sessions that crashed or failed, and that it ended early."""
    lines = []
    for one in ended:
        name = f"session {one.index} of {count}"
        if one.crash is not None:
            kept = "nothing of it was kept" if one.file is None else f"{one.file} has what it measured before"
            lines.append(f"{name} crashed ({one.crash}): {kept}")
        elif one.code != pytest_exit_codes.PASSED or one.file is None:
            nothing = " and nothing was measured" if one.file is None else ""
            lines.append(f"{name}: {_ENDINGS[one.code]}{nothing} (exit code {one.code})")
    if len(ended) < count:
        lines.append(f"stopped after session {len(ended)} of {count}")
    return lines


_ENDINGS = {
    pytest_exit_codes.PASSED: "every test passed",
    pytest_exit_codes.FAILED: "a test failed",
    pytest_exit_codes.INTERRUPTED: "interrupted",
    pytest_exit_codes.INTERNAL_ERROR: "pytest broke",
    pytest_exit_codes.USAGE_ERROR: "it could not do what was asked",
    pytest_exit_codes.NO_TESTS: "no test was collected",
}


def say(text: str) -> None:
    """Print at once: the next to write to the terminal is another process."""
    encoding = sys.stdout.encoding or "utf-8"
    print(text.encode(encoding, "replace").decode(encoding), flush=True)
