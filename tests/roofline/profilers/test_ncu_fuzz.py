"""Any file: read, or refused with its name. Never a traceback, and never a 0 that nobody measured."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from roofline.counters.quantities import NAMES as QUANTITY_NAMES
from roofline.files.text import ReadError
from roofline.profilers.ncu.kernel_sums import by_kernel, count, read_all
from roofline.profilers.ncu.ncu_tables import table
from roofline.show.render import render
from roofline.show.tables import FORMATS
from tests.roofline.profilers.ncu_made import READ, TIME, WRITE, Metric, details, raw, sections, summary

fuzzed = settings(max_examples=120, suppress_health_check=[HealthCheck.function_scoped_fixture], deadline=None)

_FMA = "smsp__sass_thread_inst_executed_op_ffma_pred_on.sum"
_METRICS: list[Metric] = [TIME, READ, WRITE, (_FMA, "inst", "1,000,000"), ("lts__t_bytes.sum", "Mbyte", "2.50")]
_LABELS: list[Metric] = [
    ("Duration", "us", "6.75"),
    ("SM Frequency", "Ghz", "2.15"),
    ("DRAM Bandwidth", "Gbyte/s", "345.14"),
    ("Predicated-On FFMA Thread Instructions Executed Per Cycle", "inst/cycle", "79.06"),
]
_VALID = (
    details([("void f<float, 256>(int, char*)", _METRICS), ("g", _METRICS)]),
    raw({TIME[0]: "ns", READ[0]: "Kbyte", _FMA: "inst"}, [("f", ("4896", "2.50", "77")), ("g", ("32", "n/a", "1"))]),
    summary([("f", 7, _METRICS), ("g", 100, _METRICS)]),
    sections([("GPU Speed Of Light Throughput", "", one) for one in _LABELS]),
    "==PROF== Connected\nepoch 1, loss 0.5\n" + details([("k", _METRICS)]) + "==WARNING== x\ndone\n",
)
_CELLS = st.sampled_from(
    [
        "",
        "n/a",
        "nan",
        "-1",
        "0",
        "1e308",
        "1e30",
        "1e-30",
        "1e-320",
        "1e999",
        "9" * 19,
        "9" * 400,
        "9" * 5000,
        f"0.{'0' * 400}1",
        "second",
        "Pbyte",
        "k\x1b[31m",
        "1.5",
        "1,5",
        "1.234",
        "1,234",
        "1.234,5",
        "1,234.5",
        "byte",
        "ns",
        "%",
        "ID",
    ]
)


def _survives(path: Path) -> int:
    """How many launches were read and shown in every form; 0 where the file was refused, by its name."""
    refused = ""
    try:
        counted = count(read_all([path]))
    except ReadError as error:
        refused = str(error)
    if refused:
        assert refused.startswith(str(path))
        return 0
    for form in FORMATS:
        assert render(table(counted, by_kernel(counted.kernels), "kernel", with_total=True), form, 80)
    for one in json.loads(render(table(counted, counted.kernels, "kernel", with_total=False), "json", 80)):
        for name in QUANTITY_NAMES:
            assert one[name] is not None or name in one["missing"]
    return len(counted.kernels)


@pytest.mark.parametrize("text", _VALID)
def test_what_is_spoilt_is_valid_before(tmp_path: Path, text: str) -> None:
    """Else the tests below would try nothing."""
    path = tmp_path / "f.csv"
    path.write_text(text, encoding="utf-8")
    assert _survives(path) > 0


@fuzzed
@given(st.sampled_from(_VALID), st.data())
def test_a_part_replaced(tmp_path: Path, text: str, data: st.DataObject) -> None:
    """Bytes of a valid file are taken out, put in, or swapped."""
    content = bytearray(text.encode())
    for _ in range(data.draw(st.integers(1, 4))):
        start = data.draw(st.integers(0, len(content)))
        gone = data.draw(st.integers(0, 20))
        content[start : start + gone] = data.draw(st.binary(max_size=12) | st.sampled_from([b'"', b",", b"\n", b"\0"]))
    path = tmp_path / "f.csv"
    path.write_bytes(bytes(content))
    _survives(path)


@fuzzed
@given(st.sampled_from(_VALID), st.data())
def test_a_cell_replaced(tmp_path: Path, text: str, data: st.DataObject) -> None:
    """Any cell by any other: wrong units, no numbers, numbers of the other format."""
    lines = text.splitlines()
    for _ in range(data.draw(st.integers(1, 3))):
        number = data.draw(st.integers(0, len(lines) - 1))
        cells = lines[number].split('","')
        cells[data.draw(st.integers(0, len(cells) - 1))] = data.draw(_CELLS)
        lines[number] = '","'.join(cells)
    path = tmp_path / "f.csv"
    path.write_text("\n".join(lines) + "\n", encoding="utf-8")
    _survives(path)


_RATED: list[Metric] = [
    ("gpu__time_duration.sum", "second", ""),
    ("smsp__cycles_elapsed.avg.per_second", "hz", ""),
    *((f"{_FMA.replace('ffma', one)}.per_cycle_elapsed", "inst/cycle", "") for one in ("fadd", "fmul", "ffma")),
    ("dram__bytes.sum.per_second", "byte/second", ""),
]
_EXTREME = st.sampled_from(["0", "1", "1e30", "1e-30", "9e29", "2e-30", "1e31", "1e-31", "1e308", "1e-308", "9" * 500])


@fuzzed
@given(st.lists(st.tuples(*[_EXTREME] * len(_RATED)), min_size=1, max_size=3))
def test_extreme_numbers(tmp_path: Path, launches: list[tuple[str, ...]]) -> None:
    """What is read makes no product, sum or quotient that is infinite, and no 0 of what is none."""
    metrics = [[(name, unit, one) for (name, unit, _), one in zip(_RATED, row, strict=True)] for row in launches]
    path = tmp_path / "f.csv"
    path.write_text(details([("k", one) for one in metrics]), encoding="utf-8")
    read = all(one == "0" or 1e-30 <= float(one) <= 1e30 for row in launches for one in row)
    assert _survives(path) == (len(launches) if read else 0)
    if not read:
        return
    for one, row in zip(count(read_all([path])).kernels, launches, strict=True):
        # A time or a clock of 0 is one that was rounded: of what has a rate there was some.
        assert (one.amounts["dram_byte"] is None) == (row[0] == "0" != row[5])
        assert (one.amounts["dram_byte"] == 0) == (row[5] == "0")
        idle = set(row[2:5]) == {"0"}
        assert (one.amounts["flop"] is None) == ("0" in row[:2] and not idle)
        assert (one.amounts["flop"] == 0) == idle
