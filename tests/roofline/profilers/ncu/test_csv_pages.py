"""Every page that ncu prints as CSV, to launches in base units; and what is refused, with line, reason and remedy."""

from __future__ import annotations

from pathlib import Path

import pytest

from roofline.files.decoding import ReadError
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


LIGHT, CHART, ACHIEVED = "GPU Speed Of Light Throughput", "GPU Speed Of Light Roofline Chart", "Achieved Value"


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


def test_rules_end_rows_early_and_late() -> None:
    """Under a header with columns of rules, rows of metrics are shorter, and rows of rules name no metric."""
    rules = ("Rule Name", "Rule Type", "Rule Description", "Estimated Speedup Type", "Estimated Speedup")
    text = (
        line(*DETAILS[:12], "Body Item Label", *DETAILS[12:], *rules)
        + line(*identity(0), "Speed Of Light", "", *TIME)[:-1]
        + ",\n"
        + line(*identity(0), "SpeedOfLight", "", "", "", "", "SOL", "OPT", 'Look at the "memory".', "", "")
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


def test_names_hold_nothing_that_a_terminal_obeys() -> None:
    """Nor do ncu's messages: escapes stand there. Letters of all scripts stay."""
    text = details([("k\x1b[31mred\u202e", [TIME]), ("ядро日本", [TIME])]) + "==WARNING== a\x1b[2Jb\n"
    capture = _parsed(text)
    assert [one.name for one in capture.launches] == [r"k\x1b[31mred\u202e", "ядро日本"]
    assert capture.notes == (r"ncu warned: a\x1b[2Jb",)


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


@pytest.mark.parametrize(
    ("rows", "metrics"),
    [
        # 2,000.00 Mbyte in 10,000.00 usecond: 2e9 byte in 0.010 s.
        ([("dram__bytes.sum", "Mbyte", "2,000.00"), (TIME_NAME, "usecond", "10,000.00")], (2e9, 0.01)),
        # Labels: Duration is the time, and of two Memory Throughputs one is the DRAM's rate.
        (
            [
                ("Memory Throughput", "%", "61.84"),
                ("Duration", "ns", "21,058,944"),
                ("Memory Throughput", "byte/s", "196,456,177,859.63"),
            ],
            (21058944e-9, 196456177859.63),
        ),
        ([(f"Duration ({TIME_NAME})", "us", "6.75")], (6.75e-6,)),
        ([(READ_NAME, "byte", "12 (1: 5; 2: 7)")], (12.0,)),
        # 117.344 ns is 117,344 ns where the file has a decimal comma elsewhere.
        (
            [(TIME_NAME, "ns", "117.344"), ("dram__bytes.sum", "byte", "27.595.520"), (THROUGHPUT, "%", "65,77")],
            (117344e-9, 27595520.0),
        ),
        # Nanoseconds and the threads of a block are counted whole: 1,000 can only be a thousand.
        ([(TIME_NAME, "nsecond", "1,000")], (1e-6,)),
        ([("launch__block_size", "", "1,024"), (TIME_NAME, "us", "1,234")], (1234e-6,)),
        # The same again is the same.
        ([TIME, ("Duration", "us", "4.90")], (4896e-9,)),
        # Up to the bounds a value is read, and 0 is 0, however it is written.
        *(([(READ_NAME, "byte", value)], (float(value),)) for value in ("1e30", "1e-30", "0e999")),
        # A value that can't be is missing.
        ([(TIME_NAME, "cycle", "12")], "its unit 'cycle' is not one of time"),
        ([(TIME_NAME, "", "12")], "ncu printed no unit"),
        ([(READ_NAME, "ns", "12")], "its unit 'ns' is not one of bytes"),
        ([(READ_NAME, "byte", "-12")], "ncu printed -12, which can't be"),
        ([(READ_NAME, "byte", "")], "ncu printed nothing"),
        *(([(READ_NAME, "byte", printed)], f"ncu printed {printed!r}") for printed in ("n/a", "nan", "(!) n/a", "inf")),
    ],
)
def test_values(rows: list[Metric], metrics: tuple[float, ...] | str) -> None:
    """In base units, in the language of the file; or why there is none, never 0.

    :param metrics: the values, or why the one value is missing.
    """
    launch = _one(details([("kernel", rows)]))
    if isinstance(metrics, str):
        assert (launch.metrics, launch.absent) == ({}, {rows[0][0]: metrics})
    else:
        assert tuple(launch.metrics.values()) == metrics


_TWO = details([("k", [TIME]), ("l", [TIME])])
_ONE_RAW = raw({TIME_NAME: "ns"}, [("k", ("4896",))])
_UNQUOTED = "ID,Process ID,Process Name,Kernel Name,Context,Stream,Metric Name,Metric Unit,Metric Value\n"
_TWICE = "More than once in the file (same process and ID), counted once:"


@pytest.mark.parametrize(
    ("text", "count", "notes"),
    [
        (_TWO.replace("\n", "\r\n"), 2, []),
        # Should a system set the numbers of launches in groups, too.
        (_TWO.replace('\n"0","77"', '\n"1,024","77"').replace('\n"1","77"', '\n"1,025","77"'), 2, []),
        # As a spreadsheet or pandas saves it: cells are quoted only where they need to be.
        (
            f'{_UNQUOTED}0,77,python,"f<float, 256>(int)",1,7,{TIME_NAME},us,6.75\n'
            f"1,77,python,g,1,7,{TIME_NAME},us,1.50\n",
            2,
            [],
        ),
        # Launch 0 of another process is another launch; of the same one it is the same, as in a log appended to.
        (_TWO + _TWO.replace('"77"', '"78"'), 4, []),
        (_TWO + _TWO, 2, [f"{_TWICE} 2 launches of 2."]),
        (_ONE_RAW + _ONE_RAW, 1, [f"{_TWICE} 1 launch of 1."]),
        (_ONE_RAW + line(*identity(0, "k"), "4896"), 1, [f"{_TWICE} 1 launch of 1."]),
        (summary([("k", 2, [TIME]), ("l", 1, [TIME])]) * 2, 2, [f"{_TWICE} 2 launches of 2."]),
        # ncu numbers launches without gaps.
        (
            line(*DETAILS) + row(0, TIME) + row(4, TIME),
            2,
            ["Not in the file: 3 of the launches with IDs from 0 to 4. Sums are without them."],
        ),
        # The run ended early.
        (
            _TWO + "==ERROR== The application returned an error code (9).\n",
            2,
            ["ncu reported an error: The application returned an error code (9)."],
        ),
    ],
)
def test_launches(text: str, count: int, notes: list[str]) -> None:
    """What was counted is shown, with what must be known of it."""
    capture = _parsed(text)
    assert (len(capture.launches), list(capture.notes)) == (count, notes)


_RUNS = "Are these two runs in one file?"
_NO_END = "no whole row under the 15 columns of line 1. The file was cut off or edited"
_CUT = details([("k", [TIME]), ("l", [("dram__bytes.sum", "byte", "123456789")])])
_BOUND = "in base units it is not 0 and not from 1e-30 to 1e+30."


@pytest.mark.parametrize(
    ("text", "place", "told"),
    [
        ("", "", "empty."),
        ("==ERROR== Option 'x'.\n==ERROR== Use --list.\n", "", "for ncu failed: Option 'x'.; Use --list."),
        ("==WARNING== No kernels were profiled.\n", "", "no kernels in it (ncu says: No kernels were profiled)"),
        (line(*DETAILS), "", "no kernels in it (a header and no row of a kernel)"),
        ("[77] python@127.0.0.1\n  kernel, Context 1\n    Section: Command line\n", "", "ncu's text page"),
        ("Kernel Name,time\nsgemm,1\n", "", "no table of ncu in it; it begins with 'Kernel Name,time'"),
        ("kernel;time\nsgemm;1,5\n", "", "no table of ncu in it; it begins with 'kernel;time'"),
        # A table without what tells whose a number is was made by hand.
        *(
            (_TWO.replace(f'"{column}"', '"x"', 1), "", "made by hand")
            for column in ("ID", "Kernel Name", "Metric Unit")
        ),
        # Half a number is no number, wherever the end is missing in the last row; nor is a row without its last cell.
        *((_CUT[: -1 - gone], "3:", "cut off or edited") for gone in (1, 5, 20, 60)),
        # Programs that share a stream may write into each other's lines.
        (line(*DETAILS) + row(0, TIME)[:-20] + "\n" + row(1, TIME), "2:", _NO_END),
        (line(*DETAILS) + row(0, TIME)[:-20] + "\n==PROF== Disconnected from process 77\n", "2:", _NO_END),
        (line(*IDENTITY, TIME_NAME) + line(*identity(0), "4896"), "2:", "no row of units below the columns of line 1"),
        (summary([("a", 0, [TIME])]), "2:", "a kernel with no invocations"),
        (_TWO + details([("k", [(TIME_NAME, "ns", "5,896")])]), "5:", _RUNS),
        (_ONE_RAW + line(*identity(0, "k"), "9896"), "4:", _RUNS),
        (line(*DETAILS) + row(0, TIME, "f") + row(0, READ, "g"), "3:", "launch 0 is 'g' here and 'f' in line 2"),
        (
            details([("kernel", [TIME, ("Duration", "us", "5.90")])]),
            "3:",
            f"{TIME_NAME} of launch 'kernel' is 5.90 us here and another value before",
        ),
        (
            raw({THROUGHPUT: "%", TIME_NAME: "ns"}, [("k", ("65.77", "4896")), ("l", ("6,70", "4896"))]),
            "",
            "'65.77' in line 3 has a decimal point, '6,70' in line 4 a decimal comma",
        ),
        (details([("k", [TIME, (READ_NAME, "byte", "many")])]), "3:", f"{READ_NAME}: 'many' is no number"),
        # Sums and quotients of such values are infinite, or 0.
        *(
            (details([("k", [TIME, (READ_NAME, unit, value)])]), "3:", _BOUND)
            for unit, value in (
                ("byte", "1e999"),
                ("byte", "1" + "0" * 308),
                ("Gbyte", "1e22"),
                ("byte", "1e-31"),
            )
        ),
    ],
)
def test_what_is_refused(text: str, place: str, told: str) -> None:
    """With the line, what is wrong there, and, shortened, what stands there."""
    said = _refused(text)
    assert said.startswith(f"f.csv:{place}")
    assert told in said
    assert len(said) < 700
