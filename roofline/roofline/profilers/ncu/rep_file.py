"""Nsight Compute's own reports (``.ncu-rep``), by NVIDIA's Python module of the package ncu-report."""

from __future__ import annotations

import importlib
import math
import shlex
import sys
from collections.abc import Iterator
from pathlib import Path
from types import ModuleType
from typing import Any

from roofline.counters.quantities import dimension
from roofline.files.decoding import ReadError
from roofline.profilers.ncu.installation import print_command, program
from roofline.profilers.ncu.launches import Capture, Launch
from roofline.profilers.ncu.values import factors
from roofline.schema.amounts import usable_or_zero
from roofline.text.printable import printable

_MODULE = "ncu_report"
_PACKAGE = "ncu-report"
_PASSES = "profiler__replayer_passes"
_CAPABILITY = ("device__attribute_compute_capability_major", "device__attribute_compute_capability_minor")
_DIMENSIONS = ("x", "y", "z")


def parse(path: Path) -> Capture:
    """The launches of a report.

    :raises ReadError: NVIDIA's module is not to be had or can't be loaded, or it can't read the file; or no kernels.
    """
    module = _load(path)
    launches: list[Launch] = []
    passes: list[float] = []
    try:
        report = module.load_report(str(path))
        if report is None:
            raise ReadError(f"{path}: {_MODULE} can't read it. {_remedy(path)}")
        for action in _actions(report):
            launches.append(_launch(module, action))
            passes += [one for one in (_number(module, action, _PASSES),) if one is not None and usable_or_zero(one)]
    except (RuntimeError, ValueError, OSError, TypeError, AttributeError, IndexError) as error:
        raise ReadError(
            f"{path}: {_MODULE} can't read it ({error or type(error).__name__}). {_remedy(path)}"
        ) from error
    if not launches:
        raise ReadError(
            f"{path}: a report without kernels. Either they ran in another process (ncu needs --target-processes all),"
            " or a filter left none, or the program never used the GPU."
        )
    return Capture(source=str(path), launches=tuple(launches), passes=int(max(passes)) if passes else None)


def _remedy(path: Path) -> str:
    where = "" if program() else " where ncu is"
    return f"Print it{where}: {print_command(str(path), f'{path.stem}.csv')}"


def _load(path: Path) -> ModuleType:
    """:raises ReadError: the module is nowhere, or its library can't be loaded."""
    try:
        return importlib.import_module(_MODULE)
    except (ImportError, OSError) as error:
        raise ReadError(
            f"{path}: a report of Nsight Compute, which only NVIDIA's Python module {_MODULE} reads; it can't be"
            f" imported ({error}). Install it: {shlex.quote(sys.executable)} -m pip install {_PACKAGE}. Or put its"
            f" folder, extras/python of Nsight Compute, on PYTHONPATH. Or: {_remedy(path)}"
        ) from error


def _actions(report: Any) -> Iterator[Any]:
    for place in range(report.num_ranges()):
        one = report.range_by_idx(place)
        for number in range(one.num_actions()):
            yield one.action_by_idx(number)


def _launch(module: Any, action: Any) -> Launch:
    metrics: dict[str, float] = {}
    absent: dict[str, str] = {}
    for name in action.metric_names():
        what = dimension(name)
        if what is None:
            continue
        unit = action.metric_by_name(name).unit()
        value, scale = _number(module, action, name), factors(unit, what)
        if value is None:
            absent[name] = "the report has no number"
        elif scale is None:
            absent[name] = f"its unit is {unit!r}"
        elif not usable_or_zero(scaled := value * scale[0] / scale[1]):
            absent[name] = f"the report has {value}, which can't be"
        else:
            metrics[name] = scaled
    capability = [_number(module, action, name) for name in _CAPABILITY]
    return Launch(
        name=printable(action.name(module.IAction.NameBase_DEMANGLED)),
        grid=_size(module, action, "launch__grid_dim_"),
        block=_size(module, action, "launch__block_dim_"),
        compute_capability=None if None in capability else ".".join(f"{one:.0f}" for one in capability),
        metrics=metrics,
        absent=absent,
        ranges=tuple(_ranges(action)),
    )


def _ranges(action: Any) -> Iterator[str]:
    """Names of the NVTX ranges that the launch was in."""
    state = action.nvtx_state()
    for number in () if state is None else state.domains():
        domain = state.domain_by_id(number)
        yield from map(printable, (*domain.push_pop_ranges(), *domain.start_end_ranges()))


def _size(module: Any, action: Any, name: str) -> str | None:
    """As ncu prints it: ``(128, 1, 1)``."""
    sizes = [_number(module, action, name + dimension) for dimension in _DIMENSIONS]
    return None if None in sizes else f"({', '.join(f'{one:.0f}' for one in sizes)})"


def _number(module: Any, action: Any, name: str) -> float | None:
    """A metric's value; None where the report has none, or none that is a number."""
    metric = action.metric_by_name(name)
    if metric is None:
        return None
    kinds = module.IMetric
    kind = metric.kind()
    if kind in (kinds.ValueKind_FLOAT, kinds.ValueKind_DOUBLE):
        value = float(metric.as_double())
    elif kind in (kinds.ValueKind_UINT32, kinds.ValueKind_UINT64):
        value = float(metric.as_uint64())
    else:
        return None
    return None if math.isnan(value) else value
