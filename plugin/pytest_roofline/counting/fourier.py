"""FLOPs of Fourier transforms.

The convention of the literature, and of FFTW's benchmarks (http://www.fftw.org/speed/method.html): 5 N log2 N for a
complex transform of N values, which is what the radix-2 algorithm does (C. Van Loan, Computational Frameworks for the
Fast Fourier Transform, 1992), and half of that for real values, whatever the algorithm. Of several dimensions N is the
product. Normalising is not counted.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from math import log2, prod

from pytest_roofline.counting.calls import Call
from pytest_roofline.counting.costs import OtherOperation, entries


def fourier_flop(values: int, length: int, *, real: bool) -> int:
    """``values`` numbers altogether, in transforms of ``length``."""
    return round((2.5 if real else 5) * values * log2(length)) if length > 1 else 0


def _complex(call: Call) -> int:
    shape = call.shape("self")
    return fourier_flop(prod(shape), _length(call, shape), real=False)


def _real(values: Callable[[Call], tuple[int, ...]]) -> Callable[[Call], int]:
    """:param values: shape of the side that is real; the other has the redundant half left out."""

    def flop(call: Call) -> int:
        shape = values(call)
        return fourier_flop(prod(shape), _length(call, shape), real=True)

    return flop


def _length(call: Call, shape: tuple[int, ...]) -> int:
    return prod(shape[dimension] for dimension in call.arguments["dim"])


TABLE: Mapping[str, OtherOperation] = {
    **entries("other", _complex, "_fft_c2c"),
    **entries("other", _real(lambda call: call.shape("self")), "_fft_r2c"),
    **entries("other", _real(lambda call: call.result_shape), "_fft_c2r"),
}
"""By name without namespace."""
