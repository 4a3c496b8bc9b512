"""The measuring loop on a clock of its own: protocols, stopping, repeats, and what is stored."""

from __future__ import annotations

import gc
import itertools
import sys
from collections.abc import Iterator
from contextlib import contextmanager, nullcontext
from dataclasses import replace

import pytest

from pytest_roofline.device.nvml import DeviceState, HeldDown
from pytest_roofline.measuring import Plan
from pytest_roofline.measuring.host_telemetry import Reading
from pytest_roofline.measuring.plan import SoFar
from roofline.timing.margin import UNSEEN_S
from tests.plugin.measuring.fakes import Lab


def test_a_round_lasts_a_tenth_of_a_second() -> None:
    """A fast step is run many times a round; every round's steps and time are stored."""
    timing = Lab(0.002).measure().timing
    assert 50 <= timing.rounds.steps <= 52
    assert min(timing.rounds.wall_s) >= 0.1 - 1e-9
    assert timing.step_time_s == pytest.approx(0.002)


def test_a_round_lasts_a_thousand_synchronisation_costs() -> None:
    """Where synchronising is dear rounds get longer."""
    lab = Lab(0.01, sync_s=0.0005)
    timing = lab.measure().timing
    assert timing.sync_cost_s == pytest.approx(0.0005)
    assert min(timing.rounds.wall_s) >= 0.5


def test_stops_as_soon_as_the_margin_is_reached() -> None:
    """A step without spread reaches 1 % when what a run can't see is below 1 %: after 5 s, and not before."""
    timing = Lab(0.25).measure().timing
    assert timing.stop_reason == "margin"
    assert sum(timing.rounds.wall_s) == UNSEEN_S / 0.01 == 5.0
    assert timing.margin == 0.01
    assert timing.margin_target == 0.01


def test_stops_before_the_budget_is_overrun() -> None:
    """A round that would end beyond the budget isn't begun; the margin that was reached is stored, not the target."""
    lab = Lab(*itertools.islice(itertools.cycle((0.25, 0.375)), 200))
    timing = lab.measure(Plan(margin=1e-4, max_time_s=4.125)).timing
    assert timing.stop_reason == "budget"
    # 13 rounds took 4.0 s or 4.125 s; one more, of 0.31 s on average, would have been too much.
    assert len(timing.rounds.wall_s) == 13
    assert timing.margin is not None
    assert timing.margin > 1e-4
    assert timing.margin_target == 1e-4


def test_three_rounds_even_beyond_the_budget() -> None:
    """A spread needs some rounds; three support no claim and the record says so."""
    measured = Lab(8.0).measure(Plan(max_time_s=1.0))
    timing = measured.timing
    assert len(timing.rounds.wall_s) == 3
    assert timing.stop_reason == "budget"
    assert timing.step_time_sd_s == 0.0
    assert timing.margin is None
    assert measured.missing["timing.margin"] == "3 rounds; at least 5 are needed for a claim"


def test_mostly_disturbed_rounds_claim_nothing() -> None:
    """A process that had to share its CPUs has no step time of its own: no margin, and it ends at twice the budget."""
    lab = Lab(0.25)
    read = lab.read

    def shared() -> Reading:
        return replace(read(), involuntary_switches=int(200 * lab.now), others_cpu_s=lab.now)

    lab.read = shared  # type: ignore[method-assign]
    measured = lab.measure(Plan(max_time_s=7.0))
    assert measured.timing.stop_reason == "budget"
    assert measured.timing.margin is None
    assert measured.missing["timing.margin"] == "56 of 56 rounds were disturbed from outside"


def test_disturbed_rounds_stay_in_the_series_and_are_not_in_the_step_time() -> None:
    """Marked, not hidden; the figure, its spread and its margin are of the others."""
    lab = Lab(*[0.25] * 12, 2.0, 0.25, switches=(*[0] * 12, 90, 0))
    timing = lab.measure(Plan(margin=1e-4, max_time_s=8.0)).timing
    assert timing.rounds.disturbed is not None
    assert [index for index, mark in enumerate(timing.rounds.disturbed) if mark] == [5]
    count = len(timing.rounds.wall_s)
    assert timing.rounds.wall_s == (*[0.25] * 5, 2.0, *[0.25] * (count - 6))
    assert (timing.step_time_s, timing.step_time_sd_s) == (0.25, 0.0)
    assert timing.margin == UNSEEN_S / (0.25 * (count - 1))


