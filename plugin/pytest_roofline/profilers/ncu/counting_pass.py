"""``--ncu``: after a case's test has ended, the same case once more under ncu, for its hardware counters.

Nothing is timed there: replay, and an idle device between kernels, make another time. The record keeps the timing it
has, and gets the counters.
"""

from __future__ import annotations

import os
from collections import Counter as TallyOf
from collections.abc import Generator, Mapping
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from pytest_roofline.device import device_memory
from pytest_roofline.device.instruments import nvml_of
from pytest_roofline.device.nvml import NoNvml
from pytest_roofline.device.selection import Kind
from pytest_roofline.profilers.diagnosis import Diagnosis
from pytest_roofline.profilers.ncu.case_counter import FOR_ALL, CaseCounter, Command
from pytest_roofline.profilers.ncu.ncu_run import Ncu, NotCounted
from pytest_roofline.profilers.profiler_access import check_ncu
from pytest_roofline.rerun import arguments_of, started_as
from roofline.schema.record import KEY, Counters, Record
from roofline.schema.record_json import from_json

if TYPE_CHECKING:
    import torch

    from pytest_roofline.device.system import System
    from pytest_roofline.session.run import Run

COUNTED_KINDS: tuple[Kind, ...] = ("cuda",)
"""Kinds of device that ncu counts on."""


class NotUsable(RuntimeError):
    """Counters are required and can't be had. The message says why and what to do."""


class NcuPass:
    """Connects counting to pytest.

    :param counter: what counts; or what every record gets, where the check before the run found that nothing can.
    :param required: the flag that says that every case has to have its counters; None where they needn't.
    """

    def __init__(self, run: Run, counter: CaseCounter | Counters, *, required: str | None = None) -> None:
        self._run = run
        self._counter = counter
        self._required = required
        self._refused: Counters | None = None
        """What a case met that every other one meets as well."""
        self._became: TallyOf[tuple[str, str | None]] = TallyOf()
        """Cases by status and reason."""

    # First of all wrappers, so that what others do around a test (a time limit, say) is over.
    @pytest.hookimpl(wrapper=True, tryfirst=True)
    def pytest_runtest_protocol(self, item: pytest.Item) -> Generator[None, object, object]:
        before = len(self._run.stats)
        result = yield
        # The last one: a test that is run again has a result for each time.
        for stats in self._run.stats[before:][-1:]:
            record = from_json(Record, stats.extra_info[KEY], stats.fullname)
            self._run.give_counters(stats, *self._counters(item, record))
        return result

    @pytest.hookimpl(wrapper=True)
    def pytest_runtestloop(self) -> Generator[None, object, object]:
        try:
            return (yield)
        finally:
            for (status, reason), cases in self._became.items():
                why = f": {reason}" if reason else ""
                self._run.printed.append(f"ncu: {cases} case(s) {status}{why}")

    @pytest.hookimpl(tryfirst=True)
    def pytest_sessionfinish(self, session: pytest.Session) -> None:
        lacking = sum(cases for (status, _), cases in self._became.items() if status != "ok")
        if self._required is not None and lacking and session.exitstatus == pytest.ExitCode.OK:
            self._run.printed.append(
                f"ERROR: {self._required}: counters are required, and {lacking} case(s) don't have all of them."
            )
            session.exitstatus = pytest.ExitCode.USAGE_ERROR

    def _counters(self, item: pytest.Item, record: Record) -> tuple[Counters, Mapping[str, str]]:
        """Decide what a record gets, and why values of it are None where its status doesn't tell, by their names."""
        if isinstance(self._counter, Counters):
            return self._counter, {}
        if record.case.mode not in ("train", "infer"):
            return Counters(status="not_requested", reason="ncu is asked about the steps of models"), {}
        if not record.valid:
            return Counters(status="not_requested", reason="nothing is counted for a row that is invalid"), {}
        if self._refused is None:
            counters, missing = self._counted(self._counter, item, record.case.precision)
        else:
            counters, missing = self._refused, {}
        self._became[counters.status, counters.reason] += 1
        return counters, missing

    def _counted(self, counter: CaseCounter, item: pytest.Item, precision: str) -> tuple[Counters, Mapping[str, str]]:
        byte, why = release(self._run.device)
        whys = {"context_byte": why}
        try:
            check = counter.unit_check(precision)
            counters = counter.count(item.nodeid, item.path)
            if isinstance(check, float):
                counters = replace(counters, unit_check=check)
            else:
                whys["unit_check"] = check
        except NotCounted as refusal:
            counters = Counters(status=refusal.status, reason=refusal.reason)
            if refusal.status in FOR_ALL:
                self._refused = counters
        # Of a refusal, too: a process that ran out of memory had what this one leaves.
        return replace(counters, context_byte=byte), {name: why for name, why in whys.items() if why is not None}


def prepare(config: pytest.Config, run: Run, system: System, *, required: str | None) -> NcuPass:
    """Look whether there can be counters, before any test, and have them counted after each.

    :param required: the flag that says that there have to be some; None where they needn't.
    :raises NotUsable: there can't, and they are required.
    """
    check = preflight(run.device.type, system, run.options.ncu_path)
    if required is not None and not check.usable:
        raise NotUsable(f"{required}: counters are required. {check.line}")
    run.announced.append(check.line)
    if not check.usable:
        return NcuPass(run, Counters(status=check.status, reason=check.reason))
    assert check.path is not None
    ncu = Ncu(
        path=check.path,
        version=check.version,
        system=system,
        compute_capability=run.machine.device.compute_capability,
    )
    command = Command(
        start=started_as(),
        arguments=arguments_of(config),
        folder=config.invocation_params.dir,
        rootpath=config.rootpath,
        has_cache=config.pluginmanager.hasplugin("cacheprovider"),
    )
    counter = CaseCounter(ncu, command, str(run.device), run.options.ncu_timeout)
    return NcuPass(run, counter, required=required)


def preflight(kind: str, system: System, asked: Path | None) -> Diagnosis:
    """Tell whether a run on this kind of device can have counters.

    On a CPU it can't. Where an ncu is there and wouldn't work anyway, that is said all the same: whoever tries it on a
    small CPU run first learns what the GPU's would meet.

    :param asked: the path of ncu that was given.
    """
    check = check_ncu(system, asked)
    if kind in COUNTED_KINDS:
        return check
    why = f"ncu counts on NVIDIA GPUs; this run measures {kind}"
    if check.usable or check.status in ("not_found", "unsupported_platform"):
        return replace(check, status="unsupported_platform", why=why, remedy=None)
    return replace(check, why=f"{check.why} (and {why})")


_NOT_TOLD = "NVML has no figure of this process: in a container it has another number, and Windows keeps it"


def release(device: torch.device) -> tuple[int | None, str | None]:
    """Give back what can be given back after a test.

    The allocator's own figure is no stand-in for NVML's: it leaves the CUDA context out, and would be 0.

    :returns: the memory of the device, in bytes, that NVML says this process still holds, or None and why.
    """
    device_memory.release(device)
    if device.type != "cuda":
        return None, f"not read for {device.type}"
    try:
        nvml = nvml_of(device)
    except NoNvml as error:
        return None, str(error)
    byte = nvml.process_byte(os.getpid())
    return byte, nvml.missing.get("process_byte", _NOT_TOLD) if byte is None else None
