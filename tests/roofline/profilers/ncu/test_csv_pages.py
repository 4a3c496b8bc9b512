"""Every page that ncu prints as CSV, to launches in base units; and what is refused, with line, reason and remedy."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import pytest

from roofline.files.text import ReadError
from roofline.profilers.ncu.csv_pages import parse
from roofline.profilers.ncu.launches import Capture, Launch
from tests.roofline.profilers.ncu_made import (
    DETAILS,
    IDENTITY,
    READ,
    TIME,
    WRITE,
    Metric,
    details,
    identity,
    line,
    raw,
    row,
    sections,
    summary,
)

PATH = Path("f.csv")
TIME_NAME, READ_NAME, WRITE_NAME = TIME[0], READ[0], WRITE[0]
THROUGHPUT = "sm__throughput.avg.pct_of_peak_sustained_elapsed"


def _parsed(text: str) -> Capture:
    return parse(PATH, text)


def _one(text: str) -> Launch:
    (launch,) = _parsed(text).launches
    return launch


def _refused(text: str) -> str:
    with pytest.raises(ReadError) as caught:
        parse(PATH, text)
    said = str(caught.value)
    assert said.startswith("f.csv")
    return said


def test_details_page() -> None:
    """A row a metric: grouped numbers in base units, one launch for the rows of one ID."""
    capture = _parsed(details([("sgemm", [TIME, READ, WRITE]), ("copy", [TIME])]))
    assert capture.launches == (
        Launch(
            name="sgemm",
            grid="(64, 1, 1)",
            block="(128, 1, 1)",
            compute_capability="8.0",
            metrics={TIME_NAME: 4896e-9, READ_NAME: 2e6, WRITE_NAME: 5e5},
        ),
        Launch(
            name="copy",
            grid="(64, 1, 1)",
            block="(128, 1, 1)",
            compute_capability="8.0",
            metrics={TIME_NAME: 4896e-9},
        ),
    )
    assert (capture.source, capture.passes, capture.notes) == ("f.csv", None, ())


def test_scaled_units() -> None:
    """2,000.00 Mbyte in 10,000.00 usecond: 2e9 byte in 0.010 s."""
    text = details([("k", [("dram__bytes.sum", "Mbyte", "2,000.00"), (TIME_NAME, "usecond", "10,000.00")])])
    assert _one(text).metrics == {"dram__bytes.sum": 2e9, TIME_NAME: 0.01}


def test_labels_of_the_details_page() -> None:
    """Sections print labels: Duration is the time, and of two Memory Throughputs one is the DRAM's rate."""
    rows: list[Metric] = [
        ("Memory Throughput", "%", "61.84"),
        ("Duration", "ns", "21,058,944"),
        ("Memory Throughput", "byte/s", "196,456,177,859.63"),
    ]
    assert _one(details([("k", rows)])).metrics == {
        TIME_NAME: 21058944e-9,
        "dram__bytes.sum.per_second": 196456177859.63,
    }


LIGHT, CHART, ACHIEVED = "GPU Speed Of Light Throughput", "GPU Speed Of Light Roofline Chart", "Achieved Value"


def _per_cycle(operation: str, value: str) -> Metric:
    return (f"Predicated-On {operation} Thread Instructions Executed Per Cycle", "inst/cycle", value)


def test_labels_of_the_roofline_chart() -> None:
    """Instructions a cycle, the clock that they are counted by, and the DRAM's rate; not the roofs' own clock."""
    text = sections(
        [
            (LIGHT, "", ("SM Frequency", "Ghz", "2.00")),
            (CHART, "", _per_cycle("FFMA", "3.50")),
            (CHART, "Single Precision Roofline", ("SM Frequency", "Ghz", "1.00")),
            (CHART, f"Single Precision {ACHIEVED}", ("SM Frequency", "Ghz", "2.00")),
            (CHART, f"Single Precision {ACHIEVED}", _per_cycle("FADD", "1.97")),
            (CHART, f"Single Precision {ACHIEVED}", ("DRAM Bandwidth", "Gbyte/s", "345.14")),
            (CHART, f"Double Precision {ACHIEVED}", ("DRAM Bandwidth", "Gbyte/s", "345.14")),
        ]
    )
    assert _one(text).metrics == pytest.approx(
        {
            "smsp__cycles_elapsed.avg.per_second": 2e9,
            "smsp__sass_thread_inst_executed_op_ffma_pred_on.sum.per_cycle_elapsed": 3.5,
            "smsp__sass_thread_inst_executed_op_fadd_pred_on.sum.per_cycle_elapsed": 1.97,
            "dram__bytes.sum.per_second": 345.14e9,
        }
    )


