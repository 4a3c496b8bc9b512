"""Work that both sides declare the same and count otherwise: told of the case, which is judged all the same."""

from __future__ import annotations

import csv
import io
import json
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from roofline.comparison.sides.matching import match
from roofline.comparison.sides.side_files import read_side
from roofline.comparison.sides.workload import TOLERANCE, declared, parameter_changes, workload_changes
from roofline.machine.published import load
from roofline.schema.record import KEY, Case, Device
from tests.roofline import build
from tests.roofline.comparison import sessions
from tests.roofline.comparison.sessions import ID, TIMES
from tests.roofline.conftest import Run


def _count(paths: Sequence[Path], **work: Any) -> None:
    """Let the sessions have counted this of each case."""

    def change(content: dict[str, Any]) -> None:
        for row in content["benchmarks"]:
            row["extra_info"][KEY]["work"].update(work)
            if "flop_per_step" in work:
                row["extra_info"][KEY]["work"]["flop_by_dtype"] = {"fp32": work["flop_per_step"]}

    sessions.edit(paths, change)


def _told(base: Sequence[Path], new: Sequence[Path]) -> str:
    """What is told of resnet50, compared by time."""
    matching = match(read_side(base, "time", load()), read_side(new, "time", load()), "time")
    (pair,) = (pair for pair in matching.cases if pair.id == ID)
    assert pair.standing == "matched"
    return pair.counted


def test_the_same_count_is_no_note(run: Run, base: list[Path], new: list[Path]) -> None:
    """Nor is one that differs by what floats lose; nor is none at all on both sides. One that a side lost is."""
    assert _told(base, new) == ""
    _count(new, flop_per_step=1e11 * (1 + TOLERANCE / 10))
    assert _told(base, new) == ""
    code, out, _ = run("check", *new, "--baseline", *base)
    assert (code, "Other work" in out) == (0, False)
    sessions.edit(new, lambda content: sessions.record_of(content).update(work=None))
    assert _told(base, new) == "counted 100.0 GFLOP a step in the baseline alone"
    assert _told(new, base) == "counted 100.0 GFLOP a step in new alone"
    sessions.edit(base, lambda content: sessions.record_of(content).update(work=None))
    assert _told(base, new) == ""


@pytest.mark.parametrize(("slower", "code"), [(1.0, 0), (sessions.SLOWER, 1)])
def test_other_work_is_told_and_gated(run: Run, tmp_path: Path, base: list[Path], slower: float, code: int) -> None:
    """A tenth of the FLOP saved may be what was meant: the times decide, and each form has both counts."""
    new = sessions.side(tmp_path / "new", {**TIMES, "resnet50": 0.1 * slower}, first=10)
    flop = {"flop_per_step": 9e10, "flop_by_dtype": {"fp32": 9e10}}
    sessions.edit(new, lambda content: sessions.record_of(content)["work"].update(flop))
    told = (
        "counted 100.0 GFLOP a step in the baseline, 90.00 GFLOP in new: the model's computation changed, the kernels"
        " that ran, or how it is counted"
    )
    got, out, _ = run("check", *new, "--baseline", *base)
    assert got == code
    assert f"Other work: {ID}: {told}" in " ".join(out.split())
    _, out, err = run("check", *new, "--baseline", *base, "--format", "json")
    assert {row["case"]: row["counted_otherwise"] for row in json.loads(out)} == {
        ID: told,
        "resnet18-train-b32-fp32": None,
    }
    assert f"Other work: {ID}: {told}" in err.splitlines()
    _, out, _ = run("compare", *base, "--with", *new, "--format", "csv")
    assert [row["counted_otherwise"] for row in csv.DictReader(io.StringIO(out)) if row["case"] == ID] == [told]
    _, out, _ = run("compare", *base, "--with", *new, "--format", "markdown")
    assert f"\n- Other work: {ID}: {told}\n" in out


