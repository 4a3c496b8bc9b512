"""Any file of any profiler: read, or refused with its name. Never a traceback, never a 0 that nobody measured."""

from __future__ import annotations

import gzip
import json
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from roofline.counters.quantities import NAMES as QUANTITY_NAMES
from roofline.files.decoding import ReadError
from roofline.profilers.kineto.chrome_trace import read_trace
from roofline.profilers.ncu.kernel_sums import by_kernel, count, read_all
from roofline.profilers.ncu.ncu_tables import table
from roofline.profilers.nsys.nsys_file import read_nsys
from roofline.profilers.timeline import Timeline
from roofline.profilers.timeline_tables import records
from roofline.show.render import render
from roofline.show.tables import FORMATS
from tests.roofline.profilers import nsys_build as build
from tests.roofline.profilers import traces
from tests.roofline.profilers.ncu_made import READ, TIME, WRITE, Metric, details, raw, sections, summary
from tests.roofline.profilers.nsys.test_stats import BOX, COLUMNS, CSV, OLD

fuzzed = partial(settings, suppress_health_check=[HealthCheck.function_scoped_fixture], deadline=None)

_FMA = "smsp__sass_thread_inst_executed_op_ffma_pred_on.sum"
_METRICS: list[Metric] = [TIME, READ, WRITE, (_FMA, "inst", "1,000,000"), ("lts__t_bytes.sum", "Mbyte", "2.50")]
_LABELS: list[Metric] = [
    ("Duration", "us", "6.75"),
    ("SM Frequency", "Ghz", "2.15"),
    ("DRAM Bandwidth", "Gbyte/s", "345.14"),
    ("Predicated-On FFMA Thread Instructions Executed Per Cycle", "inst/cycle", "79.06"),
]
_NCU = (
    details([("void f<float, 256>(int, char*)", _METRICS), ("g", _METRICS)]),
    raw({TIME[0]: "ns", READ[0]: "Kbyte", _FMA: "inst"}, [("f", ("4896", "2.50", "77")), ("g", ("32", "n/a", "1"))]),
    summary([("f", 7, _METRICS), ("g", 100, _METRICS)]),
    sections([("GPU Speed Of Light Throughput", "", one) for one in _LABELS]),
    "==PROF== Connected\nepoch 1, loss 0.5\n" + details([("k", _METRICS)]) + "==WARNING== x\ndone\n",
)

_EXPORT: Mapping[str, Sequence[Mapping[str, Any]]] = {
    "CUPTI_ACTIVITY_KIND_KERNEL": [
        build.kernel(120, 150, call=1),
        build.kernel(300, 370, call=2, stream=8),
        build.kernel(400, 401, name=2, call=3),
    ],
    "CUPTI_ACTIVITY_KIND_RUNTIME": [build.call(1, 110), build.call(2, 190), build.call(3, 250)],
    "CUPTI_ACTIVITY_KIND_MEMCPY": [build.copy(0, 100, 4_194_304), build.copy(410, 450, 1000, kind=2)],
    "CUPTI_ACTIVITY_KIND_MEMSET": [build.fill(100, 110, 64)],
    "NVTX_EVENTS": [build.marked(100, 200, "step")],
}


def _ncu(path: Path) -> int:
    """How many launches were read and shown in every form."""
    counted = count(read_all([path]))
    for form in FORMATS:
        assert render(table(counted, by_kernel(counted.kernels), "kernel", with_total=True), form, 80)
    for one in json.loads(render(table(counted, counted.kernels, "kernel", with_total=False), "json", 80)):
        for name in (*QUANTITY_NAMES, "share_of_time", "intensity_flop_per_byte", "tensor_cores"):
            assert one[name] is not None or name in one["missing"]
    return len(counted.kernels)


