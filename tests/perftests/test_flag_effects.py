"""Every flag does something: one row for each setting, with what it changes in the run that is planned from it."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from types import SimpleNamespace
from typing import Any, cast

import pytest
import torch

from perftests import suite as suites
from perftests import suite_options
from perftests.data_options import LoaderOptions
from perftests.suite import Suite
from pytest_roofline import bench
from pytest_roofline import options as plugin_options
from pytest_roofline.config import ANNOUNCED, options_of
from pytest_roofline.device import cpus
from pytest_roofline.measuring import Plan
from pytest_roofline.options import Options
from pytest_roofline.settings import add_flags, add_short_flags, flags_of
from pytest_roofline.workload import switches
from pytest_roofline.workload.precision import PRECISIONS
from pytest_roofline.workload.step import ReadyBatches, Workload

SETTINGS = (*plugin_options.SETTINGS, *suite_options.SETTINGS)
CPU = torch.device("cpu")


class _Config:
    """The part of pytest's Config that the suite reads."""

    def __init__(self, arguments: list[str]) -> None:
        parser = pytest.Parser(_ispytest=True)
        self.pluginmanager = pytest.PytestPluginManager()
        add_flags(parser, self.pluginmanager, parser.getgroup("roofline"), SETTINGS)
        add_short_flags(self.pluginmanager, parser, SETTINGS)
        assert flags_of(self.pluginmanager).taken == {}
        self.option = parser.parse(arguments)
        self.stash = pytest.Stash()

    def getini(self, name: str) -> Any:
        raise KeyError(name)

    def getoption(self, _name: str, default: Any = None) -> Any:
        return default


@dataclass(frozen=True)
class Planned:
    """What a command line plans."""

    options: Options
    suite: Suite

    @property
    def plan(self) -> Plan:
        return bench.plan_of(self.options)

    def every(self, axis: str) -> set[object]:
        """The values that the cases have of an axis."""
        return {getattr(case, axis) for case in self.suite.cases.values()}

    @property
    def loader(self) -> LoaderOptions:
        return self.suite.loader(next(iter(self.suite.cases.values()))).options

    @property
    def workload(self) -> Workload:
        images = torch.zeros(1, 1, 28, 28)
        case = next(iter(self.suite.cases.values()))
        return self.suite.workload(case, CPU, ReadyBatches([((images,), None)]))

    def switch(self, read: Callable[[], bool]) -> bool:
        """One of torch's switches while a case runs."""
        with switches.conditions(PRECISIONS["fp32"], self.options, CPU, "case"):
            return read()


@dataclass(frozen=True)
class Row:
    """A setting, the flag that sets it, and what is true with the flag and not without.

    :param beside: flags that are given both times.
    """

    name: str
    flag: str
    effect: Callable[[Planned], bool]
    beside: str = ""


_FAKE = "--data fake --model resnet18"

