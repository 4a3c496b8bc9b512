"""Nothing passes the gate because there was nothing to look at: changed files, and such as can't be read."""

from __future__ import annotations

import math
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from roofline.schema.record import KEY
from tests.roofline import build
from tests.roofline.comparison import sessions
from tests.roofline.comparison.sessions import ID, disproved, errored, record_of, remove, row_of
from tests.roofline.conftest import Run

# Changes to the new file or to the baseline, each of which must not pass.

Change = Callable[[dict[str, Any]], object]


def _rename(content: dict[str, Any]) -> None:
    row = row_of(content)
    row["name"], row["fullname"] = "test_case[other]", "perftests/test_models.py::test_case[other]"
    record_of(content)["case"]["id"] = "other"


def _move(content: dict[str, Any]) -> None:
    row_of(content)["fullname"] = f"perftests/vision/test_models.py::{row_of(content)['name']}"


def _not_measured(outcome: str, reason: str) -> Change:
    def change(content: dict[str, Any]) -> None:
        remove(content)
        content[KEY]["not_measured"] = [{"id": ID, "outcome": outcome, "reason": reason}]

    return change


def _machine(content: dict[str, Any]) -> None:
    content["machine_info"][KEY] |= {"fingerprint": "0123", "cpu": "Intel Xeon 8481C"}


def _gpu(name: str, *, of_machine: bool = False) -> Change:
    """All was measured on this GPU: as its rows say, or the machine, too."""

    def change(content: dict[str, Any]) -> None:
        machine = [content["machine_info"][KEY]] if of_machine else []
        for place in (*machine, *(row["extra_info"][KEY] for row in content["benchmarks"])):
            place["device"] |= {"kind": "cuda", "name": name}

    return change


def _workload(content: dict[str, Any]) -> None:
    record_of(content)["case"] |= {"workload_hash": "changed", "config": {"optimizer": "adam"}}


def _precision(content: dict[str, Any]) -> None:
    record_of(content)["case"] |= {"precision": "tf32"}


def _milliseconds(content: dict[str, Any]) -> None:
    """All times of resnet50 in another unit."""
    stats, timing = row_of(content)["stats"], record_of(content)["timing"]
    for name in ("min", "max", "mean", "median", "stddev"):
        stats[name] *= 1e3
    timing["step_time_s"] *= 1e3
    timing["rounds"]["wall_s"] = [1e3 * wall for wall in timing["rounds"]["wall_s"]]


def _no_mean(content: dict[str, Any]) -> None:
    row_of(content)["stats"]["mean"] = math.nan


def _no_time(content: dict[str, Any]) -> None:
    record_of(content)["timing"]["rounds"]["wall_s"][3] = math.nan


def _no_step_time(content: dict[str, Any]) -> None:
    record_of(content)["timing"]["step_time_s"] = math.nan


def _unreadable_record(content: dict[str, Any]) -> None:
    record_of(content)["case"]["batch"] = "many"


def _full_memory(content: dict[str, Any]) -> None:
    record_of(content)["memory"] = {"peak_reserved_byte": 8 * 10**9, "device_total_byte": 8 * 10**9}


_MUTATIONS: list[tuple[str, str, Change, str]] = [
    ("id renamed", "new", _rename, "moved or renamed? The same work is there as other (perftests/"),
    ("file moved", "new", _move, "moved or renamed? The same work is there as perftests/vision/test_models.py::"),
    ("test removed", "new", remove, "not in"),
    ("test skipped", "new", _not_measured("skipped", "no image folder"), "(skipped: no image folder)"),
    ("test errored", "new", _not_measured("failed", "assert 1 == 2"), "(failed: assert 1 == 2)"),
    ("test errored after measuring", "new", errored, "test_failed: the test measured, but did not pass"),
    ("other machine", "new", _machine, "another machine: processor Intel Xeon 8481C, baseline AMD EPYC 7B13"),
    ("a GPU for a CPU", "new", _gpu("NVIDIA L4"), "another device: NVIDIA L4 (cuda), baseline AMD EPYC 7B13 (cpu)"),
    ("workload changed", "new", _workload, "another workload under the same id: optimizer adam, baseline none"),
    ("precision changed", "new", _precision, "another workload under the same id: precision tf32, baseline fp32"),
    ("baseline NaN", "base", _no_mean, "the statistics' mean is missing or not finite"),
    ("a round NaN", "base", _no_time, "a round's time in the record is not a time"),
    ("step time NaN", "base", _no_step_time, "the record's step time is nan s, which is not a time"),
    ("baseline in milliseconds", "base", _milliseconds, "another unit? If it is real, make the baseline anew"),
    ("new in milliseconds", "new", _milliseconds, "times: a file in another unit?"),
    ("check failed without its flag", "new", disproved, "precision_disproved: 3 products ran in tf32"),
    ("record unreadable", "new", _unreadable_record, "record not read"),
    ("device memory full", "new", _full_memory, "memory_oversubscribed: 8.00 GB reserved of 8.00 GB"),
]


