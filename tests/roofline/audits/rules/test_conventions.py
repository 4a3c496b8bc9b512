"""Figures from another convention, another card, or from themselves."""

import pytest

from roofline.audits.row import rounded
from roofline.audits.rules.conventions import circular_intensity, mixed_conventions, peak_of_another_card
from tests.roofline.audits.make import found, row


@pytest.mark.parametrize(
    ("stated", "texts"),
    [
        ({"flop_per_sample": 4.09e9}, ["0.500 times the counted forward pass", "MAC) under the name of FLOP"]),
        (
            {"mac_per_sample": 8.178e9},
            ["2.00 times the counted forward pass", "taken for multiply-adds (MAC) and doubled"],
        ),
        (
            {"attained_flop_per_s": 163.56e9, "samples_per_s": 10.0, "mode": "train"},
            ["0.673 times the counted training step", "the training factor: 2 for 3"],
        ),
        (
            {"flop_per_step": 12.27e9 * 32, "batch": 32, "mode": "train"},
            ["0.505 times the counted training step", "MAC) under the name of FLOP"],
        ),
        ({"flop_per_step": 16.356e9 * 32, "batch": 32, "mode": "infer"}, ["2.00 times the counted forward pass"]),
    ],
)
def test_the_factor_is_named_with_what_was_mixed_up(stated: dict[str, object], texts: list[str]) -> None:
    (one,) = found(mixed_conventions, [row(model="resnet50", **stated)])
    for text in texts:
        assert text in one.arithmetic


@pytest.mark.parametrize(
    "stated",
    [
        {"flop_per_step": 24.299e9 * 32, "batch": 32, "mode": "train"},
        {"attained_flop_per_s": 81.78e9, "samples_per_s": 10.0},
        {"attained_flop_per_s": 242.99e9, "samples_per_s": 10.0},
        {"mac_per_sample": rounded(4.11e9, 0.005e9), "size_pixel": 224},
        {"mac_per_sample": 2.10e9, "size_pixel": 160},
        {"attained_flop_per_s": 100e9, "samples_per_s": 10.0},  # wrong, but by no factor of a convention
        {"mac_per_sample": 1.5 * 4.089e9},  # a forward pass has no training factor
        {"flop_per_step": 8.178e9 / 1.5, "batch": 1, "mode": "infer"},
    ],
)
def test_right_figures_and_odd_ones_are_left_alone(stated: dict[str, object]) -> None:
    assert found(mixed_conventions, [row(model="resnet50", **stated)]) == ()


@pytest.mark.parametrize(
    ("name", "stated"),
    [
        ("vit_b_16", {"flop_per_sample": 17.56e9}),
        ("densenet121", {"flop_per_sample": 2.83e9, "size_pixel": 224}),
        ("bert_base", {"flop_per_step": 11.17e9, "batch": 1, "mode": "infer", "length_token": 128}),
        ("mlp", {"flop_per_step": 2 * 1_007_104, "batch": 1, "mode": "train", "parameter_count": 235_146}),
        ("timm:efficientnet_b0", {"mac_per_sample": 0.77e9, "parameter_count": 5.29e6}),
    ],
)
def test_models_of_every_kind_are_held_against_their_count(name: str, stated: dict[str, object]) -> None:
    (one,) = found(mixed_conventions, [row(model=name, **stated)])
    assert "times the counted" in one.arithmetic


def test_one_finding_for_a_model_however_many_rows() -> None:
    rows = [row(number, model="resnet50", flop_per_sample=4.09e9) for number in (2, 3, 4)]
    (one,) = found(mixed_conventions, [*rows, row(5, model="vgg16", flop_per_sample=30.94e9)])
    assert (one.row.number, [other.number for other in one.others]) == (2, [3, 4])


def test_circular_intensity_counts_its_rows() -> None:
    """One row of four has an intensity of its own; rounding to 0.02 hides nothing."""
    points = ((2.09e9, rounded(0.02, 0.005)), (78e9, 0.743), (239e9, 2.276), (500e9, 2.0))
    rows = [
        row(number, device="cpu", attained_flop_per_s=attained, intensity_flop_per_byte=intensity)
        for number, (attained, intensity) in enumerate(points, 2)
    ]
    (one,) = found(circular_intensity, rows)
    assert "in 3 of 4 rows, at intensities from 0.02 to 2.276 FLOP/byte" in one.arithmetic
    assert [other.number for other in one.others] == [3, 4]


def test_equal_points_have_equal_bandwidths_honestly() -> None:
    """Three runs of one case are no circle; nor is what differs by device."""
    rows = [row(device="cpu", attained_flop_per_s=78e9, intensity_flop_per_byte=0.75) for _ in range(3)]
    assert found(circular_intensity, rows) == ()
    apart = [
        row(device=device, attained_flop_per_s=1e9 * intensity, intensity_flop_per_byte=intensity)
        for device, intensity in (("a", 1.0), ("b", 2.0), ("c", 4.0))
    ]
    assert found(circular_intensity, apart) == ()


def test_the_other_card_is_named() -> None:
    rows = [
        row(number, device="NVIDIA GeForce RTX 4080 Laptop GPU", peak_flop_per_s=48.7e12, peak_byte_per_s=384e9)
        for number in (2, 3)
    ]
    (one,) = found(peak_of_another_card, rows)
    assert one.arithmetic == (
        "48.700 TFLOP/s is published for NVIDIA GeForce RTX 4080, and nothing of the kind for"
        " NVIDIA GeForce RTX 4080 Laptop GPU"
    )
    assert [other.number for other in one.others] == [3]


def test_a_card_with_figures_of_its_own_shows_them() -> None:
    """2039 GB/s is the SXM card's; a PCIe card's is 1935."""
    (one,) = found(peak_of_another_card, [row(device="NVIDIA A100 80GB PCIe", peak_byte_per_s=2039e9)])
    assert (
        "2.0390 TB/s is published for NVIDIA A100-SXM4-80GB, and for NVIDIA A100 80GB PCIe: 1.9350 TB/s"
        in one.arithmetic
    )


@pytest.mark.parametrize("device", ["an unknown card", None])
def test_of_an_unknown_card_nothing_is_said(device: str | None) -> None:
    assert found(peak_of_another_card, [row(device=device, peak_flop_per_s=48.7e12)]) == ()


def test_a_figure_of_an_unrelated_card_is_a_coincidence() -> None:
    """936 GB/s is an RTX 3090's: of an A100 it is somebody's measurement."""
    assert found(peak_of_another_card, [row(device="NVIDIA A100 80GB PCIe", peak_byte_per_s=936e9)]) == ()