def test_what_a_page_of_labels_lacks_is_told() -> None:
    """It may have been collected all the same; of a page of names it was not. What it has is not absent."""
    labelled = _one(sections([(LIGHT, "", ("Duration", "us", "4.90"))]))
    assert "--page raw" in labelled.absent["lts__t_bytes.sum"]
    assert TIME_NAME not in labelled.absent
    unit = _one(sections([(LIGHT, "", ("Duration", "fathom", "4.90"))]))
    assert unit.absent[TIME_NAME] == "its unit 'fathom' is not one of time"
    assert _one(details([("k", [TIME])])).absent == {}
    (summed,) = _parsed(summary([("a", 2, [("Duration", "us", "4.90"), READ])])).launches
    assert summed.metrics[TIME_NAME] == pytest.approx(9.8e-6)
    assert "lts__t_bytes.sum" in summed.absent


def test_label_and_name() -> None:
    """Of both the name counts."""
    assert _one(details([("k", [(f"Duration ({TIME_NAME})", "us", "6.75")])])).metrics == {TIME_NAME: 6.75e-6}


def test_rules_end_rows_early_and_late() -> None:
    """Under a header with columns of rules, rows of metrics are shorter, and rows of rules name no metric."""
    rules = ("Rule Name", "Rule Type", "Rule Description", "Estimated Speedup Type", "Estimated Speedup")
    text = (
        line(*DETAILS[:12], "Body Item Label", *DETAILS[12:], *rules)
        + line(*identity(0), "Speed Of Light", "", *TIME)[:-1]
        + ",\n"
        + line(*identity(0), "SpeedOfLight", "", "", "", "", "SOL", "OPT", 'Look at\nthe "memory".', "", "")
        + line(*identity(1), "Speed Of Light", "", *TIME)[:-1]
        + ",\n"
    )
    capture = _parsed(text)
    assert [one.metrics for one in capture.launches] == [{TIME_NAME: 4896e-9}] * 2
    assert capture.notes == ()


def test_raw_page() -> None:
    """A column a metric with the unit below; properties of the device tell nothing of how numbers are written."""
    units = {
        "device__attribute_driver_version": "",
        THROUGHPUT: "%",
        TIME_NAME: "ns",
        "dram__bytes.sum": "Kbyte",
        "profiler__replayer_passes": "pass",
    }
    text = raw(units, [("void f<float, 256>(int, char*)", ("12,8", "1.5", "602720", "2.25", "3"))], cc="8.9")
    capture = _parsed(text)
    (launch,) = capture.launches
    assert launch.name == "void f<float, 256>(int, char*)"
    assert launch.compute_capability == "8.9"
    assert launch.metrics == {TIME_NAME: 602720e-9, "dram__bytes.sum": 2250.0}
    assert capture.passes == 3


def test_summary_page() -> None:
    """Average x invocations is the sum; a rate has none."""
    text = summary(
        [
            ("a", 100, [("dram__sectors_read.sum", "sector", "402,316.50"), (TIME_NAME, "us", "2.50")]),
            ("b", 2, [("dram__bytes.sum.per_second", "Gbyte/s", "7.00")]),
        ]
    )
    first, second = _parsed(text).launches
    assert (first.name, first.launches) == ("a", 100)
    assert first.metrics == {"dram__sectors_read.sum": 40231650.0, TIME_NAME: pytest.approx(2.5e-4)}
    assert (second.launches, second.metrics) == (2, {})
    assert second.absent == {"dram__bytes.sum.per_second": "a mean over launches, of which there is no sum"}


@pytest.mark.parametrize("printed", ["n/a", "nan", "", "-nan", "(!) n/a", "inf", "N/A"])
def test_no_value_is_missing(printed: str) -> None:
    """And never 0; the rest of the row stays."""
    text = raw({READ_NAME: "byte", TIME_NAME: "ns"}, [("k", (printed, "4896"))])
    launch = _one(text)
    assert launch.metrics == {TIME_NAME: 4896e-9}
    assert launch.absent == {READ_NAME: f"ncu printed {printed!r}" if printed else "ncu printed nothing"}


