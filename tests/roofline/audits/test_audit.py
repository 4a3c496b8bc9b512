"""All rules over all files."""

from dataclasses import replace

from roofline.audits import RULES, audit, on_devices
from roofline.audits.rule import Known, Rule, rule, run
from tests.roofline.audits.make import KNOWN, row


def test_tolerances_are_those_of_the_rules_unless_given() -> None:
    rows = [row(samples_per_s=10.0, step_time_s=0.105, batch=1)]
    assert audit(rows, KNOWN.devices).contradicted
    assert not audit(rows, KNOWN.devices, {"throughput_times_latency": 0.1}).contradicted


def test_rules_can_be_chosen() -> None:
    rows = [row(samples_per_s=10.0, step_time_s=0.105, batch=1)]
    others = [one for one in RULES if one.name != "throughput_times_latency"]
    assert not audit(rows, KNOWN.devices, rules=others).contradicted


def test_a_function_becomes_a_rule() -> None:
    """Its name and docstring are the rule's; a tolerance given to a rule without one is not handed on."""
    handed: list[float] = []

    def some_rule(rows: object, known: Known, tolerance: float):  # type: ignore[no-untyped-def]  # noqa: ARG001
        """What it
        means."""
        handed.append(tolerance)
        yield None

    made: Rule = rule("a title")(some_rule)
    assert (made.name, made.title, made.meaning, made.tolerance) == ("some_rule", "a title", "What it means.", None)
    assert run(made, [], KNOWN, 0.5).examined == 1
    run(replace(made, tolerance=0.03), [], KNOWN)
    run(replace(made, tolerance=0.03), [], KNOWN, 0.5)
    assert handed == [0.0, 0.03, 0.5]


def test_devices_get_their_full_names() -> None:
    """A table's word, and rows that state none; a device of a name that was not given stays."""
    rows = [row(device="rtx"), row(device=None), row(device="mps", device_kind="accelerator")]
    named = on_devices(rows, {"rtx": "NVIDIA GeForce RTX 4090"}, "NVIDIA L4")
    assert [one.device for one in named] == ["NVIDIA GeForce RTX 4090", "NVIDIA L4", "mps"]
    assert [one.device_kind for one in named] == ["accelerator", "accelerator", "accelerator"]
    assert on_devices(rows, {}, None) == tuple(rows)
