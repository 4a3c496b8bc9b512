"""What is inside the clock readings of a round, in which order, and what the readings say; and of single steps."""

from __future__ import annotations

import pytest

from pytest_roofline.device.nvml import DeviceState, HeldDown
from pytest_roofline.measuring import Plan
from pytest_roofline.measuring.rounds import single_steps
from tests.plugin.measuring.fakes import Lab


def test_order_of_calls_in_a_round() -> None:
    """Synchronise, clock, event, steps, event, synchronise, clock; every other reading is outside."""
    lab = Lab(events=True)
    lab.stopwatch(waits=True).round(3)
    assert lab.calls == [
        "held",
        "telemetry",
        "input_wait",
        "synchronize",
        "clock",
        "mark",
        "step",
        "step",
        "step",
        "mark",
        "synchronize",
        "clock",
        "telemetry",
        "between",
        "input_wait",
        "state",
        "held",
    ]


def test_a_round_is_what_its_steps_and_the_last_synchronisation_take() -> None:
    """Waiting for what was done before is not in it; waiting for its own steps is."""
    lab = Lab(0.5, sync_s=0.25, events=True)
    taken = lab.stopwatch(waits=True).round(4)
    assert taken.wall_s == 2.25
    assert taken.device_s == 2.0
    # Counters are read around it, so the first synchronisation is in them.
    assert taken.process_cpu_s == 2 * 2.5
    assert taken.input_wait_s == 2.5 / 4
    assert taken.steal_s == 0.0


def test_work_still_queued_is_not_charged_to_the_round() -> None:
    """A device that is busy before the round is waited for outside of it."""
    lab = Lab(0.5)
    queue = [7.0]

    def synchronize() -> None:
        lab.now += sum(queue)
        queue.clear()

    lab.synchronize = synchronize  # type: ignore[method-assign]
    assert lab.stopwatch().round(2).wall_s == 1.0


def test_asynchronous_work_is_charged_to_the_round() -> None:
    """A step that returns at once and works on for 5 ms takes 5 ms."""
    lab = Lab(0.0)
    queued: list[float] = []

    def step() -> None:
        lab.now += 1e-6
        queued.append(5e-3)

    def synchronize() -> None:
        lab.now += sum(queued)
        queued.clear()

    lab.synchronize = synchronize  # type: ignore[method-assign]
    taken = lab.stopwatch(step).round(10)
    assert taken.wall_s / 10 == pytest.approx(5e-3 + 1e-6)


def test_a_device_without_events_or_readings_gives_none() -> None:
    """What can't be read is None, not 0."""
    taken = Lab().stopwatch().round(1)
    assert (taken.device_s, taken.input_wait_s, taken.device, taken.held) == (None, None, DeviceState(), HeldDown())


def test_counters_are_differences() -> None:
    """A round holds what was counted during it, not since the process began."""
    lab = Lab(switches=(5, 5, 1, 2, 0), hz=(1.5e9, 1.4e9))
    stopwatch = lab.stopwatch()
    first, second = stopwatch.round(2), stopwatch.round(2)
    assert (first.involuntary_switches, second.involuntary_switches) == (10, 3)
    assert (first.device.sm_clock_hz, second.device.sm_clock_hz) == (1.5e9, 1.4e9)


def test_how_long_the_clocks_were_held_down_is_of_the_round() -> None:
    """The device counts on between rounds, too: that is in none of them. What it doesn't count stays None."""
    lab = Lab()
    counted_s = iter([5.0, 5.25, 7.0, 7.5])
    lab.held_so_far = lambda: HeldDown(power_held_s=next(counted_s))  # type: ignore[method-assign]
    stopwatch = lab.stopwatch()
    assert stopwatch.round(1).held == HeldDown(power_held_s=0.25)
    assert stopwatch.round(1).held == HeldDown(power_held_s=0.5)


def test_cost_of_a_synchronisation() -> None:
    """Measured with nothing to wait for; what was queued before is waited for first."""
    lab = Lab(sync_s=2e-6)
    assert lab.stopwatch().sync_cost_s() == pytest.approx(2e-6)
    assert lab.calls[:2] == ["synchronize", "clock"]
    assert lab.steps == 0


@pytest.mark.parametrize(("step_s", "steps"), [(1e-4, 1000), (0.0625, 32), (5.0, 10)], ids=["fast", "medium", "slow"])
def test_two_seconds_of_steps(step_s: float, steps: int) -> None:
    """As many as fit into 2 s, at least 10 and at most 1000."""
    assert len(single_steps(Lab(step_s).stopwatch())) == steps


def test_each_step_is_synchronised() -> None:
    """Latency is that of one request at a time."""
    lab = Lab(0.5)
    single_steps(lab.stopwatch())
    assert lab.calls == ["synchronize", "clock", "step", "synchronize", "clock"] * 10


@pytest.mark.parametrize(("steps", "percentiles"), [(101, (51.0, 96.0, 100.0)), (5, (3.0, 4.8, 4.96))])
def test_percentiles(steps: int, percentiles: tuple[float, ...]) -> None:
    """Of steps of 1, 2, ... s, linear between the order statistics, as numpy's default."""
    lab = Lab(*(float(number + 1) for number in range(steps)))
    plan = Plan(protocol="steps", warmup_steps=0, steps=steps)
    latency = lab.measure(plan, latency=True).timing.latency
    assert latency is not None
    assert latency.steps == steps
    assert (latency.median_s, latency.p95_s, latency.p99_s) == pytest.approx(percentiles)


@pytest.mark.parametrize(("steps", "told"), [(99, True), (100, False)])
def test_few_steps_have_no_99th_percentile(steps: int, told: bool) -> None:
    """The value is given, with what is to be said against it."""
    lab = Lab(0.25)
    plan = Plan(protocol="steps", warmup_steps=0, steps=steps)
    missing = lab.measure(plan, latency=True).missing
    assert ("timing.latency.p99_s" in missing) is told
