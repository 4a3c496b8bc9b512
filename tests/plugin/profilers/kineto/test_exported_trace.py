"""`roofline trace` on what torch.profiler writes here and now: its layout changes with torch."""

from __future__ import annotations

from pathlib import Path

import pytest
import torch
from torch.profiler import ProfilerActivity, profile

from roofline.profilers.kineto.chrome_trace import read_trace


def test_operators_are_those_that_torch_counts(tmp_path: Path) -> None:
    """Self times of each operator are those of torch's own table, and so are calls, of which that leaves out some: it
    takes a call that does nothing but call the same name again for one with it.
    """
    weight, data = torch.randn(64, 64, requires_grad=True), torch.randn(64, 64)
    with profile(activities=[ProfilerActivity.CPU], acc_events=True) as profiled:
        for _ in range(3):
            torch.nn.functional.gelu(data @ weight).sum().backward()
    path = tmp_path / "trace.json.gz"
    profiled.export_chrome_trace(str(path))
    content = read_trace(path)
    rows = {row.name: row for row in content.operators}
    theirs = {row.key: row for row in profiled.key_averages()}
    assert rows["aten::mm"].calls == theirs["aten::mm"].count
    for name_of, row in rows.items():
        assert row.calls >= theirs[name_of].count
        # torch's table is of whole nanoseconds, the trace of thousandths of a microsecond.
        assert row.self_s * 1e6 == pytest.approx(theirs[name_of].self_cpu_time_total, abs=0.01 * row.calls)
    assert content.state == "ok"
    assert content.gpu_time_s is None
