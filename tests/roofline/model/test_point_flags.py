"""What contradicts a number is flagged with its arithmetic, never clipped."""

import random
from collections.abc import Sequence
from dataclasses import replace

import pytest

from roofline.machine.roof_choice import Roofs
from roofline.model.placement import place
from roofline.model.point_flags import cliffs, derived
from roofline.model.speed_of_light import speed_of_light
from roofline.schema.record import (
    Check,
    Device,
    Flag,
    Memory,
    Parallel,
    Process,
    Rank,
    Record,
    Rounds,
    Uncovered,
    Work,
)
from roofline.timing.round_flags import drift, series_flags
from tests.roofline import build

_ROOFS = Roofs(roofs=build.roofs(1e13, 1e11))


def _flags(record: Record, roofs: Roofs = _ROOFS) -> dict[str, Flag]:
    placement = place(record, roofs)
    sol = speed_of_light(record, roofs, resident=placement.cache_resident)
    return {flag.name: flag for flag in derived(record, placement, roofs, sol)}


def test_a_clean_record_has_none() -> None:
    """1 % to 40 % of the roofs, data from DRAM, everything covered."""
    assert _flags(build.record()) == {}


def test_a_check_that_failed_is_a_flag() -> None:
    """Once, under the name that the measuring side gives it; a check that wasn't made disproves nothing."""
    checks = (
        Check(name="precision", status="failed", evidence="3 products ran in tf32"),
        Check(name="device", status="not_made", evidence="no profiler"),
    )
    own = Flag(name="precision_disproved", evidence="3 products ran in tf32", invalid=True)
    assert _flags(build.record(checks=checks)) == {"precision_disproved": own}
    assert _flags(build.record(checks=checks, flags=(own,))) == {}


def _published(dtype: str) -> Roofs:
    return Roofs(roofs=tuple(replace(roof, source="spec", spread=None) for roof in build.roofs(1e13, 1e11, dtype)))


@pytest.mark.parametrize(
    ("work", "roofs", "name", "said"),
    [
        # 630 times the peak can't be a measurement, nor half as much again as a published one: no roof was measured.
        (
            build.work(1.7e15, 1e9, 1e9),
            Roofs(roofs=build.roofs(2.7e13, 1e12)),
            "faster_than_peak",
            "17.0 PFLOP/s is 630 times the compute roof of 27.0 TFLOP/s (measured): the time or the count is wrong",
        ),
        (
            build.work(1.5e12, 1e9, 1e9, "bf16"),
            _published("bf16"),
            "faster_than_peak",
            "(spec): in order of likelihood",
        ),
        (build.work(1.2e12, 1e9, 1e9, "bf16"), _published("bf16"), "above_roof", "the clock ran above the rated one"),
        # A measured roof may have been measured too low.
        (build.work(1.5e12, 1e9, 1e9), _ROOFS, "above_roof", "measured too low"),
        (
            build.work(1.05e12, 1e9, 1e9),
            _ROOFS,
            "above_roof",
            "attained 105 % of its roof (measured; spread: fp32 3.0 %, dram 3.0 %)",
        ),
        # With the least bytes 5 FLOP/B, 5e11 FLOP/s attainable. That there may have been more is no fault.
        (build.work(6e10, 1.2e10, 3e10), _ROOFS, "above_roof", "attained 120 %"),
        (build.work(6e10, 1e9, 3e10), _ROOFS, None, ""),
        (build.work(1e12, 1e9, 1e9), _ROOFS, None, ""),
    ],
)
def test_what_is_above_the_roofs(work: Work, roofs: Roofs, name: str | None, said: str) -> None:
    """Invalid where neither a clock nor a roof's own error explains it, else noted; with the likeliest cause."""
    found = _flags(build.record(work=work), roofs)
    above = [found[one] for one in ("faster_than_peak", "above_roof") if one in found]
    assert [flag.name for flag in above] == ([name] if name else [])
    assert all(said in flag.evidence and flag.invalid == (name == "faster_than_peak") for flag in above)


@pytest.mark.parametrize(("times", "winograd", "invalid"), [(2.5, True, False), (2.9, True, True), (1.5, False, True)])
def test_a_published_fp32_peak_leaves_room_for_winograd(times: float, winograd: bool, invalid: bool) -> None:
    """2.25 times fewer multiplications, for the convolutions that may run so and no others."""
    flop = times * 1e12
    operations = (build.operation(flop=flop, byte=1e9, working_set_byte=1e9, winograd=winograd),)
    found = _flags(build.record(work=build.work(flop, 1e9, 1e9), operations=operations), _published("fp32"))
    assert ("faster_than_peak" in found) == invalid


