"""What ``nsys stats`` prints, in every shape that it has."""

from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from roofline.files.text import ReadError
from roofline.profilers.nsys.stats import read_stats
from roofline.profilers.timeline import OK, CopyRow, KernelRow, Section, Timeline

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


@pytest.mark.parametrize(
    ("unit", "factor"), [("us", 1e-6), ("\u00b5s", 1e-6), ("ms", 1e-3), ("s", 1.0), ("nsec", 1e-9)]
)
def test_units_are_those_of_the_header(unit: str, factor: float) -> None:
    """``nsys stats --timeunit`` changes them."""
    header = f"Time (%),Total Time ({unit}),Instances,Avg ({unit}),Min ({unit}),Max ({unit}),Name\n"
    content = read(f"{header}100.0,3.5,2,1.75,1.5,2.0,k\n")
    assert content.gpu_time_s == pytest.approx(3.5 * factor)


def test_an_unknown_unit_is_no_number() -> None:
    """It fails, rather than be taken for nanoseconds."""
    header = "Time (%),Total Time (fortnights),Instances,Avg (ns),Min (ns),Max (ns),Name\n"
    content = read(f"{header}100.0,3.5,2,1.75,1.5,2.0,k\n")
    assert (content.gpu_time_s, content.sections["kernels"].state) == (None, "failed")


def test_a_skipped_report_is_no_kernel() -> None:
    """NSYS-04: no row, no time of 0, and the section says that it was skipped."""
    content = read("Processing [x.sqlite] ...\nSKIPPED: x.sqlite does not contain CUDA kernel data.\n")
    assert content.kernels == ()
    assert content.gpu_time_s is None
    assert content.sections["kernels"] == Section(
        state="skipped", reason="SKIPPED: x.sqlite does not contain CUDA kernel data."
    )
    assert content.state == "skipped"


@pytest.mark.parametrize(
    "failure",
    [
        "ERROR: Report 'cuda_gpu_kern_sum' failed: database disk image is malformed",
        "FAILED: kernel summary",
        "Traceback (most recent call last):",
    ],
)
def test_a_report_that_failed_beside_one_that_didnt(failure: str) -> None:
    """NSYS-04: the copies have their numbers, the kernels' time is null, the whole is partial."""
    head, _, tail = CSV.partition("Time (%)")
    content = read(f"{head}{failure}\n\nProcessing {tail.partition('Processing ')[2]}")
    assert content.gpu_time_s is None
    assert content.sections["kernels"] == Section(state="failed", reason=failure)
    assert [row.count for row in content.copies] == [1, 2]
    assert content.state == "partial"


def test_a_report_that_ends_without_a_word() -> None:
    """Its progress and then nothing: it wasn't printed, and the way to print it is told."""
    head = "Processing [a.sqlite] with [cuda_gpu_kern_sum.py]...\n\n"
    content = read(f"{head}Processing {CSV.split('Processing ')[2]}")
    assert content.sections["kernels"].state == "skipped"
    assert content.state == "partial"


def test_the_words_of_a_message_and_not_of_its_path_tell_what_it_is_about() -> None:
    """A folder may be called kernels."""
    content = read("SKIPPED: /kernels/x.sqlite does not contain GPU memory data.\n")
    assert content.sections["kernels"].state == "skipped"
    assert content.sections["kernels"].reason is not None
    assert content.sections["kernels"].reason.startswith("no table of kernels in it.")
    assert content.sections["memcpy"].reason == "SKIPPED: /kernels/x.sqlite does not contain GPU memory data."


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


def test_a_section_that_wasnt_asked_for_is_skipped() -> None:
    """Kernels alone are a whole file; the copies are null, with the command that prints them."""
    content = read(_table("kernels"))
    assert content.state == "ok"
    assert content.sections["memcpy"].state == "skipped"
    assert content.kernels[0] == KernelRow(
        name="k",
        instances=3,
        total_s=pytest.approx(1.5e-6),
        avg_s=pytest.approx(5e-7),
        min_s=pytest.approx(4e-7),
        max_s=pytest.approx(6e-7),
    )


def test_sizes_alone_have_no_times() -> None:
    """And times alone no sizes."""
    sizes = read(_table("copies by size")).copies
    assert sizes == (CopyRow(kind="memset", count=3, total_s=None, byte=pytest.approx(1.5e6)),)
    times = read(_table("copies by time")).copies
    assert times == (CopyRow(kind="memset", count=3, total_s=pytest.approx(1.5e-6), byte=None),)


