"""Files of ncu in, kernels with their sums out; and which metrics to ask ncu for."""

from __future__ import annotations

from pathlib import Path

import pytest

from roofline.counters.quantities import LISTED
from roofline.files.decoding import ReadError
from roofline.profilers.ncu.kernel_sums import (
    CountedCapture,
    KernelSum,
    by_kernel,
    count,
    read,
    read_all,
    together,
)
from roofline.profilers.ncu.launches import Capture, Launch
from roofline.profilers.ncu.ncu_tables import request
from tests.roofline.profilers.ncu_made import READ, TIME, details, raw, row, summary, written

SASS = "smsp__sass_thread_inst_executed_op_{}_pred_on.sum"


def _launch(
    name: str, time_s: float | None = None, fma: float | None = None, byte: float | None = None, launches: int = 1
) -> Launch:
    metrics: dict[str, float] = {}
    if time_s is not None:
        metrics["gpu__time_duration.sum"] = time_s
    if fma is not None:
        metrics |= {SASS.format("fadd"): 0.0, SASS.format("fmul"): 0.0, SASS.format("ffma"): fma}
    if byte is not None:
        metrics["dram__bytes.sum"] = byte
    return Launch(name=name, launches=launches, metrics=metrics, compute_capability="8.0")


def _counted(*launches: Launch) -> CountedCapture:
    return count(Capture(source="f", launches=launches, passes=2, notes=("said",)))


def _sums(of: KernelSum) -> tuple[float | None, ...]:
    return (of.amounts["time_s"], of.amounts["flop"], of.amounts["dram_byte"], of.intensity)


def test_intensity_of_several_is_that_of_their_sums() -> None:
    """100 FLOP over 10 byte and 100 over 90 are 2 FLOP/byte, not the mean of 10 and 1.1."""
    counted = _counted(
        _launch("a_gemm", 1.0, 50.0, 10.0), _launch("a_gemm", 3.0, 50.0, 90.0), _launch("relu", 2.0, 0.0, 5.0)
    )
    first, second = by_kernel(counted.kernels)
    assert (first.name, first.launches, _sums(first)) == ("a_gemm", 2, (4.0, 200.0, 100.0, 2.0))
    assert (second.name, second.intensity) == ("relu", 0.0)
    assert (counted.total.launches, _sums(counted.total)) == (3, (6.0, 200.0, 105.0, 200.0 / 105.0))
    assert counted.total.flop_by_pipe == {"fp32": 200.0}


def test_a_sum_with_a_hole_is_none() -> None:
    """With how many lack it and why; the other sums stay."""
    total = _counted(_launch("a", 1.0, 5.0, 7.0), _launch("b", 2.0, 5.0), _launch("c", 3.0, 5.0)).total
    assert _sums(total) == (6.0, 30.0, None, None)
    assert total.missing["dram_byte"] == "2 of 3 launches have none, first 'b': dram__bytes_read.sum was not collected"
    assert total.missing["intensity_flop_per_byte"].startswith("no dram_byte: ")
    everywhere = _counted(_launch("a"), _launch("b")).total
    assert everywhere.missing["time_s"] == "gpu__time_duration.sum was not collected"


def test_pipes_that_some_kernels_lack() -> None:
    """Are in no sum, and named."""
    half = {SASS.format(name): 1.0 for name in ("hadd", "hmul", "hfma")}
    both = Launch(name="a", metrics={**_launch("a", fma=1.0).metrics, **half}, compute_capability="8.0")
    total = _counted(both, _launch("b", fma=1.0)).total
    assert total.flop_by_pipe == {"fp32": 4.0}
    assert total.missing["flop_by_pipe.fp16"] == "1 of 2 kernels have none"
    other = Launch(name="c", metrics=half, compute_capability="8.0")
    none = _counted(other, _launch("b", fma=1.0)).total
    assert none.flop_by_pipe is None
    assert none.missing["flop_by_pipe"] == "no pipe was counted of every kernel"


def test_a_kernel_named_for_tensor_cores_that_were_not_counted() -> None:
    """What its CUDA cores did is not its work; with a counter that says they did nothing, it is."""
    name = "ampere_bf16_s16816gemm_bf16_128x128_ldg8_f2f_stages_32x5_tn"
    launch = _launch(name, 1.0, 5.0)
    (one,) = _counted(launch).kernels
    assert one.amounts["flop"] is None
    assert one.flop_by_pipe == {"fp32": 10.0}
    assert one.missing["flop"] == "its name tells of tensor cores, whose operations were not collected"
    idle = Launch(
        name=name, metrics={**launch.metrics, "sm__inst_executed_pipe_tensor.sum": 0.0}, compute_capability="8.0"
    )
    assert _counted(idle).kernels[0].amounts["flop"] == 10.0


