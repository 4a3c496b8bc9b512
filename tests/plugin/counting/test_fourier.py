"""Fourier transforms against the radix-2 recursion."""

from __future__ import annotations

import pytest
import torch
from torch import Tensor

from pytest_roofline.counting.fourier import fourier_flop
from tests.plugin.counting.other_work import other


def butterflies(length: int) -> int:
    """Halve, transform both halves, and put them together: a complex product (6) and two sums (2 each) a pair."""
    return 0 if length == 1 else 2 * butterflies(length // 2) + length // 2 * (6 + 2 + 2)


def complexes(*shape: int) -> Tensor:
    return torch.randn(*shape, dtype=torch.cfloat)


@pytest.mark.parametrize("length", [1, 2, 8, 64])
def test_radix_2(length: int) -> None:
    """5 N log2 N is what the recursion does; of real values half."""
    batch = complexes(3, length)
    assert other(lambda: torch.fft.fft(batch, norm="forward")) == 3 * butterflies(length)
    assert other(lambda: torch.fft.ifft(batch)) == 3 * butterflies(length)
    assert other(lambda: torch.fft.rfft(torch.ones(3, length))) == 3 * butterflies(length) / 2


def test_the_way_back_to_real_values_counts_those() -> None:
    """Not the half of the spectrum that is given, nor its odd length."""
    spectrum = complexes(3, 33)
    assert other(lambda: torch.fft.irfft(spectrum, n=64)) == 3 * butterflies(64) / 2


def test_of_several_dimensions_each_is_transformed() -> None:
    """Row by row, then column by column: log2 of the product."""
    image = complexes(2, 8, 16)
    rows_and_columns = 2 * (8 * butterflies(16) + 16 * butterflies(8))
    assert other(lambda: torch.fft.fft2(image)) == rows_and_columns


def test_other_lengths_are_counted_alike() -> None:
    """Whatever the algorithm."""
    assert fourier_flop(12, 12, real=False) == round(5 * 12 * 3.584962500721156)
    assert fourier_flop(5, 1, real=True) == 0