@pytest.mark.parametrize(
    "line",
    [
        "20.5,1788",
        "20.5,1788,two,10876.0,12192.0,7328,15072,81.2,k",
        "20.5,1788,0,10876.0,12192.0,7328,15072,81.2,k",
        "20.5,-1788,1,10876.0,12192.0,7328,15072,81.2,k",
        "20.5,1788,1,nan,12192.0,7328,15072,81.2,k",
        "20.5,1.788,5,1,10876.0,12192.0,7328,15072,81.2,k",
        "20.5,1788,1,10876.0,12192.0,7328,15072,81.2,",
        'epoch 1, loss "0.5',
    ],
)
def test_a_line_that_is_no_row_makes_the_table_partial(line: str) -> None:
    """Cut off, or of the program's own output: the others count, and the line is named."""
    content = read(CSV.replace("25.0,5960000", f"{line}\n25.0,5960000"))
    assert [row.instances for row in content.kernels] == [1644, 2]
    assert content.sections["kernels"] == Section(state="partial", reason="no rows of the table of kernels: line 5")


def test_progress_in_between_is_no_row_and_no_end() -> None:
    """nsys's own words may come between two rows."""
    content = read(CSV.replace("25.0,5960000", "[3/7] Executing report\nWARNING: slow disk\n25.0,5960000"))
    assert [row.instances for row in content.kernels] == [1644, 2]
    assert content.sections["kernels"] == OK


def test_a_header_without_a_row_fails() -> None:
    """A summary that has no kernel is skipped by nsys; this one was cut off."""
    content = read(_table("kernels").splitlines()[0])
    assert content.sections["kernels"] == Section(
        state="failed", reason="line 1: a header of kernels and no row under it"
    )
    assert content.gpu_time_s is None


def test_two_summaries_of_one_kind_are_refused() -> None:
    """Those of two runs, one after the other: their sum would be of neither."""
    with pytest.raises(ReadError) as refused:
        read(CSV + CSV)
    assert str(refused.value) == (
        "stats.txt:18: a second table of kernels; the first is in line 3. Give the summaries of one report at a time."
    )


@pytest.mark.parametrize(
    ("text", "told"),
    [
        ("", "stats.txt: empty."),
        ("\n \n", "stats.txt: empty."),
        ('{"traceEvents": []}', "stats.txt:1: JSON. A trace of torch.profiler is read by roofline trace"),
        ('"ID","Kernel Name","Metric Name"\n', "by its words of ncu, not of nsys. It is read by roofline ncu."),
        ("==PROF== Connected to process 1\n", "by its words of ncu"),
        ("kernel,time\na,3\n", "stats.txt:1: nothing that nsys stats prints"),
        ("Time (%),Total Time (ns),Instances,Mood,Name\n100,3,1,good,a\n", "Tables made by hand aren't read."),
        ("hello", "It begins with 'hello'."),
    ],
)
def test_other_files_are_refused(text: str, told: str) -> None:
    """With what they seem to be, and what to give."""
    with pytest.raises(ReadError) as refused:
        read(text)
    assert told in str(refused.value)


@pytest.mark.parametrize("what", WHOLE)
def test_figures_that_early_versions_dont_print_may_be_there(what: str) -> None:
    """Median and standard deviation, of which each may lack."""
    unit = "MB" if what == "copies by size" else "ns"
    for name, value in ((f"Med ({unit})", "0.5" if unit == "MB" else "500.0"), (f"StdDev ({unit})", "0.1")):
        header, row = _table(what).splitlines()
        assert OK in read(f"{name},{header}\n{value},{row}\n").sections.values()


def outcome(text: str) -> Timeline | str:
    """What was read, or why nothing was."""
    try:
        return read(text)
    except ReadError as error:
        return str(error)


@settings(max_examples=80, deadline=None)
@given(data=st.data())
def test_changed_text_gives_no_traceback_and_no_silent_0(data: st.DataObject) -> None:
    """Lines and characters changed anywhere: rows that add up, or a reason."""
    lines = data.draw(st.sampled_from([CSV, COLUMNS, BOX, OLD])).splitlines()
    for _ in range(data.draw(st.integers(1, 6))):
        place = data.draw(st.integers(0, len(lines) - 1))
        line = lines[place]
        cut = data.draw(st.integers(0, len(line)))
        lines[place] = line[:cut] + data.draw(st.text(max_size=4)) + line[cut + data.draw(st.integers(0, 3)) :]
    content = outcome("\n".join(lines))
    if isinstance(content, str):
        assert content.startswith("stats.txt")
        return
    assert all(row.instances > 0 and row.total_s >= 0 for row in content.kernels)
    assert (content.gpu_time_s is None) == (content.kernels == ())
    for section in content.sections.values():
        assert (section.reason is None) == (section.state == "ok")


HEADER = "Time (%),Total Time (ns),Instances,Avg (ns),Med (ns),Min (ns),Max (ns),StdDev (ns),Name\n"


def test_a_table_cut_off_between_two_rows_is_partial() -> None:
    """Its own shares tell that rows are missing; those that are there would have 100 %."""
    section = read_stats(PATH, f"{HEADER}75.0,600,3,200.0,200.0,100,300,10.0,f\n").sections["kernels"]
    assert section.state == "partial"
    assert "adds up to 75, not 100" in str(section.reason)


