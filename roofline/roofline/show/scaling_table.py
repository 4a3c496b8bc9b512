"""The table of `roofline scaling`: what more ranks give."""

from __future__ import annotations

from collections.abc import Sequence
from operator import attrgetter

from roofline.model.points import Point
from roofline.model.scaling_efficiency import Scaled, scaled
from roofline.show.columns import pick
from roofline.show.tables import Column, Table, number, words
from roofline.text.units import percent, significant


def _of(*names: str) -> list[Column[Scaled]]:
    return [column.of(attrgetter("point")) for column in pick(*names)]


_RANKS: tuple[Column[Scaled], ...] = (
    number("ranks", dtype="Int64"),
    *_of("nodes"),
    *_of("samples_per_s"),
    number("speed_up", "speed-up", show=lambda value: f"{significant(value)}x"),
    number("efficiency", show=percent),
)
_MESSAGES = ("communication_s", "communication_share", "message_byte_per_step", "backend", "strategy")


def scaling_table(points: Sequence[Point]) -> Table[Scaled]:
    """A row for each number of ranks of a case; one rank's is what the others are held against."""
    rows = scaled(points)
    without = [one.point.id for one in rows if one.alone is None]
    return Table(
        title="Scaling; speed-up over one rank, efficiency: speed-up over ranks",
        columns=[
            *_of("machine", "device", "case", "model", "mode", "batch", "precision", "threads"),
            *_RANKS,
            *_of("step_time_s", "margin", *_MESSAGES, "bound", "bound_evidence", "flags", "file"),
            words("alone", get="alone.id"),
        ],
        rows=rows,
        display=[*_of("case"), *_RANKS, *_of("communication_share", "message_byte_per_step", "bound", "flags")],
        notes=[
            f"{case}: no result of one rank with the same batch, settings and threads on this machine. Measure it with"
            " the same OMP_NUM_THREADS: torchrun --nproc-per-node 1 -m pytest perftests/test_scaling.py"
            for case in without
        ],
    )
