"""From pytest's flags to the cases of a session, and from a case to what is measured."""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

import pytest

from perftests import data, data_options, matrix, models, sharing
from perftests.data_options import DataError, DataSpec
from perftests.matrix import AXES, CaseSpec, MatrixError, Override
from perftests.suite_options import LOADER, SETTINGS
from pytest_roofline.config import ANNOUNCED, NOTES, idle_flags, options_of, spelled
from pytest_roofline.device import cpus, device_memory
from pytest_roofline.device.selection import Kind
from pytest_roofline.parallel import torchrun
from pytest_roofline.settings import Given, SettingError, resolve, source
from pytest_roofline.workers.device_shares import device_kind, take_share
from pytest_roofline.workers.role import role_of
from pytest_roofline.workload import compiling
from pytest_roofline.workload import precision as precisions
from pytest_roofline.workload.case import layouts
from pytest_roofline.workload.models import libraries
from pytest_roofline.workload.precision import PRECISIONS
from pytest_roofline.workload.step import Workload, sgd
from roofline.text.units import scaled

if TYPE_CHECKING:
    import torch

    from pytest_roofline.workload.step import Batches, Mode

_SUITE = pytest.StashKey["Suite"]()


@dataclass(frozen=True, slots=True)
class Suite:
    """The cases of a session and the settings they share.

    :param fed: the cases of the input pipeline's test: one step, fed by each source.
    :param shared: training cases on the ranks that torchrun started.
    :param values: the suite's settings by name.
    :param data_source: the flag that the data's name came from, for messages.
    :param memory_flag: the flag that builds cases for which memory lacks, for messages.
    """

    cases: Mapping[str, CaseSpec]
    fed: Mapping[str, CaseSpec]
    shared: Mapping[str, CaseSpec]
    values: Mapping[str, Any]
    data_source: str
    memory_flag: str
    kind: Kind
    seed: int

    def case(self, id: str) -> CaseSpec:
        return {**self.cases, **self.fed, **self.shared}[id]

    def data_of(self, case: CaseSpec) -> DataSpec:
        return data_options.parse(case.data, self.data_source)

    def loader(self, case: CaseSpec) -> data_options.LoaderPlan:
        return data_options.plan(
            {setting.name: self.values[setting.name] for setting in LOADER},
            data=self.data_of(case).kind,
            device_kind=self.kind,
            effective_cpus=cpus.effective_cpus(),
        )

    def obstacle(self, case: CaseSpec, device: torch.device) -> str | None:
        """Tell why the case can't be measured on the device and is skipped, or None."""
        data = self.data_of(case).kind
        reason = _no_library(case, data) or precisions.unsupported(PRECISIONS[case.precision], device)
        return reason or models.find(case.model).obstacle(
            mode=case.mode, batch=case.batch, layout=case.layout, data=data
        )

    def shortage(self, case: CaseSpec, device: torch.device, *, step: bool, processes: int = 1) -> str | None:
        """Tell why the case does not fit into free memory, before anything of it is built; None where it may fit.

        :param step: whether a step is taken, too, and not only batches are fetched.
        :param processes: how many may take as much of the free memory at the same time.
        """
        from pytest_roofline.complexity.assessment import batch_byte, may_be_large, predicted_peak_byte

        free = None if self.values["no_memory_check"] else device_memory.free_byte(device)
        if free is None:
            return None
        free //= processes
        model, precision = models.find(case.model), PRECISIONS[case.precision]
        mode: Mode = "train" if case.mode == "train" else "infer"
        batches = data.READY_BATCHES if self.data_of(case).kind == "synthetic" else 1
        one_batch_byte = batch_byte(model, case.batch, mode, precision)
        needed, parts = batches * one_batch_byte, f"{batches} batches"
        # A compiled step may keep less than its operations need one by one.
        if needed <= free and step and not case.compile and may_be_large(model, case.batch, free):
            peak_byte = predicted_peak_byte(model, case.batch, mode, precision)
            if peak_byte is not None:
                needed, parts = needed - one_batch_byte + peak_byte, f"a step and {batches} batches"
        if needed <= free:
            return None
        return (
            f"{case.id} is predicted to need {scaled(needed, 'B')} for {parts}, and {scaled(free, 'B')} of the "
            f"{device.type}'s memory are free. Use a smaller --batch; {self.memory_flag} tries it anyway, and the "
            "system may end the run"
        )

    def open_batches(self, case: CaseSpec, device: torch.device) -> Batches:
        """The case's batches; loader workers have delivered when this returns."""
        return data.open_batches(
            self.data_of(case),
            models.find(case.model),
            case.batch,
            device,
            case.layout,
            self.loader(case).options,
            self.seed,
            with_target=case.mode == "train",
            dtype=precisions.parameter_dtype(PRECISIONS[case.precision]),
        )

    def workload(self, case: CaseSpec, device: torch.device, batches: Batches) -> Workload:
        """The case's model on the device with random weights, and all that a step of it needs.

        Skips the test of a model whose weights don't have the layout.
        """
        import torch

        model_of, precision = models.find(case.model), PRECISIONS[case.precision]
        torch.manual_seed(self.seed)
        model = model_of.build().to(device=device, dtype=precisions.parameter_dtype(precision))
        if case.layout == "channels_last":
            model = model.to(memory_format=torch.channels_last)
            if layouts(model.parameters()) != frozenset({"channels_last"}):
                pytest.skip(f"{case.model} has no weights that lie differently in channels_last: measure it contiguous")
        training = case.mode == "train"
        model.train(training)
        loader, has_loader = self.loader(case).options, self.data_of(case).kind != "synthetic"
        return Workload(
            model=model,
            batches=batches,
            mode="train" if training else "infer",
            precision=precision,
            device=device,
            loss=model_of.loss if training else None,
            optimizer=sgd(model) if training else None,
            grad_accum_steps=self.values["grad_accum_steps"] if training else 1,
            compile=case.compile,
            name=model_of.name,
            batch=case.batch,
            sample_unit=model_of.sample_unit,
            data=self.data_of(case).label,
            config={
                **model_of.config(),
                "data": data.describe(self.data_of(case)),
                "augment": not loader.no_augment if has_loader else None,
            },
            setting={
                "loader": loader.describe() if has_loader else None,
                "threads": torch.get_num_threads(),
            },
        )

    @contextmanager
    def threads(self, case: CaseSpec) -> Iterator[None]:
        """torch's threads while the case runs: what the loader's workers leave free."""
        import torch

        before = torch.get_num_threads()
        torch.set_num_threads(min(before, self.loader(case).threads))
        try:
            yield
        finally:
            torch.set_num_threads(before)


