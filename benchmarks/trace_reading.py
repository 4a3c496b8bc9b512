"""How fast `roofline trace` reads a trace of 500 MB, plain and gzipped, and how soon it refuses what only unpacks.

The trace has events as torch.profiler writes them: operators, launches, kernels with the launch's correlation, and
steps. Each command runs in a process of its own, whose time and memory are taken.
"""

from __future__ import annotations

import gzip
import json
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

from benchmarks.figures import Figure

BYTE = 500_000_000
ZEROS = 1_000_000_000

MOST_S = 60.0
MOST_BYTE = 1e9
MOST_REFUSAL_S = 5.0

LAUNCH = """
import os, subprocess, sys, time
start = time.perf_counter()
child = subprocess.Popen(sys.argv[1:], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
_, status, used = os.wait4(child.pid, 0)
print(time.perf_counter() - start, used.ru_maxrss, os.waitstatus_to_exitcode(status))
"""
"""From a small process: until it has begun, Linux counts a child's memory as its parent's."""


def run(*, quick: bool) -> tuple[Figure, ...]:
    repeats = 1 if quick else 3
    with tempfile.TemporaryDirectory() as name:
        plain, packed, zeros = (Path(name, file) for file in ("plain.json", "packed.json.gz", "zeros.json.gz"))
        write(plain, BYTE // 100 if quick else BYTE)
        with plain.open("rb") as source, gzip.open(packed, "wb", compresslevel=1) as target:
            shutil.copyfileobj(source, target)
        with gzip.open(zeros, "wb") as target:
            for _ in range(ZEROS // 1_000_000):
                target.write(bytes(1_000_000))
        read = {path: [_trace(path, 0) for _ in range(repeats)] for path in (plain, packed)}
        refused = [_trace(zeros, 3) for _ in range(repeats)]
        size = f"{plain.stat().st_size / 1e6:.0f} MB"
    peaks = [peak for runs in (*read.values(), refused) for _, peak in runs]
    return (
        *(
            Figure(name=f"reading {size}, {how}", unit="s", samples=tuple(s for s, _ in read[path]), at_most=MOST_S)
            for path, how in ((plain, "plain"), (packed, "gzipped"))
        ),
        Figure(
            name=f"refusing {ZEROS / 1e9:.0f} GB of zeros, gzipped",
            unit="s",
            samples=tuple(seconds for seconds, _ in refused),
            at_most=MOST_REFUSAL_S,
        ),
        Figure(name="most memory of a process", unit="B", samples=(max(peaks),), at_most=MOST_BYTE),
    )


def write(path: Path, byte: int) -> None:
    """Write a trace of at least so many bytes."""
    size = 0
    with path.open("w", encoding="utf-8") as file:
        size += file.write('{"schemaVersion": 1, "displayTimeUnit": "ms", "traceEvents": [')
        number = 0
        while size < byte:
            size += file.write(("" if number == 0 else ",\n") + ",\n".join(map(json.dumps, _step(number))))
            number += 1
        file.write("]}\n")


def _step(number: int) -> list[dict[str, object]]:
    """A step of 40 operators, each with a launch and its kernel."""
    start = 10_000.0 * number
    events = [_event("user_annotation", f"ProfilerStep#{number}", start, 9_000.0)]
    for index in range(40):
        at, launch = start + 200.0 * index, {"correlation": 40 * number + index + 1}
        kernel = f"ampere_sgemm_{32 * (index % 4 + 1)}x64_tn"
        events += [
            _event("cpu_op", "aten::addmm", at, 100.0),
            _event("cuda_runtime", "cudaLaunchKernel", at + 10.0, 5.0, **launch),
            _event("kernel", kernel, at + 50.0, 120.0, device=0, context=1, stream=7, grid=[64, 1, 1], **launch),
        ]
    return events


def _event(category: str, name: str, start_us: float, duration_us: float, **arguments: object) -> dict[str, object]:
    times = {"ts": start_us, "dur": duration_us}
    return {"ph": "X", "cat": category, "name": name, "pid": 1, "tid": 1, **times, "args": arguments}


def _trace(path: Path, code: int) -> tuple[float, float]:
    """Seconds and most memory in bytes of reading the file.

    :param code: the exit code that it is to end with.
    """
    command = [sys.executable, "-m", "roofline", "trace", str(path), "--format", "json"]
    launched = subprocess.run([sys.executable, "-c", LAUNCH, *command], stdout=subprocess.PIPE, text=True, check=True)
    seconds, kibibytes, ended = launched.stdout.split()
    if int(ended) != code:
        raise RuntimeError(f"roofline trace {path.name} ended with exit code {ended}, not {code}")
    return float(seconds), 1024.0 * float(kibibytes)
