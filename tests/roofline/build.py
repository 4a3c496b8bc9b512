"""Synthetic result files: small builders of records, and two machines with the same cases, one CPU and one GPU."""

from __future__ import annotations

import json
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any

from roofline.machine.published import load
from roofline.model.points import Point, points_of
from roofline.results.reader import read_file
from roofline.results.result import ResultFile
from roofline.schema.record import (
    KEY,
    Case,
    Check,
    Device,
    Latency,
    Memory,
    Operation,
    Process,
    Profile,
    Record,
    Rounds,
    Timing,
    Work,
)
from roofline.schema.record_json import to_json
from roofline.schema.session import Machine, Roof, Session

CPU = Device(kind="cpu", name="AMD EPYC 7B13", memory_byte=8 * 10**9, last_level_cache_byte=32 * 2**20)
CUDA = Device(
    kind="cuda",
    name="NVIDIA A100-SXM4-80GB",
    index=0,
    memory_byte=80 * 10**9,
    last_level_cache_byte=40 * 2**20,
    compute_capability="8.0",
)

# Forward GFLOP and bytes of one image, least and most, and the parameters: of the size of the real models.
_MODELS = {
    "resnet18": (3.628e9, 25e6, 90e6, 11_689_512),
    "resnet50": (8.178e9, 60e6, 260e6, 25_557_032),
    "mobilenet_v2": (0.6015e9, 30e6, 160e6, 3_504_872),
    "vgg16": (30.941e9, 70e6, 300e6, 138_357_544),
}


def case(**changes: Any) -> Case:
    values: dict[str, Any] = {
        "model": "resnet50",
        "mode": "train",
        "precision": "fp32",
        "batch": 32,
        "sample_unit": "image",
        **changes,
    }
    values.setdefault("id", f"{values['model']}-{values['mode']}-b{values['batch']}-{values['precision']}")
    values.setdefault("workload_hash", f"hash of {values['id']}")
    values.setdefault("samples_per_step", values["batch"])
    return Case(**values)


def timing(step_time_s: float = 0.1, **changes: Any) -> Timing:
    values: dict[str, Any] = {
        "protocol": "adaptive",
        "step_time_s": step_time_s,
        "step_time_sd_s": 0.02 * step_time_s,
        "rounds": Rounds(steps=5, wall_s=tuple(5 * step_time_s for _ in range(20))),
        "warmup_steps": 12,
        "warmup_s": 12 * step_time_s,
        "warmup_settled": True,
        "confidence": 0.95,
        "margin_target": 0.01,
        "margin": 0.008,
        "stop_reason": "margin",
        **changes,
    }
    return Timing(**values)


def work(flop: float = 1e11, low: float = 1e9, high: float = 4e9, dtype: str = "fp32", **changes: Any) -> Work:
    values: dict[str, Any] = {
        "flop_per_step": flop,
        "flop_by_dtype": {dtype: flop},
        "byte_low_per_step": low,
        "byte_high_per_step": high,
        **changes,
    }
    return Work(**values)


def record(**changes: Any) -> Record:
    values: dict[str, Any] = {"case": case(), "device": CPU, "timing": timing(), "work": work(), **changes}
    values.setdefault("checks", (Check(name="finite", status="passed", evidence="the last output is finite"),))
    return Record(**values)


def operation(**changes: Any) -> Operation:
    values: dict[str, Any] = {
        "name": "aten::mm",
        "kind": "matmul",
        "dtype": "fp32",
        "shape": "1024x1024x1024",
        "calls": 1,
        "flop": 2.147e9,
        "byte": 12.6e6,
        "working_set_byte": 12.6e6,
        **changes,
    }
    return Operation(**values)


def profile(**changes: Any) -> Profile:
    values: dict[str, Any] = {"source": "operators", "steps": 3, "step_s": 0.1, "operations_s": 0.1, **changes}
    return Profile(**values)


def timed(*operations: Operation, **changes: Any) -> Record:
    """A step of 0.1 s under the profiler, whose times add up by themselves."""
    total = sum(one.time_s or 0.0 for one in operations)
    return record(**{"operations": operations, "profile": profile(operations_s=total), **changes})


