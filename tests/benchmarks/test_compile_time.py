"""The scatter of compile times, of sessions that are made up."""

from __future__ import annotations

import math
import subprocess
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest

from benchmarks import compile_time
from tests.roofline import build


def test_each_case_has_its_scatter_between_sessions(monkeypatch: pytest.MonkeyPatch) -> None:
    """Of two sessions the standard deviation of logarithms is their difference over the root of two."""
    seconds = iter([{"a": 10.0, "b": 3.0}, {"a": 11.0, "b": 3.0}])

    def session(arguments: Sequence[str], env: dict[str, str], **_: Any) -> None:
        assert env["TORCHINDUCTOR_FORCE_DISABLE_CACHES"] == "1"
        times = next(seconds)
        records = [
            build.record(case=build.case(id=case), timing=build.timing(compile_s=compile_s))
            for case, compile_s in times.items()
        ]
        build.write(Path(arguments[-1]) / f"{times['a']}.json", build.document(records))

    monkeypatch.setattr(subprocess, "run", session)
    scatter, times = compile_time.run(quick=True)
    assert scatter.samples == pytest.approx((math.log(1.1) / math.sqrt(2), 0.0))
    assert times.samples == (10.5, 3.0)