@pytest.mark.parametrize(
    ("where", "change", "reason"), [row[1:] for row in _MUTATIONS], ids=[row[0] for row in _MUTATIONS]
)
def test_no_mutation_passes(
    run: Run, base: list[Path], new: list[Path], where: str, change: Change, reason: str
) -> None:
    """Exit code 3, and one line with the case, the file and the reason. The other case is compared all the same."""
    files = base if where == "base" else new
    sessions.edit(files, change)
    code, _, err = run("check", *new, "--baseline", *base)
    line = next(line for line in err.splitlines() if line.startswith("Error: ") and ID in line)
    assert code == 3
    assert reason in line
    assert str(files[0]) in line


def test_a_row_that_cannot_be_read_does_not_pass(run: Run, base: list[Path], new: list[Path]) -> None:
    """Nobody knows which case it was."""
    sessions.edited(new[0], lambda content: content["benchmarks"].append(None))
    code, out, err = run("check", *new, "--baseline", *base)
    assert (code, out) == (3, "")
    assert f"{new[0]}: JSON that can't be read (" in err
    assert "benchmarks[2]" in err


@pytest.mark.parametrize(
    ("of_machine", "reason"),
    [
        (False, "another device: NVIDIA L4 (cuda), baseline NVIDIA A100-SXM4-80GB (cuda)"),
        (True, "another machine: device NVIDIA L4 (cuda), baseline NVIDIA A100-SXM4-80GB (cuda)"),
    ],
    ids=["of one machine", "of two machines"],
)
def test_another_gpu_does_not_pass(run: Run, base: list[Path], new: list[Path], of_machine: bool, reason: str) -> None:
    """Though both sides are GPUs of one maker: no case of theirs is compared."""
    for paths, name in ((base, "NVIDIA A100-SXM4-80GB"), (new, "NVIDIA L4")):
        sessions.edit(paths, _gpu(name, of_machine=of_machine))
    code, out, err = run("check", *new, "--baseline", *base)
    assert code == 3
    assert out.startswith("Cannot compare: no case could be judged (2 not comparable)\n")
    (line,) = [line for line in err.splitlines() if reason in line]
    assert line.startswith(f"Error: not comparable: resnet18-train-b32-fp32, {ID}: ")


@pytest.mark.parametrize("change", [disproved, errored, _no_time], ids=["disproved", "errored", "not a number"])
def test_what_was_invalid_before_for_the_same_reason_is_a_warning(
    run: Run, base: list[Path], new: list[Path], change: Change
) -> None:
    """Nothing was lost, and the other case is compared; under --strict it does not pass."""
    sessions.edit([*base, *new], change)
    code, _, err = run("check", *new, "--baseline", *base)
    assert (code, _line_of_case(err, "Error")) == (0, [])
    (line,) = _line_of_case(err, "Warning")
    assert line.startswith(f"Warning: invalid: {ID}: baseline: ")
    code, _, err = run("check", *new, "--baseline", *base, "--strict")
    assert code == 3
    assert _line_of_case(err, "Error") == [line.replace("Warning: ", "Error: ")]