def roof(kind: str, name: str, value: float, **changes: Any) -> Roof:
    values: dict[str, Any] = {
        "source": "measured",
        "detail": "best of the candidates",
        "kernel": "matmul 4096x4096x4096" if kind == "flop" else "triad 512 MiB",
        "spread": 0.03,
        "measured_at": "2026-11-20T10:00:00+00:00",
        **changes,
    }
    return Roof(kind=kind, name=name, value=value, **values)  # type: ignore[arg-type]


def roofs(compute: float = 1e13, dram: float = 1e11, dtype: str = "fp32") -> tuple[Roof, ...]:
    return (roof("flop", dtype, compute), roof("byte", "dram", dram))


def session(roofs: Sequence[Roof] = (), **changes: Any) -> Session:
    values: dict[str, Any] = {
        "started_at": "2026-11-20T10:00:00+00:00",
        "label": "test",
        "roofs": tuple(roofs),
        **changes,
    }
    return Session(**values)


def machine(label: str = "epyc-2cpu", device: Device = CPU, **changes: Any) -> Machine:
    values: dict[str, Any] = {
        "fingerprint": f"fingerprint of {label}",
        "label": label,
        "device": device,
        "cpu": "AMD EPYC 7B13",
        "cpu_count": 2,
        "memory_byte": 8 * 10**9,
        "os": "Linux 6.1",
        "versions": {"python": "3.12.4", "torch": "2.14.1", "cuda": None},
        "threads": {"intra_op": 2, "inter_op": 2},
        "limits": {"affinity_cpus": 2, "power_limit_w": None},
        "missing": {"limits.power_limit_w": "no NVML for this device"},
        **changes,
    }
    return Machine(**values)


def document(
    records: Iterable[Record | None],
    *,
    of: Session | None = None,
    on: Machine | None = None,
) -> dict[str, Any]:
    """What pytest-benchmark writes. Without ``of`` and ``on`` it is another project's file."""
    rows = []
    for index, item in enumerate(records):
        name = f"test_{index}" if item is None else f"test_case[{item.case.id}]"
        mean = 0.1 if item is None or item.timing is None else item.timing.step_time_s
        stats = {"min": mean, "max": mean, "mean": mean, "stddev": 0.02 * mean, "median": mean, "rounds": 20}
        rows.append(
            {
                "group": None,
                "name": name,
                "fullname": f"perftests/test_models.py::{name}",
                "params": None,
                "param": None,
                "extra_info": {} if item is None else {KEY: to_json(item)},
                "options": {},
                "stats": {**stats, "iterations": 5},
            }
        )
    machine_info: dict[str, Any] = {
        "node": "host" if on is None else on.label,
        "system": "Linux",
        "release": "6.1",
        "python_version": "3.12.4",
        "cpu": {"brand_raw": "AMD EPYC 7B13"},
    }
    whole: dict[str, Any] = {
        "machine_info": machine_info,
        "commit_info": {"id": "0123456789abcdef", "dirty": False, "project": "x", "branch": "main"},
        "benchmarks": rows,
        "datetime": "2026-11-20T10:05:00+00:00",
        "version": "5.3.1",
    }
    if on is not None:
        machine_info[KEY] = to_json(on)
    if of is not None:
        whole[KEY] = to_json(of)
    return whole


def write(path: Path, content: object) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(json.dumps(content), encoding="utf-8")
    return path


def result(
    path: Path, records: Iterable[Record | None], *, of: Session | None = None, on: Machine | None = None
) -> ResultFile:
    """Written and read back."""
    return read_file(write(path, document(records, of=of or session(roofs()), on=on or machine())))


def points(
    path: Path, records: Iterable[Record | None], *, of: Session | None = None, on: Machine | None = None
) -> tuple[Point, ...]:
    """The benchmarks of such a file, placed and judged."""
    return points_of(result(path, records, of=of, on=on), load(None))


