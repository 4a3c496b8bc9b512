"""What a record leaves unexplained: values that are missing without a reason."""

from dataclasses import replace
from typing import Any

import pytest

from pytest_roofline.missing import unexplained
from roofline.schema.record import Counters, Memory, Record, Rounds
from tests.roofline import build


def _explained(**changes: Any) -> Record:
    """Nothing is None without a reason, but for what ``changes`` bring."""
    paths = (
        *("device.compute_capability", "timing.rounds", "timing.autocorrelation_rounds", "timing.sync_cost_s"),
        *("timing.input_wait_s", "timing.input_startup_s", "timing.compile_s", "timing.compiled_from_cache"),
        *("timing.latency", "work"),
        *("profile", "counters", "host_counters", "memory", "process", "energy_j_per_step"),
    )
    return build.record(missing=dict.fromkeys(paths, "a reason"), **changes)


def _without(record: Record, *paths: str) -> Record:
    return replace(record, missing={path: why for path, why in record.missing.items() if path not in paths})


def test_a_reason_for_every_none_leaves_nothing_unexplained() -> None:
    """The rule of the module: a value that could not be had is None, and ``missing`` tells why."""
    assert unexplained(_explained()) == ()


@pytest.mark.parametrize(
    ("path", "named"),
    [
        ("energy_j_per_step", ("energy_j_per_step",)),
        ("device.compute_capability", ("device.compute_capability",)),
        ("memory", ("memory",)),
        (
            "timing.rounds",
            tuple(
                f"timing.rounds.{series}"
                for series in (
                    *("device_s", "process_cpu_s", "input_wait_s", "involuntary_switches", "steal_s"),
                    *("sm_clock_hz", "memory_clock_hz", "power_w", "temperature_c", "device_memory_byte", "throttle"),
                    *("power_held_s", "heat_held_s", "disturbed"),
                )
            ),
        ),
    ],
)
def test_a_none_without_a_reason_is_named(path: str, named: tuple[str, ...]) -> None:
    """At any depth. A reason for the part had covered every series of the rounds."""
    assert unexplained(_without(_explained(), path)) == named


def test_a_reason_explains_no_neighbour() -> None:
    """A path that only begins like another is not its parent."""
    record = _without(_explained(memory=Memory(peak_allocated_byte=1)), "memory")
    record = replace(record, missing={**record.missing, "memory.peak": "x", "memory.device_total_byte": "unknown"})
    assert unexplained(record) == ("memory.peak_predicted_byte", "memory.peak_reserved_byte")


def test_operations_without_a_time_share_one_path() -> None:
    """A hundred operations are one question, and one reason answers it."""
    record = _explained(operations=(build.operation(), build.operation(time_s=0.1), build.operation()))
    assert unexplained(record) == ("operations.time_s",)
    assert unexplained(replace(record, missing={**record.missing, "operations.time_s": "no profile"})) == ()


def test_a_null_that_is_a_value_needs_no_reason() -> None:
    """The only device, a quiet round at full clocks, a setting that is off, and counters whose status is the reason."""
    rounds = Rounds(
        steps=1,
        wall_s=(0.1,),
        device_s=(0.1,),
        process_cpu_s=(0.1,),
        input_wait_s=(0.0,),
        involuntary_switches=(0,),
        steal_s=(0.0,),
        sm_clock_hz=(1e9,),
        memory_clock_hz=(1e9,),
        power_w=(100.0,),
        temperature_c=(50.0,),
        device_memory_byte=(10**9,),
        throttle=(None,),
        power_held_s=(0.0,),
        heat_held_s=(0.0,),
        disturbed=(None,),
    )
    record = _explained(
        case=build.case(config={"loader": None}),
        device=replace(build.CPU, index=None),
        counters=Counters(status="not_requested"),
        timing=build.timing(rounds=rounds),
    )
    assert unexplained(_without(record, "timing.rounds", "counters")) == ()
