"""The processes that torchrun started, kept in step: what one of them decides or sees, all know.

They talk over gloo on the host, also where the model's own messages go over NCCL: outside of timed windows alone.
"""

from __future__ import annotations

import signal
import threading
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from datetime import timedelta
from typing import TYPE_CHECKING, Any, TypeVar

import pytest

from pytest_roofline.device import cpus
from pytest_roofline.measuring.rounds import Alone, Clock, Round
from pytest_roofline.parallel.torchrun import Place
from roofline.schema.record import Check, CheckStatus, Flag

if TYPE_CHECKING:
    import torch

    from pytest_roofline.session.run import Run


T = TypeVar("T")

TIMEOUT = timedelta(minutes=10)
"""A rank that waits longer for another gives up: building and compiling a model may take minutes on one of them."""

_WHY_LEFT = "roofline/left"
"""Where a rank that leaves says why, for those whose connection to it then breaks."""

_GLOO = "/gloo/"
"""Stands in the messages of gloo, which tell addresses of machines."""


class RanksError(RuntimeError):
    """The ranks can't go on together. The message says which of them, and why."""


@dataclass(frozen=True, slots=True)
class _Own:
    """A rank's round, and what tells whether ranks are programs beside each other on the same CPUs."""

    round: Round
    node: int
    cpus: frozenset[int]


class Ranks(Alone):
    """All ranks of a run, from this one.

    :raises RanksError: they can't be connected.
    """

    def __init__(self, place: Place, device: torch.device) -> None:
        import torch
        from torch import distributed
        from torch.distributed.rendezvous import rendezvous

        if device.type not in ("cpu", "cuda"):
            raise RanksError(f"ranks have no way to exchange tensors on {device.type}: choose cpu or cuda")
        self.place = place
        self.count = place.ranks
        self.backend = "nccl" if device.type == "cuda" else "gloo"
        if device.type == "cuda":
            torch.cuda.set_device(device)
        try:
            self._store, rank, ranks = next(rendezvous("env://", timeout=TIMEOUT))
            distributed.init_process_group(
                self.backend, store=self._store, rank=rank, world_size=ranks, timeout=TIMEOUT
            )
            self._host: Any = distributed.new_group(backend="gloo", timeout=TIMEOUT)
        except (RuntimeError, ValueError) as error:
            raise RanksError(f"rank {place.rank} of {place.ranks} can't reach the others: {error}") from error

    def agree(self, value: T) -> T:
        from torch import distributed

        box: list[Any] = [value]
        distributed.broadcast_object_list(box, src=0, group=self._host)
        return box[0]  # type: ignore[no-any-return]

    def gather(self, value: T) -> list[T]:
        from torch import distributed

        found: list[Any] = [None] * self.count
        distributed.all_gather_object(found, value, group=self._host)
        return found

    def start(self) -> None:
        from torch import distributed

        distributed.barrier(group=self._host)

    def of_all(self, own: Round) -> Round:
        return together(self.gather(_Own(own, self.place.node, cpus.affinity())))

    def clock(self, own: Clock) -> Clock:
        return lambda: self.agree(own())

    @contextmanager
    def in_step(self, case: str) -> Iterator[None]:
        """Measure a case, on all ranks the same.

        :raises RanksError: another rank is at another case, for a test failed there alone; or one has left.
        """
        try:
            cases = self.gather(case)
            if len({*cases}) > 1:
                raise RanksError("; ".join(f"rank {rank} is at {one}" for rank, one in enumerate(cases)))
            yield
        except (RuntimeError, KeyboardInterrupt) as error:
            _stay()
            # Of a rank that has left the others see that a connection is closed, or torchrun ends them.
            if self._store.check([_WHY_LEFT]):
                raise RanksError(self._store.get(_WHY_LEFT).decode()) from error
            if _GLOO in str(error):
                raise RanksError("the connection to another rank broke, for its process has ended") from error
            raise

    def leave(self, why: str) -> None:
        """Tell the others why this rank takes no further step with them."""
        _stay()
        if not self._store.check([_WHY_LEFT]):
            self._store.set(_WHY_LEFT, f"rank {self.place.rank}: {why}")

    def end(self) -> None:
        """Wait for all ranks, and part."""
        from torch import distributed

        self.start()
        distributed.destroy_process_group()


def _stay() -> None:
    """Let no SIGTERM end this rank, which torchrun sends to all once one has ended: it has still to write."""
    if threading.current_thread() is threading.main_thread():
        signal.signal(signal.SIGTERM, signal.SIG_IGN)


def together(ranks: Sequence[_Own]) -> Round:
    """Make one round of those of all ranks: rank 0's, until the slowest rank had ended its own.

    What disturbed it is the most that disturbed one of them. Ranks that share CPUs are no strangers to each other.
    """
    rounds = [rank.round for rank in ranks]
    return replace(
        rounds[0],
        wall_s=max(one.wall_s for one in rounds),
        involuntary_switches=_most([one.involuntary_switches for one in rounds]),
        steal_s=_most([one.steal_s for one in rounds]),
        others_cpu_s=_most([_strangers_s(rank, ranks) for rank in ranks]),
    )


def _strangers_s(rank: _Own, ranks: Sequence[_Own]) -> float | None:
    """CPU time of programs that are no rank of the run, on the CPUs of one."""
    if rank.round.others_cpu_s is None:
        return None
    beside = [one for one in ranks if one is not rank and one.node == rank.node and one.cpus & rank.cpus]
    return max(0.0, rank.round.others_cpu_s - sum(one.round.process_cpu_s or 0.0 for one in beside))


def _most(values: Sequence[Any]) -> Any:
    """The largest; None where one isn't known."""
    return None if None in values else max(values)


_WORST: tuple[CheckStatus, ...] = ("failed", "not_made", "passed")


def checks_of_all(ranks: Sequence[Sequence[Check]]) -> tuple[Check, ...]:
    """Make the checks of a case of those of each rank: a claim holds where it holds on all of them."""
    return tuple(_of_all(list(same)) for same in zip(*ranks, strict=True))


def _of_all(same: Sequence[Check]) -> Check:
    rank = min(range(len(same)), key=lambda rank: _WORST.index(same[rank].status))
    return same[0] if rank == 0 else replace(same[rank], evidence=f"rank {rank}: {same[rank].evidence}")


def flags_of_all(ranks: Sequence[Sequence[Flag]]) -> tuple[Flag, ...]:
    """Make the flags of a case of those of each rank: rank 0's, and what only others have, once."""
    told = {flag.name for flag in ranks[0]}
    others = {
        flag.name: replace(flag, evidence=f"rank {rank}: {flag.evidence}")
        for rank, flags in reversed([*enumerate(ranks)])
        for flag in flags
        if flag.name not in told
    }
    return (*ranks[0], *others.values())


def connect(run: Run, place: Place) -> None:
    """Have the run's cases measured in step with the other ranks.

    :raises pytest.UsageError: they can't be reached.
    """
    try:
        run.ranks = Ranks(place, run.device)
    except RanksError as error:
        raise pytest.UsageError(str(error)) from error