def _model_record(device: Device, model: str, mode: str, batch: int, precision: str, dtype: str, rate: float) -> Record:
    flop, low, high, parameters = _MODELS[model]
    factor = 2.97 if mode == "train" else 1.0
    step_flop = factor * flop * batch
    size = 2 if dtype in ("bf16", "fp16") else 4
    fixed = (16 if mode == "train" else 4) * parameters
    step_s = step_flop / rate
    latency = None
    if mode == "infer":
        latency = Latency(steps=100, median_s=1.02 * step_s, p95_s=1.1 * step_s, p99_s=1.3 * step_s)
    on_gpu = device.kind == "cuda"
    wall = tuple(5 * step_s * (1 + 0.001 * (index % 7 - 3)) for index in range(20))
    return record(
        case=case(model=model, mode=mode, batch=batch, precision=precision),
        device=device,
        timing=timing(
            step_s,
            rounds=Rounds(steps=5, wall_s=wall, device_s=tuple(0.99 * value for value in wall) if on_gpu else None),
            latency=latency,
        ),
        work=work(
            step_flop,
            fixed + factor * low * batch * size / 4,
            fixed + factor * high * batch * size / 4,
            dtype,
            parameter_count=parameters,
        ),
        memory=Memory(peak_allocated_byte=batch * 10**8, peak_reserved_byte=batch * 12 * 10**7) if on_gpu else None,
        process=Process(
            user_s=30.0, system_s=1.5, max_rss_byte=1_200_000_000, voluntary_switches=10, involuntary_switches=3
        ),
    )


def cpu_document() -> dict[str, Any]:
    """A small CPU: ResNet-18, ResNet-50 and MobileNetV2, train and infer."""
    ceilings = (
        roof("flop", "fp32", 121e9),
        roof("flop", "bf16", 88e9, spread=0.05),
        roof("byte", "dram", 21.7e9, spread=0.4),
        roof("byte", "llc", 48e9, kernel="read 8 MiB"),
        roof("latency", "launch", 1.4e-6, kernel="add_ on 1 element"),
    )
    records = [
        _model_record(CPU, model, mode, batch, precision, dtype, share * peak)
        for precision, dtype, peak in (("fp32", "fp32", 121e9), ("amp_bf16", "bf16", 88e9))
        for model, share in (("resnet18", 0.62), ("resnet50", 0.55), ("mobilenet_v2", 0.14))
        for mode, batch in (("train", 8), ("train", 16), ("infer", 1), ("infer", 16))
    ]
    return document(records, of=session(ceilings), on=machine())


def cuda_document() -> dict[str, Any]:
    """An A100 with cases of the CPU among its own."""
    ceilings = (
        roof("flop", "fp32", 18.9e12),
        roof("flop", "tf32", 131e12),
        roof("flop", "bf16", 262e12),
        roof("flop", "fp16", 265e12),
        roof("byte", "dram", 1.78e12, kernel="triad 1024 MiB"),
        roof("byte", "llc", 5.2e12, kernel="read 16 MiB"),
        roof("byte", "host_to_device", 25e9, kernel="copy 256 MiB from pinned memory"),
        roof("latency", "launch", 3.1e-6, kernel="add_ on 1 element"),
    )
    records = [
        _model_record(CUDA, model, mode, batch, precision, dtype, share * peak * batch / (batch + 12))
        for precision, dtype, peak in (
            ("fp32", "fp32", 18.9e12),
            ("tf32", "tf32", 60e12),
            ("amp_bf16", "bf16", 90e12),
        )
        for model, share in (("resnet18", 0.7), ("resnet50", 0.72), ("mobilenet_v2", 0.2), ("vgg16", 0.8))
        for mode, batch in (("train", 16), ("train", 64), ("train", 256), ("infer", 1), ("infer", 16))
    ]
    return document(
        records,
        of=session(ceilings, started_at="2026-11-21T09:00:00+00:00"),
        on=machine("a100", CUDA, versions={"python": "3.12.4", "torch": "2.14.1", "cuda": "13.0", "driver": "580.1"}),
    )


def two_machines(folder: Path) -> tuple[Path, Path]:
    """Files of both machines under ``folder``."""
    return (
        write(folder / "epyc-2cpu" / "20261120T100000Z-01234567.json", cpu_document()),
        write(folder / "a100" / "20261121T090000Z-01234567.json", cuda_document()),
    )
