"""The table of `roofline scaling`: what more ranks give."""

from __future__ import annotations

from collections.abc import Sequence

from roofline.model.points import Point
from roofline.model.scaling_efficiency import Scaled, scaled
from roofline.show.columns import pick
from roofline.show.tables import Column, Table, number, words
from roofline.text.units import percent, significant

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
    rows = scaled(points)
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
