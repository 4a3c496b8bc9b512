"""What ``nsys stats`` prints, in every shape that it has."""

from __future__ import annotations

from pathlib import Path

import pytest

from roofline.files.decoding import ReadError
from roofline.profilers.nsys.stats import read_stats
from roofline.profilers.timeline import OK, CopyRow, KernelRow, Section, State, Timeline

PATH = Path("stats.txt")

CSV = """Generating SQLite file a.sqlite from a.nsys-rep
Processing [a.sqlite] with [/opt/nsys/reports/cuda_gpu_kern_sum.py]...
Time (%),Total Time (ns),Instances,Avg (ns),Med (ns),Min (ns),Max (ns),StdDev (ns),Name
75.0,17880191,1644,10876.0,12192.0,7328,15072,81.2,ampere_sgemm_32x32_sliced1x4_tn
25.0,5960000,2,2980000.0,2980000.0,2000000,3960000,0.5,"void f<float, 256>(int, char *)"

Processing [a.sqlite] with [/opt/nsys/reports/cuda_gpu_mem_time_sum.py]...
Time (%),Total Time (ns),Count,Avg (ns),Med (ns),Min (ns),Max (ns),StdDev (ns),Operation
71.2,848963,1,848963.0,848963.0,848963,848963,0.0,[CUDA memcpy Device-to-Host]
28.8,342848,2,171424.0,171424.0,169856,172992,2217.5,[CUDA memcpy Host-to-Device]

Processing [a.sqlite] with [/opt/nsys/reports/cuda_gpu_mem_size_sum.py]...
Total (MB),Count,Avg (MB),Med (MB),Min (MB),Max (MB),StdDev (MB),Operation
8.389,2,4.194,4.194,4.194,4.194,0.000,[CUDA memcpy Host-to-Device]
4.194,1,4.194,4.194,4.194,4.194,0.000,[CUDA memcpy Device-to-Host]
"""

COLUMNS = """
 ** CUDA GPU Kernel Summary (cuda_gpu_kern_sum):

 Time (%)  Total Time (ns)  Instances  Avg (ns)     Med (ns)     Min (ns)   Max (ns)   StdDev (ns)               Name
 --------  ---------------  ---------  -----------  -----------  ---------  ---------  -----------  -------------------------------
     75.0       17,880,191      1,644     10,876.0     12,192.0      7,328     15,072         81.2  ampere_sgemm_32x32_sliced1x4_tn
     25.0        5,960,000          2  2,980,000.0  2,980,000.0  2,000,000  3,960,000          0.5  void f<float, 256>(int, char *)

 ** CUDA GPU MemOps Summary (by Time) (cuda_gpu_mem_time_sum):

 Time (%)  Total Time (ns)  Count  Avg (ns)   Med (ns)   Min (ns)  Max (ns)  StdDev (ns)           Operation
 --------  ---------------  -----  ---------  ---------  --------  --------  -----------  ----------------------------
     71.2          848,963      1  848,963.0  848,963.0   848,963   848,963          0.0  [CUDA memcpy Device-to-Host]
     28.8          342,848      2  171,424.0  171,424.0   169,856   172,992      2,217.5  [CUDA memcpy Host-to-Device]

 ** CUDA GPU MemOps Summary (by Size) (cuda_gpu_mem_size_sum):

 Total (MB)  Count  Avg (MB)  Med (MB)  Min (MB)  Max (MB)  StdDev (MB)           Operation
 ----------  -----  --------  --------  --------  --------  -----------  ----------------------------
      8.389      2     4.194     4.194     4.194     4.194        0.000  [CUDA memcpy Host-to-Device]
      4.194      1     4.194     4.194     4.194     4.194        0.000  [CUDA memcpy Device-to-Host]
"""  # noqa: E501 (tables are as wide as nsys prints them)

