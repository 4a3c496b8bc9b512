"""Counting one step of one case: its test once more, in processes of its own under ncu."""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory

from pytest_roofline.precision import PRECISIONS
from pytest_roofline.profilers import ncu_check, ncu_counters
from pytest_roofline.profilers.ncu_command import pytest_command
from pytest_roofline.profilers.ncu_order import Answer, Order
from pytest_roofline.profilers.ncu_run import Ncu, NotCounted, Ran
from pytest_roofline.profilers.ncu_status import Status
from pytest_roofline.same_project import CommandLine
from roofline.ncu_metrics import byte_metrics, flop_metrics
from roofline.record import Counters

FOR_ALL: tuple[Status, ...] = ("permission_denied", "unsupported_platform", "not_found")
"""What one case meets, every other one meets as well."""

_ON_TENSOR_CORES = frozenset(ncu_check.DTYPES) - {"fp32"}


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

    def count(self, test: str, file: Path, precision: str) -> Counters:
        """The counters of one step: bytes from a run in which each kernel runs once, for a replay changes what the
        caches hold; FLOPs from another.

        :param test: node id.
        :param file: where the test is.
        :param precision: the case's.
        :raises NotCounted: there are none, and why.
        """
        capability = self._ncu.compute_capability
        tensor = bool(PRECISIONS[precision].computes_in & _ON_TENSOR_CORES)
        end = self._clock() + self._limit_s
        with _private_folder() as folder:
            ran = [
                self._repeat(test, file, metrics, folder / name, end)
                for name, metrics in (
                    ("bytes.csv", byte_metrics(capability)),
                    ("flop.csv", flop_metrics(capability, tensor)),
                )
            ]
            return self._read(ran)

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

    def _repeat(self, test: str, file: Path, metrics: Sequence[str], log: Path, end: float) -> Ran:
        command = self._command
        # Where a test stands outside the root, its name hangs on the paths that were given.
        within = file.is_file() and file.is_relative_to(command.rootpath)
        order = Order(test=test, file=file if within else None, answer=log.with_suffix(".answer"))
        ran = self._ncu.run(
            pytest_command(
                command.start,
                command.again,
                self._ncu.system.environment,
                cache=log.parent / "cache" if command.has_cache else None,
            ),
            metrics,
            log=log,
            variables=order.environment(),
            limit_s=max(0.0, end - self._clock()),
            cwd=command.folder,
        )
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
        return ran

    def _check(self, dtype: str) -> float | None:
        with _private_folder() as folder:
            ran = self._ncu.run(
                (str(self._ncu.system.python), "-m", ncu_check.__name__, dtype, self._device),
                flop_metrics(self._ncu.compute_capability, dtype in _ON_TENSOR_CORES),
                log=folder / "check.csv",
                variables={},
                limit_s=self._limit_s,
                cwd=self._command.folder,
            )
            try:
                ran.refuse(Answer(problem=None) if ran.ended.code == 0 else None)
                flop = self._read([ran]).flop
            except NotCounted as refusal:
                if refusal.status in FOR_ALL:
                    raise
                return None
        return None if flop is None else flop / ncu_check.FLOP

    def _read(self, ran: Sequence[Ran]) -> Counters:
        try:
            return ncu_counters.read([one.log for one in ran], self._ncu.source)
        except NotCounted as refusal:
            lacking = next((one.complaint for one in ran if one.complaint[0] == "missing_metric"), None)
            if lacking is not None:
                raise NotCounted(*lacking) from refusal
            # Of a folder that is gone by now.
            raise NotCounted(refusal.status, refusal.reason.replace(f"{ran[0].log.parent}{os.sep}", "")) from refusal


@contextmanager
def _private_folder() -> Iterator[Path]:
    """A folder that is this user's alone.

    :raises NotCounted: none can be made.
    """
    try:
        folder = TemporaryDirectory(prefix="roofline-ncu-", ignore_cleanup_errors=True)
    except OSError as error:
        raise NotCounted("failed", f"no folder for temporary files can be made: {error.strerror or error}") from error
    with folder as name:
        yield Path(name)