def _timeline(read: Callable[[Path], Timeline], path: Path) -> int:
    """How many launches were read: no time of 0 for none, no section that isn't whole without a reason."""
    timeline = read(path)
    json.dumps(records(timeline), allow_nan=False)
    assert all(row.instances > 0 and row.total_s >= 0 for row in timeline.kernels)
    assert (timeline.gpu_time_s is None) == (timeline.kernels == ())
    assert all((section.reason is None) == (section.state == "ok") for section in timeline.sections.values())
    return sum(row.instances for row in timeline.kernels)


_nsys, _trace = partial(_timeline, read_nsys), partial(_timeline, read_trace)

_READERS: Mapping[str, tuple[Callable[[Path], int], bytes]] = {
    **{f"ncu{number}": (_ncu, text.encode()) for number, text in enumerate(_NCU)},
    **{f"stats{number}": (_nsys, text.encode()) for number, text in enumerate((CSV, COLUMNS, BOX, OLD))},
    "export": (_nsys, b""),
    "trace": (_trace, json.dumps(traces.document()).encode()),
    "gzip": (_trace, gzip.compress(json.dumps(traces.document()).encode(), mtime=0)),
}


def _sample(tmp_path: Path, name: str) -> tuple[Callable[[Path], int], Path]:
    """The reader of a file and the file, whole."""
    read, content = _READERS[name]
    path = tmp_path / "file"
    path.unlink(missing_ok=True)
    if content:
        path.write_bytes(content)
    else:
        build.write(path, _EXPORT)
    return read, path


def _survives(read: Callable[[Path], int], path: Path) -> int:
    """How many launches were read; 0 where the file was refused, by its name."""
    try:
        return read(path)
    except ReadError as error:
        refused = str(error)
    assert refused.startswith(str(path))
    return 0


@pytest.mark.parametrize("name", _READERS)
def test_what_is_spoilt_is_valid_before(tmp_path: Path, name: str) -> None:
    """Else the tests below would try nothing."""
    assert _survives(*_sample(tmp_path, name)) > 0