BOX = """
 ** CUDA GPU Kernel Summary (cuda_gpu_kern_sum):

+----------+-----------------+-----------+-----------+-----------+----------+----------+-------------+------+
| Time (%) | Total Time (ns) | Instances | Avg (ns)  | Med (ns)  | Min (ns) | Max (ns) | StdDev (ns) | Name |
+----------+-----------------+-----------+-----------+-----------+----------+----------+-------------+------+
|     75.0 |        17880191 |      1644 |   10876.0 |   12192.0 |     7328 |    15072 |        81.2 | ampere_sgemm_32x32_sliced1x4_tn |
|     25.0 |         5960000 |         2 | 2980000.0 | 2980000.0 |  2000000 |  3960000 |         0.5 | void f<float, 256>(int, char *) |
+----------+-----------------+-----------+-----------+-----------+----------+----------+-------------+------+

### CUDA GPU MemOps Summary (by Time) (cuda_gpu_mem_time_sum):

 | Time (%) | Total Time (ns) | Count | Avg (ns) | Med (ns) | Min (ns) | Max (ns) | StdDev (ns) | Operation |
 | -------- | --------------- | ----- | -------- | -------- | -------- | -------- | ----------- | --------- |
 | 71.2     | 848963          | 1     | 848963.0 | 848963.0 | 848963   | 848963   | 0.0         | [CUDA memcpy Device-to-Host] |
 | 28.8     | 342848          | 2     | 171424.0 | 171424.0 | 169856   | 172992   | 2217.5      | [CUDA memcpy Host-to-Device] |

### CUDA GPU MemOps Summary (by Size) (cuda_gpu_mem_size_sum):

 | Total (MB) | Count | Avg (MB) | Med (MB) | Min (MB) | Max (MB) | StdDev (MB) | Operation |
 | ---------- | ----- | -------- | -------- | -------- | -------- | ----------- | --------- |
 | 8.389      | 2     | 4.194    | 4.194    | 4.194    | 4.194    | 0.000       | [CUDA memcpy Host-to-Device] |
 | 4.194      | 1     | 4.194    | 4.194    | 4.194    | 4.194    | 0.000       | [CUDA memcpy Device-to-Host] |
"""  # noqa: E501 (tables are as wide as nsys prints them)

OLD = """
CUDA API Statistics:

 Time(%)  Total Time (ns)  Num Calls  Average (ns)  Minimum (ns)  Maximum (ns)  StdDev (ns)     Name
 -------  ---------------  ---------  ------------  ------------  ------------  -----------  ----------
    62.0      197,225,738        401     491,834.8       386,695       592,751     96,647.5  cudaMalloc

CUDA Kernel Statistics:

 Time(%)  Total Time (ns)  Instances    Average      Minimum     Maximum                       Name
 -------  ---------------  ---------  ------------  ----------  ----------  -------------------------------------------
    60.0          3263784          1     3263784.0     3263784     3263784  row_sums(const float *, float *, unsigned…
    40.0          2176528          1     2176528.0     2176528     2176528  column_sums(const float *, float *)

CUDA Memory Operation Statistics (by time):

 Time(%)  Total Time (ns)  Operations  Average  Minimum  Maximum      Operation
 -------  ---------------  ----------  -------  -------  -------  ------------------
   100.0             9216           2   4608.0     4512     4704  [CUDA memcpy HtoD]

CUDA Memory Operation Statistics (by size in KiB):

 Total   Operations  Average  Minimum  Maximum      Operation
 ------  ----------  -------  -------  -------  ------------------
 64.000           2   32.000   32.000   32.000  [CUDA memcpy HtoD]
"""


WHOLE = {
    "kernels": {
        "Time (%)": "100.0",
        "Total Time (ns)": "1500",
        "Instances": "3",
        "Avg (ns)": "500.0",
        "Min (ns)": "400",
        "Max (ns)": "600",
        "Name": "k",
    },
    "copies by time": {
        "Time (%)": "100.0",
        "Total Time (ns)": "1500",
        "Count": "3",
        "Avg (ns)": "500.0",
        "Min (ns)": "400",
        "Max (ns)": "600",
        "Operation": "[CUDA memset]",
    },
    "copies by size": {
        "Total (MB)": "1.5",
        "Count": "3",
        "Avg (MB)": "0.5",
        "Min (MB)": "0.4",
        "Max (MB)": "0.6",
        "Operation": "[CUDA memset]",
    },
}
"""The columns that each table has in every version, with one row."""


def _table(what: str, without: str | None = None) -> str:
    columns = {name: value for name, value in WHOLE[what].items() if name != without}
    return f"{','.join(columns)}\n{','.join(columns.values())}\n"


def read(text: str) -> Timeline:
    return read_stats(PATH, text)