@pytest.mark.parametrize(("disturbed", "rounds"), [(0, 8), (3, 11), (8, 16), (20, 16)])
def test_disturbed_rounds_are_replaced_for_up_to_as_long_again(disturbed: int, rounds: int) -> None:
    """A budget of eight rounds is for undisturbed ones, and never more than doubled."""
    lab = Lab(0.25, switches=(*[0] * 7, *[90] * disturbed, 0))
    read = lab.read
    lab.read = lambda: replace(read(), others_cpu_s=lab.now)  # type: ignore[method-assign]
    timing = lab.measure(Plan(margin=1e-4, max_time_s=2.0)).timing
    assert timing.stop_reason == "budget"
    assert timing.rounds.disturbed is not None
    marked = sum(mark is not None for mark in timing.rounds.disturbed)
    assert (marked, len(timing.rounds.wall_s)) == (min(disturbed, 16), rounds)


def test_the_stop_is_by_the_margin_of_the_undisturbed_rounds() -> None:
    """Two long rounds that something disturbed neither widen the margin nor count as time."""
    lab = Lab(*[0.25] * 8, 2.0, 2.0, 0.25, switches=(*[0] * 8, 90, 90, 0))
    timing = lab.measure().timing
    assert timing.stop_reason == "margin"
    assert len(timing.rounds.wall_s) == 22
    assert timing.margin == UNSEEN_S / 5.0 == 0.01


def test_giving_up_the_warm_up_is_stored() -> None:
    """A reader sees that the step had not settled when timing began."""
    timing = Lab(*[0.1 * 1.03**n for n in range(400)]).measure(Plan(max_time_s=1.0)).timing
    assert timing.warmup_settled is False


def test_the_window_protocol() -> None:
    """Ten steps of warm-up and one window of a hundred; one window supports no claim and has no spread."""
    lab = Lab(*[0.5] * 10, *[0.01] * 100)
    timing = lab.measure(Plan(protocol="window")).timing
    assert lab.steps == 110
    assert (timing.warmup_steps, timing.warmup_settled, timing.stop_reason) == (10, None, "fixed")
    assert timing.rounds.steps == 100
    assert len(timing.rounds.wall_s) == 1
    assert timing.step_time_s == pytest.approx(0.01)
    assert (timing.step_time_sd_s, timing.margin, timing.margin_target) == (None, None, None)


def test_repeated_windows_have_a_warm_up_each() -> None:
    """Mean and deviation are of the repeats; a margin is claimed from five windows on."""
    lab = Lab(0.01)
    timing = lab.measure(Plan(protocol="window", repeats=5)).timing
    assert lab.steps == 5 * 110
    assert len(timing.rounds.wall_s) == 5
    assert timing.repeat_step_time_s == pytest.approx((0.01,) * 5)
    assert timing.step_time_sd_s == pytest.approx(0.0, abs=1e-12)
    assert timing.warmup_steps == 50
    assert timing.margin == pytest.approx(UNSEEN_S / 5.0, rel=1e-6)


def test_the_steps_protocol() -> None:
    """A hundred steps, each synchronised and logged in order."""
    times = [0.001 * (1 + n) for n in range(100)]
    lab = Lab(*[0.5] * 10, *times)
    measured = lab.measure(Plan(protocol="steps"))
    assert measured.step_log_s == pytest.approx(times)
    assert measured.timing.rounds.steps == 1
    assert measured.timing.rounds.wall_s == measured.step_log_s
    assert measured.timing.stop_reason == "fixed"
    after_warm_up = lab.calls[lab.calls.index("telemetry") :]
    assert after_warm_up.count("synchronize") == 200


def test_only_the_steps_protocol_logs_steps() -> None:
    """Other rounds don't know their single steps."""
    assert Lab(0.25).measure().step_log_s is None


