"""How fast a large file of ncu is read: 50 MB of the details page (a row a metric), and of the raw page (a column a
metric, with the 250 properties of device and launch that ncu adds).

The command runs in a process of its own, whose time and memory are taken.
"""

from __future__ import annotations

import random
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path

from benchmarks.compare_speed import LAUNCH
from benchmarks.figures import Figure
from roofline.counters.metrics import byte_metrics, flop_metrics

SIZE_BYTE = 50_000_000
MOST_S = 5.0
MOST_BYTE = 1e9

_METRICS = (*byte_metrics("8.0"), *flop_metrics("8.0", tensor=True))
_PROPERTIES = 250
_KERNELS = (
    "void at::native::vectorized_elementwise_kernel<4, at::native::CUDAFunctor_add<float>, std::array<char*, 3ul>>(int,"
    " at::native::CUDAFunctor_add<float>, std::array<char*, 3ul>)",
    "sm80_xmma_fprop_implicit_gemm_tf32f32_tf32f32_f32_nhwckrsc_nhwc_tilesize128x128x16_stage4_warpsize2x2x1_g1",
    "void cudnn::bn_fw_tr_1C11_kernel_NCHW<float, float, 512, true, 1, true>(cudnnTensorStruct, float const*)",
    "ampere_sgemm_128x64_nn",
)
_IDENTITY = ("ID", "Process ID", "Process Name", "Host Name", "Kernel Name", "Context", "Stream")
_SIZES = ("Block Size", "Grid Size", "Device", "CC")


def run(*, quick: bool) -> tuple[Figure, ...]:
    size = SIZE_BYTE // 50 if quick else SIZE_BYTE
    figures: list[Figure] = []
    with tempfile.TemporaryDirectory() as name:
        for page, lines in (("details", details()), ("raw", raw())):
            path = Path(name) / f"{page}.csv"
            written = write(path, lines, size)
            measured = [_read(path) for _ in range(1 if quick else 5)]
            figures += _figures(page, written, measured)
    return tuple(figures)


def _figures(page: str, size: int, measured: list[tuple[float, float]]) -> Iterator[Figure]:
    what = f"{page} page of {size / 1e6:.0f} MB"
    yield Figure(name=f"reading a {what}", unit="s", samples=tuple(one for one, _ in measured), at_most=MOST_S)
    yield Figure(
        name=f"most memory of the process, {what}",
        unit="B",
        samples=tuple(peak for _, peak in measured),
        at_most=MOST_BYTE,
    )


def write(path: Path, lines: Iterator[str], size: int) -> int:
    """Lines until the file has ``size`` bytes; the bytes it came to."""
    written = 0
    with path.open("w", encoding="utf-8") as file:
        while written < size:
            written += file.write(next(lines))
    return written


def details() -> Iterator[str]:
    """Launch after launch, all rows of one at once; numbers in groups, as most systems print them."""
    rng = random.Random(1)
    yield _line(*_IDENTITY, *_SIZES, "Section Name", "Metric Name", "Metric Unit", "Metric Value")
    for number in range(sys.maxsize):
        identity = _launch(number)
        yield "".join(
            _line(*identity, "Command line profiler metrics", metric, _unit(metric), f"{rng.randrange(10**9):,}")
            for metric in _METRICS
        )


def raw() -> Iterator[str]:
    """Headers and units, then launch after launch."""
    rng = random.Random(1)
    properties = [f"launch__property_{number}" for number in range(_PROPERTIES)]
    yield _line(*_IDENTITY, *_SIZES, *properties, *_METRICS)
    yield _line(*("",) * len((*_IDENTITY, *_SIZES, *properties)), *map(_unit, _METRICS))
    for number in range(sys.maxsize):
        values = [f"{rng.random() * 100:.2f}" for _ in properties]
        yield _line(*_launch(number), *values, *(str(rng.randrange(10**9)) for _ in _METRICS))


def _launch(number: int) -> tuple[str, ...]:
    kernel = _KERNELS[number % len(_KERNELS)]
    return (str(number), "77", "python", "127.0.0.1", kernel, "1", "7", "(128, 1, 1)", "(1024, 1, 1)", "0", "8.0")


def _unit(metric: str) -> str:
    return "byte" if "bytes" in metric else "ns" if "time" in metric else "inst"


def _line(*cells: str) -> str:
    return ",".join(f'"{cell}"' for cell in cells) + "\n"


def _read(path: Path) -> tuple[float, float]:
    """Seconds and most memory in bytes of a table by kind."""
    command = [sys.executable, "-m", "roofline", "ncu", path.name, "--by", "kind", "-o", "kinds.md"]
    launched = subprocess.run(
        [sys.executable, "-c", LAUNCH, *command], cwd=path.parent, stdout=subprocess.PIPE, text=True, check=True
    )
    seconds, kibibytes = launched.stdout.split()
    return float(seconds), 1024.0 * float(kibibytes)