@pytest.mark.parametrize(
    ("work", "before", "now"),
    [
        ({"byte_low_per_step": 1.1e9}, "1.000 GB to 4.000 GB", "1.100 GB to 4.000 GB"),
        ({"byte_high_per_step": 3e9}, "1.000 GB to 4.000 GB", "1.000 GB to 3.000 GB"),
        ({"byte_high_per_step": 3e9, "flop_per_step": 9e10}, "100.0 GFLOP", "90.00 GFLOP"),
        ({"flop_per_step": 0.0}, "100.0 GFLOP", "0 FLOP"),
    ],
)
def test_bytes_where_the_flop_are_the_same(
    base: list[Path], new: list[Path], work: dict[str, float], before: str, now: str
) -> None:
    """Either edge of the bytes counts."""
    _count(new, **work)
    assert _told(base, new).startswith(f"counted {before} a step in the baseline, {now} in new: ")


def test_a_side_of_several_counts_has_all_of_them(base: list[Path], new: list[Path]) -> None:
    """Sessions of several versions were taken for one code."""
    _count(base[2:], flop_per_step=8e10)
    assert _told(base, new).startswith(
        "counted 100.0 GFLOP and 80.00 GFLOP a step in the baseline, 100.0 GFLOP in new: "
    )
    sessions.edit(new, lambda content: sessions.record_of(content).update(work=None))
    assert _told(base, new) == "counted 100.0 GFLOP and 80.00 GFLOP a step in the baseline alone"


def _by_roof(base: Sequence[Path], new: Sequence[Path]) -> str:
    """Why resnet50 isn't compared by roof; empty where it is."""
    matching = match(read_side(base, "roof", load()), read_side(new, "roof", load()), "roof")
    (pair,) = (pair for pair in matching.cases if pair.id == ID)
    assert pair.standing == ("not comparable" if pair.why else "matched")
    return pair.why


@pytest.mark.parametrize(
    ("work", "told"),
    [
        ({"flop_per_step": 9e10}, "counted 100.0 GFLOP a step in the baseline, 90.00 GFLOP in new: "),
        (
            {"byte_high_per_step": 3e9},
            "counted 1.000 GB to 4.000 GB a step in the baseline, 1.000 GB to 3.000 GB in new: ",
        ),
        (
            {"byte_low_per_step": 1.1e9},
            "counted 1.000 GB to 4.000 GB a step in the baseline, 1.100 GB to 4.000 GB in new:",
        ),
    ],
)
def test_by_roof_other_work_is_not_judged(base: list[Path], new: list[Path], work: dict[str, float], told: str) -> None:
    """By it the least time is worked out that the case is judged by: more bytes would hide as much more time."""
    _count(new, **work)
    assert _by_roof(base, new).startswith(f"other work: {told}")


@pytest.mark.parametrize(
    ("device", "work", "other"),
    [
        (replace(build.CPU, last_level_cache_byte=2**20), {"byte_low_per_step": 1.1e9}, False),
        (replace(build.CPU, last_level_cache_byte=2**20), {"byte_high_per_step": 3e9}, True),
        (build.CUDA, {"byte_low_per_step": 1.1e9, "byte_high_per_step": 3e9}, False),
        (build.CUDA, {"flop_per_step": 9e10}, True),
    ],
    ids=["other cache", "other cache, all bytes", "other kind", "other kind, FLOP"],
)
def test_by_roof_what_hangs_on_the_device_is_no_other_work(
    tmp_path: Path, base: list[Path], device: Device, work: dict[str, float], other: bool
) -> None:
    """The least bytes hang on the size of the cache, the most on the kind of device alone, FLOP on neither."""
    new = sessions.side(tmp_path / "new", TIMES, first=10, label="another", device=device)

    def on_device(content: dict[str, Any]) -> None:
        for row in content["benchmarks"]:
            row["extra_info"][KEY]["device"] = content["machine_info"][KEY]["device"]

    sessions.edit(new, on_device)
    _count(new, **work)
    assert _by_roof(base, new).startswith("other work: counted ") is other