def test_faster_than_light() -> None:
    """A step of 0.1 s whose operations need 0.2 s by the roofs."""
    operations = (build.operation(flop=2e12, byte=1, working_set_byte=1e9),)
    found = _flags(build.record(operations=operations))
    assert not found["faster_than_sol"].invalid
    assert "100 ms for a step whose speed of light is 200 ms" in found["faster_than_sol"].evidence


def test_cache_resident() -> None:
    """32 MB in 5 us with a 50 MB cache is 6.4 TB/s, 1.91 times a DRAM of 3.35 TB/s: not invalid."""
    device = Device(kind="cuda", name="x", last_level_cache_byte=50 * 10**6)
    record = build.record(device=device, work=build.work(1e6, 32e6, 32e6), timing=build.timing(5e-6))
    found = _flags(record, Roofs(roofs=build.roofs(1e15, 3.35e12)))
    assert set(found) == {"cache_resident"}
    assert not found["cache_resident"].invalid
    assert "traffic up to 6.40 TB/s, 1.91 times DRAM" in found["cache_resident"].evidence


def test_host_bound() -> None:
    """Wall 0.24 ms, device 0.09 ms."""
    rounds = Rounds(steps=1, wall_s=(0.24e-3,), device_s=(0.09e-3,))
    found = _flags(build.record(timing=build.timing(0.24e-3, rounds=rounds), work=build.work(1e6)))
    assert "busy for 38 % of the wall time; the point is placed by device time" in found["host_bound"].evidence


@pytest.mark.parametrize(
    ("reserved", "total", "of_device", "flagged"),
    [
        *((reserved, 16, None, reserved > 15.2) for reserved in (12.5, 15.2, 15.3, 19)),
        # The device's size serves where the allocator told none.
        (19, None, 16, True),
        (19, None, None, False),
        (None, 16, None, False),
    ],
)
def test_oversubscribed(reserved: float | None, total: int | None, of_device: int | None, flagged: bool) -> None:
    """More than 95 % of 16 GB reserved."""
    byte = [None if one is None else int(one * 1e9) for one in (reserved, total, of_device)]
    memory = Memory(peak_reserved_byte=byte[0], device_total_byte=byte[1])
    device = Device(kind="cuda", name="x", memory_byte=byte[2])
    assert ("memory_oversubscribed" in _flags(build.record(device=device, memory=memory))) is flagged


@pytest.mark.parametrize(
    ("walls", "flagged"),
    [
        pytest.param((2.1, 2.5) * 15, True, id="to and fro"),
        pytest.param((2.1,) * 15 + (2.5,) * 15, False, id="once: a drift"),
        pytest.param((2.1,) * 15 + (3.2,) * 15, True, id="two clusters"),
        pytest.param((3.2, 2.1) * 15, True, id="in any order"),
        pytest.param((2.1,) * 8 + (3.2,) * 2, True, id="a fifth"),
        pytest.param((2.1,) * 9 + (3.2,), False, id="an outlier"),
        pytest.param((2.1,) * 4 + (3.2,) * 5, False, id="nine rounds"),
        pytest.param((2.1, 2.3) * 15, False, id="less than a tenth apart"),
        pytest.param((1.9, 2.1) * 15, True, id="a tenth apart"),
        pytest.param((5.0, 10.0, 6.25, 11.25, 7.5, 12.5) * 5, False, id="as wide as the gap"),
        pytest.param((1.0, 1.6) + (1.5,) * 8 + (2.1, 2.7) + (2.6,) * 8, False, id="clusters wider than the gap"),
        pytest.param((2.1,) * 15 + (float("nan"),) * 15, False, id="not numbers"),
    ],
)
def test_bimodal(walls: tuple[float, ...], flagged: bool) -> None:
    """15 rounds at 2.10 s and 15 at 3.20 s: no one time stands for both."""
    found = _flags(build.record(timing=build.timing(0.5, rounds=Rounds(steps=5, wall_s=walls))))
    assert ("bimodal" in found) is flagged


def test_what_is_said_of_two_clusters() -> None:
    """Their sizes and times a step."""
    rounds = Rounds(steps=10, wall_s=(2.1, 3.2) * 15)
    evidence = _flags(build.record(timing=build.timing(0.265, rounds=rounds)))["bimodal"].evidence
    assert evidence.startswith("15 rounds at 210 ms a step and 15 at 320 ms, none between: ")


def _noise(count: int) -> list[float]:
    rng = random.Random(3)
    return [1 + rng.gauss(0, 0.01) for _ in range(count)]