@pytest.mark.parametrize("text", [CSV, COLUMNS, BOX], ids=["csv", "columns", "box"])
def test_the_same_in_every_shape(text: str) -> None:
    """Names with commas and brackets, thousands in groups, times in nanoseconds, sizes in 10**6 byte."""
    content = read(text)
    gemm, other = content.kernels
    assert gemm == KernelRow(
        name="ampere_sgemm_32x32_sliced1x4_tn",
        instances=1644,
        total_s=pytest.approx(17.880191e-3),
        avg_s=pytest.approx(17.880191e-3 / 1644),
        med_s=pytest.approx(12.192e-6),
        min_s=pytest.approx(7.328e-6),
        max_s=pytest.approx(15.072e-6),
    )
    assert (other.name, other.instances) == ("void f<float, 256>(int, char *)", 2)
    assert content.copies == (
        CopyRow(kind="Device-to-Host", count=1, total_s=pytest.approx(848.963e-6), byte=pytest.approx(4.194e6)),
        CopyRow(kind="Host-to-Device", count=2, total_s=pytest.approx(342.848e-6), byte=pytest.approx(8.389e6)),
    )
    assert content.gpu_time_s == pytest.approx(23.840191e-3)
    assert content.sections == {"kernels": OK, "memcpy": OK}
    assert content.state == "ok"


def test_what_early_versions_print() -> None:
    """Other headings, averages without a unit of their own, sizes whose unit stands in the title, names cut short."""
    content = read(OLD)
    assert [(row.name[:8], row.instances, row.total_s) for row in content.kernels] == [
        ("row_sums", 1, pytest.approx(3.263784e-3)),
        ("column_s", 1, pytest.approx(2.176528e-3)),
    ]
    assert content.kernels[0].min_s == pytest.approx(3.263784e-3)
    assert content.kernels[0].med_s is None
    assert content.copies == (
        CopyRow(kind="Host-to-Device", count=2, total_s=pytest.approx(9.216e-6), byte=pytest.approx(65536.0)),
    )
    assert content.notes[0].startswith("nsys cut long names")


_HEADER = "Time (%),Total Time ({0}),Instances,Avg ({0}),Min ({0}),Max ({0}),Name\n"


@pytest.mark.parametrize(
    ("unit", "second"),
    [("us", 1e-6), ("\u00b5s", 1e-6), ("ms", 1e-3), ("s", 1.0), ("nsec", 1e-9), ("fortnights", None)],
)
def test_units_are_those_of_the_header(unit: str, second: float | None) -> None:
    """``nsys stats --timeunit`` changes them. An unknown one fails, rather than be taken for nanoseconds."""
    content = read(_HEADER.format(unit) + "100.0,3.5,2,1.75,1.5,2.0,k\n")
    assert content.gpu_time_s == (None if second is None else pytest.approx(3.5 * second))
    assert content.sections["kernels"].state == ("failed" if second is None else "ok")


SKIPPED = "SKIPPED: x.sqlite does not contain CUDA kernel data."
FAILURES = (
    "ERROR: Report 'cuda_gpu_kern_sum' failed: database disk image is malformed",
    "FAILED: kernel summary",
    "Traceback (most recent call last):",
)
BEGIN, _, TAIL = CSV.partition("Time (%)")
WITHOUT_KERNELS = f"Processing {TAIL.partition('Processing ')[2]}"
NO_TABLE = "no table of kernels in it."
EMPTY = "no kernel was recorded: nsys's table of them is empty."
NOT_PRINTED = "[a.sqlite] with [cuda_gpu_kern_sum.py]..."


def step(number: int, report: str) -> str:
    """What ``nsys profile --stats=true`` says before each of its seven steps."""
    return f"[{number}/7] Executing '{report}' stats report\n"


COPIED = COLUMNS.partition(" ** CUDA GPU MemOps Summary (by Time) (cuda_gpu_mem_time_sum):\n")[2].partition(" **")[0]
STEPS = step(5, "cuda_gpu_kern_sum") + step(6, "cuda_gpu_mem_time_sum")