ROWS = (
    Row("device", "--device cuda", lambda run: run.options.device.kind == run.suite.kind == "cuda"),
    Row("protocol", "--protocol window", lambda run: run.plan.protocol == "window" and run.plan.fixed_steps == 100),
    Row("warmup", "--warmup 3", lambda run: run.plan.fixed_warmup_steps == 3),
    Row("steps", "--steps 5", lambda run: run.plan.fixed_steps == 5),
    Row("repeats", "--repeats 2", lambda run: run.plan.repeats == 2),
    Row("margin", "--margin 2%", lambda run: run.plan.margin == 0.02),
    Row("confidence", "--confidence 0.99", lambda run: run.plan.confidence == 0.99),
    Row("max_time", "--max-time 4", lambda run: run.plan.max_time_s == 4.0),
    # What this does is held in tests/plugin/session/test_case_timeout.py.
    Row("case_timeout", "--case-timeout 60", lambda run: run.options.case_timeout == 60.0),
    # Held in tests/plugin/workers/test_isolation.py.
    Row("isolate", "--isolate", lambda run: run.options.isolate),
    Row("seed", "--seed 3", lambda run: run.options.seed == run.suite.seed == 3),
    # Held in tests/plugin/test_order_flag.py.
    Row("order", "--order random", lambda run: run.options.order == "random"),
    # Held in tests/plugin/session/test_shard.py.
    Row("shard", "--shard 1/4", lambda run: run.options.shard == (1, 4)),
    Row("shard_times", "--shard-times old.json", lambda run: run.options.shard_times == Path("old.json")),
    Row("deterministic", "--deterministic", lambda run: run.switch(torch.are_deterministic_algorithms_enabled)),
    Row("cudnn_benchmark", "--cudnn-benchmark", lambda run: run.switch(lambda: torch.backends.cudnn.benchmark)),
    Row("compile", "--compile", lambda run: run.every("compile") == {True} and run.workload.compile, "--model mlp"),
    # Where it opens a range is held in tests/plugin/workload/test_switches.py.
    Row("nvtx", "--nvtx", lambda run: run.options.nvtx),
    # What these do is held in tests/plugin/profilers.
    Row("ncu", "--ncu require", lambda run: run.options.ncu == "require"),
    Row("ncu_path", "--ncu-path ncu", lambda run: run.options.ncu_path == Path("ncu")),
    Row("ncu_timeout", "--ncu-timeout 5", lambda run: run.options.ncu_timeout == 5.0),
    Row("perf_stat", "--perf-stat", lambda run: run.options.perf_stat),
    Row("perf_path", "--perf-path perf", lambda run: run.options.perf_path == Path("perf")),
    Row("label", "--label box", lambda run: run.options.label == "box"),
    Row("note", "--note zone=us-east1-b", lambda run: run.options.note == {"zone": "us-east1-b"}),
    Row("results", "--results there", lambda run: run.options.results == Path("there")),
    # What these do is held in tests/plugin.
    Row("resume", "--resume r.json", lambda run: run.options.resume == Path("r.json")),
    Row("roofs", "--roofs measure", lambda run: run.options.roofs == "measure"),
    # Held in tests/plugin/session/test_progress.py.
    Row("no_progress", "--no-progress", lambda run: run.options.no_progress),
    Row("report", "--report", lambda run: run.options.report),
    # Held in tests/plugin: session/test_expected_bounds.py, test_sessions_flag.py and test_gate_flag.py.
    Row("assert_bounds", "--assert-bounds", lambda run: run.options.assert_bounds),
    Row("expected_bounds", "--expected-bounds b.toml", lambda run: run.options.expected_bounds == Path("b.toml")),
    Row("sessions", "--sessions 3", lambda run: run.options.sessions == 3),
    Row("gate", "--gate old.json", lambda run: run.options.gate == Path("old.json")),
    Row("gate_options", "--gate-options word", lambda run: run.options.gate_options == ("word",)),
    Row("matrix", "--matrix reports", lambda run: "vgg16" in run.every("model")),
    Row("model", "--model mlp,cnn", lambda run: run.every("model") == {"mlp", "cnn"}),
    Row("batch", "--batch 2,3", lambda run: run.every("batch") == {2, 3}),
    Row("precision", "--precision fp16", lambda run: run.every("precision") == {"fp16"}),
    Row("mode", "--mode infer", lambda run: run.every("mode") == {"infer"}),
    Row("layout", "--layout channels_last", lambda run: run.every("layout") == {"channels_last"}),
    Row("channels_last", "--channels-last", lambda run: run.every("layout") == {"channels_last"}),
    Row("data", "--data fake", lambda run: run.every("data") == {"fake"}, beside="--model resnet18"),
    Row("workers", "--workers 3", lambda run: run.loader.workers == 3, beside=_FAKE),
    Row("pin_memory", "--pin-memory", lambda run: run.loader.pin_memory, beside=f"{_FAKE} --device cuda"),
    Row("prefetch_factor", "--prefetch-factor 4", lambda run: run.loader.prefetch_factor == 4, beside=_FAKE),
    Row("no_augment", "--no-augment", lambda run: run.loader.no_augment, beside=_FAKE),
    Row("grad_accum_steps", "--grad-accum-steps 2", lambda run: run.workload.grad_accum_steps == 2, "--model mlp"),
    # What it lets pass is held in test_suite.py.
    # Held in tests/perftests/test_scaling.py.
    Row("strategy", "--strategy fsdp", lambda run: run.suite.values["strategy"] == "fsdp"),
    Row("no_memory_check", "--no-memory-check", lambda run: run.suite.values["no_memory_check"]),
)