@fuzzed(max_examples=300)
@given(data=st.data())
def test_bytes_replaced(tmp_path: Path, data: st.DataObject) -> None:
    """Bytes of a file are taken out, put in, swapped, or cut off."""
    read, path = _sample(tmp_path, data.draw(st.sampled_from(sorted(_READERS))))
    content = bytearray(path.read_bytes())
    for _ in range(data.draw(st.integers(1, 8))):
        start = data.draw(st.integers(0, len(content)))
        gone = data.draw(st.integers(0, 20))
        put = data.draw(
            st.binary(max_size=12) | st.binary(min_size=gone, max_size=gone) | st.sampled_from([b'"', b","])
        )
        content[start : start + gone] = put
    path.write_bytes(content[: data.draw(st.sampled_from([len(content), len(content), len(content) // 2, 3]))])
    _survives(read, path)


_NUMBERS = ("", "n/a", "nan", "-1", "0", "1e308", "1e30", "1e-30", "1e-320", "1e999", "9" * 19, "9" * 400, "9" * 5000)
_CELLS = st.sampled_from(
    (
        *_NUMBERS,
        *(f"0.{'0' * 400}1", "1.5", "1,5", "1.234", "1,234", "1.234,5", "1,234.5"),
        *("second", "Pbyte", "byte", "ns", "%", "ID", "k\x1b[31m"),
    )
)


@fuzzed(max_examples=120)
@given(st.sampled_from(_NCU), st.data())
def test_a_cell_of_ncu_replaced(tmp_path: Path, text: str, data: st.DataObject) -> None:
    """Any cell by any other: wrong units, no numbers, numbers of the other format."""
    lines = text.splitlines()
    for _ in range(data.draw(st.integers(1, 3))):
        number = data.draw(st.integers(0, len(lines) - 1))
        cells = lines[number].split('","')
        cells[data.draw(st.integers(0, len(cells) - 1))] = data.draw(_CELLS)
        lines[number] = '","'.join(cells)
    path = tmp_path / "f.csv"
    path.write_text("\n".join(lines) + "\n", encoding="utf-8")
    _survives(_ncu, path)


_RATED = (
    ("gpu__time_duration.sum", "second"),
    ("smsp__cycles_elapsed.avg.per_second", "hz"),
    *((f"{_FMA.replace('ffma', one)}.per_cycle_elapsed", "inst/cycle") for one in ("fadd", "fmul", "ffma")),
    ("dram__bytes.sum.per_second", "byte/second"),
)
_EXTREME = st.sampled_from(["0", "1", "1e30", "1e-30", "9e29", "2e-30", "1e31", "1e-31", "1e308", "1e-308", "9" * 500])


@fuzzed(max_examples=120)
@given(st.lists(st.tuples(*[_EXTREME] * len(_RATED)), min_size=1, max_size=3))
def test_extreme_numbers_of_ncu(tmp_path: Path, launches: list[tuple[str, ...]]) -> None:
    """What is read makes no product, sum or quotient that is infinite, and no 0 of what is none."""
    metrics = [[(*what, one) for what, one in zip(_RATED, row, strict=True)] for row in launches]
    path = tmp_path / "f.csv"
    path.write_text(details([("k", one) for one in metrics]), encoding="utf-8")
    read = all(one == "0" or 1e-30 <= float(one) <= 1e30 for row in launches for one in row)
    assert _survives(_ncu, path) == (len(launches) if read else 0)
    if not read:
        return
    for one, row in zip(count(read_all([path])).kernels, launches, strict=True):
        # A time or a clock of 0 is one that was rounded.
        assert (one.amounts["dram_byte"] is None) == (row[0] == "0")
        assert (one.amounts["dram_byte"] == 0) == (row[5] == "0" != row[0])
        assert (one.amounts["flop"] is None) == ("0" in row[:2])
        assert (one.amounts["flop"] == 0) == (set(row[2:5]) == {"0"} and "0" not in row[:2])


_ODD_NUMBERS = st.sampled_from([0, -1, 59, 2**53, 2**53 + 1, 2**63 - 1, -(2**63), 1.7e308, 5e-324, float("inf")])
_JSON_VALUES = st.one_of(
    st.none(),
    st.booleans(),
    _ODD_NUMBERS,
    st.integers(-(2**70), 2**70) | st.just(10**400),
    st.floats(),
    st.text(max_size=3),
    st.lists(st.integers(), max_size=2),
    st.dictionaries(st.text(max_size=2), st.integers(), max_size=2),
)


@fuzzed(max_examples=60)
@given(data=st.data())
def test_values_of_a_trace_replaced(tmp_path: Path, data: st.DataObject) -> None:
    """In any field of any event, or of the file: an event counts, or it is reported that it doesn't."""
    traced = traces.events()
    for _ in range(data.draw(st.integers(1, 4))):
        one = data.draw(st.sampled_from(traced))
        place = one["args"] if data.draw(st.booleans()) and isinstance(one.get("args"), dict) else one
        name = data.draw(st.sampled_from(["ph", "ts", "dur", "pid", "tid", "args", "device", "stream", "bytes"]))
        place[name] = data.draw(_JSON_VALUES)
    more = {
        data.draw(st.sampled_from(["deviceProperties", "distributedInfo", "schemaVersion"])): data.draw(_JSON_VALUES)
    }
    path = traces.write(tmp_path / "a.json", traces.document(traced, **more))
    complete = sum(one.get("ph") == "X" and one.get("cat") == "kernel" for one in traced)
    if not _survives(_trace, path):
        return
    timeline = read_trace(path)
    states = {name: section.state for name, section in timeline.sections.items()}
    counted = sum(row.instances for row in timeline.kernels)
    assert counted == complete or states["kernels"] in ("partial", "failed")
    assert states["memcpy"] != "ok" or None not in {row.byte for row in timeline.copies}