def test_rounded_shares_are_whole() -> None:
    """Each of many rows may be off by half of the last digit."""
    rows = "".join(f"3.3,100,1,100.0,100.0,100,100,0.0,k{place}\n" for place in range(30))
    assert read_stats(PATH, HEADER + rows).sections["kernels"] == OK


@pytest.mark.parametrize("row", ["999999999999999999,3", "600,999999999999999999"])
def test_figures_that_cant_be(row: str) -> None:
    """Thirty years of time, more launches than were ever made: told by the line, not shown."""
    content = read_stats(PATH, f"{HEADER}100.0,{row},200.0,200.0,100,300,10.0,f\n")
    assert content.kernels == ()
    assert content.sections["kernels"] == Section(state="failed", reason="no rows of the table of kernels: line 2")


def step(number: int, report: str) -> str:
    """What ``nsys profile --stats=true`` says before each of its seven steps."""
    return f"[{number}/7] Executing '{report}' stats report\n"


COPIED = "".join(COLUMNS.partition(" ** CUDA GPU MemOps Summary (by Time) (cuda_gpu_mem_time_sum):\n")[2]).partition(
    " **"
)[0]


@pytest.mark.parametrize(
    "text",
    [
        step(5, "cuda_gpu_kern_sum") + step(6, "cuda_gpu_mem_time_sum") + COPIED,
        "epoch 1\n" + step(5, "cuda_gpu_kern_sum") + step(6, "cuda_gpu_mem_time_sum") + "Generated:\n    p.nsys-rep\n",
        step(7, "cuda_gpu_kern_sum"),
    ],
)
def test_an_empty_summary_of_kernels(text: str) -> None:
    """nsys made it: no kernel was recorded, and to make it again is no advice."""
    content = read(text)
    assert (content.error, content.gpu_time_s) == ("empty_capture", None)
    section = content.sections["kernels"]
    assert section.state == "skipped"
    assert str(section.reason).startswith("no kernel was recorded")
    assert "cuda_gpu_kern_sum" not in str(section.reason)
    assert [row.count for row in content.copies] == ([1, 2] if COPIED in text else [])


def test_a_print_that_ends_where_the_kernels_begin() -> None:
    """Whether there were any isn't known: nsys says which step of how many it was."""
    content = read(step(3, "osrt_sum") + step(5, "cuda_gpu_kern_sum"))
    assert content.sections["kernels"].state == "failed"
    assert content.error is None


def test_tables_below_steps_are_read() -> None:
    """As without them."""
    kernels, times, sizes = CSV.partition("\n")[2].split("\n\n")
    reports = ("cuda_gpu_kern_sum", "cuda_gpu_mem_time_sum", "cuda_gpu_mem_size_sum")
    parts = [
        step(5 + place, report) + "\n" + text.partition("\n")[2]
        for place, (report, text) in enumerate(zip(reports, (kernels, times, sizes), strict=True))
    ]
    content, whole = read("\n\n".join(parts)), read(CSV)
    assert (content.kernels, content.copies, content.sections) == (whole.kernels, whole.copies, whole.sections)
    assert content.error is None


def test_sizes_that_are_rounded_to_0() -> None:
    """Two copies of a few bytes stand there as 0.000 MB: less than 500 B together, and not 0."""
    content = read(_table("copies by size").replace("1.5,3,0.5,0.4,0.6", "0.000,2,0.000,0.000,0.000"))
    assert content.copies == (CopyRow(kind="memset", count=2, total_s=None, byte=None),)
    section = content.sections["memcpy"]
    assert (section.state, "below 500 B" in str(section.reason)) == ("partial", True)
    exact = read(_table("copies by size").replace("(MB)", "(B)").replace("1.5,3,0.5,0.4,0.6", "0,2,0,0,0"))
    assert (exact.copies[0].byte, exact.sections["memcpy"]) == (0.0, OK)


def test_times_that_are_rounded_to_0() -> None:
    """Likewise in seconds."""
    text = _table("kernels").replace("(ns)", "(s)").replace("1500,3,500.0,400,600", "0.000,3,0.000,0.000,0.000")
    section = read(text).sections["kernels"]
    assert (section.state, "below 500 µs" in str(section.reason)) == ("partial", True)


@pytest.mark.parametrize("begin", ["[OS Runtime Summary]", "[3/7] Executing 'osrt_sum' stats report", "{'loss': 0.5}"])
def test_what_begins_with_a_bracket_is_no_json(begin: str) -> None:
    """Titles, progress, and what Python programs print."""
    with pytest.raises(ReadError) as refused:
        read(f"{begin}\nnothing\n")
    assert "JSON" not in str(refused.value)
