"""Counting one step of one case: its test once more, in processes of its own under ncu."""

from __future__ import annotations

import os
import re
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from tempfile import TemporaryDirectory

from pytest_roofline.precision import PRECISIONS
from pytest_roofline.profilers import ncu_check, ncu_counters
from pytest_roofline.profilers.ncu_command import pytest_command
from pytest_roofline.profilers.ncu_order import Answer, Order
from pytest_roofline.profilers.ncu_run import Ncu, NotCounted, Ran
from pytest_roofline.profilers.ncu_status import Status
from pytest_roofline.profilers.system import unwound_when_terminated
from pytest_roofline.same_project import CommandLine
from roofline.ncu_metrics import byte_metrics, flop_metrics
from roofline.record import Counters

FOR_ALL: tuple[Status, ...] = ("permission_denied", "unsupported_platform", "not_found")
"""What one case meets, every other one meets as well."""

_NO_METRIC = re.compile(r"==ERROR==.*failed to find metric(.*)", re.IGNORECASE)
_METRIC = re.compile(r"\w+__\w+(?:\.\w+)*")
"""A metric in ncu's words, with or without what it is a sum or a mean of."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Command:
    """How a run was called: what repeats a test of it.

    :param start: interpreter and pytest.
    :param again: pytest's arguments, with which it finds the same project.
    :param folder: where.
    :param rootpath: the project's root, which names of tests start from.
    :param has_cache: whether pytest keeps its cache.
    """

    start: Sequence[str]
    again: CommandLine
    folder: Path
    rootpath: Path
    has_cache: bool


class CaseCounter:
    """Counts steps of tests with one ncu.

    :param device: as torch names it.
    :param limit_s: for one test.
    :param clock: seconds.
    """

    def __init__(
        self, ncu: Ncu, command: Command, device: str, limit_s: float, clock: Callable[[], float] = time.monotonic
    ) -> None:
        self._ncu = ncu
        self._command = command
        self._device = device
        self._limit_s = limit_s
        self._clock = clock
        self._unit_checks: dict[str, float | None] = {}
        self._unknown: set[str] = set()
        """Metrics that this ncu has said not to know."""

    def count(self, test: str, file: Path) -> Counters:
        """The counters of one step: bytes from a run in which each kernel runs once, for a replay changes what the
        caches hold; FLOPs from another.

        :param test: node id.
        :param file: where the test is.
        :raises NotCounted: there are none, and why.
        """
        capability = self._ncu.compute_capability
        end = self._clock() + self._limit_s
        with _private_folder() as folder:
            counted, unknown = self._repeat(test, file, byte_metrics(capability), folder / "bytes.csv", end)
            ran, no_flop = [counted], None
            try:
                # Whatever the precision: attention in fp32 may run on tensor cores, a product as three of TF32.
                flops, without = self._repeat(test, file, flop_metrics(capability, True), folder / "flop.csv", end)
                ran.append(flops)
                no_flop = flops.complaint[1] if flops.complaint[0] == "missing_metric" else _lacking(without)
            except NotCounted as refusal:
                no_flop = refusal.reason
            found = self._read(ran, lambda files, source: ncu_counters.of_step(files, source, no_flop=no_flop))
        if found.status == "missing_metric" and unknown:
            found = replace(found, reason=f"{found.reason}; {_lacking(unknown)}")
        return found

    def unit_check(self, precision: str) -> float | None:
        """FLOPs counted of a matrix product of known size over those it has, in what the precision computes in: the
        farthest from 1 where that is more than one. Each is counted once.

        :raises NotCounted: nothing can be counted here.
        """
        dtypes = PRECISIONS[precision].computes_in
        for dtype in sorted(dtypes - self._unit_checks.keys()):
            self._unit_checks[dtype] = self._check(dtype)
        ratios = [ratio for dtype in sorted(dtypes) if (ratio := self._unit_checks[dtype]) is not None]
        return max(ratios, key=lambda ratio: abs(ratio - 1), default=None)

    def _repeat(
        self, test: str, file: Path, metrics: Sequence[str], log: Path, end: float
    ) -> tuple[Ran, tuple[str, ...]]:
        """One step under ncu.

        :returns: the run, and the metrics that were left out of it, for this ncu doesn't know them.
        """
        command = self._command
        # Where a test stands outside the root, its name hangs on the paths that were given.
        within = file.is_file() and file.is_relative_to(command.rootpath)
        order = Order(test=test, file=file if within else None, answer=log.with_suffix(".answer"))
        application = pytest_command(
            command.start,
            command.again,
            self._ncu.system.environment,
            cache=log.parent / "cache" if command.has_cache else None,
        )

        def run(asked: Sequence[str]) -> Ran:
            order.answer.unlink(missing_ok=True)
            return self._ncu.run(
                application,
                asked,
                log=log,
                variables=order.environment(),
                limit_s=max(0.0, end - self._clock()),
                cwd=command.folder,
            )

        ran, unknown = self._with_known(metrics, run)
        try:
            ran.refuse(order.told())
        except NotCounted as refusal:
            match refusal.status:
                case "no_kernels":
                    reason = f"{refusal.reason}. The test ran on {self._device}"
                case "timeout":
                    reason = f"under ncu its test had not ended after {self._limit_s:g} s"
                case _:
                    raise
            raise NotCounted(refusal.status, reason) from refusal
        return ran, unknown

    def _with_known(self, metrics: Sequence[str], run: Callable[[Sequence[str]], Ran]) -> tuple[Ran, tuple[str, ...]]:
        """Run with those metrics that this ncu knows. It counts nothing where it is asked for one that it doesn't: then
        the run is repeated without those that it names, and no later one asks for them.

        :returns: the last run, and the metrics that were left out of it.
        """
        while True:
            asked = [name for name in metrics if name not in self._unknown]
            ran = run(asked)
            named = _named(ran, asked)
            if not named or len(named) == len(asked):
                return ran, tuple(name for name in metrics if name in self._unknown)
            self._unknown.update(named)
            ran.log.unlink(missing_ok=True)

    def _check(self, dtype: str) -> float | None:
        with _private_folder() as folder:

            def run(asked: Sequence[str]) -> Ran:
                return self._ncu.run(
                    (str(self._ncu.system.python), "-m", ncu_check.__name__, dtype, self._device),
                    asked,
                    log=folder / "check.csv",
                    variables={},
                    limit_s=self._limit_s,
                    cwd=self._command.folder,
                )

            ran, _ = self._with_known(flop_metrics(self._ncu.compute_capability, True), run)
            try:
                ran.refuse(Answer(problem=None) if ran.ended.code == 0 else None)
                flop = self._read([ran], lambda files, source: ncu_counters.of_flops(files[0], source)).flop
            except NotCounted as refusal:
                if refusal.status in FOR_ALL:
                    raise
                return None
        return None if flop is None else flop / ncu_check.FLOP

    def _read(self, ran: Sequence[Ran], read: Callable[[Sequence[Path], str], Counters]) -> Counters:
        folder = f"{ran[0].log.parent}{os.sep}"
        try:
            found = read([one.log for one in ran], self._ncu.source)
            # A file is told without its folder, which is gone by then.
            return found if found.reason is None else replace(found, reason=found.reason.replace(folder, ""))
        except NotCounted as refusal:
            lacking = next((one.complaint for one in ran if one.complaint[0] == "missing_metric"), None)
            if lacking is not None:
                raise NotCounted(*lacking) from refusal
            raise NotCounted(refusal.status, refusal.reason.replace(folder, "")) from refusal


def _named(ran: Ran, asked: Sequence[str]) -> tuple[str, ...]:
    """The metrics asked for that ncu says it doesn't know: by their whole names, or by what stands before the dot."""
    if ran.complaint[0] != "missing_metric":
        return ()
    try:
        words = ran.log.read_text(encoding="utf-8", errors="replace")
    except OSError:
        words = ""
    told = _NO_METRIC.findall(f"{words}\n{ran.ended.text}".replace("\\", ""))
    names = {name for rest in told for name in _METRIC.findall(rest)}
    return tuple(name for name in asked if name in names or name.partition(".")[0] in names)


def _lacking(metrics: Sequence[str]) -> str | None:
    """Why what these metrics tell is not there."""
    return f"this ncu or this GPU lacks {', '.join(metrics)}" if metrics else None


@contextmanager
def _private_folder() -> Iterator[Path]:
    """A folder that is this user's alone.

    :raises NotCounted: none can be made.
    """
    try:
        folder = TemporaryDirectory(prefix="roofline-ncu-", ignore_cleanup_errors=True)
    except OSError as error:
        raise NotCounted("failed", f"no folder for temporary files can be made: {error.strerror or error}") from error
    with unwound_when_terminated(), folder as name:
        yield Path(name)