@pytest.mark.parametrize(
    ("of_base", "of_new"),
    [
        (_no_time, disproved),
        (_no_time, errored),
        (errored, disproved),
        (_full_memory, disproved),
    ],
    ids=["not a number", "failed after", "failed before", "memory"],
)
def test_what_was_invalid_before_for_another_reason_does_not_pass(
    run: Run, base: list[Path], new: list[Path], of_base: Change, of_new: Change
) -> None:
    """A baseline that was broken anyway doesn't excuse what the new run disproves: exit code 3, strict or not."""
    sessions.edit(base, of_base)
    sessions.edit(new, of_new)
    code, _, err = run("check", *new, "--baseline", *base)
    assert code == 3
    assert any("invalid" in line for line in _line_of_case(err, "Error"))


def test_one_new_session_with_a_reason_of_its_own_does_not_pass(run: Run, base: list[Path], new: list[Path]) -> None:
    """Though all the others are invalid as they were before."""
    sessions.edit([*base, *new], errored)
    sessions.edited(new[2], disproved)
    sessions.edited(new[2], lambda content: record_of(content).update(flags=[]))
    assert run("check", *new, "--baseline", *base)[0] == 3


def _line_of_case(err: str, kind: str) -> list[str]:
    return [line for line in err.splitlines() if line.startswith(f"{kind}: ") and ID in line]


@pytest.mark.parametrize("where", ["base", "new"])
@pytest.mark.parametrize(
    ("content", "reason"),
    [
        (None, "doesn't exist"),
        ("", "empty. "),
        ('{"benchmarks": [{"name": "te', "truncated, the JSON ends in the middle"),
        ("[1, 2]", "no pytest-benchmark result"),
        ('{"benchmarks": []}', "no benchmarks in it. Every test was skipped or failed before it measured"),
        ("\x00\xff", "not UTF-8 text"),
    ],
    ids=["missing", "empty", "truncated", "not a result", "no benchmarks", "binary"],
)
def test_a_side_that_can_not_be_read_does_not_pass(
    run: Run, base: list[Path], new: list[Path], where: str, content: str | None, reason: str
) -> None:
    """Exit code 3 with the file and the reason; one bad file is enough, if it was named."""
    path = (base if where == "base" else new)[1]
    if content is None:
        path.unlink()
    else:
        path.write_bytes(content.encode("latin-1"))
    code, out, err = run("check", *new, "--baseline", *base)
    assert (code, out) == (3, "")
    assert str(path) in err
    assert reason in err


def _out_of_memory(content: dict[str, Any]) -> None:
    """Only its roofs were measured."""
    content[KEY]["not_measured"] = [
        {"id": row["extra_info"][KEY]["case"]["id"], "outcome": "failed", "reason": "CUDA out of memory"}
        for row in content["benchmarks"]
    ]
    roof = sessions.record(0.1, content[KEY]["started_at"], "roof", case=build.case(id="roof-fp32", mode="roof"))
    content["benchmarks"] = build.document([roof])["benchmarks"]


@pytest.mark.parametrize("names", [["resnet18", "resnet50"], ["vgg16", "vgg19"]], ids=["same cases", "others"])
def test_a_device_on_which_nothing_was_measured_does_not_pass(
    run: Run, base: list[Path], new: list[Path], tmp_path: Path, names: list[str]
) -> None:
    """Sessions of a CPU and of a GPU in one folder: its cases are gone, with the reason, though the CPU's passed."""
    gpu: dict[str, Any] = {"label": "gpu", "device": build.CUDA}
    times = dict.fromkeys(names, 0.1)
    of_base, of_new = (
        sessions.side(tmp_path / name, times, first=first, **gpu) for name, first in (("base-gpu", 0), ("new-gpu", 10))
    )
    assert run("check", *new, *of_new, "--baseline", *base, *of_base)[0] == 0
    sessions.edit(of_new, _out_of_memory)
    code, out, err = run("check", *new, *of_new, "--baseline", *base, *of_base)
    assert code == 3
    assert "left out of the baseline" not in out
    (line,) = [line for line in err.splitlines() if line.startswith("Error: removed: ")]
    assert f": {names[0]}-train-b32-fp32, {names[1]}-train-b32-fp32: in {of_base[0]} and 3 more, not in" in line
    assert line.endswith(f"not in {of_new[0]} and 3 more (failed: CUDA out of memory)")
