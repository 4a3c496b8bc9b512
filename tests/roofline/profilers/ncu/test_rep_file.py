"""Reports are read through NVIDIA's module, of which a stand-in with its functions is put where it is looked for."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from roofline.files.decoding import ReadError
from roofline.profilers.ncu import installation
from roofline.profilers.ncu.rep_file import parse

MODULE = '''
"""Stands in for NVIDIA's module. A report is a list of launches, each of (name, {metric: (kind, value, unit)})."""
import json

class IMetric:
    ValueKind_UNKNOWN, ValueKind_STRING = range(2)
    ValueKind_FLOAT, ValueKind_DOUBLE, ValueKind_UINT32, ValueKind_UINT64 = range(2, 6)

    def __init__(self, kind, value, unit):
        self._kind, self._value, self._unit = kind, value, unit

    def kind(self):
        return self._kind

    def unit(self):
        return self._unit

    def as_double(self):
        assert self._kind in (2, 3)
        return self._value

    def as_uint64(self):
        assert self._kind in (4, 5)
        return self._value

class IAction:
    NameBase_FUNCTION, NameBase_DEMANGLED, NameBase_MANGLED = range(3)

    def __init__(self, name, metrics, ranges=None):
        self._name, self._metrics, self._ranges = name, metrics, ranges

    def nvtx_state(self):
        return None if self._ranges is None else INvtxState(self._ranges)

    def name(self, base):
        assert base == 1
        return self._name

    def metric_names(self):
        return tuple(self._metrics)

    def metric_by_name(self, name):
        return IMetric(*self._metrics[name]) if name in self._metrics else None

class INvtxState:
    """Of one domain with its ranges that are pushed, and those that are started."""

    def __init__(self, ranges):
        self._pushed, self._started = ranges

    def domains(self):
        return (0,)

    def domain_by_id(self, number):
        return self

    def push_pop_ranges(self):
        return tuple(self._pushed)

    def start_end_ranges(self):
        return tuple(self._started)

class IRange:
    def __init__(self, actions):
        self._actions = actions

    def num_actions(self):
        return len(self._actions)

    def action_by_idx(self, place):
        return IAction(*self._actions[place])

class IContext:
    def __init__(self, ranges):
        self._ranges = ranges

    def num_ranges(self):
        return len(self._ranges)

    def range_by_idx(self, place):
        return IRange(self._ranges[place])

def load_report(path):
    with open(path) as file:
        content = file.read()
    if content == "raise":
        raise RuntimeError("Failed to load report")
    return IContext(json.loads(content)) if content else None