@pytest.fixture
def planned(monkeypatch: pytest.MonkeyPatch) -> Callable[[str], Planned]:
    """Plans a command line on a machine of four CPUs, without measuring."""
    monkeypatch.setattr(cpus, "effective_cpus", lambda: 4)

    def plan(arguments: str) -> Planned:
        # Later flags win: a row may name another device.
        config = cast(pytest.Config, _Config(["--device", "cpu", *arguments.split()]))
        return Planned(options_of(config), suites.prepare(config))

    return plan


@pytest.mark.parametrize("row", ROWS, ids=lambda row: row.name)
def test_a_flag_changes_what_it_says(row: Row, planned: Callable[[str], Planned]) -> None:
    """With the flag it is so, in either spelling, and without it isn't: a flag that nothing reads can't pass."""
    setting = next(setting for setting in SETTINGS if setting.name == row.name)
    assert row.flag.split()[0] == setting.short_flag
    assert row.effect(planned(f"{row.beside} {row.flag}"))
    assert row.effect(planned(f"{row.beside} {row.flag.replace(setting.short_flag, setting.flag, 1)}"))
    assert not row.effect(planned(row.beside))


def test_every_setting_has_a_row() -> None:
    """A new setting needs one: what does it change?"""
    assert [row.name for row in ROWS] == [setting.name for setting in SETTINGS]


@pytest.mark.parametrize("variable", ["TORCHDYNAMO_DISABLE", "TORCH_COMPILE_DISABLE"])
def test_compiling_that_the_environment_switches_off_is_refused(
    planned: Callable[[str], Planned], monkeypatch: pytest.MonkeyPatch, variable: str
) -> None:
    """torch would run everything eagerly without a word. Before anything is built: what, from where, what to do."""
    monkeypatch.setenv(variable, "1")
    assert planned("--model mlp").suite.cases
    with pytest.raises(pytest.UsageError) as error:
        planned("--model mlp --compile")
    assert str(error.value) == (
        f"--compile: torch.compile is switched off by {variable}=1 in the environment. "
        "Unset that, or leave --compile out."
    )


@pytest.mark.parametrize("model", ["mlp", "cnn"])
def test_a_layout_that_the_weights_do_not_have_is_a_skip(planned: Callable[[str], Planned], model: str) -> None:
    """A case of that name would be the contiguous one again: no image weights, or of one channel each."""
    assert planned(f"--model {model}").workload
    with pytest.raises(pytest.skip.Exception, match=f"{model} has no weights that lie differently in channels_last"):
        _ = planned(f"--model {model} --layout channels_last").workload


def test_flags_that_take_lists_add_up(planned: Callable[[str], Planned]) -> None:
    """In either spelling, as pytest's own do; of one that takes a single value the last counts."""
    run = planned("--model mlp --batch 2 --roofline-model cnn --batch 3,4 --steps 5 --steps 6")
    assert (run.every("model"), run.every("batch"), run.plan.steps) == ({"mlp", "cnn"}, {2, 3, 4}, 6)


@pytest.mark.parametrize(
    ("arguments", "measured", "idle"),
    [
        ("--model resnet18", "train-b16-fp32", ["--workers", "--roofline-no-augment"]),
        ("--model resnet18 --data fake", "train-b16-fp32-fake", []),
        ("--model resnet18 --data fake", "infer-b16-fp32-fake", ["--grad-accum-steps"]),
        ("--model mlp --mode infer", "infer-b16-fp32", ["--workers", "--roofline-no-augment", "--grad-accum-steps"]),
    ],
)
def test_a_flag_without_effect_says_so(
    monkeypatch: pytest.MonkeyPatch, arguments: str, measured: str, idle: list[str]
) -> None:
    """By the cases that are left, for they may be deselected."""
    monkeypatch.setattr(cpus, "effective_cpus", lambda: 4)
    flags = "--device cpu --batch 16 --precision fp32 --workers 1 --roofline-no-augment --grad-accum-steps 2"
    config = cast(pytest.Config, _Config([*flags.split(), *arguments.split()]))
    id = f"{arguments.split()[1]}-{measured}"
    assert id in suites.prepare(config).cases
    items = [SimpleNamespace(callspec=SimpleNamespace(id=id)), SimpleNamespace()]
    suites.announce_idle(config, cast(Any, items))
    assert [line.partition(": no effect: ")[0] for line in config.stash[ANNOUNCED]] == idle
