"""Which GPU an event of an nsys export ran on.

A kernel's ``deviceId`` is what its own process calls the GPU: with ``CUDA_VISIBLE_DEVICES`` every rank of a job may
call its own "0". The table TARGET_INFO_CUDA_DEVICE says, for each process, which GPU of the machine that is.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from roofline.profilers.nsys.database import Database

NOT_TOLD = -1
"""In place of a number that the export doesn't have."""

_MOST_BYTE_PER_S = 10**15
"""A peak beyond is none: a hundred times that of the fastest GPU of today."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Gpu:
    """``told``: ``number`` is the machine's. Otherwise it is what processes called it, maybe each another one."""

    number: int
    told: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class Gpus:
    """``names`` and ``peak_byte_per_s`` (of DRAM, as the driver says) are by the machine's number of the GPU.

    ``numbers`` is that number by process and by the number that the process uses.
    """

    names: Mapping[int, str]
    peak_byte_per_s: Mapping[int, float]
    numbers: Mapping[tuple[int, int], int]

    def of(self, process: int, device: int) -> Gpu:
        known = self.numbers.get((process, device))
        if known is None and len(candidates := {gpu for (_, name), gpu in self.numbers.items() if name == device}) == 1:
            (known,) = candidates
        if known is None and not self.numbers and len(self.names) == 1 and device in self.names:
            known = device
        return Gpu(number=device if known is None else known, told=known is not None)

    def label(self, gpu: Gpu) -> str:
        """Number and name, as far as they are known."""
        if gpu.number == NOT_TOLD:
            return "not told"
        name = self.names.get(gpu.number) if gpu.told else None
        return f"{gpu.number} {name}" if name else str(gpu.number)


def gpus_of(database: Database) -> Gpus:
    """What the export says of the machine's GPUs; nothing where it lacks the tables."""
    names: dict[int, str] = {}
    peaks: dict[int, float] = {}
    if database.has("TARGET_INFO_GPU", "id", "name"):
        for number, name in database.rows("SELECT id, name FROM TARGET_INFO_GPU WHERE typeof(id) = 'integer'"):
            names[number] = "" if name is None else str(name)
    if database.has("TARGET_INFO_GPU", "id", "memoryBandwidth"):
        # The schema calls it "amount of memory transferred (B)"; what stands there is the peak, in byte/s.
        peaks = {
            number: float(rate)
            for number, rate in database.rows(
                "SELECT id, memoryBandwidth FROM TARGET_INFO_GPU"
                " WHERE typeof(id) = 'integer' AND typeof(memoryBandwidth) = 'integer'"
                f" AND memoryBandwidth BETWEEN 1 AND {_MOST_BYTE_PER_S}"
            )
        }
    numbers: dict[tuple[int, int], int] = {}
    if database.has("TARGET_INFO_CUDA_DEVICE", "gpuId", "cudaId", "pid"):
        for number, device, process in database.rows(
            "SELECT gpuId, cudaId, pid FROM TARGET_INFO_CUDA_DEVICE WHERE typeof(gpuId) = 'integer'"
            " AND typeof(cudaId) = 'integer' AND typeof(pid) = 'integer'"
        ):
            numbers[process, device] = number
    return Gpus(names=names, peak_byte_per_s=peaks, numbers=numbers)
