"""Which counters NVIDIA's chips have, by compute capability, as far as they differ.

Names are those that the metric evaluator in NVIDIA's ``nvidia-cuda-cupti`` wheels lists (13.5.25, and 12.9.79 for 7.5).
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

DRAM_READ = ("dram__bytes_read.sum", "dram__bytes_op_read.sum")
DRAM_WRITE = ("dram__bytes_write.sum", "dram__bytes_op_write.sum")


@dataclass(frozen=True, slots=True, kw_only=True)
class Chip:
    """What one compute capability has.

    ``tensor``: source and destination types of its counters ``sm__ops_path_tensor_src_*``. ``dram``: names that may
    answer for its DRAM. ``packed``: it has single-precision instructions that work on two values. ``flop_passes``: in
    how many passes of a kernel all its FLOP are counted, those of CUDA cores in one; None: not known.
    """

    tensor: tuple[str, ...]
    dram: tuple[str, ...] = (DRAM_READ[0], DRAM_WRITE[0])
    packed: bool = False
    flop_passes: int | None = None


_AMPERE = ("bf16_dst_fp32", "fp16_dst_fp16", "fp16_dst_fp32", "fp64", "tf32_dst_fp32")
_FP4 = ("fp4_dst_fp32", "fp4_fp6_dst_fp16", "fp4_fp6_dst_fp32")
_BLACKWELL = (*_AMPERE, *_FP4, "fp8_dst_fp16", "fp8_dst_fp32")

_CHIPS: Mapping[str, Chip] = {
    "7.5": Chip(tensor=("fp16_bf16_tf32_dst_fp32", "fp16_dst_fp16")),
    "8.0": Chip(tensor=_AMPERE, flop_passes=5),
    "8.6": Chip(tensor=_AMPERE, flop_passes=5),
    "8.9": Chip(tensor=(*_AMPERE, "fp8"), flop_passes=5),
    "9.0": Chip(tensor=("bf16_dst_fp32", "fp16", "fp64", "fp8", "tf32_dst_fp32"), flop_passes=5),
    "10.0": Chip(tensor=(*_AMPERE, "fp4_dst_fp32", "fp4_fp6_fp8_dst_fp16", "fp4_fp6_fp8_dst_fp32"), packed=True),
    "10.3": Chip(tensor=_BLACKWELL, packed=True),
    # The evaluator lists the *_op_* names alone; a run on such a chip answered the others.
    "12.0": Chip(tensor=_BLACKWELL, dram=(DRAM_READ[1], DRAM_READ[0], DRAM_WRITE[1], DRAM_WRITE[0])),
    "12.1": Chip(tensor=_BLACKWELL, dram=()),
}


LISTED = tuple(_CHIPS)
"""The compute capabilities whose counters are known."""


def chip_of(compute_capability: str | None) -> Chip | None:
    """The chip, or that which it is taken for; None where there is none."""
    name = taken_for(compute_capability)
    return None if name is None else _CHIPS[name]


def taken_for(compute_capability: str | None) -> str | None:
    """The listed compute capability whose counters are those of this one, as far as is known: itself, or the nearest
    older one of its generation; None where there is none.
    """
    major, _, minor = (compute_capability or "").partition(".")
    if not (major.isdecimal() and minor.isdecimal()):
        return None
    listed = [int(name.partition(".")[2]) for name in _CHIPS if name.partition(".")[0] == major]
    older = [one for one in listed if one <= int(minor)]
    return f"{major}.{max(older)}" if older else None
