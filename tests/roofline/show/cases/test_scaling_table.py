"""What more ranks give: each case is held against that of one rank, on the same machine in the same settings."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from roofline.cli.program import main
from roofline.schema.record import Parallel, Record
from tests.roofline import build


def on_ranks(ranks: int, rate: float, **config: Any) -> Record:
    """A training of batch 32 a rank; of one rank as the suite measures it alone."""
    shared = {"ranks": ranks, "nodes": 1, "backend": "gloo", "strategy": "ddp"}
    samples = 32 * ranks
    return build.record(
        case=build.case(
            id=f"resnet50-train-b32-fp32{'' if ranks == 1 else f'-ddp-r{ranks}'}",
            samples_per_step=samples,
            config={"threads": 1, "seed": ranks, **(shared if ranks > 1 else {}), **config},
        ),
        timing=build.timing(samples / rate),
        parallel=None if ranks == 1 else Parallel(**shared, communication_s=0.1, message_byte_per_step=10**8),
    )


def shown(tmp_path: Path, capsys: pytest.CaptureFixture[str], *records: Record) -> list[dict[str, Any]]:
    path = build.write(tmp_path / "run.json", build.document(records, of=build.session(), on=build.machine()))
    assert main(["scaling", str(path), "--format", "json"]) == 0
    return json.loads(capsys.readouterr().out)  # type: ignore[no-any-return]


def test_efficiency_is_against_one_rank(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """90 and 160 samples a second on two and four ranks, 50 on one: 90 % and 80 %."""
    rows = shown(tmp_path, capsys, on_ranks(4, 160.0), on_ranks(2, 90.0), on_ranks(1, 50.0))
    assert [(row["ranks"], row["speed_up"], row["efficiency"]) for row in rows] == [
        (1, pytest.approx(1.0), pytest.approx(1.0)),
        (2, pytest.approx(1.8), pytest.approx(0.9)),
        (4, pytest.approx(3.2), pytest.approx(0.8)),
    ]
    assert {row["alone"] for row in rows} == {"resnet50-train-b32-fp32"}


def test_other_threads_are_no_measure(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """torchrun gives each rank one thread: one process with all of them is something else."""
    (row,) = shown(tmp_path, capsys, on_ranks(2, 90.0), on_ranks(1, 50.0, threads=2))
    assert (row["ranks"], row["efficiency"], row["alone"]) == (2, None, None)


def test_without_ranks_there_is_nothing_to_show(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = build.write(tmp_path / "run.json", build.document([on_ranks(1, 50.0)]))
    assert main(["scaling", str(path)]) == 3
    assert "no case that several ranks measured" in capsys.readouterr().err