@contextmanager
def room_for(config: pytest.Config, case: CaseSpec, device: torch.device, *, step: bool) -> Iterator[None]:
    """Have memory for a case while it is built and measured.

    Workers of pytest-xdist share the host's. One whose case needs more than its part of what is free waits until the
    others have ended theirs, and none begins another meanwhile.

    :param step: as for `Suite.shortage`.
    :raises MemoryError: the case doesn't fit into free memory.
    """
    from pytest_roofline.session.run import run_of

    suite, role, run = prepare(config), role_of(config), run_of(config)
    workers = 1 if role is None or device.type != "cpu" else role.count
    with ExitStack() as turn:
        if workers > 1 and run is not None and suite.shortage(case, device, step=step, processes=workers):
            turn.enter_context(run.alone())
        shortage = suite.shortage(case, device, step=step)
        if shortage is not None:
            raise MemoryError(shortage)
        yield


def is_asked_for(config: pytest.Config, folder: Path) -> bool:
    """Tell whether the command line names the suite's folder, something in it, or a folder above it."""
    for argument in config.args:
        # Path.resolve fails on a link that leads to itself, before Python 3.13.
        path = Path(os.path.realpath(Path(config.invocation_params.dir, argument.partition("::")[0])))
        if path == folder or folder in path.parents or path in folder.parents:
            return True
    return False


def refuse_flags(config: pytest.Config) -> None:
    """Refuse the suite's flags where other tests run, as those of `testpaths` do if the suite's folder is forgotten.

    :raises pytest.UsageError: one is given.
    """
    given: list[Given | None] = [getattr(config.option, setting.ini, None) for setting in SETTINGS]
    if flags := [one.flag for one in given if one is not None]:
        raise pytest.UsageError(
            f"{', '.join(flags)}: for cases of perftests alone, and they are not asked for. Begin with pytest perftests"
        )


def prepare(config: pytest.Config) -> Suite:
    """The session's suite, made once.

    :raises pytest.UsageError: a setting, the matrix or the data can't be used, with the reason.
    """
    if _SUITE not in config.stash:
        try:
            config.stash[_SUITE] = _build(config)
        except (SettingError, MatrixError, DataError) as error:
            raise pytest.UsageError(str(error)) from error
    return config.stash[_SUITE]


def parameters(config: pytest.Config, what: Literal["train", "infer", "input", "scaling"]) -> list[Any]:
    """Make pytest's parameters of the cases that a test measures.

    Each carries its mode and the device it will run on as markers; one that isn't meant for this session's kind of
    device carries one of its own, and is deselected.

    :param what: a mode; the steps that each source feeds; or what ranks share, who measure nothing else.
    """
    suite = prepare(config)
    if torchrun.several() is not None and what != "scaling":
        return []
    cases = {"input": suite.fed, "scaling": suite.shared}.get(what, suite.cases)
    mode = "train" if what == "scaling" else what
    return [
        pytest.param(id, id=id, marks=[getattr(pytest.mark, mode), getattr(pytest.mark, _kind(case, suite.kind))])
        for id, case in cases.items()
        if what in ("input", "scaling", case.mode)
    ]