@pytest.mark.parametrize(
    ("text", "state", "reason", "whole", "error"),
    [
        (f"Processing [x.sqlite] ...\n{SKIPPED}\n", "skipped", SKIPPED, "skipped", "empty_capture"),
        *((f"{BEGIN}{failure}\n\n{WITHOUT_KERNELS}", "failed", failure, "partial", None) for failure in FAILURES),
        # Its progress and then nothing: it wasn't printed.
        (f"Processing {NOT_PRINTED}\n\n{WITHOUT_KERNELS}", "skipped", NO_TABLE, "partial", None),
        # A folder may be called kernels.
        (
            "SKIPPED: /kernels/x.sqlite does not contain GPU memory data.\n",
            "skipped",
            NO_TABLE,
            "skipped",
            None,
        ),
        # A summary that has no kernel is skipped by nsys: this one was cut off.
        (
            _table("kernels").splitlines()[0],
            "failed",
            "line 1: a header of kernels and no row under it",
            "failed",
            None,
        ),
        # nsys made the summary: no kernel was recorded, and to make it again is no advice.
        (STEPS + COPIED, "skipped", EMPTY, "partial", "empty_capture"),
        (f"epoch 1\n{STEPS}Generated:\n    p.nsys-rep\n", "skipped", EMPTY, "skipped", "empty_capture"),
        # Whether there were any isn't known.
        (
            step(3, "osrt_sum") + step(5, "cuda_gpu_kern_sum"),
            "failed",
            "the print ends in line 2, where nsys makes the table of kernels.",
            "failed",
            None,
        ),
    ],
)
def test_no_kernels(text: str, state: State, reason: str, whole: State, error: str | None) -> None:
    """NSYS-04: no row, no time of 0, and the section says why. The copies have their numbers."""
    content = read(text)
    assert (content.kernels, content.gpu_time_s, content.state, content.error) == ((), None, whole, error)
    assert content.sections["kernels"].state == state
    assert str(content.sections["kernels"].reason).startswith(reason)
    assert [row.count for row in content.copies] == ([1, 2] if "memcpy" in text else [])


def test_tables_below_steps_are_read() -> None:
    """As without them."""
    reports = ("cuda_gpu_kern_sum", "cuda_gpu_mem_time_sum", "cuda_gpu_mem_size_sum")
    parts = [
        step(5 + place, report) + "\n" + text.partition("\n")[2]
        for place, (report, text) in enumerate(zip(reports, CSV.partition("\n")[2].split("\n\n"), strict=True))
    ]
    content, whole = read("\n\n".join(parts)), read(CSV)
    assert (content.kernels, content.copies, content.sections) == (whole.kernels, whole.copies, whole.sections)
    assert content.error is None


def test_other_reports_are_left_alone() -> None:
    """API calls have the columns of kernels but for one word: they aren't kernels."""
    other = (
        "Processing [a.sqlite] with [/opt/reports/cuda_api_sum.py]...\n"
        "Time (%),Total Time (ns),Num Calls,Avg (ns),Med (ns),Min (ns),Max (ns),StdDev (ns),Name\n"
        "81.2,131012864,1,131012864.0,131012864.0,131012864,131012864,0.0,cudaMalloc\n\n"
    )
    content = read(other + CSV)
    assert [row.instances for row in content.kernels] == [1644, 2]
    assert content.notes[0] == "not read, for only kernels and copies are taken from a print: cuda_api_sum"
    with pytest.raises(ReadError, match="no summary of kernels or copies in it, only cuda_api_sum"):
        read(other)


def test_each_table_may_stand_alone() -> None:
    """Kernels are a whole file; sizes alone have no times, and times alone no sizes."""
    content = read(_table("kernels"))
    (kernel,) = content.kernels
    assert (kernel.instances, kernel.total_s, kernel.med_s) == (3, pytest.approx(1.5e-6), None)
    assert (content.state, content.sections["memcpy"].state) == ("ok", "skipped")
    sizes = read(_table("copies by size")).copies
    assert sizes == (CopyRow(kind="memset", count=3, total_s=None, byte=pytest.approx(1.5e6)),)
    times = read(_table("copies by time")).copies
    assert times == (CopyRow(kind="memset", count=3, total_s=pytest.approx(1.5e-6), byte=None),)


