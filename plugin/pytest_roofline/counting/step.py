"""Counting one step: `count_step`."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from itertools import chain

import torch
from torch import Tensor, nn

from pytest_roofline.counting import memory, tally
from pytest_roofline.counting.counter import Trace, run_counted
from pytest_roofline.counting.dtypes import Tf32
from pytest_roofline.counting.memory import SavedTensors
from pytest_roofline.counting.peak import PeakMode, held_before
from roofline.schema.record import Operation, Work

_NO_HOOKS = "don't yet support saved tensor hooks"
"""How torch says it, in the message of a plain RuntimeError."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Counted:
    """The work of one step.

    ``operations`` are its operations in order of first occurrence; their FLOPs add up to ``work.flop_per_step``, their
    bytes to ``work.byte_high_per_step``. ``leaves`` are the single calls in order, each with the operation it belongs
    to, as whoever times them one by one meets them (see `dispatch`). ``devices`` tells on which types of device the
    tensors of dispatched operations were, with the number of operations; one that has tensors on two counts for both.
    ``peak_byte`` is the most that its tensors take at once (see `peak`). ``missing`` says why a value is None, under
    its path in the record (``memory.peak_predicted_byte`` for ``peak_byte``), and what had to be assumed. ``elsewhere``
    is the reason where some of the step ran unseen, in another thread or library: then the work is not all of it.
    """

    work: Work
    operations: tuple[Operation, ...]
    leaves: tuple[tally.Leaf, ...]
    devices: dict[str, int]
    peak_byte: int | None
    elsewhere: str | None = None
    missing: dict[str, str] = field(default_factory=dict)

    @property
    def flop_by_dtype(self) -> dict[str, float]:
        """Matrix FLOPs by compute dtype."""
        return self.work.flop_by_dtype


def count_step(
    step: Callable[[], object],
    *,
    model: nn.Module,
    optimizer: torch.optim.Optimizer | None = None,
    held: Iterable[Tensor] = (),
    last_level_cache_byte: int | None = None,
    tf32_matmul: bool = False,
    tf32_convolution: bool = False,
) -> Counted:
    """Run ``step`` once and count what it dispatched; once more where it can't be watched for what it saves.

    It runs eagerly, compiled parts too, with the same results as uncounted, on whatever its tensors are: of a device or
    fake. Tensors are not held. The model and optimiser are what memory is told of; what ``step`` does with them is its
    own. An optimiser that has not yet stepped makes its state in the step, which is a little other work than in all
    later ones: let it step once before.

    :param step: a training step or a forward pass.
    :param optimizer: its work is counted in any case; if given, its operations are told apart and its state is counted.
    :param held: what is in memory beside the model, its gradients and the optimiser's state: all batches that lie
        ready. What the step reads is known without.
    :param last_level_cache_byte: size of the cache before memory. None: unknown; then nothing between operations is
        counted in ``byte_low_per_step``, as if it held everything.
    :param tf32_matmul: whether cuBLAS may use TF32 (`torch.backends.cuda.matmul`).
    :param tf32_convolution: whether cuDNN may (`torch.backends.cudnn`).
    :raises Exception: whatever ``step`` raises; hooks and modes are taken away again.
    """
    tf32 = Tf32(matmul=tf32_matmul, convolution=tf32_convolution)
    held = tuple(held)

    def run(*, watch_saved: bool) -> tuple[PeakMode, Trace, SavedTensors, object]:
        peak = PeakMode(chain(held_before(model, optimizer), held))
        with peak:
            return peak, *run_counted(step, model=model, optimizer=optimizer, tf32=tf32, watch_saved=watch_saved)

    unwatched = None
    try:
        peak, trace, saved, result = run(watch_saved=True)
    except RuntimeError as error:
        # torch.func.grad and its like refuse to run under the hooks. All else can be counted without them.
        if _NO_HOOKS not in str(error):
            raise
        unwatched = str(error).partition(". ")[0]
    if unwatched is not None:
        peak, trace, saved, result = run(watch_saved=False)
    # ``result`` is held until here: what the step returns outlives it.
    low = tally.byte_low(trace, last_level_cache_byte)
    del result
    flop_by_dtype = tally.flop_by_dtype(trace.seen)
    other_flop = tally.other_flop(trace)
    uncovered = tally.uncovered(trace)
    missing = {}
    if other_flop is None:
        names = ", ".join(one.name for one in uncovered)
        missing["work.other_flop_per_step"] = f"no formula for {names}"
    if unwatched is not None:
        missing["work.saved_for_backward_byte"] = f"can't be seen: {unwatched}"
    if last_level_cache_byte is None:
        missing["work.byte_low_per_step"] = (
            "size of the last-level cache unknown: assumed to hold everything that passes between operations"
        )
    if peak.hidden:
        missing["memory.peak_predicted_byte"] = f"memory of {', '.join(sorted(peak.hidden))} can't be seen"
    work = Work(
        flop_per_step=float(sum(flop_by_dtype.values())),
        flop_by_dtype=flop_by_dtype,
        byte_low_per_step=float(low),
        byte_high_per_step=float(tally.byte_high(trace)),
        parameter_count=memory.parameter_count(model),
        parameter_byte=memory.parameter_byte(model),
        gradient_byte=max(trace.gradient_byte, memory.gradient_byte(model)),
        optimizer_state_byte=None if optimizer is None else memory.optimizer_state_byte(optimizer),
        activation_byte=tally.activation_byte(trace),
        saved_for_backward_byte=saved.byte if unwatched is None else None,
        other_flop_per_step=None if other_flop is None else float(other_flop),
        uncovered=uncovered,
    )
    return Counted(
        work=work,
        operations=tally.operations(trace.seen),
        leaves=tally.leaves(trace),
        devices=dict(trace.devices),
        peak_byte=None if peak.hidden else peak.peak_byte,
        elsewhere=trace.elsewhere,
        missing=missing,
    )