def announce_idle(config: pytest.Config, items: Sequence[pytest.Item]) -> None:
    """Have a line shown for each flag that has no effect on the cases of these tests."""
    suite = prepare(config)
    known = {**suite.cases, **suite.fed, **suite.shared}
    specs = [getattr(item, "callspec", None) for item in items]
    ids = {spec.id for spec in specs if spec is not None}
    cases = [case for id, case in known.items() if id in ids]
    why = {}
    if all(suite.data_of(case).kind == "synthetic" for case in cases):
        why.update({setting.name: "no case of this run loads data" for setting in LOADER})
    if all(case.mode != "train" for case in cases):
        why["grad_accum_steps"] = "no case of this run trains"
    if torchrun.several() is None:
        why["strategy"] = "one process shares its training with none"
    config.stash.setdefault(ANNOUNCED, []).extend(idle_flags(config, SETTINGS, why))


def _kind(case: CaseSpec, kind: Kind) -> str:
    return kind if kind in case.devices else min(case.devices)


def _build(config: pytest.Config) -> Suite:
    take_share(config)  # before the loader's workers are planned
    values = resolve(config, SETTINGS)
    sources = {setting.name: source(config, setting) or setting.short_flag for setting in SETTINGS}
    compile = options_of(config).compile
    if compile:
        _refuse_uncompiled(spelled(config, "compile"))
    cases = [
        replace(case, compile=compile)
        for case in matrix.load(values["matrix"], _overrides(values, sources), source=sources["matrix"])
    ]
    kind = device_kind(config)
    suite = Suite(
        cases={case.id: case for case in cases},
        fed=_fed(cases, kind),
        shared=sharing.cases(cases, values["strategy"]),
        values=values,
        data_source=sources["data"],
        memory_flag=sources["no_memory_check"],
        kind=kind,
        seed=options_of(config).seed,
    )
    notes = _check_data(suite, suite.cases.values())
    try:
        notes += _check_data(suite, suite.fed.values())
    except DataError as error:
        if any(suite.data_of(case).kind in ("sample", "imagefolder") for case in suite.cases.values()):
            raise
        # Nobody asked for these images: the cases that were asked for are measured without them.
        suite = replace(suite, fed={})
        notes += (f"the input pipeline is not measured: {error}",)
    config.stash.setdefault(NOTES, []).extend(dict.fromkeys(notes))
    return suite


def _fed(cases: Sequence[CaseSpec], kind: Kind) -> dict[str, CaseSpec]:
    """One training step fed by each kind of source: the first model on colour images, at its largest batch."""
    steps = [case for case in cases if case.mode == "train" and kind in case.devices and _takes_images(case)]
    if not steps:
        return {}
    case = max((case for case in steps if case.model == steps[0].model), key=lambda case: case.batch)
    real = case.data if data_options.parse(case.data).kind in ("sample", "imagefolder") else "sample"
    sources = {"ready": "synthetic", "fake": "fake", data_options.parse(real).label: real}
    step = replace(case, data="synthetic").id
    return {f"input-{step}-{name}": replace(case, data=source) for name, source in sources.items()}


def _no_library(case: CaseSpec, data: str) -> str | None:
    """Tell why a library that the case's model or its data come from can't be used, or None."""
    if data != "synthetic":
        if not libraries.is_installed("torchvision"):
            return f"{data} data need torchvision, which is not installed: pip install torchvision"
        why = libraries.broken("torchvision")
        if why is not None:
            return f"no {data} data: {why}"
    try:
        models.find(case.model)
    except models.BrokenLibrary as error:
        return str(error)
    return None


def _takes_images(case: CaseSpec) -> bool:
    if _no_library(case, "synthetic") is not None:
        return False
    model = models.find(case.model)
    return model.input_kind == "image" and model.input_shape[0] == 3


def _overrides(values: Mapping[str, Any], sources: Mapping[str, str]) -> dict[str, Override]:
    overrides = {
        axis: Override((values[axis],) if axis == "data" else values[axis], sources[axis])
        for axis in AXES
        if values[axis] is not None
    }
    if values["channels_last"]:
        if "layout" in overrides:
            raise MatrixError(f"{sources['channels_last']} says the layout, and so does {sources['layout']}: give one")
        overrides["layout"] = Override(("channels_last",), sources["channels_last"])
    return overrides


def _check_data(suite: Suite, cases: Iterable[CaseSpec]) -> tuple[str, ...]:
    """Look at the data of the cases before anything is collected.

    :returns: what a reader of the numbers should know.
    """
    notes: dict[str, None] = {}
    for case in cases:
        spec = suite.data_of(case)
        if suite.kind not in case.devices or spec.kind == "synthetic" or _no_library(case, spec.kind) is not None:
            continue
        model = models.find(case.model)
        if model.obstacle(mode=case.mode, batch=case.batch, layout=case.layout, data=spec.kind) is None:
            notes.update(dict.fromkeys(data.check(spec, model, case.batch)))
        notes.update(dict.fromkeys(suite.loader(case).notes))
    return tuple(notes)


def _refuse_uncompiled(flag: str) -> None:
    """Say at once what else every case would fail of."""
    switch = compiling.switched_off()
    if switch is not None:
        raise pytest.UsageError(
            f"{flag}: torch.compile is switched off by {switch} in the environment. Unset that, or leave {flag} out."
        )