'''

REPORT = """[
  [["sgemm", {"gpu__time_duration.sum": [5, 4896, "nsecond"], "dram__bytes_read.sum": [3, 2.5, "Kbyte"],
              "dram__bytes_write.sum": [3, NaN, "byte"], "lts__t_bytes.sum": [1, "many", "byte"],
              "l1tex__t_bytes.sum": [5, 7, "fathom"],
              "dram__bytes.sum": [3, -1.0, "byte"],
              "sm__throughput.avg": [3, 50.0, "%"], "profiler__replayer_passes": [4, 3, "pass"],
              "launch__grid_dim_x": [4, 64, ""], "launch__grid_dim_y": [4, 1, ""], "launch__grid_dim_z": [4, 1, ""],
              "device__attribute_compute_capability_major": [4, 9, ""],
              "device__attribute_compute_capability_minor": [4, 0, ""]}]],
  [["copy", {}]]
]"""


@pytest.fixture
def module(tmp_path: Path) -> Iterator[Path]:
    """The folder of the module, which no test leaves loaded."""
    folder = tmp_path / "nsight-compute-2025.1" / "extras" / "python"
    folder.mkdir(parents=True)
    (folder / "ncu_report.py").write_text(MODULE)
    yield folder
    sys.modules.pop("ncu_report", None)


@pytest.fixture
def report(tmp_path: Path) -> Path:
    path = tmp_path / "r.ncu-rep"
    path.write_text(REPORT)
    return path


def test_a_report_with_values_that_can_not_be(monkeypatch: pytest.MonkeyPatch, module: Path, tmp_path: Path) -> None:
    """They are missing, whether infinite or only beyond all bounds; so is a number of passes."""
    monkeypatch.syspath_prepend(str(module))
    path = tmp_path / "r.ncu-rep"
    path.write_text(
        '[[["k\\u001b[31m", {"dram__bytes_read.sum": [3, 1e300, "byte"],'
        ' "dram__bytes_write.sum": [3, Infinity, "byte"],'
        ' "gpu__time_duration.sum": [3, 1e-35, "second"], "profiler__replayer_passes": [3, Infinity, ""]}]]]'
    )
    capture = parse(path)
    (launch,) = capture.launches
    assert (launch.metrics, capture.passes) == ({}, None)
    assert launch.absent == {
        "dram__bytes_read.sum": "the report has 1e+300, which can't be",
        "dram__bytes_write.sum": "the report has inf, which can't be",
        "gpu__time_duration.sum": "the report has 1e-35, which can't be",
    }
    assert launch.name == r"k\x1b[31m"


def test_a_report(monkeypatch: pytest.MonkeyPatch, module: Path, report: Path) -> None:
    """Launches of all ranges, in base units; what is no number, or in no unit of its kind, is missing."""
    monkeypatch.syspath_prepend(str(module))
    capture = parse(report)
    first, second = capture.launches
    assert (first.name, first.grid, first.block, first.compute_capability) == ("sgemm", "(64, 1, 1)", None, "9.0")
    assert first.metrics == {"gpu__time_duration.sum": 4896e-9, "dram__bytes_read.sum": 2500.0}
    assert first.absent == {
        "dram__bytes_write.sum": "the report has no number",
        "lts__t_bytes.sum": "the report has no number",
        "l1tex__t_bytes.sum": "its unit is 'fathom'",
        "dram__bytes.sum": "the report has -1.0, which can't be",
    }
    assert (second.name, second.metrics, second.compute_capability) == ("copy", {}, None)
    assert capture.passes == 3


def test_the_ranges_of_a_launch(monkeypatch: pytest.MonkeyPatch, module: Path, tmp_path: Path) -> None:
    """Of all domains, pushed and started ones; of a launch in none an empty list."""
    monkeypatch.syspath_prepend(str(module))
    path = tmp_path / "r.ncu-rep"
    path.write_text('[[["a", {}, [["step", "forward"], ["epoch"]]], ["b", {}]]]')
    assert [one.ranges for one in parse(path).launches] == [("step", "forward", "epoch"), ()]


def test_without_the_module(monkeypatch: pytest.MonkeyPatch, tmp_path: Path, report: Path) -> None:
    """The message has what to install, for this interpreter, and the command that prints the report where ncu is."""
    monkeypatch.delenv("ROOFLINE_NCU", raising=False)
    monkeypatch.setenv("PATH", str(tmp_path))
    monkeypatch.setattr(installation, "_ROOT", tmp_path)
    monkeypatch.setattr(sys, "executable", "/my env/bin/python")
    with pytest.raises(ReadError) as caught:
        parse(report)
    said = str(caught.value)
    assert said.startswith(f"{report}: a report of Nsight Compute, which only NVIDIA's Python module ncu_report reads")
    assert " '/my env/bin/python' -m pip install ncu-report. " in said
    assert "extras/python of Nsight Compute, on PYTHONPATH" in said
    assert f"LC_ALL=C ncu --import {report} --csv --page raw --print-units base > r.csv" in said


def test_a_module_that_can_not_be_loaded(monkeypatch: pytest.MonkeyPatch, module: Path, report: Path) -> None:
    """Its library is missing."""
    monkeypatch.syspath_prepend(str(module))
    (module / "ncu_report.py").write_text("import _ncu_report_is_missing\n")
    with pytest.raises(ReadError) as caught:
        parse(report)
    assert "it can't be imported (No module named '_ncu_report_is_missing')" in str(caught.value)


@pytest.mark.parametrize(
    ("content", "told"),
    [("raise", "ncu_report can't read it (Failed to load report)"), ("", "can't read it"), ("[]", "without kernels")],
)
def test_a_report_that_can_not_be_read(
    monkeypatch: pytest.MonkeyPatch, module: Path, report: Path, content: str, told: str
) -> None:
    """What the module says, or that there is nothing in it."""
    monkeypatch.syspath_prepend(str(module))
    report.write_text(content)
    with pytest.raises(ReadError) as caught:
        parse(report)
    assert str(caught.value).startswith(f"{report}: ")
    assert told in str(caught.value)
