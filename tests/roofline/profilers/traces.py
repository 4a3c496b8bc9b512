"""Traces as torch.profiler writes them, small."""

from __future__ import annotations

import gzip
import json
from pathlib import Path
from typing import Any

GEMM = "ampere_sgemm_128x64_tn"


def event(category: str, name: str, ts: float, dur: float, **more: Any) -> dict[str, Any]:
    return {"ph": "X", "cat": category, "name": name, "pid": 4242, "tid": 4242, "ts": ts, "dur": dur, **more}


def on_gpu(
    category: str, name: str, ts: float, dur: float, *, device: int = 0, stream: int = 7, **arguments: Any
) -> dict[str, Any]:
    """As Kineto writes it: the process is the device, the thread the stream."""
    more = {"device": device, "context": 1, "stream": stream, "correlation": 17, **arguments}
    return {**event(category, name, ts, dur), "pid": device, "tid": stream, "args": more}


def events() -> list[dict[str, Any]]:
    """A step: an operator that calls another, two kernels that overlap on two streams, a copy and a fill."""
    return [
        {"ph": "M", "name": "process_name", "pid": 0, "tid": 0, "ts": 0.0, "args": {"name": "python"}},
        event("user_annotation", "ProfilerStep#2", 100.0, 60.0),
        event("cpu_op", "aten::linear", 100.0, 20.0, args={"External id": 1, "Sequence number": 3}),
        event("cpu_op", "aten::addmm", 105.0, 10.0),
        event("cuda_runtime", "cudaLaunchKernel", 106.0, 5.0, args={"correlation": 17}),
        on_gpu("gpu_memcpy", "Memcpy HtoD (Pageable -> Device)", 110.0, 10.0, bytes=4096),
        on_gpu("kernel", GEMM, 120.0, 30.0, grid=[1, 1, 1]),
        on_gpu("kernel", GEMM, 140.0, 20.5, stream=8),
        on_gpu("kernel", "vectorized_elementwise_kernel", 180.0, 10.0),
        on_gpu("gpu_memset", "Memset (Device)", 195.0, 5.0, bytes=64),
        on_gpu("gpu_user_annotation", "ProfilerStep#2", 110.0, 90.0),
        {"ph": "s", "id": 17, "pid": 4242, "tid": 4242, "ts": 106, "cat": "ac2g", "name": "ac2g"},
        event("overhead", "Activity Buffer Request", 100.0, 900.0),
        {"ph": "i", "s": "t", "name": "Iteration Start: PyTorch Profiler", "pid": "Traces", "tid": "x", "ts": 100.0},
    ]


def document(traced: list[dict[str, Any]] | None = None, **more: Any) -> dict[str, Any]:
    return {
        "schemaVersion": 1,
        "deviceProperties": [{"id": 0, "name": "NVIDIA A100-SXM4-40GB", "numSms": 108}],
        "distributedInfo": {"backend": "nccl", "rank": 3, "world_size": 8},
        "displayTimeUnit": "ms",
        "baseTimeNanoseconds": 1_700_000_000_000_000_000,
        "traceEvents": events() if traced is None else traced,
        "traceName": "trace.json",
        **more,
    }


def write(path: Path, content: Any) -> Path:
    """Write it as JSON, with gzip where the name says so."""
    text = json.dumps(content, indent=1).encode()
    path.parent.mkdir(exist_ok=True)
    path.write_bytes(gzip.compress(text) if path.suffix == ".gz" else text)
    return path
