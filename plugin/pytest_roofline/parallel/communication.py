"""Count what messages between ranks cost a step: bytes, and the time in which a rank does nothing else.

The times are of a pass under torch's profiler, in which no operation has a label: labels slow the operations down, and
would hide more of the messages behind them.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from statistics import median
from typing import TYPE_CHECKING, Any

import numpy as np
from torch.utils._python_dispatch import TorchDispatchMode

from pytest_roofline.measuring.rounds import Alone
from pytest_roofline.parallel.ranks import Ranks
from pytest_roofline.profilers.kineto.profile import are_enough
from pytest_roofline.profilers.kineto.recording import Recording, record
from pytest_roofline.workload.case import all_tensors
from roofline.profilers.timeline import busy
from roofline.schema.record import Parallel, Rank, Strategy

if TYPE_CHECKING:
    import torch
    from torch import nn

    from pytest_roofline.workload.step import Step

_NCCL_KERNEL = "nccl"
"""Kernels of NCCL begin with it: ``ncclDevKernel_AllReduce_Sum_f32_RING_LL``."""


@dataclass(frozen=True, slots=True)
class Own:
    """What a rank saw of its step: seconds of its own work, and seconds in which it only waited for messages."""

    own_s: float
    exposed_s: float


def strategy_of(model: nn.Module) -> Strategy | None:
    """Tell how ranks share the training of a model, ``ddp`` or ``fsdp``; None where each has one of its own."""
    from torch.distributed.fsdp import FSDPModule
    from torch.nn.parallel import DistributedDataParallel

    if isinstance(model, DistributedDataParallel):
        return "ddp"
    return "fsdp" if isinstance(model, FSDPModule) else None


def settings(ranks: Alone, model: nn.Module) -> dict[str, Any]:
    """Give what of the ranks changes a case's work, for its hash; nothing of a process that measures by itself."""
    if not isinstance(ranks, Ranks):
        return {}
    return {
        "ranks": ranks.count,
        "nodes": ranks.place.nodes,
        "backend": ranks.backend,
        "strategy": strategy_of(model),
    }


def observe(ranks: Ranks, step: Step, label: str, clock: Callable[[], float]) -> Parallel:
    """Take more steps, on all ranks together, for their messages.

    :param label: of this rank's machine.
    :param clock: seconds.
    """
    with _Messages() as messages:
        step()
    device = step.workload.device
    recordings = record(step, device, clock=clock, enough=lambda walls: ranks.agree(are_enough(walls[1:])))[1:]
    own = of_steps(recordings, device)
    seen = ranks.gather((ranks.place.node, label, own))
    return Parallel(
        ranks=ranks.count,
        nodes=ranks.place.nodes,
        backend=ranks.backend,
        strategy=strategy_of(step.workload.model),
        message_byte_per_step=messages.byte,
        # The rank that the others wait for waits least: what is left is the messages themselves.
        communication_s=min(one.exposed_s for _, _, one in seen),
        by_rank=tuple(Rank(node=node, label=label, own_s=one.own_s) for node, label, one in seen),
    )


class _Messages(TorchDispatchMode):
    """Adds up the bytes that collectives move, as nccl-tests counts them: of the larger side of each."""

    def __init__(self) -> None:
        super().__init__()  # type: ignore[no-untyped-call]
        self.byte = 0

    def __torch_dispatch__(
        self, func: Any, types: Any, args: tuple[Any, ...] = (), kwargs: dict[str, Any] | None = None
    ) -> Any:
        if func.namespace == "c10d":
            self.byte += max(map(_byte, args), default=0)
        return func(*args, **(kwargs or {}))


def _byte(tensors: Any) -> int:
    return sum(tensor.numel() * tensor.element_size() for tensor in all_tensors(tensors))


def of_steps(recordings: Sequence[Recording], device: torch.device) -> Own:
    """Tell a rank's own work from its waiting, each the median over the steps."""
    waited_s = [exposed_s(one, device) for one in recordings]
    return Own(
        own_s=median(one.wall_s - waited for one, waited in zip(recordings, waited_s, strict=True)),
        exposed_s=median(waited_s),
    )


def exposed_s(recording: Recording, device: torch.device) -> float:
    """Seconds of a step in which messages were under way, and nothing else ran: on the device, or on a CPU."""
    if device.type == "cuda":
        messages = [one for one in recording.kernels if one.name.startswith(_NCCL_KERNEL)]
        others = [(one.start_ns, one.end_ns) for one in recording.kernels if not one.name.startswith(_NCCL_KERNEL)]
    else:
        messages = list(recording.messages)
        others = [(span.start_ns, span.end_ns) for span in recording.spans if not span.name.startswith("c10d::")]
    under_way = [(one.start_ns, one.end_ns) for one in messages]
    return _covered_s([*under_way, *others]) - _covered_s(others)


def _covered_s(stretches: Sequence[tuple[int, int]]) -> float:
    """Seconds that lie in at least one of the stretches, each from its start to its end in ns."""
    covered = busy(*np.array(stretches, np.int64).reshape(-1, 2).T)
    return 0.0 if covered is None else covered.busy_s
