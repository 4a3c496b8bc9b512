"""Events of a case's steps on the host's cores, counted by perf stat after the timed rounds."""

from __future__ import annotations

import math
import os
import re
import selectors
import signal
import subprocess
import tempfile
import time
from collections.abc import Callable, Mapping
from contextlib import ExitStack, suppress
from dataclasses import dataclass
from pathlib import Path

from pytest_roofline.device.system import System
from pytest_roofline.measuring import InputEnded, Instruments, Measured
from pytest_roofline.measuring.plan import Step
from pytest_roofline.profilers.check import Check, Status
from pytest_roofline.profilers.profiler_access import check_perf
from roofline.schema.record import HostCounters
from roofline.text.units import percent


class PerfFailed(RuntimeError):
    """perf counted nothing. The message says why."""

    def __init__(self, status: Status, reason: str) -> None:
        super().__init__(reason)
        self.status = status


class Gone(RuntimeError):
    """perf has ended: what it wrote says why."""


class PerfControl:
    """A pipe for commands, and one for their acknowledgements (perf-stat(1), ``--control``). A context manager.

    :param answer_s: how long to wait for each acknowledgement.
    """

    def __init__(self, answer_s: float) -> None:
        self._answer_s = answer_s
        command_end, self._commands = os.pipe()
        self._answers, answer_end = os.pipe()
        self._theirs: tuple[int, ...] = (command_end, answer_end)

    def __enter__(self) -> PerfControl:
        return self

    def __exit__(self, *_: object) -> None:
        self.started()
        os.close(self._commands)
        os.close(self._answers)

    @property
    def options(self) -> tuple[str, ...]:
        """Begin with counting switched off, and take commands."""
        return ("-D", "-1", "--control", "fd:" + ",".join(map(str, self._theirs)))

    @property
    def inherited(self) -> tuple[int, ...]:
        """The ends that are perf's."""
        return self._theirs

    def started(self) -> None:
        """perf has its ends: close them here, so that its end is seen."""
        for end in self._theirs:
            os.close(end)
        self._theirs = ()

    def tell(self, command: str) -> None:
        """Give a command and wait until perf has carried it out.

        :raises PerfFailed: it does not say so in time.
        :raises Gone: it has ended.
        """
        try:
            os.write(self._commands, f"{command}\n".encode())
        except BrokenPipeError as error:
            raise Gone(command) from error
        deadline = time.monotonic() + self._answer_s
        with selectors.DefaultSelector() as selector:
            selector.register(self._answers, selectors.EVENT_READ)
            # A zero byte follows each answer, and may come with the next.
            while selector.select(max(0.0, deadline - time.monotonic())):
                answer = os.read(self._answers, 64)
                if b"ack" in answer:
                    return
                if not answer:
                    raise Gone(command)
        raise _late(self._answer_s)


def _late(answer_s: float) -> PerfFailed:
    return PerfFailed("timeout", f"perf was ended: it had not answered for {answer_s:g} s")


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

ATTACH_S = 0.5
"""For a perf that can't be told when to begin: it has attached by then. This process sleeps meanwhile, and only what it
does itself is counted."""

_CONTROL_FROM = (5, 10)
"""Version of perf from which on ``--control`` takes descriptors with acknowledgements in the form used here."""


class PerfStat:
    """Counts steps of this process, all its threads and what they start, with the perf that was found.

    :param sleep: waits for so many seconds.
    """

    def __init__(
        self,
        check: Check,
        system: System,
        sleep: Callable[[float], None] = time.sleep,
        answer_s: float = ANSWER_S,
    ) -> None:
        self.check = check
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
            except subprocess.TimeoutExpired as error:
                raise _late(self._answer_s) from error
            except Gone:
                output.unlink(missing_ok=True)
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
        found = re.match(r"([0-9]+)\.([0-9]+)", self.check.version or "")
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