DRIFTS = {
    "a ramp": [0.01 * noise * (1 + 0.15 * index / 99) for index, noise in enumerate(_noise(100))],
    "a step": [0.01 * noise * (1.15 if index >= 50 else 1) for index, noise in enumerate(_noise(100))],
    "a step of few rounds": [0.01 * noise * (1.15 if index >= 6 else 1) for index, noise in enumerate(_noise(13))],
    "a ramp without noise": [0.01 * (1 + 0.15 * index / 99) for index in range(100)],
    "a step without noise": [0.01] * 50 + [0.0115] * 50,
}


@pytest.mark.parametrize("name", DRIFTS)
def test_drift(name: str) -> None:
    """15 % over the rounds, told with its size; and a series that drifts isn't bimodal. A pause hides nothing."""
    for times in (DRIFTS[name], [*DRIFTS[name][:7], 0.3, *DRIFTS[name][7:]]):
        found = {flag.name: flag for flag in series_flags(times)}
        assert set(found) == {"drift"}
        size = float(found["drift"].evidence.partition("%")[0])
        assert 12.5 <= size <= 16


@pytest.mark.parametrize(
    "times",
    [
        pytest.param([0.01 * noise for noise in _noise(100)], id="noise"),
        pytest.param([0.01 * (1 + 15 * (noise - 1)) for noise in _noise(100)], id="much noise"),
        pytest.param([0.01, 0.0115] * 20, id="to and fro"),
        pytest.param([0.01 * (1 + 0.03 * index / 99) for index in range(100)], id="less than 5 %"),
        pytest.param([0.01] * 4 + [0.0115] * 5, id="nine rounds"),
    ],
)
def test_no_drift(times: list[float]) -> None:
    """What differs as much from one round to the next doesn't drift."""
    assert drift(times) is None


def test_drift_is_of_the_undisturbed_rounds() -> None:
    """Rounds that something from outside made slow at the end of the session are left out of it."""
    rounds = Rounds(steps=1, wall_s=(0.1,) * 20 + (0.2,) * 10, disturbed=(None,) * 20 + ("steal",) * 10)
    found = _flags(build.record(timing=build.timing(0.1, rounds=rounds)))
    assert "drift" not in found
    assert "mostly_disturbed" not in found


def test_mostly_disturbed() -> None:
    """More than half of the rounds: what the step time is made of stands in the evidence."""
    rounds = Rounds(steps=1, wall_s=(0.1,) * 4 + (0.2,) * 9, disturbed=(None,) * 4 + ("steal",) * 9)
    found = _flags(build.record(timing=build.timing(0.1, rounds=rounds)))
    assert found["mostly_disturbed"].evidence.startswith("9 of 13 rounds were disturbed from outside")
    assert "median of the 4 undisturbed" in found["mostly_disturbed"].evidence


def test_uncovered_with_its_share_of_the_time() -> None:
    """An operation without a formula is named: 25 ms of 100; where the profiler saw none, no share is claimed."""
    timed = Uncovered(name="aten::foo", calls=3, time_s=0.025)
    found = _flags(build.record(work=build.work(uncovered=(timed, Uncovered(name="aten::bar", calls=1)))))
    assert found["uncovered"].evidence == (
        "no formula for aten::foo (3 calls, 25 % of the time), aten::bar (1 calls): not in the FLOPs"
    )


def _batch(batch: int, rate: float, reserved: float = 0, **changes: object) -> Record:
    return build.record(
        case=build.case(batch=batch, **changes),
        timing=build.timing(batch / rate),
        memory=Memory(peak_reserved_byte=int(reserved), device_total_byte=16 * 10**9),
    )


def _cliffs(records: Sequence[Record]) -> list[str | None]:
    return [None if flag is None else flag.evidence for flag in cliffs(records)]


def test_the_cliff_of_a_spilled_batch() -> None:
    """900, 1000, 1020, 85 images/s: only the last is flagged, and the full memory names the cause."""
    records = [_batch(32, 900, 5e9), _batch(64, 1000, 9e9), _batch(96, 1020, 12.5e9), _batch(128, 85, 19e9)]
    first, second, third, last = _cliffs(records)
    assert (first, second, third) == (None, None, None)
    assert last == "85.0 images/s at batch 128 against 1020 at batch 96, 12.0 times less; cause: device memory is full"


def test_a_cliff_without_evidence_has_no_cause() -> None:
    """It may be throttling, another process, an algorithm: not known."""
    assert (_cliffs([_batch(32, 900), _batch(64, 400)])[1] or "").endswith("cause: not known")


def _on_cpu(batch: int, rate: float, system_s: float) -> Record:
    process = Process(
        user_s=6.0, system_s=system_s, max_rss_byte=None, voluntary_switches=None, involuntary_switches=None
    )
    return replace(_batch(batch, rate), device=Device(kind="cpu", name="a CPU", index=None), process=process)