@pytest.mark.parametrize(
    ("metric", "why"),
    [
        ((TIME_NAME, "cycle", "12"), "its unit 'cycle' is not one of time"),
        ((TIME_NAME, "", "12"), "ncu printed no unit"),
        ((READ_NAME, "ns", "12"), "its unit 'ns' is not one of bytes"),
        ((READ_NAME, "byte", "-12"), "ncu printed -12, which can't be"),
    ],
)
def test_a_value_that_can_not_be_is_missing(metric: Metric, why: str) -> None:
    """A wrong unit is no reason to guess."""
    launch = _one(details([("k", [metric])]))
    assert (launch.metrics, launch.absent) == ({}, {metric[0]: why})


@pytest.mark.parametrize(
    ("unit", "value"),
    [
        ("byte", "1e999"),
        ("byte", "1" + "0" * 308),
        ("Gbyte", "1e22"),
        ("byte", "1e-31"),
        ("byte", "0." + "0" * 400 + "5"),
    ],
)
def test_a_value_beyond_all_bounds_is_refused(unit: str, value: str) -> None:
    """Sums and quotients of such are infinite, or 0. Line, column, value and bounds are named."""
    said = _refused(details([("k", [TIME, (READ_NAME, unit, value)])]))
    assert said.startswith(f"f.csv:3: Metric Value: '{value[:40]}")
    assert f" {unit} can't be {READ_NAME} of a kernel: in base units it is not 0 and not from 1e-30 to 1e+30." in said
    assert len(said) < 500


@pytest.mark.parametrize("value", ["1e30", "1e-30", "0e999", "0.000", "1" + "0" * 30])
def test_up_to_the_bounds_it_is_read(value: str) -> None:
    """0 is 0, however it is written."""
    assert _one(details([("k", [(READ_NAME, "byte", value)])])).metrics == {READ_NAME: float(value)}


def test_names_hold_nothing_that_a_terminal_obeys() -> None:
    """Nor do ncu's messages and the columns of a foreign table: escapes stand there. Letters of all scripts stay."""
    text = details([("k\x1b[31mred\u202e", [TIME]), ("ядро日本", [TIME])]) + "==WARNING== a\x1b[2Jb\n"
    capture = _parsed(text)
    assert [one.name for one in capture.launches] == [r"k\x1b[31mred\u202e", "ядро日本"]
    assert capture.notes == (r"ncu warned: a\x1b[2Jb",)
    assert r"Columns found: Kernel Name, a\x1b[2J." in _refused("Kernel Name,a\x1b[2J\nk,1\n")


def test_instances_follow_in_parentheses() -> None:
    """Of a metric with instances the value comes first."""
    assert _one(details([("k", [(READ_NAME, "byte", "12 (1: 5; 2: 7)")])])).metrics == {READ_NAME: 12.0}


def test_continental_numbers() -> None:
    """117.344 ns is 117,344 ns where the file has a decimal comma elsewhere."""
    rows: list[Metric] = [
        (TIME_NAME, "ns", "117.344"),
        ("dram__bytes.sum", "byte", "27.595.520"),
        (THROUGHPUT, "%", "65,77"),
    ]
    assert _one(details([("k", rows)])).metrics == {TIME_NAME: 117344e-9, "dram__bytes.sum": 27595520.0}


def test_a_single_whole_number_is_enough() -> None:
    """Nanoseconds are counted whole: 1,000 can only be a thousand."""
    assert _one(details([("k", [(TIME_NAME, "nsecond", "1,000")])])).metrics == {TIME_NAME: 1e-6}


def test_the_size_of_a_block_is_whole() -> None:
    """1,024 threads tell that 1,234 us are a thousand and more."""
    rows: list[Metric] = [("launch__block_size", "", "1,024"), (TIME_NAME, "us", "1,234")]
    assert _one(details([("k", rows)])).metrics == {TIME_NAME: 1234e-6}


def test_launches_beyond_the_thousandth() -> None:
    """Should a system set their numbers in groups, too."""
    text = details([("k", [TIME])] * 2).replace('\n"0","77"', '\n"1,024","77"').replace('\n"1","77"', '\n"1,025","77"')
    capture = _parsed(text)
    assert (len(capture.launches), capture.notes) == (2, ())


def test_a_raw_page_that_contradicts_itself() -> None:
    """Any of its columns tells, whatever is made of it."""
    text = raw({THROUGHPUT: "%", TIME_NAME: "ns"}, [("k", ("65.77", "4896")), ("l", ("6,70", "4896"))])
    assert "'65.77' in line 3 has a decimal point, '6,70' in line 4 a decimal comma" in _refused(text)


