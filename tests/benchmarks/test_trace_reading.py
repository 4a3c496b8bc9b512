"""The trace that is read for speed is such as torch.profiler writes, and is read whole."""

from __future__ import annotations

from pathlib import Path

from benchmarks.trace_reading import write
from roofline.profilers.kineto.chrome_trace import read_trace


def test_every_kernel_has_its_launch(tmp_path: Path) -> None:
    """40 kernels a step of four names, none lost, none before its launch."""
    write(tmp_path / "trace.json", 100_000)
    timeline = read_trace(tmp_path / "trace.json")
    assert timeline.steps is not None
    assert sum(kernel.instances for kernel in timeline.kernels) == 40 * timeline.steps.count > 0
    assert len(timeline.kernels) == 4
    assert timeline.notes == ()
