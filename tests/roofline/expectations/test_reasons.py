"""The likeliest cause, of what the record gives evidence for."""

from pathlib import Path
from typing import Any

import pytest

from roofline.expectations.bounds_table import reason
from roofline.expectations.judging import check_expectations
from roofline.schema.expected import Expected
from roofline.schema.record import Flag, Memory, Record, Rounds
from tests.roofline import build
from tests.roofline.expectations import build_points

LAUNCH = build.roof("latency", "launch", 1e-5)


def likely(folder: Path, record: Record, *more: Any, spread: float | None = 0.03, **expected: Any) -> str | None:
    one = Expected(**{"source": "e.toml:3", **expected})
    points = build_points.points(folder, record, over=(*build_points.roofs(spread), *more))
    (finding,) = check_expectations(points, [one]).findings
    return reason(finding)


def _calls(number: int) -> Record:
    calls = build.operation(calls=number, flop=1e11, byte=1e6, working_set_byte=1e9)
    return build_points.record(operations=(calls,))


def test_of_another_bound(tmp_path: Path) -> None:
    """What would have led to it."""
    full = Memory(peak_reserved_byte=79 * 10**9, device_total_byte=80 * 10**9)
    memory = build_points.record(work=build_points.memory_work())
    for record, words in (
        (_calls(6000), "a batch of 32 is too little work for each launch: a larger batch, or --compile"),
        (build_points.record(timing=build.timing(input_wait_s=0.02)), "the loader can't keep up: too few workers"),
        (build_points.record(memory=full), "the device's memory is full at a batch of 32"),
        (memory, "more bytes for each FLOP than before"),
    ):
        told = likely(tmp_path, record, LAUNCH, bound="compute")
        assert told is not None
        assert told.startswith(words)
    told = likely(tmp_path, build_points.record(), bound="memory")
    assert told is not None
    assert told.startswith("fewer bytes for each FLOP than before")
    told = likely(tmp_path, memory, spread=0.4, bound="compute")
    assert told == (
        "the roofs were measured on a busy machine (their samples differ: fp32 by 40 %, dram by 40 %), and so the knee"
        " is not known well"
    )
    assert likely(tmp_path, build_points.record(), bound="communication") is None


def _disturbed(number: int) -> Record:
    rounds = Rounds(steps=5, wall_s=(0.5,) * 20, disturbed=(*("steal",) * number, *(None,) * (20 - number)))
    flag = Flag(name="disturbed", evidence=f"{number} of 20 rounds, first by steal")
    return build_points.record(timing=build.timing(rounds=rounds), flags=(flag,))


@pytest.mark.parametrize(
    ("record", "more", "spread", "words"),
    [
        (_disturbed(5), (), 0.03, "something else used the machine: 5 of 20 rounds, first by steal"),
        (_disturbed(1), (), 0.03, "its kernels take longer, or the clocks were lower: `roofline ops a.json` says"),
        (_calls(2000), (LAUNCH,), 0.03, "launches alone take 20 % of the step: a batch of 32 is too little work"),
        (build_points.record(), (), 0.4, "the roofs were measured on a busy machine (their samples differ: fp32"),
        (
            build_points.record(flags=(Flag(name="unsteady", evidence="not steady after 12 steps"),)),
            (),
            0.03,
            "the step was not steady when its timing began: not steady after 12 steps",
        ),
    ],
)
def test_of_a_low_fraction(tmp_path: Path, record: Record, more: tuple[Any, ...], spread: float, words: str) -> None:
    """First what disturbed the time, then launches, then the roofs, then the step itself."""
    told = likely(tmp_path, record, *more, spread=spread, min_fraction_of_roof=0.9)
    assert told is not None
    assert told.startswith(words)


def test_a_wait_below_a_tenth_is_no_cause(tmp_path: Path) -> None:
    """From a tenth on the step counts as bound by its input, and the wait is named beside the floor."""
    for wait_s, words in (
        (0.009, "its kernels take longer"),
        (0.011, "11 % of the step is spent waiting for the next"),
    ):
        record = build_points.record(timing=build.timing(input_wait_s=wait_s))
        told = likely(tmp_path, record, min_fraction_of_roof=0.9)
        assert told is not None
        assert told.startswith(words)


def test_roofs_of_elsewhere_are_named(tmp_path: Path) -> None:
    """Of an earlier run, or published."""
    one = Expected(min_fraction_of_roof=0.9, source="e.toml:3")
    for more, words in (
        (
            {"from_file": "old.json"},
            "the roofs are of an earlier run (old.json), when the machine may have been quieter",
        ),
        ({"source": "spec"}, "a published roof is more than any kernel reaches: measure the machine's own"),
    ):
        points = build_points.points(tmp_path, build_points.record(), over=build_points.roofs(None, **more))
        (finding,) = check_expectations(points, [one]).findings
        assert reason(finding) == words


@pytest.mark.parametrize("compute", [1e13, 4.1e12])
def test_a_bound_that_another_device_table_moves_says_so(tmp_path: Path, compute: float) -> None:
    """The same results are bound otherwise under another peak: undetermined, or on the other side of the knee."""
    roofs = (
        build.roof("flop", "fp32", compute, source="spec", detail="data sheet, 2024"),
        build.roof("byte", "dram", 1e11, source="spec", detail="data sheet, 2024"),
    )
    work = build.work(4e11, 8e9, 8e9)
    points = build_points.points(tmp_path, build_points.record(work=work), over=roofs)
    bound = "memory" if points[-1].bound.kind == "compute" else "compute"
    (finding,) = check_expectations(points, [Expected(bound=bound, source="e.toml:3")]).findings
    told = reason(finding)
    assert told is not None
    assert "device table" in told
    assert "data sheet, 2024" in told


def test_what_is_held_needs_no_reason(tmp_path: Path) -> None:
    """Neither does what was not measured, or is invalid: those say why themselves."""
    assert likely(tmp_path, build_points.record(), bound="compute") is None
    invalid = build_points.record(flags=(Flag(name="loss", evidence="not finite", invalid=True),))
    assert likely(tmp_path, invalid, bound="compute") is None
    assert likely(tmp_path, build_points.record(), bound="compute", case="other") is None
