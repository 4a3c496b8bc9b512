"""The table of `roofline scaling`: how well several ranks share a training.

Their throughput is held against that of one rank, and against as many times that. One rank's is the newest result of
the same model, batch of a rank and settings, on the same machine.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any

from roofline.model.point_groups import newest
from roofline.model.points import Point
from roofline.schema.record import Record
from roofline.show.columns import pick
from roofline.show.tables import Column, Table, number, words
from roofline.text.units import percent, significant

_OF_RANKS = ("ranks", "nodes", "backend", "strategy")
"""What of a case's settings says which ranks there are."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Scaled:
    """A case on some number of ranks.

    :param alone: the same on one rank; None where there is no such result.
    """

    point: Point
    alone: Point | None

    @property
    def ranks(self) -> int:
        return _ranks(self.point)

    @property
    def speed_up(self) -> float | None:
        """Samples per second over those of one rank."""
        rate, alone = self.point.samples_per_s, None if self.alone is None else self.alone.samples_per_s
        return None if rate is None or not alone else rate / alone

    @property
    def efficiency(self) -> float | None:
        """Speed-up over the number of ranks."""
        return None if self.speed_up is None else self.speed_up / self.ranks


def _scaled(points: Iterable[Point]) -> list[Scaled]:
    """Find the cases of several ranks, each group with its case of one rank, by number of ranks."""
    groups: dict[tuple[Any, ...], list[Point]] = {}
    for point in points:
        record = point.benchmark.record
        if record is not None and point.valid and record.case.mode in ("train", "infer"):
            groups.setdefault(_key(point, record), []).append(point)
    rows = []
    for group in groups.values():
        by_ranks = sorted(newest(group)[0], key=_ranks)
        alone = next((point for point in by_ranks if _ranks(point) == 1), None)
        if shared := [point for point in by_ranks if _ranks(point) > 1]:
            rows += [Scaled(point=point, alone=alone) for point in (*([] if alone is None else [alone]), *shared)]
    return rows


def _ranks(point: Point) -> int:
    record = point.benchmark.record
    return 1 if record is None or record.parallel is None else record.parallel.ranks


def _key(point: Point, record: Record) -> tuple[Any, ...]:
    """Equal for cases that differ in their ranks alone."""
    case = record.case
    # Another seed is the same work.
    settings = {name: value for name, value in case.config.items() if name not in ("seed", *_OF_RANKS)}
    return (
        *point.machine,
        *(case.model, case.mode, case.precision, case.batch, case.layout, case.data),
        repr(sorted(settings.items())),
    )


_RANKS: tuple[Column[Scaled], ...] = (
    number("ranks", dtype="Int64"),
    *pick("nodes", "samples_per_s", of="point"),
    number("speed_up", "speed-up", show=lambda value: f"{significant(value)}x"),
    number("efficiency", show=percent),
)
_MESSAGES = ("communication_s", "communication_share", "message_byte_per_step", "backend", "strategy")
_SHOWN = ("communication_share", "message_byte_per_step", "bound", "flags")


def scaling_table(points: Sequence[Point]) -> Table[Scaled]:
    """A row for each number of ranks of a case; one rank's is what the others are held against."""
    rows = _scaled(points)
    without = [one.point.id for one in rows if one.alone is None]
    return Table(
        title="Scaling; speed-up over one rank, efficiency: speed-up over ranks",
        columns=[
            *pick("machine", "device", "case", "model", "mode", "batch", "precision", "threads", of="point"),
            *_RANKS,
            *pick("step_time_s", "margin", *_MESSAGES, "bound", "bound_evidence", "flags", "file", of="point"),
            words("alone", get="alone.id"),
        ],
        rows=rows,
        display=[*pick("case", of="point"), *_RANKS, *pick(*_SHOWN, of="point")],
        notes=[
            f"{case}: no result of one rank with the same batch, settings and threads on this machine. Measure it with"
            " the same OMP_NUM_THREADS: torchrun --nproc-per-node 1 -m pytest perftests/test_scaling.py"
            for case in without
        ],
    )