def test_repeats_are_whole_measurements() -> None:
    """Each is warmed up and has a budget of its own; the steps of a round are chosen once."""
    lab = Lab(0.25)
    measured = lab.measure(
        Plan(repeats=3, max_time_s=2.0, margin=1e-6),
        on_warm=lab.noted("warm"),
    )
    timing = measured.timing
    assert len(timing.rounds.wall_s) == 3 * 8
    assert timing.repeat_step_time_s == (0.25, 0.25, 0.25)
    assert timing.warmup_steps == 3 * 7
    assert timing.warmup_s == 3 * 7 * 0.25
    assert lab.calls.count("warm") == 1


def test_who_watches_is_told_between_rounds() -> None:
    """After a round's last reading and before the next one's first, where there is a next one."""
    lab = Lab(0.25)
    lab.measure(
        Plan(steps=1, max_time_s=1.0),
        after=lab.noted("after"),
        watch=lambda _: lab.calls.append("watch"),
    )
    before, behind = ["held", "telemetry", "synchronize"], ["synchronize", "clock", "telemetry", "state"]
    round_ = [*before, "clock", "mark", "step", "mark", *behind, "held", "after"]
    first = lab.calls.index("after") - len(round_) + 1
    assert lab.calls[first:] == [*(3 * [*round_, "watch"]), *round_, "energy"]


def test_who_watches_learns_what_is_left() -> None:
    """The rest of the budget; less, once there is a margin that will be reached sooner; with the repeats to come."""
    seen: list[SoFar] = []

    def watched(plan: Plan, *step_s: float) -> list[tuple[int, int, float, float | None, float]]:
        seen.clear()
        lab = Lab(*step_s)
        lab.measure(plan, watch=seen.append)
        return [(one.repeat, one.rounds, one.step_time_s, one.margin, one.left_s) for one in seen]

    told = watched(Plan(), 0.25)
    assert len(told) == 19
    assert told[0] == (1, 1, 0.25, None, 9.75)
    assert told[9] == (1, 10, 0.25, 0.02, pytest.approx(2.5))
    assert watched(Plan(protocol="steps", steps=4, warmup_steps=0), 0.5, 0.25) == [
        (1, 1, 0.5, None, 1.5),
        (1, 2, 0.375, None, 0.75),
        (1, 3, pytest.approx(1 / 3), None, pytest.approx(1 / 3)),
    ]
    assert watched(Plan(steps=1, repeats=2, max_time_s=1.0), 0.25)[2:4] == [
        (1, 3, 0.25, None, 0.25 + 1.0),
        (2, 1, 0.25, None, 0.75),
    ]
    assert watched(Plan(protocol="window"), 0.25) == []


def test_deviation_of_repeats_is_that_of_their_step_times() -> None:
    """Over repeats, the reports' figure; the step time itself is the median of all rounds."""
    lab = Lab(*[0.25] * (7 + 4), *[0.5] * 100)
    timing = lab.measure(Plan(repeats=2, max_time_s=1.0, margin=1e-6)).timing
    assert timing.repeat_step_time_s == (0.25, 0.5)
    assert timing.step_time_sd_s == pytest.approx(0.25 / 2**0.5)
    assert timing.step_time_s == 0.25


def test_the_step_time_of_a_repeat_leaves_out_disturbed_rounds() -> None:
    """As that of all rounds does."""
    lab = Lab(0.25, *[0.5] * 4, *[0.25] * 6, 0.375, hz=[5e8] * 4 + [1e9])
    timing = lab.measure(Plan(repeats=2, warmup_steps=1, steps=1, max_time_s=3.5, margin=1e-6)).timing
    assert timing.repeat_step_time_s == (0.25, 0.375)


def test_a_level_that_differs_between_repeats_widens_the_margin() -> None:
    """The margin is of all rounds together, and a jump between repeats is a drift to it."""
    level, jump = Lab(0.25), Lab(*[0.25] * (7 + 8), 0.27)
    plan = Plan(repeats=2, max_time_s=2.0, margin=1e-6)
    same, different = level.measure(plan).timing.margin, jump.measure(plan).timing.margin
    assert same is not None
    assert different is not None
    assert different > same + 0.05