def test_a_value_that_is_no_number() -> None:
    """Line, metric and value are named."""
    said = _refused(details([("k", [(TIME_NAME, "us", "6.75"), (READ_NAME, "byte", "many")])]))
    assert said.startswith(f"f.csv:3: {READ_NAME}: 'many' is no number")


def test_mixed_with_the_output_of_the_program() -> None:
    """Messages and the program's own lines are no rows, nor its commas a header; the rest is counted."""
    kernel = "void f<float, 256>(int, char*)"
    text = (
        "==PROF== Connected to process 77 (/usr/bin/python3)\n"
        "epoch 1, loss 0.5, ok\n"
        '==PROF== Profiling "f" - 1: 0%....50%....100% - 8 passes\n'
        + line(*DETAILS)
        + row(0, TIME, kernel)
        + "done, 3\n\n"
        + '5" of, "tape\n'
        + row(1, TIME, "g")
        + "==WARNING== Found outstanding GPU clock reset\n"
        "==PROF== Disconnected from process 77\n"
    )
    capture = _parsed(text)
    assert [one.name for one in capture.launches] == [kernel, "g"]
    assert capture.passes == 8
    assert capture.notes == (
        "ncu warned: Found outstanding GPU clock reset",
        "Left out, for not of ncu's table: 2 lines below the header, first line 6.",
    )


_UNQUOTED = "ID,Process ID,Process Name,Kernel Name,Context,Stream,Metric Name,Metric Unit,Metric Value\n"


def test_a_table_without_quotes() -> None:
    """As a spreadsheet or pandas saves it: cells are quoted only where they need to be."""
    text = (
        f'{_UNQUOTED}0,77,python,"void f<float, 256>(int, char*)",1,7,{TIME_NAME},us,6.75\n'
        f"1,77,python,g,1,7,{TIME_NAME},us,1.50\n"
    )
    assert [one.name for one in _parsed(text).launches] == ["void f<float, 256>(int, char*)", "g"]


def test_two_runs_in_one_file() -> None:
    """Launch 0 of another process is another launch; of the same one it is the same, or the file is of two runs."""
    page = details([("k", [TIME])])
    assert len(_parsed(page + page.replace('"77"', '"78"')).launches) == 2
    assert len(_parsed(page + page).launches) == 1
    assert "Are these two runs in one file?" in _refused(page + details([("k", [(TIME_NAME, "ns", "5,896")])]))


def test_windows_line_ends() -> None:
    """CRLF ends a line as well."""
    assert len(_parsed(details([("k", [TIME]), ("l", [TIME])]).replace("\n", "\r\n")).launches) == 2


def test_lost_launches_are_told() -> None:
    """ncu numbers them without gaps."""
    text = line(*DETAILS) + row(0, TIME) + row(4, TIME)
    assert _parsed(text).notes == ("Not in the file: 3 of the launches with IDs from 0 to 4. Sums are without them.",)


def test_an_error_beside_kernels_is_told() -> None:
    """The run ended early: what was counted is shown with ncu's word."""
    text = details([("k", [TIME])]) + "==ERROR== The application returned an error code (9).\n"
    assert _parsed(text).notes == ("ncu reported an error: The application returned an error code (9).",)
    known = text.replace("The application returned an error code (9).", "ERR_NVGPUCTRPERM - no permission.")
    assert "NVreg_RestrictProfilingToAdminUsers=0" in _parsed(known).notes[0]


@pytest.mark.parametrize(
    ("text", "told"),
    [
        ("", ("f.csv: empty.", "--csv --page raw")),
        (
            "==ERROR== Option '--section x' did not match.\n==ERROR== Use --list-sections.\n",
            ("no kernels in it, for ncu failed: Option '--section x' did not match.; Use --list-sections.",),
        ),
        (
            "==WARNING== No kernels were profiled.\n",
            ("No kernels were profiled", "--target-processes all", "filter", "never used the GPU"),
        ),
        (line(*DETAILS), ("a header and no row of a kernel", "--target-processes all")),
        (
            "[77] python@127.0.0.1\n  kernel, Context 1, Stream 7\n    Section: Command line profiler metrics\n",
            ("text page", "--csv --page raw"),
        ),
        (
            "Kernel Name,time,flops\nsgemm,1,2\n",
            ("f.csv:1: not a table that ncu printed", "Columns found: Kernel Name, time, flops.", "made by hand"),
        ),
        ("kernel;time\nsgemm;1,5\n", ("no table of ncu in it; it begins with 'kernel;time'", "made by hand")),
    ],
)
def test_files_without_kernels(text: str, told: Sequence[str]) -> None:
    """The reason, ncu's own where it gave one, and what to do."""
    said = _refused(text)
    for part in told:
        assert part in said