@pytest.mark.parametrize(
    ("answers", "used"),
    [((1.0, None), True), ((0.0, 0.0), False), ((0.0, None), None)],
)
def test_tensor_cores_of_several(answers: tuple[float | None, ...], used: bool | None) -> None:
    """Yes where one used them; no only where all are known not to have."""
    name = "sm__inst_executed_pipe_tensor.sum"
    launches = [Launch(name="a", metrics={} if value is None else {name: value}) for value in answers]
    assert _counted(*launches).total.tensor_cores is used


def test_sums_lose_no_digit() -> None:
    """A large kernel does not swallow ten thousand small ones."""
    kernels = _counted(_launch("a", 1e16), *[_launch("b", 1.0) for _ in range(10)]).kernels
    assert together(kernels, "total", None).amounts["time_s"] == 1e16 + 10


FMA = ("smsp__sass_thread_inst_executed_op_ffma_pred_on.sum", "inst", "5,000,000,000")


def test_a_bytes_run_and_a_flop_run(tmp_path: Path) -> None:
    """One is a raw page, the other a details page: each launch has the metrics of both."""
    units = {READ[0]: "byte", TIME[0]: "ns"}
    first = written(tmp_path / "bytes.csv", raw(units, [("f", ("1", "2")), ("g", ("3", "4"))]))
    second = written(tmp_path / "flop.csv", details([("f", [FMA]), ("g", [FMA])]))
    capture = read_all([first, second])
    assert [(one.name, dict(one.metrics)) for one in capture.launches] == [
        ("f", {READ[0]: 1.0, TIME[0]: 2e-9, FMA[0]: 5e9}),
        ("g", {READ[0]: 3.0, TIME[0]: 4e-9, FMA[0]: 5e9}),
    ]
    assert capture.source == f"{first} + {second}"
    assert capture.notes == ()


def test_of_one_metric_in_two_files_the_first_counts(tmp_path: Path) -> None:
    """The bytes run has the better time; a file that adds nothing is told, and what one lacks the other has."""
    lacking = (READ[0], "byte", "n/a")
    first = written(tmp_path / "a.csv", details([("f", [TIME, lacking])]))
    second = written(tmp_path / "b.csv", details([("f", [(TIME[0], "us", "9.00"), READ])]))
    (launch,) = read_all([first, second]).launches
    assert launch.metrics == {TIME[0]: 4896e-9, READ[0]: 2e6}
    assert launch.absent == {}
    again = read_all([second, first])
    assert again.launches[0].metrics[TIME[0]] == 9e-6
    assert again.notes == (f"{first} has no metric that {second} lacks: nothing of it is used.",)


def test_passes_of_each_file(tmp_path: Path) -> None:
    """Of the launches together the most of any; None of a file that doesn't tell."""
    said = '==PROF== Profiling "f" - 0: 0%....50%....100% - {} passes\n'
    pages = {"a": said.format(1), "b": said.format(5), "c": ""}
    metrics = (READ, FMA, TIME)
    paths = [
        written(tmp_path / f"{name}.csv", said + details([("f", [metric])]))
        for (name, said), metric in zip(pages.items(), metrics, strict=True)
    ]
    capture = read_all(paths)
    assert capture.passes == 5
    assert capture.passes_by_file == {str(path): passes for path, passes in zip(paths, (1, 5, None), strict=True)}


@pytest.mark.parametrize(
    ("other", "told"),
    [
        (
            details([("f", [READ]), ("h", [READ])]),
            ("has 'g' (grid (64, 1, 1), block (128, 1, 1)) as launch 2", "has 'h'"),
        ),
        (details([("f", [READ])]), ("has 'g'", "this file has only 1 launches")),
        (details([("f", [READ]), ("g", [READ]), ("g", [READ])]), ("has only 2 launches", "has 'g'")),
        (details([("f", [READ]), ("g", [READ])]).replace("(64, 1, 1)", "(32, 1, 1)"), ("(grid (64", "(grid (32")),
        (summary([("f", 2, [READ]), ("g", 1, [READ])]), ("has 'f'",)),
    ],
)
def test_other_launches_are_refused(tmp_path: Path, other: str, told: tuple[str, ...]) -> None:
    """The first difference is named, on both sides, with what to do."""
    first = written(tmp_path / "a.csv", details([("f", [TIME]), ("g", [TIME])]))
    second = written(tmp_path / "b.csv", other)
    with pytest.raises(ReadError) as caught:
        read_all([first, second])
    said = str(caught.value)
    assert said.startswith(f"{second}: not the launches of {first}")
    assert "one file at a time" in said
    for part in told:
        assert part in said