def test_latency_of_single_steps() -> None:
    """After the rounds, each step synchronised: median, 95th and 99th percentile."""
    timed = [0.25] * (7 + 20)
    lab = Lab(*timed, *[0.010 + 0.0001 * n for n in range(101)], 0.02)
    measured = lab.measure(latency=True)
    latency = measured.timing.latency
    assert latency is not None
    assert latency.steps >= 100
    assert 0.010 < latency.median_s < latency.p95_s <= latency.p99_s
    assert "timing.latency" not in measured.missing


def test_latency_of_the_steps_protocol_is_that_of_its_steps() -> None:
    """They are synchronised singly already."""
    lab = Lab(*[1.0] * 10, *[0.001 * (1 + n) for n in range(100)])
    latency = lab.measure(Plan(protocol="steps"), latency=True).timing.latency
    assert lab.steps == 110
    assert latency is not None
    assert latency.median_s == pytest.approx(0.0505)


def test_waiting_for_input_is_told_apart() -> None:
    """Per round in the series, per step as the mean."""
    lab = Lab(0.05)
    measured = lab.measure(waits=True)
    timing = measured.timing
    assert timing.rounds.input_wait_s is not None
    assert timing.rounds.input_wait_s[0] == pytest.approx(timing.rounds.wall_s[0] / 4)
    assert timing.input_wait_s == pytest.approx(0.05 / 4)
    assert not [path for path in measured.missing if "input_wait" in path]


def test_series_of_all_rounds_are_stored() -> None:
    """Wall, device, CPU time, switches, steal and clock, all of one length."""
    lab = Lab(0.25, events=True, hz=(1.5e9,), switches=(1,))
    rounds = lab.measure().timing.rounds
    count = len(rounds.wall_s)
    assert rounds.device_s == rounds.wall_s == (0.25,) * count
    assert rounds.process_cpu_s == (0.5,) * count
    assert rounds.involuntary_switches == (1,) * count
    assert rounds.steal_s == (0.0,) * count
    assert rounds.sm_clock_hz == (1.5e9,) * count
    assert rounds.disturbed == (None,) * count


def test_what_is_missing_has_a_reason() -> None:
    """Every None in the timing that the plan did not ask for is explained under its path."""
    lab = Lab(0.25)
    read = lab.read
    lab.read = lambda: replace(read(), steal_s=None)  # type: ignore[method-assign]
    lab.missing |= {"steal_s": "a fake host", "power_w": "a fake device", "wall_s": "never", "no_series": "never"}
    missing = lab.measure().missing
    assert missing["timing.rounds.steal_s"] == "a fake host"
    assert missing["timing.rounds.power_w"] == "a fake device"
    assert {"timing.rounds.device_s", "timing.rounds.sm_clock_hz", "timing.input_wait_s"} <= set(missing)
    assert "never" not in missing.values()


def test_what_the_device_tells_is_stored_round_by_round() -> None:
    """Its clocks, power, heat, memory, and why and for how long its clocks were held down: None in a quiet round."""
    lab = Lab(0.25)
    held = iter([("SW Power Cap", "HW Slowdown"), ()])
    lab.state = lambda: DeviceState(  # type: ignore[method-assign]
        sm_clock_hz=1.2e9,
        memory_clock_hz=2.6e9,
        power_w=600.0,
        temperature_c=80.0,
        device_memory_byte=10**9,
        throttle=next(held, ()),
    )
    lab.held_so_far = lambda: HeldDown(power_held_s=lab.now / 2, heat_held_s=3.0)  # type: ignore[method-assign]
    measured = lab.measure(Plan(steps=1, max_time_s=0.75))
    rounds = measured.timing.rounds
    assert (rounds.sm_clock_hz, rounds.memory_clock_hz) == ((1.2e9,) * 3, (2.6e9,) * 3)
    assert (rounds.power_w, rounds.temperature_c) == ((600.0,) * 3, (80.0,) * 3)
    assert rounds.device_memory_byte == (10**9,) * 3
    assert rounds.throttle == ("SW Power Cap; HW Slowdown", None, None)
    assert (rounds.power_held_s, rounds.heat_held_s) == ((0.125,) * 3, (0.0,) * 3)
    assert not [path for path in measured.missing if "throttle" in path or "_hz" in path or "held" in path]