@pytest.mark.parametrize("gone", [1, 5, 20, 60])
def test_a_file_that_was_cut_off(gone: int) -> None:
    """Wherever the end is missing in the last row: half a number is no number."""
    text = details([("k", [TIME]), ("l", [("dram__bytes.sum", "byte", "123456789")])])
    said = _refused(text[: -1 - gone])
    assert said.startswith("f.csv:3: ")
    assert "cut off or edited" in said


@pytest.mark.parametrize("after", [row(1, TIME), "==PROF== Disconnected from process 77\n"])
def test_a_row_that_another_line_broke_off(after: str) -> None:
    """Programs that share a stream may write into each other's lines."""
    said = _refused(line(*DETAILS) + row(0, TIME)[:-20] + "\n" + after)
    assert said.startswith("f.csv:2: a cell without its end. The file was cut off or edited")


_VALID = {
    "details": details([("k", [TIME]), ("l", [TIME])]),
    "raw": raw({READ_NAME: "byte", TIME_NAME: "ns"}, [("k", ("1", "2")), ("l", ("1", "2"))]),
    "summary": summary([("k", 7, [TIME]), ("l", 7, [TIME])]),
}


@pytest.mark.parametrize("printed", _VALID)
@pytest.mark.parametrize("column", ["Process ID", "Process Name", "Context", "Stream"])
def test_columns_that_say_nothing_of_a_number_may_be_left_out(printed: str, column: str) -> None:
    """People leave them out when they pass a table on."""
    whole = _parsed(_VALID[printed])
    fewer = _parsed(_VALID[printed].replace(f'"{column}"', '"x"'))
    assert [one.name for one in fewer.launches] == [one.name for one in whole.launches]


@pytest.mark.parametrize("column", ["ID", "Kernel Name", "Metric Unit"])
def test_what_tells_whose_a_number_is_must_be_there(column: str) -> None:
    """A table without it is made by hand, and its numbers may be in any unit."""
    said = _refused(details([("k", [TIME])]).replace(f'"{column}"', '"x"', 1))
    assert "made by hand" in said


def test_a_raw_page_without_units() -> None:
    """A value may be anything then."""
    text = line(*IDENTITY, TIME_NAME) + line(*identity(0), "4896")
    assert "f.csv:2: no row of units below the columns of line 1" in _refused(text)


@pytest.mark.parametrize(
    "text",
    [
        details([("k", [TIME, READ]), ("l", [TIME, READ])]),
        raw({TIME_NAME: "ns"}, [("k", ("4896",)), ("l", ("4896",))]),
        summary([("k", 2, [TIME]), ("l", 1, [TIME])]),
    ],
)
def test_a_launch_that_stands_there_twice(text: str) -> None:
    """As in a log that was appended to: it counts once, and that is told."""
    again = text + text
    assert [one.metrics for one in _parsed(again).launches] == [one.metrics for one in _parsed(text).launches]
    assert _parsed(again).notes == ("More than once in the file (same process and ID), counted once: 2 launches of 2.",)
    assert _parsed(text).notes == ()


def test_a_row_of_a_raw_page_that_stands_there_twice() -> None:
    """Likewise without a second header; with another value it is another run."""
    text = raw({TIME_NAME: "ns"}, [("k", ("4896",))])
    assert len(_parsed(text + line(*identity(0, "k"), "4896")).launches) == 1
    assert "Are these two runs in one file?" in _refused(text + line(*identity(0, "k"), "9896"))


def test_one_id_with_two_kernels() -> None:
    """Two files that were put together."""
    said = _refused(line(*DETAILS) + row(0, TIME, "f") + row(0, READ, "g"))
    assert "f.csv:3: launch 0 is 'g' here and 'f' in line 2" in said


def test_one_metric_with_two_values() -> None:
    """The same again is the same; another value is another run."""
    assert _one(line(*DETAILS) + row(0, TIME) + row(0, ("Duration", "us", "4.90"))).metrics == {TIME_NAME: 4896e-9}
    said = _refused(line(*DETAILS) + row(0, TIME) + row(0, ("Duration", "us", "5.90")))
    assert f"f.csv:3: {TIME_NAME} of launch 'kernel' is 5.90 us here and another value before" in said


def test_a_summary_without_invocations() -> None:
    """Nothing to multiply with."""
    said = _refused(summary([("a", 0, [TIME])]))
    assert "f.csv:2: a kernel with no invocations" in said