@pytest.mark.parametrize("what", WHOLE)
def test_figures_that_early_versions_dont_print_may_be_there(what: str) -> None:
    """Median and standard deviation, of which each may lack."""
    unit = "MB" if what == "copies by size" else "ns"
    for name, value in ((f"Med ({unit})", "0.5" if unit == "MB" else "500.0"), (f"StdDev ({unit})", "0.1")):
        header, row = _table(what).splitlines()
        assert OK in read(f"{name},{header}\n{value},{row}\n").sections.values()


_NO_ROW = "no rows of the table of kernels: line"


@pytest.mark.parametrize(
    ("line", "reason"),
    [
        ("20.5,1788", f"{_NO_ROW} 5"),
        ("20.5,1788,two,10876.0,12192.0,7328,15072,81.2,k", f"{_NO_ROW} 5"),
        ("20.5,1788,0,10876.0,12192.0,7328,15072,81.2,k", f"{_NO_ROW} 5"),
        ("20.5,-1788,1,10876.0,12192.0,7328,15072,81.2,k", f"{_NO_ROW} 5"),
        ("20.5,1788,1,nan,12192.0,7328,15072,81.2,k", f"{_NO_ROW} 5"),
        ("20.5,1.788,5,1,10876.0,12192.0,7328,15072,81.2,k", f"{_NO_ROW} 5"),
        ("20.5,1788,1,10876.0,12192.0,7328,15072,81.2,", f"{_NO_ROW} 5"),
        ('epoch 1, loss "0.5', f"{_NO_ROW} 5"),
        ("[3/7] Executing report\nWARNING: slow disk", None),
    ],
)
def test_a_line_that_is_no_row_makes_the_table_partial(line: str, reason: str | None) -> None:
    """Cut off, or of the program's own output: the others count, and the line is named. nsys's progress is no row."""
    content = read(CSV.replace("25.0,5960000", f"{line}\n25.0,5960000"))
    assert [row.instances for row in content.kernels] == [1644, 2]
    assert content.sections["kernels"] == (OK if reason is None else Section(state="partial", reason=reason))


@pytest.mark.parametrize(
    ("what", "unit", "row", "below"),
    [
        ("copies by size", "MB", "0.000,2,0.000,0.000,0.000", "below 500 B"),
        ("copies by size", "B", "0,2,0,0,0", None),
        ("kernels", "s", "100.0,0.000,3,0.000,0.000,0.000", "below 500 \u00b5s"),
    ],
)
def test_figures_that_are_rounded_to_0(what: str, unit: str, row: str, below: str | None) -> None:
    """Two copies of a few bytes stand there as 0.000 MB: less than 500 B together, and not 0."""
    header, values = _table(what).splitlines()
    content = read(
        f"{header.replace('(MB)', f'({unit})').replace('(ns)', f'({unit})')}\n{row},{values.split(',')[-1]}\n"
    )
    section = content.sections["kernels" if what == "kernels" else "memcpy"]
    assert (section.state, (below or "") in str(section.reason)) == ("partial" if below else "ok", True)
    if what == "copies by size":
        assert content.copies == (CopyRow(kind="memset", count=2, total_s=None, byte=None if below else 0.0),)


def test_two_summaries_of_one_kind_are_refused() -> None:
    """Those of two runs, one after the other: their sum would be of neither."""
    with pytest.raises(ReadError, match=r"^stats\.txt:18: a second table of kernels; the first is in line 3\."):
        read(CSV + CSV)


@pytest.mark.parametrize(
    ("text", "told"),
    [
        ("", "stats.txt: empty."),
        ("\n \n", "stats.txt: empty."),
        ('{"traceEvents": []}', "stats.txt:1: nothing that nsys stats prints"),
        ("kernel,time\na,3\n", "stats.txt:1: nothing that nsys stats prints"),
        ("Time (%),Total Time (ns),Instances,Mood,Name\n100,3,1,good,a\n", "stats.txt:1: nothing that nsys stats"),
        ("[OS Runtime Summary]\nnothing\n", "stats.txt:1: nothing that nsys stats prints"),
        ("{'loss': 0.5}\nnothing\n", "stats.txt:1: nothing that nsys stats prints"),
        ("[3/7] Executing 'osrt_sum' stats report\nnothing\n", "no summary of kernels or copies in it, only osrt_sum"),
    ],
)
def test_other_files_are_refused(text: str, told: str) -> None:
    """With what to give."""
    with pytest.raises(ReadError) as refused:
        read(text)
    assert told in str(refused.value)