def test_a_clock_that_can_be_read_only_sometimes_is_missing() -> None:
    """A series with a hole is no series."""
    measured = Lab(0.25, hz=(1.5e9, None, 1.5e9)).measure()
    assert measured.timing.rounds.sm_clock_hz is None
    assert "timing.rounds.sm_clock_hz" in measured.missing


@contextmanager
def _collections(lab: Lab) -> Iterator[None]:
    """Note among the lab's calls when a collection of everything begins."""

    def noted(phase: str, info: dict[str, int]) -> None:
        if phase == "start" and info["generation"] == 2:
            lab.calls.append("collect")

    gc.callbacks.append(noted)
    try:
        yield
    finally:
        gc.callbacks.remove(noted)


def test_garbage_is_collected_between_rounds_and_outside_all_readings() -> None:
    """Before the warm-up, before the first round and after each; a round's first reading is before its clock."""
    lab = Lab(0.25)
    with _collections(lab):
        timing = lab.measure(Plan(max_time_s=1.0), on_warm=lab.noted("warm")).timing
    calls = [call for call in lab.calls if call in ("collect", "warm", "telemetry", "clock", "step")]
    a_round = ["telemetry", "clock", "step", "clock", "telemetry", "collect"]
    assert timing.rounds.steps == 1
    assert calls[calls.index("warm") + 1 :] == ["collect", *a_round * len(timing.rounds.wall_s)]
    assert "collect" in calls[: calls.index("step")]


def test_garbage_is_collected_after_single_steps() -> None:
    """The latency's steps are timed without a collection in them, too."""
    lab = Lab(0.25)
    with _collections(lab):
        lab.measure(Plan(max_time_s=1.0), latency=True)
    calls = [call for call in lab.calls if call in ("collect", "clock", "step")]
    assert calls[-8:] == ["clock", "step", "clock", "collect"] * 2


@pytest.mark.parametrize("enabled", [True, False])
@pytest.mark.parametrize("fails", [False, True])
def test_the_collector_is_off_while_steps_are_timed_and_as_it_was_after(
    enabled: bool, fails: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    """In the warm-up it is as the program has it: compiling makes much garbage. Also where a timed step fails."""
    lab, warm, on = Lab(0.25), [False], set[tuple[bool, bool]]()

    def step() -> None:
        on.add((warm[0], gc.isenabled()))
        lab.step()
        if fails and warm[0]:
            raise ValueError("the step fails")

    def warmed() -> None:
        warm[0] = True

    unfrozen = list[bool]()
    monkeypatch.setattr(gc, "unfreeze", lambda: unfrozen.append(True))
    before = gc.isenabled()
    (gc.enable if enabled else gc.disable)()
    try:
        with pytest.raises(ValueError, match="the step fails") if fails else nullcontext():
            lab.measure(Plan(max_time_s=1.0), step, on_warm=warmed)
        after = gc.isenabled()
    finally:
        (gc.enable if before else gc.disable)()
    assert on == {(False, enabled), (True, False)}
    assert after is enabled
    assert unfrozen


def test_tracing_is_off_while_steps_are_timed_and_back_after() -> None:
    """Timing is never taken under a debugger, a profiler or coverage."""
    lab, seen = Lab(0.25), set[object]()

    def step() -> None:
        seen.update((sys.gettrace(), sys.getprofile()))
        lab.step()

    def tracer(*_: object) -> None:
        return None

    before = sys.gettrace(), sys.getprofile()
    sys.settrace(tracer)
    sys.setprofile(tracer)
    try:
        lab.measure(step=step)
        after = sys.gettrace(), sys.getprofile()
    finally:
        sys.settrace(before[0])
        sys.setprofile(before[1])
    assert seen == {None}
    assert after == (tracer, tracer)


def test_tracing_comes_back_after_a_step_that_fails() -> None:
    """And the step's own error is what is seen."""
    lab = Lab()

    def step() -> None:
        raise MemoryError("no room")

    before = sys.gettrace()
    with pytest.raises(MemoryError, match="no room"):
        lab.measure(step=step)
    assert sys.gettrace() is before
