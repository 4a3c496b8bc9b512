"""Record long series of single step times, the data on which the margin is judged (see `margin_coverage`).

    python -m benchmarks.margin_record --label quiet --seconds 60

writes ``benchmarks/data/step_times_quiet.npz``. Per workload it holds the time of every step in units of 100 ns, and
what the host told between two steps: involuntary switches, stolen time and CPU time of other programs, in ms. Under
``about`` stands a JSON text that says which machine (no host name), which torch, how many threads, when and under what
load. One workload runs after the other, so a series is one unbroken stretch of one workload.
"""

from __future__ import annotations

import argparse
import json
import os
import time
from collections.abc import Callable
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor, nn

from benchmarks.gate_record import machine_of
from pytest_roofline.measuring.host_telemetry import HostTelemetry, Reading

DATA = Path(__file__).parent / "data"
TICK_S = 1e-7
"""Unit of the stored times: far below any step's jitter, and it packs into four bytes or fewer."""

MS = 1e-3

Step = Callable[[], object]
Integers = NDArray[np.integer[Any]]


def mlp_train() -> Step:
    """Three dense layers, trained with SGD: matrix products."""
    model = nn.Sequential(nn.Linear(784, 1024), nn.ReLU(), nn.Linear(1024, 1024), nn.ReLU(), nn.Linear(1024, 10))
    return _training(model, torch.randn(192, 784))


def conv_net_train() -> Step:
    """Two convolutions on small images, trained with SGD."""
    model = nn.Sequential(
        nn.Conv2d(3, 32, 3, padding=1), nn.ReLU(), nn.MaxPool2d(2),
        nn.Conv2d(32, 64, 3, padding=1), nn.ReLU(), nn.MaxPool2d(2),
        nn.Flatten(), nn.Linear(64 * 8 * 8, 10),
    )  # fmt: skip
    return _training(model, torch.randn(32, 3, 32, 32))


def resnet18_train() -> Step:
    """torchvision's ResNet-18 on 64x64 images, batch 8, trained with SGD and momentum."""
    from torchvision.models import resnet18

    return _training(resnet18(num_classes=10), torch.randn(8, 3, 64, 64), momentum=0.9)


def encoder_infer() -> Step:
    """A transformer encoder layer, forward only."""
    model = nn.TransformerEncoderLayer(256, 4, 1024, batch_first=True).eval()
    tokens = torch.randn(8, 64, 256)
    return lambda: _infer(model, tokens)


def mobile_infer() -> Step:
    """torchvision's MobileNetV2 on one 128x128 image, forward only: many small operations."""
    from torchvision.models import mobilenet_v2

    model = mobilenet_v2().eval()
    image = torch.randn(1, 3, 128, 128)
    return lambda: _infer(model, image)


def stream() -> Step:
    """A sum of two 64 MB tensors: memory traffic."""
    first, second = torch.randn(2, 16 << 20)
    out = torch.empty_like(first)
    return lambda: torch.add(first, second, out=out)


WORKLOADS: dict[str, Callable[[], Step]] = {
    build.__name__: build for build in (mlp_train, conv_net_train, resnet18_train, encoder_infer, mobile_infer, stream)
}


def _training(model: nn.Module, batch: Tensor, momentum: float = 0.0) -> Step:
    optimizer = torch.optim.SGD(model.parameters(), lr=1e-4, momentum=momentum)
    target = torch.randint(0, 10, (len(batch),))
    loss_of = nn.CrossEntropyLoss()

    def step() -> None:
        optimizer.zero_grad(set_to_none=True)
        loss_of(model(batch), target).backward()
        optimizer.step()

    return step


def _infer(model: nn.Module, batch: Tensor) -> object:
    with torch.inference_mode():
        return model(batch)


def record(step: Step, seconds: float) -> dict[str, Integers]:
    """Back-to-back steps over ``seconds``, after two seconds of warm-up; one value a step in each array."""
    telemetry = HostTelemetry()
    _run(step, telemetry, 2.0)
    times, readings = _run(step, telemetry, seconds)
    series: dict[str, Integers] = {"time": np.round(np.array(times) / TICK_S).astype(np.uint32)}
    for name, unit in (("involuntary_switches", 1.0), ("steal_s", MS), ("others_cpu_s", MS)):
        counts = [getattr(reading, name) for reading in readings]
        if None not in counts:
            # Rounded before the difference: no error adds up.
            series[name] = np.diff(np.round(np.array(counts) / unit)).astype(np.int32)
    return series


def _run(step: Step, telemetry: HostTelemetry, seconds: float) -> tuple[list[float], list[Reading]]:
    """Step times, and the readings before the first step and after each."""
    clock = time.perf_counter
    times: list[float] = []
    readings = [telemetry.read()]
    end = clock() + seconds
    while (start := clock()) < end:
        step()
        times.append(clock() - start)
        readings.append(telemetry.read())
    return times, readings


def about(seconds: float) -> dict[str, object]:
    """Describe the machine of the recording, without a name that identifies it."""
    return {
        **machine_of(torch.get_num_threads()),
        "seconds_each": seconds,
        "started_at": datetime.now(UTC).isoformat(timespec="seconds"),
        "load_average": list(os.getloadavg()) if hasattr(os, "getloadavg") else None,
        "tick_s": TICK_S,
    }


def main() -> None:
    """Record every workload in turn and write one file."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--label", required=True, help="goes into the file name: quiet, loud, ...")
    parser.add_argument("--seconds", type=float, default=60.0, help="per workload (default %(default)s)")
    parser.add_argument("--threads", type=int, help="torch's threads (default: torch's own choice)")
    parser.add_argument("--workload", action="append", choices=sorted(WORKLOADS), help="only these")
    arguments = parser.parse_args()

    torch.manual_seed(0)
    if arguments.threads is not None:
        torch.set_num_threads(arguments.threads)
    description = about(arguments.seconds)
    arrays: dict[str, Any] = {}
    for name in arguments.workload or WORKLOADS:
        series = record(WORKLOADS[name](), arguments.seconds)
        arrays |= {f"{name}.{column}": values for column, values in series.items()}
        times = series["time"] * TICK_S
        mean, deviation = times.mean(), times.std()
        print(f"{name}: {len(times)} steps, mean {1e3 * mean:.3f} ms, sd {100 * deviation / mean:.1f} %", flush=True)
    if hasattr(os, "getloadavg"):
        description["load_average_after"] = list(os.getloadavg())
    path = DATA / f"step_times_{arguments.label}.npz"
    path.parent.mkdir(exist_ok=True)
    np.savez_compressed(path, about=np.array(json.dumps(description)), **arrays)
    print(f"{path.name}: {path.stat().st_size / 1e3:.0f} kB")


if __name__ == "__main__":
    main()
