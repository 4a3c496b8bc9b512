"""Events of a case's steps on the host's cores, counted by perf stat after the timed rounds."""

from __future__ import annotations

import math
import os
import re
import signal
import socket
import subprocess
import tempfile
from collections.abc import Callable, Mapping
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

from pytest_roofline.device.instruments import Instruments
from pytest_roofline.device.system import System
from pytest_roofline.measuring import InputEnded, Measured
from pytest_roofline.measuring.rounds import Step
from pytest_roofline.profilers.diagnosis import Diagnosis, Status
from pytest_roofline.profilers.profiler_access import check_perf
from roofline.schema.record import HostCounters
from roofline.text.units import percent


class PerfFailed(RuntimeError):
    """perf counted nothing. The message says why."""

    def __init__(self, status: Status, reason: str) -> None:
        super().__init__(reason)
        self.status = status


EVENTS: Mapping[str, str] = {
    "cycles": "cycles",
    "instructions": "instructions",
    "cache-references": "cache_references",
    "cache-misses": "cache_misses",
    "branches": "branches",
    "branch-misses": "branch_misses",
}
"""perf's name -> field of `roofline.schema.record.HostCounters`."""

_NAME = re.compile(r"(?:[\w-]+/)?(?P<event>[\w-]+)(?::(?P<of>[a-zA-Z]+))?/?(?P<also>[a-zA-Z]*)")
"""``cycles``, ``cycles:u``, and on processors with two kinds of cores ``cpu_core/cycles/`` or ``cpu_core/cycles/u``."""

_COUNT = re.compile(r"[0-9]{1,18}(\.[0-9]{1,9})?")


@dataclass(frozen=True, slots=True, kw_only=True)
class Events:
    """What was counted, by perf's names; None for an event that the machine doesn't count.

    :param share: for which of the time the event was counted that was so for the least; perf scales such a count up.
    :param user_only: what the kernel did for the process isn't in it: whoever asked may not see that.
    """

    counts: Mapping[str, float | None]
    share: float = 1.0
    user_only: bool = False


def parse(text: str) -> Events:
    """Read the lines: count, unit, event, run time of the counter in ns, percentage of the time that it ran, and more
    (perf-stat(1), CSV FORMAT). The two kinds of cores of a hybrid processor are added up.

    :raises PerfFailed: none of `EVENTS` is in them.
    """
    counts: dict[str, float | None] = {}
    shares = [1.0]
    user_only = False
    for line in text.splitlines():
        cells = [cell.strip() for cell in line.split(",")]
        named = _NAME.fullmatch(cells[2]) if len(cells) > 2 else None
        if line.startswith("#") or named is None or named["event"] not in EVENTS:
            continue
        event = named["event"]
        counts.setdefault(event, None)
        # "<not supported>", "<not counted>", or a counter that never ran and stands at 0.
        if not _COUNT.fullmatch(cells[0]) or cells[3:4] == ["0"]:
            continue
        counts[event] = (counts[event] or 0.0) + float(cells[0])
        user_only = user_only or "u" in ((named["of"] or "") + named["also"])
        shares += [float(cell) / 100 for cell in cells[4:5] if _COUNT.fullmatch(cell)]
    if not counts:
        raise PerfFailed("failed", "perf stat wrote no counts")
    return Events(counts={name: counts.get(name) for name in EVENTS}, share=min(shares), user_only=user_only)


def of_a_step(events: Events, steps: int, program: str) -> HostCounters:
    """The events of one step of ``steps``.

    :param program: what counted them, with its version.
    """
    lacking = [name for name, count in events.counts.items() if count is None]
    remarks = ["user mode only"] if events.user_only else []
    if not math.isclose(events.share, 1.0, abs_tol=0.005):
        remarks.append(f"scaled from {percent(events.share)} of the time")
    source = f"{program} ({'; '.join(remarks)})" if remarks else program
    if len(lacking) == len(events.counts):
        return HostCounters(
            status="missing_metric",
            source=source,
            reason=f"the machine counts none of {', '.join(lacking)}: most virtual machines don't",
        )
    return HostCounters(
        status="missing_metric" if lacking else "ok",
        source=source,
        reason=f"the machine doesn't count {', '.join(lacking)}" if lacking else None,
        steps=steps,
        **{field: None if (count := events.counts[name]) is None else count / steps for name, field in EVENTS.items()},
    )


PASS_S = 1.0
"""So many steps as fill it are counted, at least one."""

MOST_STEPS = 100_000

ANSWER_S = 10.0
"""perf attaches, answers and ends within it, or is ended."""