def test_the_operating_systems_share_of_the_cpu_time() -> None:
    """2 of 8 s are flagged, 1.9 of 7.9 s aren't; on a GPU the host's time says nothing of the step."""
    share = _on_cpu(64, 900, 2.0)
    assert _flags(share)["system_time"].evidence.startswith("the operating system used 25 % of the CPU time: ")
    assert "system_time" not in _flags(_on_cpu(64, 900, 1.9))
    assert "system_time" not in _flags(replace(share, device=Device(kind="cuda", name="a GPU", index=0)))


def test_a_cliff_by_the_operating_system() -> None:
    """10 of 16 s of the larger batch were its own."""
    _, found = _cliffs([_on_cpu(32, 900, 0.0), _on_cpu(64, 400, 10.0)])
    assert (found or "").endswith("2.25 times less; cause: the system used 62 % of the CPU time")


def test_every_case_is_held_against_all_smaller_batches_of_its_own() -> None:
    """Drawn at random: flagged are exactly those below half of the best smaller batch, which is named."""
    draw = random.Random(0)
    for _ in range(50):
        drawn = [(draw.choice([8, 16, 16, 32]), draw.choice([100, 250, 600]), draw.choice("ab")) for _ in range(8)]
        found = _cliffs([_batch(batch, rate, model=model) for batch, rate, model in drawn])
        for (batch, rate, model), text in zip(drawn, found, strict=True):
            smaller = [(other, size) for size, other, name in drawn if name == model and size < batch]
            best, size = max(smaller, default=(0, 0))
            assert (text is not None) == (rate < best / 2)
            assert text is None or f"against {best} at batch {size}," in text


def test_what_follows_the_fall_is_found_too() -> None:
    """Batch 128 is as slow as 96; both are far from 64."""
    assert [bool(flag) for flag in _cliffs([_batch(64, 900), _batch(96, 85), _batch(128, 85)])] == [False, True, True]


@pytest.mark.parametrize(
    "changes",
    [
        {"precision": "bf16"},
        {"model": "vgg16"},
        {"mode": "infer"},
        {"data": "sample"},
        {"config": {"compile": True}},
        {"config": {"input_shapes": [[64, 2048]]}},
    ],
)
def test_only_the_same_case_counts(changes: dict[str, object]) -> None:
    """Another model, precision, mode, data source, setting or width is no neighbour."""
    assert _cliffs([_batch(32, 900), _batch(64, 85, **changes)]) == [None, None]


def test_the_batch_and_the_seed_are_no_other_case() -> None:
    """The batch is the first dimension of the inputs."""
    small, large = ({"input_shapes": [[batch, 9]], "seed": batch} for batch in (32, 64))
    assert all(_cliffs([_batch(32, 900, config=small), _batch(64, 85, config=large)])[1:])


def test_half_is_no_cliff_and_an_invalid_row_no_measure() -> None:
    """Exactly half passes; a row that is invalid says nothing about others."""
    assert _cliffs([_batch(32, 900), _batch(64, 450)]) == [None, None]
    assert _cliffs([_batch(32, 900), _batch(64, 449)])[1] is not None
    invalid = build.record(
        case=build.case(batch=32), timing=build.timing(1e-9), flags=(Flag(name="x", evidence="x", invalid=True),)
    )
    assert _cliffs([invalid, _batch(64, 900)]) == [None, None]


@pytest.mark.parametrize(
    ("own_s", "evidence"),
    [
        ((0.10, 0.13), "rank 1 on node 1 (box): 130 ms of a step without waiting, 100 ms are usual"),
        ((0.10, 0.10, 0.10, 0.13), "rank 3 on node 3 (box): 130 ms"),
        ((0.10, 0.109), None),
        ((0.10, None), None),
    ],
)
def test_a_rank_that_the_others_wait_for_is_named(own_s: tuple[float | None, ...], evidence: str | None) -> None:
    """By its own work of a step against that of the median rank, of two the faster one's."""
    by_rank = tuple(Rank(node=rank, label="box", own_s=one) for rank, one in enumerate(own_s))
    parallel = Parallel(ranks=len(own_s), nodes=1, backend="gloo", strategy="ddp", by_rank=by_rank)
    found = _flags(build.record(parallel=parallel)).get("straggler")
    assert (found is None) if evidence is None else (found is not None and evidence in found.evidence)


def test_more_ranks_are_no_larger_batch_of_the_same_case() -> None:
    """A step of two ranks is no cliff beside that of one."""
    one = build.record(case=build.case(batch=16))
    shared = Parallel(ranks=2, nodes=1, backend="gloo", strategy="ddp")
    two = build.record(case=build.case(batch=32, samples_per_step=64), timing=build.timing(10.0), parallel=shared)
    assert cliffs([one, two]) == (None, None)
