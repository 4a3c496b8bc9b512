"""``--perf-stat``: events on the host's cores during some steps, in a pass of its own after the timed rounds."""

from __future__ import annotations

import os
import re
import signal
import subprocess
import tempfile
import time
from collections.abc import Callable
from contextlib import ExitStack, suppress
from pathlib import Path

from pytest_roofline.device.system import System
from pytest_roofline.measuring import InputEnded, Instruments, Measured
from pytest_roofline.measuring.plan import Step
from pytest_roofline.profilers.ncu.status import Status
from pytest_roofline.profilers.perf.control import Gone, NoAnswer, PerfControl
from pytest_roofline.profilers.perf.events import EVENTS, NoEvents, of_a_step, parse
from pytest_roofline.profilers.preflight import Finding, check_perf
from roofline.schema.record import HostCounters

PASS_S = 1.0
"""So many steps as fill it are counted, at least one."""

MOST_STEPS = 100_000

ANSWER_S = 10.0
"""perf attaches, answers and ends within it, or is ended."""

ATTACH_S = 0.5
"""For a perf that can't be told when to begin: it has attached by then. This process sleeps meanwhile, and only what it
does itself is counted."""

_CONTROL_FROM = (5, 10)
"""Version of perf from which on ``--control`` takes descriptors with acknowledgements in the form used here."""


class PerfFailed(RuntimeError):
    """perf counted nothing. The message says why."""

    def __init__(self, status: Status, reason: str) -> None:
        super().__init__(reason)
        self.status = status


class PerfStat:
    """Counts steps of this process, all its threads and what they start, with the perf that was found.

    :param sleep: waits for so many seconds.
    """

    def __init__(
        self,
        finding: Finding,
        system: System,
        sleep: Callable[[float], None] = time.sleep,
        answer_s: float = ANSWER_S,
    ) -> None:
        self.finding = finding
        self._system = system
        self._sleep = sleep
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
        finding = self.finding
        if not finding.usable or finding.path is None:
            return HostCounters(status=finding.status, reason=finding.reason)
        program = f"perf {finding.version}" if finding.version else "perf"
        steps = steps_of(measured.timing.step_time_s)

        def run() -> None:
            for _ in range(steps):
                step()
            instruments.synchronize()

        instruments.synchronize()
        try:
            return of_a_step(parse(self._attached(finding.path, run)), steps, program)
        except InputEnded as end:
            return HostCounters(status="failed", source=program, reason=f"{end}, before all steps had been counted")
        except NoEvents as error:
            return HostCounters(status="failed", source=program, reason=f"perf stat wrote no counts: {error}")
        except PerfFailed as error:
            return HostCounters(status=error.status, source=program, reason=str(error))

    def _attached(self, perf: Path, run: Callable[[], None]) -> str:
        """What perf wrote of all that happened during ``run``.

        :raises PerfFailed: it could not.
        """
        with ExitStack() as stack:
            folder = Path(stack.enter_context(tempfile.TemporaryDirectory()))
            control = stack.enter_context(PerfControl(self._answer_s)) if self._takes_commands() else None
            output, said = folder / "events.csv", folder / "said.txt"
            process = self._start(perf, control, output, said)
            try:
                self._begin(process, control)
                run()
                if control is not None:
                    control.tell("disable")
                process.send_signal(signal.SIGINT)
                process.wait(self._answer_s)
            except (NoAnswer, subprocess.TimeoutExpired) as error:
                raise PerfFailed("timeout", f"perf was ended: it had not answered for {self._answer_s:g} s") from error
            except Gone as error:
                raise PerfFailed(*why(said.read_text(errors="replace"))) from error
            finally:
                with suppress(ProcessLookupError):
                    os.killpg(process.pid, signal.SIGKILL)
                process.wait()
            if not output.exists():
                raise PerfFailed(*why(said.read_text(errors="replace")))
            return output.read_text(errors="replace")

    def _start(self, perf: Path, control: PerfControl | None, output: Path, said: Path) -> subprocess.Popen[bytes]:
        command = (
            *(str(perf), "stat", "-x", ",", "-o", str(output), "-e", ",".join(EVENTS), "-p", str(os.getpid())),
            *(() if control is None else control.options),
        )
        try:
            with said.open("wb") as file:
                process = subprocess.Popen(
                    command,
                    stdin=subprocess.DEVNULL,
                    stdout=file,
                    stderr=file,
                    # In other locales perf groups digits.
                    env={**self._system.environment, "LC_ALL": "C"},
                    pass_fds=() if control is None else control.inherited,
                    # Ctrl-C at the terminal is meant for this process, which ends perf.
                    start_new_session=True,
                )
        except OSError as error:
            raise PerfFailed("failed", f"perf can't be started: {error.strerror}") from error
        if control is not None:
            control.started()
        return process

    def _begin(self, process: subprocess.Popen[bytes], control: PerfControl | None) -> None:
        """:raises Gone: perf has ended."""
        if control is not None:
            control.tell("enable")
            return
        self._sleep(ATTACH_S)
        if process.poll() is not None:
            raise Gone("it did not attach")

    def _takes_commands(self) -> bool:
        found = re.match(r"([0-9]+)\.([0-9]+)", self.finding.version or "")
        return found is not None and (int(found[1]), int(found[2])) >= _CONTROL_FROM


def steps_of(step_time_s: float) -> int:
    """How many steps to count."""
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
