"""What may be expected of a case, and which cases and devices an expectation is for."""

import pytest

from roofline.schema.expected import (
    FILE_KEYS,
    MARKER_KEYS,
    ExpectationError,
    Expected,
    expectation,
    matches,
    own_of,
    why_none,
)


def test_everything_that_can_be_written() -> None:
    """Each key has its place; what is left out is for any case, device and precision."""
    written = {
        "case": "resnet18-*",
        "bound": "memory",
        "min_fraction_of_roof": 0.4,
        "min_fraction_of_speed_of_light": 1,
        "device": "cuda",
        "precision": "fp32",
        "fingerprint": "0123456789abcdef",
        "workload_hash": "fedcba9876543210",
    }
    assert expectation(written, FILE_KEYS, "here") == Expected(
        bound="memory",
        min_fraction_of_roof=0.4,
        min_fraction_of_speed_of_light=1.0,
        case="resnet18-*",
        device="cuda",
        precision="fp32",
        fingerprint="0123456789abcdef",
        workload_hash="fedcba9876543210",
        source="here",
    )
    assert expectation({"bound": "compute"}, MARKER_KEYS, "here") == Expected(
        bound="compute", case="*", device="*", precision="*", fingerprint="*", workload_hash="*", source="here"
    )


@pytest.mark.parametrize(
    ("written", "message"),
    [
        ({"bond": "compute"}, "unknown key 'bond'; allowed are bound, min_fraction_of_roof, min_fraction_of_speed_"),
        ({"case": "a", "bound": "compute"}, "unknown key 'case'"),
        ({"bound": "undetermined"}, "bound is 'undetermined'; use one of compute, memory, launch, input, comm"),
        ({"bound": ["compute"]}, "bound is ['compute']; use one of"),
        ({"min_fraction_of_roof": 40}, "min_fraction_of_roof is 40; use a number above 0 and at most 1"),
        *(
            ({floor: value}, f"{floor} is ")
            for floor in ("min_fraction_of_roof", "min_fraction_of_speed_of_light")
            for value in (0, 1.001, True, "40%", float("nan"), float("inf"), 10**400)
        ),
        ({"bound": "compute", "device": " "}, "device is ' '; use a text"),
        ({"bound": "compute", "precision": 16}, "precision is 16; use a text"),
        ({"device": "cuda"}, "nothing is expected; give a bound, min_fraction_of_roof or min_fraction_of_speed_of_"),
    ],
)
def test_what_is_not_allowed_is_named(written: dict[str, object], message: str) -> None:
    """Key, value, what is allowed."""
    with pytest.raises(ExpectationError) as caught:
        expectation(written, MARKER_KEYS, "here")
    assert str(caught.value).startswith(message)


def test_what_stands_in_a_result_may_have_been_edited() -> None:
    """Then it is no expectation, by the same rules."""
    assert why_none(Expected(bound="compute", min_fraction_of_roof=1.0, source="")) is None
    assert why_none(Expected(min_fraction_of_roof=0.0, source="")) is not None
    assert why_none(Expected(bound="compute", device=" ", source="")) is not None
    assert why_none(Expected(source="")) is not None


@pytest.mark.parametrize(
    ("pattern", "text", "same"),
    [
        ("*", "anything", True),
        ("resnet18-*-fp32", "resnet18-train-b16-fp32", True),
        ("resnet18-*-fp32", "resnet18-train-b16-fp32-sample", False),
        ("test_mine[a]", "test_mine[a]", True),
        ("test_mine[a]", "test_minea", False),
        ("a.c", "abc", False),
    ],
)
def test_a_pattern_knows_the_star_alone(pattern: str, text: str, same: bool) -> None:
    """Brackets and dots of test names are themselves."""
    assert matches(pattern, text) is same


def test_a_device_is_known_by_kind_name_and_label() -> None:
    """Whatever the case of its letters."""
    names = ("cuda", "NVIDIA A100-SXM4-80GB", "lab-3")
    for device in ("cuda", "nvidia a100*", "lab-3", "*"):
        assert Expected(bound="compute", device=device, source="").is_on(names)
    for device in ("cpu", "NVIDIA A100", "lab-4"):
        assert not Expected(bound="compute", device=device, source="").is_on(names)


def test_it_is_of_one_machine_and_work_or_of_any() -> None:
    """Without the keys it is of all; with them of those alone, to the letter."""
    expected = Expected(bound="compute", fingerprint="0123abcd", workload_hash="ef456789", source="")
    assert expected.is_of_machine("0123abcd")
    assert expected.is_of_work("ef456789")
    for other in ("0123ABCD", "0123abcde", "", "unproven:host|cpu|Linux"):
        assert not expected.is_of_machine(other)
        assert not expected.is_of_work(other)
        assert Expected(bound="compute", source="").is_of_machine(other)
        assert Expected(bound="compute", source="").is_of_work(other)


def test_a_machine_that_is_known_has_nothing_to_do_with_another_s_entries() -> None:
    """One that isn't has all of them; what is of no machine in particular is everybody's."""
    own, other, any_of_them = (
        Expected(bound="compute", fingerprint=fingerprint, source="here") for fingerprint in ("9f2c*", "4b1d", "*")
    )
    entries = (other, own, any_of_them)
    assert own_of(entries, "9f2c0d5a") == (own, any_of_them)
    assert own_of(entries, "none") == entries
    assert own_of((other, any_of_them), "9f2c0d5a") == (other, any_of_them)