class PerfStat:
    """Counts steps of this process, all its threads and what they start, with the perf that was found."""

    def __init__(self, check: Diagnosis, system: System, answer_s: float = ANSWER_S) -> None:
        self.check = check
        self._system = system
        self._answer_s = answer_s

    @classmethod
    def here(cls, asked: Path | None = None) -> PerfStat:
        """With this machine's perf, tried.

        :param asked: the path that was given, which then is the only place.
        """
        system = System.here()
        return cls(check_perf(system, asked), system)

    def count(self, step: Step, measured: Measured, instruments: Instruments) -> HostCounters:
        """Events of one step, the mean over as many as fill a second.

        :param measured: the same step.
        """
        check = self.check
        if not check.usable or check.path is None:
            return HostCounters(status=check.status, reason=check.reason)
        program = f"perf {check.version}" if check.version else "perf"
        steps = steps_of(measured.timing.step_time_s)

        def run() -> None:
            for _ in range(steps):
                step()
            instruments.synchronize()

        instruments.synchronize()
        try:
            return of_a_step(parse(self._attached(check.path, run)), steps, program)
        except InputEnded as end:
            return HostCounters(status="failed", source=program, reason=f"{end}, before all steps had been counted")
        except PerfFailed as error:
            return HostCounters(status=error.status, source=program, reason=str(error))

    def _attached(self, perf: Path, run: Callable[[], None]) -> str:
        """Give what perf wrote of all that happened during ``run``. It starts with counting switched off, is asked to
        begin (perf-stat(1), ``--control``), and ends by SIGINT.

        :raises PerfFailed: it could not.
        """
        with tempfile.TemporaryDirectory() as folder:
            output, said = Path(folder, "events.csv"), Path(folder, "said.txt")
            ours, theirs = socket.socketpair()
            with ours:
                with theirs:
                    process = self._start(perf, theirs.fileno(), output, said)
                try:
                    if self._begun(ours):
                        run()
                        process.send_signal(signal.SIGINT)
                        process.wait(self._answer_s)
                    else:
                        output.unlink(missing_ok=True)
                except subprocess.TimeoutExpired as error:
                    raise self._late() from error
                finally:
                    with suppress(ProcessLookupError):
                        os.killpg(process.pid, signal.SIGKILL)
                    process.wait()
            if not output.exists():
                raise PerfFailed(*why(said.read_text(errors="replace")))
            return output.read_text(errors="replace")

    def _begun(self, control: socket.socket) -> bool:
        """Tell perf to begin. False where it has ended: what it wrote says why.

        :raises PerfFailed: it does not answer in time.
        """
        control.settimeout(self._answer_s)
        try:
            control.sendall(b"enable\n")
            return b"ack" in control.recv(64)
        except ConnectionError:
            return False
        except TimeoutError as error:
            raise self._late() from error

    def _late(self) -> PerfFailed:
        return PerfFailed("timeout", f"perf was ended: it had not answered for {self._answer_s:g} s")

    def _start(self, perf: Path, control: int, output: Path, said: Path) -> subprocess.Popen[bytes]:
        """:param control: the descriptor from which perf takes commands, and to which it answers."""
        command = (
            *(str(perf), "stat", "-x", ",", "-o", str(output), "-e", ",".join(EVENTS), "-p", str(os.getpid())),
            *("-D", "-1", "--control", f"fd:{control},{control}"),
        )
        try:
            with said.open("wb") as file:
                return subprocess.Popen(
                    command,
                    stdin=subprocess.DEVNULL,
                    stdout=file,
                    stderr=file,
                    # In other locales perf groups digits.
                    env={**self._system.environment, "LC_ALL": "C"},
                    pass_fds=(control,),
                    # Ctrl-C at the terminal is meant for this process, which ends perf.
                    start_new_session=True,
                )
        except OSError as error:
            raise PerfFailed("failed", f"perf can't be started: {error.strerror}") from error


def steps_of(step_time_s: float) -> int:
    """Choose how many steps to count."""
    return max(1, min(MOST_STEPS, round(PASS_S / max(step_time_s, 1e-9))))


def why(said: str) -> tuple[Status, str]:
    """Status and reason of a perf that counted nothing, from its own words."""
    lines = [line for line in map(str.strip, said.splitlines()) if line not in ("", "Error:") and line.isprintable()]
    reason = f"perf counted nothing: {lines[0] if lines else 'it said nothing'}"
    words = said.lower()
    if any(word in words for word in ("perf_event_paranoid", "permission", "not permitted", "cap_perfmon")):
        return "permission_denied", reason
    if any(word in words for word in ("no supported events", "not supported", "no such device")):
        return "missing_metric", reason
    return "failed", reason