def test_files_of_two_chips_are_refused(tmp_path: Path) -> None:
    """Time of one and bytes of the other are of nothing; of a file that doesn't tell, nothing is known against it."""
    first = written(tmp_path / "a.csv", details([("f", [TIME])], cc="8.0"))
    second = written(tmp_path / "b.csv", details([("f", [READ])], cc="9.0"))
    with pytest.raises(ReadError) as caught:
        read_all([first, second])
    said = str(caught.value)
    assert said.startswith(
        f"{second}: of another chip than {first}: launch 1 ran on compute capability 9.0 here and 8.0"
    )
    assert "one file at a time" in said
    silent = written(tmp_path / "c.csv", details([("f", [READ])]).replace('"CC"', '"x"'))
    assert read_all([first, silent]).launches[0].compute_capability == "8.0"


def test_a_trace_is_not_of_ncu(tmp_path: Path) -> None:
    """The commands that read files of other programs are named."""
    path = tmp_path / "f.csv"
    path.write_text('\n{"traceEvents": []}')
    with pytest.raises(ReadError) as caught:
        read(path)
    assert str(caught.value).startswith(f"{path}: no table of ncu in it")
    assert "`roofline nsys` reads those of nsys" in str(caught.value)


def test_a_report_is_known_by_its_content(tmp_path: Path) -> None:
    """Or by its name; without NVIDIA's module the message has the command that prints it."""
    for name, content in (("r.ncu-rep", b""), ("r.bin", b"NVR\0\1\2")):
        (tmp_path / name).write_bytes(content)
        with pytest.raises(ReadError, match="ncu --import"):
            read(tmp_path / name)


def test_rows_of_one_launch_may_stand_apart(tmp_path: Path) -> None:
    """A page that somebody sorted by metric."""
    text = details([("f", [TIME]), ("g", [TIME])]) + row(0, READ, "f")
    first, second = read(written(tmp_path / "f.csv", text)).launches
    assert (len(first.metrics), len(second.metrics)) == (2, 1)


BYTES = "bytes and time, in a run of their own"
CUDA = "FLOP of CUDA cores alone"
ALL = "FLOP of CUDA cores and tensor cores"


def shown(capability: str) -> tuple[list[str], dict[str, str]]:
    """What stands before the lists, and the lists by heading."""
    lines = request(capability).splitlines()
    assert len(lines) >= 6
    return lines[:-6], dict(zip(lines[-6::2], lines[-5::2], strict=True))


@pytest.mark.parametrize("capability", sorted(set(LISTED) - {"8.0", "8.6", "8.9", "9.0"}))
def test_no_number_of_passes_is_made_up(capability: str) -> None:
    """Where it isn't known how many the tensor cores' counters take."""
    assert f"{ALL}:" in shown(capability)[1]


@pytest.mark.parametrize(
    ("capability", "whose"), [("13.0", "any of them"), ("8.7", "8.6, the next older one of its generation")]
)
def test_a_chip_that_is_not_known_is_told(capability: str, whose: str) -> None:
    """With those that are, whose names these are, and what to do with one that ncu refuses; no number of passes."""
    (told,), lists = shown(capability)
    assert told.startswith(f"The counters of compute capability {capability} are not known here, only those of 7.5, ")
    assert f"The names below are those of {whose}; how many passes they take isn't known." in told
    assert "failed to find a metric has counted nothing: leave that one out." in told
    assert list(lists) == [f"{BYTES}:", f"{CUDA}:", f"{ALL}:"]


def test_a_chip_without_a_dram_counter_is_told() -> None:
    """With what can't be had; so is one that is taken for it."""
    lacks = (
        "Compute capability 12.1 has no counter of DRAM bytes: neither a kernel's traffic nor its intensity"
        " (FLOP/byte) can be counted."
    )
    told, lists = shown("12.1")
    assert told == [lacks]
    assert next(iter(lists)) == "bytes of L2 and L1 and time, in a run of their own (one pass):"
    assert not any("dram" in metrics for metrics in lists.values())
    unknown, told_of_other = shown("12.3")[0]
    assert unknown.startswith("The counters of compute capability 12.3 are not known here")
    assert told_of_other == lacks


def test_of_two_names_one_may_be_refused() -> None:
    """Both are asked for, and it is told what to do then."""
    (told,), lists = shown("12.0")
    assert told.startswith("Which of two names the DRAM counters of 12.0 have depends on the ncu. An ncu that says")
    assert "dram__bytes_op_read.sum,dram__bytes_read.sum" in lists[f"{BYTES} (one pass):"]
