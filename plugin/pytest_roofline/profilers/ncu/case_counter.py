"""Counting one step of one case: its test once more, in processes of its own under ncu."""

from __future__ import annotations

import os
import re
import shlex
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, replace
from pathlib import Path

from pytest_roofline.profilers.diagnosis import Status
from pytest_roofline.profilers.ncu import counter_reading, unit_check
from pytest_roofline.profilers.ncu.child_request import CHILD, StepRequest
from pytest_roofline.profilers.ncu.ncu_run import NO_METRIC_REMEDY, Ncu, NotCounted, Ran
from pytest_roofline.workload.precision import PRECISIONS
from roofline.counters.quantities import byte_metrics, flop_metrics
from roofline.files.writing import private_folder
from roofline.schema.record import Counters

FOR_ALL: tuple[Status, ...] = ("permission_denied", "unsupported_platform", "not_found")
"""What one case meets, every other one meets as well."""

_NO_METRIC = re.compile(r"==ERROR==.*failed to find metric(.*)", re.IGNORECASE)
_METRIC = re.compile(r"\w+__\w+(?:\.\w+)*")
"""A metric in ncu's words, with or without what it is a sum or a mean of."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Command:
    """How a run was called: what repeats a test of it.

    :param start: interpreter and pytest.
    :param arguments: pytest's, with which it finds the same project.
    :param folder: where.
    :param rootpath: the project's root, which names of tests start from.
    :param has_cache: whether pytest keeps its cache.
    """

    start: Sequence[str]
    arguments: Sequence[str]
    folder: Path
    rootpath: Path
    has_cache: bool

    def repeated(self, environment: Mapping[str, str], cache: Path) -> tuple[str, ...]:
        """Make the command that repeats a test of the run: the run's own, with what the environment added to it.

        Selection, root folder, configuration files and plugins are those of the run. What the process is not to do
        (report, compare, distribute, debug) is switched off in it by the plugin `CHILD`.

        :param environment: the run's.
        :param cache: a folder for pytest's cache, which the run is writing itself.
        """
        plugins = [name for name in environment.get("PYTEST_PLUGINS", "").split(",") if name]
        return (
            *self.start,
            *("-p", CHILD),
            *(("-o", f"cache_dir={cache}") if self.has_cache else ()),
            *(("--disable-plugin-autoload",) if environment.get("PYTEST_DISABLE_PLUGIN_AUTOLOAD") else ()),
            *(word for name in plugins for word in ("-p", name)),
            *shlex.split(environment.get("PYTEST_ADDOPTS", "")),
            # The last, so that they count.
            *self.arguments,
        )


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
        self._unit_checks: dict[str, float | str] = {}
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
            without: tuple[str, ...] = ()
            try:
                # Whatever the precision: attention in fp32 may run on tensor cores, a product as three of TF32.
                flops, without = self._repeat(test, file, flop_metrics(capability, True), folder / "flop.csv", end)
                ran.append(flops)
                no_flop = flops.complaint.reason if flops.complaint.status == "missing_metric" else _lacking(without)
            except NotCounted as refusal:
                no_flop = refusal.reason
            try:
                found = counter_reading.of_step([one.log for one in ran], self._ncu.source, no_flop=no_flop)
            except NotCounted as refusal:
                for complaint in (one.complaint for one in ran if one.complaint.status == "missing_metric"):
                    raise NotCounted(complaint.status, complaint.reason) from refusal
                raise NotCounted(refusal.status, _without(folder, refusal.reason)) from refusal
        if found.reason is not None:
            found = replace(found, reason=_without(folder, found.reason))
        if found.status == "missing_metric" and (unknown or without):
            why = "; ".join(filter(None, (found.reason, _lacking(unknown))))
            found = replace(found, reason=f"{why}. {NO_METRIC_REMEDY}")
        return found

    def unit_check(self, precision: str) -> float | str:
        """Count a matrix product of known size, in what the precision computes in, once for each type.

        :returns: FLOPs counted over those it has, of several types the ratio farthest from 1; or why none was counted.
        :raises NotCounted: nothing can be counted here.
        """
        dtypes = sorted(PRECISIONS[precision].computes_in)
        for dtype in dtypes:
            if dtype not in self._unit_checks:
                self._unit_checks[dtype] = self._check(dtype)
        checks = {dtype: self._unit_checks[dtype] for dtype in dtypes}
        ratios = [check for check in checks.values() if isinstance(check, float)]
        if not ratios:
            return "; ".join(f"{dtype}: {why}" for dtype, why in checks.items())
        return max(ratios, key=lambda ratio: abs(ratio - 1))

    def _repeat(
        self, test: str, file: Path, metrics: Sequence[str], log: Path, end: float
    ) -> tuple[Ran, tuple[str, ...]]:
        """One step under ncu.

        :returns: the run, and the metrics that this ncu doesn't know.
        """
        command = self._command
        # Where a test stands outside the root, its name hangs on the paths that were given.
        within = file.is_file() and file.is_relative_to(command.rootpath)
        request = StepRequest(test=test, file=file if within else None, answer=log.with_suffix(".answer"))
        application = command.repeated(self._ncu.system.environment, log.parent / "cache")

        def run(asked: Sequence[str]) -> Ran:
            request.answer.unlink(missing_ok=True)
            return self._ncu.run(
                application,
                asked,
                log=log,
                variables=request.environment(),
                limit_s=max(0.0, end - self._clock()),
                cwd=command.folder,
            )

        ran, unknown = self._with_known(metrics, run)
        try:
            ran.refuse(request.answered())
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
        """Run with the metrics that this ncu knows. It counts nothing where it is asked for one that it doesn't: then
        the run is repeated without those that it names, which no later run asks for.

        :returns: the last run, and the metrics that were left out.
        """
        while True:
            asked = [name for name in metrics if name not in self._unknown]
            ran = run(asked)
            named = _named(ran, asked)
            if not named or len(named) == len(asked):
                return ran, tuple(name for name in metrics if name in self._unknown)
            self._unknown |= named
            ran.log.unlink(missing_ok=True)

    def _check(self, dtype: str) -> float | str:
        system = self._ncu.system
        with _private_folder() as folder:

            def run(asked: Sequence[str]) -> Ran:
                return self._ncu.run(
                    (str(system.python), "-P", "-m", unit_check.__name__, dtype, self._device),
                    asked,
                    log=folder / "check.csv",
                    variables={"PYTHONPATH": system.python_path},
                    limit_s=self._limit_s,
                    cwd=self._command.folder,
                )

            ran, unknown = self._with_known(flop_metrics(self._ncu.compute_capability, True), run)
            try:
                ran.refuse("" if ran.ended.code == 0 else None)
                flop = counter_reading.of_flops(ran.log)
            except NotCounted as refusal:
                if refusal.status in FOR_ALL:
                    raise
                return _without(folder, refusal.reason)
        # FLOPs without one of their parts would pass for a counter that counts something else.
        return _lacking(unknown) or flop / unit_check.FLOP


def _named(ran: Ran, asked: Sequence[str]) -> set[str]:
    """The metrics asked for that ncu says it doesn't know: by their whole names, or by what stands before the dot."""
    if ran.complaint.status != "missing_metric":
        return set()
    try:
        words = ran.log.read_text(encoding="utf-8", errors="replace")
    except OSError:
        words = ""
    unknown = _NO_METRIC.findall(f"{words}\n{ran.ended.text}".replace("\\", ""))
    names = {name for rest in unknown for name in _METRIC.findall(rest)}
    return {name for name in asked if name in names or name.partition(".")[0] in names}


def _lacking(metrics: Sequence[str]) -> str | None:
    """Say why what these metrics tell is not there."""
    return f"this ncu or this GPU lacks {', '.join(metrics)}" if metrics else None


def _without(folder: Path, text: str) -> str:
    """Give what is said of files, without their folder: it is gone when that is read."""
    return text.replace(f"{folder}{os.sep}", "")


@contextmanager
def _private_folder() -> Iterator[Path]:
    """A folder that is this user's alone.

    :raises NotCounted: none can be made.
    """
    with ExitStack() as stack:
        try:
            folder = stack.enter_context(private_folder("roofline-ncu-"))
        except OSError as error:
            why = f"no folder for temporary files can be made: {error.strerror or error}"
            raise NotCounted("failed", why) from error
        yield folder
