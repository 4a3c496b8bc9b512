"""The ``roofline`` fixture: what a test calls to have a model measured."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from contextlib import nullcontext
from dataclasses import fields, replace
from typing import TYPE_CHECKING, Any

import pytest

from pytest_roofline.bench import measure_input, measure_roof, measure_workload, plan_of
from pytest_roofline.measuring import InputEnded
from pytest_roofline.measuring.benchmark_timer import hand_over
from pytest_roofline.parallel.communication import settings
from pytest_roofline.proof import claims
from pytest_roofline.session.expected_bounds import applying, assert_bounds
from pytest_roofline.session.results_file import write_step_log
from pytest_roofline.workload.case import check_parameters, settings_in
from pytest_roofline.workload.compiling import CompilerMissing, LeftEager, NotCompiled, fresh_compiler
from pytest_roofline.workload.own_model import Defaults, NotSupported, adopt
from pytest_roofline.workload.step import Mode, Step
from roofline.schema.record import KEY, Case, Check, Record
from roofline.schema.record_json import to_json

if TYPE_CHECKING:
    import torch
    from pytest_benchmark.fixture import BenchmarkFixture
    from torch import nn

    from pytest_roofline.measuring import Plan
    from pytest_roofline.session.run import Run
    from pytest_roofline.workload.step import Workload
    from roofline.schema.expected import Expected


# pytest leaves out the frames of such modules: a user needs his own lines and the message.
__tracebackhide__ = True


class Disproved(AssertionError):
    """A measurement was taken, but a claim about it is false. The row stays in the results, marked invalid."""


def defaults(markers: Iterable[pytest.Mark], parameters: Mapping[str, Any]) -> Defaults:
    """Read what a test says of its measurement: its markers, and where they don't, its own parameters.

    :param markers: those named ``roofline``, the nearest first. The nearest that has a keyword sets it.
    :param parameters: of the test. A ``precision`` or ``mode`` counts whose value is one of ours.
    :raises ValueError: a positional argument, an unknown keyword or a bad value; the text says what is allowed.
    """
    allowed = [field.name for field in fields(Defaults)]
    own = settings_in(parameters)
    chosen: dict[str, Any] = {name: own[name] for name in ("mode", "precision") if name in own}
    for marker in reversed(tuple(markers)):
        unknown = sorted(set(marker.kwargs) - set(allowed))
        if marker.args or unknown:
            what = f"unknown keyword {unknown[0]!r}" if unknown else f"positional argument {marker.args[0]!r}"
            raise ValueError(f"@pytest.mark.roofline: {what}; it takes the keywords {', '.join(allowed)}")
        chosen |= marker.kwargs
    try:
        return Defaults(**chosen)
    except ValueError as error:
        raise ValueError(f"@pytest.mark.roofline: {error}") from error


def parameters_of(item: pytest.Item) -> Mapping[str, Any]:
    """The values a test is parametrised with, those of its fixtures among them."""
    callspec = getattr(item, "callspec", None)
    return {} if callspec is None else callspec.params


class Roofline:
    """Measures what it is called with, once for each test.

    Without a usable benchmark fixture (``--benchmark-disable``, pytest-xdist) one step is taken and nothing measured.
    """

    def __init__(
        self,
        run: Run,
        benchmark: BenchmarkFixture,
        item: pytest.Item,
        defaults: Defaults,
        expected: tuple[Expected, ...] = (),
    ) -> None:
        """:param expected: what the test's markers expect, on whatever device."""
        self.device: torch.device = run.device
        self.defaults = defaults
        self._expected = expected
        self._run = run
        self._benchmark = benchmark
        self._item = item
        self.called = False

    def __call__(
        self,
        model: nn.Module,
        *inputs: torch.Tensor,
        target: torch.Tensor | None = None,
        loss: Callable[[Any, Any], torch.Tensor] | None = None,
        optimizer: Callable[[nn.Module], torch.optim.Optimizer] | None = None,
        config: Mapping[str, Any] | None = None,
        mode: Mode | None = None,
        precision: str | None = None,
        batch: int | None = None,
        sample_unit: str | None = None,
    ) -> Record | None:
        """Measure a model on one batch.

        What ``mode``, ``precision``, ``batch`` and ``sample_unit`` leave open is the marker's, then that of the test's
        own parameters ``mode`` and ``precision``, else inference in fp32, the first input's batch, and ``sample``.

        :param inputs: the arguments of the model's forward; the first dimension of the first is the batch.
        :param target: what the loss compares the output with (training).
        :param loss: ``(output, target) -> scalar``; cross entropy where it is left out.
        :param optimizer: makes the optimiser of the model; SGD with momentum where it is left out.
        :param config: plain values that tell this workload from others of the same name.
        :returns: the record, or None where benchmarks are disabled.
        :raises Disproved: a proof failed; the row is in the results, marked invalid.
        :raises ValueError: an argument that is not allowed, or that has no use in inference.
        """
        given: dict[str, Any] = {"mode": mode, "precision": precision, "batch": batch, "sample_unit": sample_unit}
        try:
            chosen = replace(self.defaults, **{name: value for name, value in given.items() if value is not None})
        except ValueError as error:
            raise ValueError(f"roofline(model, *inputs, ...): {error}") from None
        try:
            workload = adopt(
                model,
                inputs,
                target=target,
                loss=loss,
                optimizer=optimizer,
                config=config or {},
                name=self._item.name.partition("[")[0].removeprefix("test_"),
                defaults=chosen,
                device=self.device,
            )
        except NotSupported as reason:
            pytest.skip(str(reason))
        return self.run(workload, case=self._item.name)

    def run(self, workload: Workload, case: str, plan: Plan | None = None) -> Record | None:
        """Measure a workload under the case's id. See `__call__` for what it returns and raises.

        :param plan: how to measure; None is what the options say.
        """
        self._once()
        ranks = self._run.ranks
        workload = replace(
            workload,
            compile=workload.compile or self._run.options.compile,
            ranks=ranks.count,
            config={**workload.config, **settings(ranks, workload.model)},
        )
        try:
            if self._run.counting is not None:
                self._run.counting.take(workload, case)
            if not self._benchmark.enabled:
                with fresh_compiler() if workload.compile else nullcontext():
                    self._try(Step(workload))
                return None
            record, measured = measure_workload(self._run, workload, case, plan)
        except (CompilerMissing, LeftEager) as reason:
            pytest.skip(str(reason))
        except (NotCompiled, InputEnded) as reason:
            raise pytest.fail.Exception(str(reason), pytrace=False) from None
        check = check_parameters(parameters_of(self._item), workload, record.case)
        record = self._keep(record, check)
        if measured.step_log_s is not None and self._run.results_path is not None:
            steps = (plan or self.plan).fixed_steps or 1
            self._run.printed.append(write_step_log(self._run.results_path, record.case, measured, steps))
        return self._judged(record)

    @property
    def plan(self) -> Plan:
        """Plan the measurement as the options say: protocol, warm-up, steps, repeats, margin, budget."""
        return plan_of(self._run.options)

    def roof(self, name: str) -> Record | None:
        """Measure a roof: of the machine, one of `pytest_roofline.roofs.kernels.NAMES`; or of the links between ranks,
        one of `pytest_roofline.parallel.links.NAMES`.

        :returns: the record, or None where benchmarks are disabled.
        :raises RoofUnavailable: the device has no such roof.
        """
        if self._expected:
            pytest.fail(
                "@pytest.mark.expected_bound: a roof bounds others and has no bound of its own. Take the marker off.",
                pytrace=False,
            )
        self._once()
        if not self._benchmark.enabled:
            self._try(lambda: None)
            return None
        return self._keep(measure_roof(self._run, name))

    def feed(self, fetch: Callable[[], object], case: Case) -> Record | None:
        """Measure a data loader alone: ``fetch`` gets one batch, or raises StopIteration where there are no more.

        :returns: the record, or None where benchmarks are disabled.
        :raises Disproved: the data ended before the measurement did; the row is in the results, marked invalid.
        """
        self._once()
        if not self._benchmark.enabled:
            self._try(fetch)
            return None
        batches = 0

        def fetch_counted() -> None:
            nonlocal batches
            try:
                fetch()
            except StopIteration as end:
                raise InputEnded(f"the data ended after {batches} batches") from end
            batches += 1

        try:
            record, measured = measure_input(self._run, fetch_counted, case)
        except InputEnded as reason:
            raise pytest.fail.Exception(str(reason), pytrace=False) from None
        assert record.timing is not None
        check = claims.check_data(batches, record.timing, measured.input_ended)
        return self._judged(self._keep(record, check))

    def _try(self, step: Callable[[], object]) -> None:
        """Take one step, where benchmarks are disabled: the test still says whether it works."""
        self._benchmark(step)
        self._run.tried += 1

    def _once(self) -> None:
        """pytest-benchmark keeps one result for each test: a second one would lose the first."""
        if self.called:
            raise RuntimeError("roofline was called before in this test. Measure once a test; parametrise for more.")
        self.called = True

    def _keep(self, record: Record, check: Check | None = None) -> Record:
        """:returns: the record as it is kept, with what its test expects of it, and one more check."""
        record = replace(record, expected=applying(self._expected, record, self._run.machine.label))
        if check is not None:
            record = replace(record, checks=(*record.checks, check), flags=claims.flags_of([check]) + record.flags)
        # First the record, then what may fail: a failing test's row stays in the file.
        self._benchmark.extra_info[KEY] = to_json(record)
        if record.timing is not None:
            hand_over(self._benchmark, self._item, record.timing)
        self._run.add(record, self._benchmark.stats)
        return record

    def _judged(self, record: Record) -> Record:
        judge(record)
        assert_bounds(self._run, record, self._item.nodeid)
        return record


def judge(record: Record) -> None:
    """Fail the test of a record that is kept, but is invalid: what it claims is false, or it is no measurement."""
    failed = [f"{check.name}: {check.evidence}" for check in record.checks if check.status == "failed"]
    told = {check.evidence for check in record.checks}
    failed += [f"{flag.name}: {flag.evidence}" for flag in record.flags if flag.invalid and flag.evidence not in told]
    if failed:
        raise Disproved("measured, but not what was claimed. " + "; ".join(failed))