def _read_counters(paths: Sequence[Path], **counters: float | None) -> None:
    """Let counters have read this of each case."""
    status = "missing_metric" if None in counters.values() else "ok"

    def change(content: dict[str, Any]) -> None:
        for row in content["benchmarks"]:
            row["extra_info"][KEY]["counters"] = {"status": status, "flop": 1e11, "dram_byte": 2e9, **counters}

    sessions.edit(paths, change)


@pytest.mark.parametrize(
    ("counters", "told"),
    [
        ({"flop": 1.009e11}, ""),
        ({"flop": 1.011e11}, "100.0 GFLOP a step in the baseline, 101.1 GFLOP in new: "),
        ({"flop": 5e10}, "100.0 GFLOP a step in the baseline, 50.00 GFLOP in new: "),
        ({"dram_byte": 2.09e9}, ""),
        ({"dram_byte": 3e9}, "2.000 GB a step in the baseline, 3.000 GB in new: "),
    ],
)
def test_by_roof_what_counters_read_is_the_work(
    base: list[Path], new: list[Path], counters: dict[str, float], told: str
) -> None:
    """The roofs are held over it, and not over what the operations were counted as; up to what counters scatter."""
    _read_counters(base)
    _read_counters(new, **counters)
    _count(new, flop_per_step=7e10, byte_high_per_step=3e9)
    why = _by_roof(base, new)
    if told:
        assert why.startswith(f"other work: counted {told}")
    else:
        assert why == ""


def test_by_roof_counters_of_one_of_both(base: list[Path], new: list[Path]) -> None:
    """FLOP read by them and bytes counted: each is held against its like."""
    for side in (base, new):
        _read_counters(side, dram_byte=None)
    _count(new, flop_per_step=7e10)
    assert _by_roof(base, new) == ""
    _count(new, byte_high_per_step=3e9)
    assert _by_roof(base, new).startswith("other work: counted 1.000 GB to 4.000 GB a step")


def test_by_roof_bytes_from_counters_are_the_machine_s(tmp_path: Path, base: list[Path]) -> None:
    """Another one has another memory: only its FLOP are held against them."""
    new = sessions.side(tmp_path / "new", TIMES, first=10, label="another", versions={"torch": "2.11.0"})
    _read_counters(base)
    _read_counters(new, dram_byte=3e9)
    assert _by_roof(base, new) == ""
    _read_counters(new, flop=5e10)
    assert _by_roof(base, new).startswith(
        "other work: counted 100.0 GFLOP a step in the baseline, 50.00 GFLOP in new: "
    )


CASE = Case(id="a", workload_hash="h", model="mlp", mode="infer", precision="fp32", batch=2, samples_per_step=2)


def changed(**values: Any) -> dict[str, Any]:
    return {**declared(CASE), **values}


@pytest.mark.parametrize(
    ("new", "told"),
    [
        (changed(), ""),
        (changed(precision="tf32", batch=4), "precision tf32, baseline fp32, batch 4, baseline 2"),
        (changed(workload_hash="g", config={"parameters": 7}), "parameters 7, baseline none"),
        (changed(config={"seed": 7}), ""),
        (changed(id="b", workload_hash="g"), ""),
    ],
    ids=["none", "fields", "config", "config, the same hash", "name and hash"],
)
def test_what_changed_is_told_with_both_values(new: dict[str, Any], told: str) -> None:
    """Fields of the case, then those of its configuration: these where the hash says that the work is another one."""
    assert workload_changes(declared(CASE), new, "baseline") == told


def test_a_field_that_one_side_s_version_lacks_is_a_change() -> None:
    """It has none there, as a value of the configuration that isn't told."""
    assert workload_changes({"batch": 2}, {"batch": 2, "tiles": 4}, "base") == "tiles 4, base none"


def test_a_long_value_is_cut() -> None:
    """A test may be parametrised with a text of 100,000 characters; a line of a log can't hold it."""
    found = parameter_changes({"n": "a" * 100_000}, {"n": 1}, "baseline")
    assert found == f"n 1, baseline {'a' * 100}"
