"""A training that several processes share: their cases, and the model on each rank."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import replace
from pathlib import PurePath
from typing import TYPE_CHECKING

import pytest

from pytest_roofline.parallel import torchrun

if TYPE_CHECKING:
    from torch import nn

    from perftests.matrix import CaseSpec
    from pytest_roofline.workload.step import Workload

STRATEGIES = ("ddp", "fsdp")

FILE = "test_scaling.py"


def cases(of_matrix: Iterable[CaseSpec], strategy: str) -> dict[str, CaseSpec]:
    """The training cases of a matrix by their ids on as many ranks as torchrun started; none where it started none.

    One rank's are the matrix's own.
    """
    place = torchrun.place()
    if place is None:
        return {}
    suffix = "" if place.ranks == 1 else f"-{strategy}-{place.suffix}"
    return {f"{case.id}{suffix}": case for case in of_matrix if case.mode == "train"}


def refuse_alone(paths: Iterable[str]) -> None:
    """Say how ranks are started, where nothing else is asked for than what they share.

    :param paths: what pytest is to run.
    :raises pytest.UsageError: torchrun started none.
    """
    if torchrun.place() is None and all(PurePath(path.partition("::")[0]).name == FILE for path in paths):
        raise pytest.UsageError(
            f"{FILE}: it measures what several processes share. Start them with: torchrun --nproc-per-node 2 -m pytest "
            f"perftests/{FILE}"
        )


def share(workload: Workload, strategy: str) -> Workload:
    """Have all ranks train the workload's model together, each on batches of its own.

    :param strategy: ``ddp``: each has all of the model, and gradients are added up. ``fsdp``: each keeps a part of the
        weights, gradients and optimiser state (FSDP2).
    """
    from torch.distributed.fsdp import fully_shard
    from torch.nn.parallel import DistributedDataParallel

    from pytest_roofline.workload.step import sgd

    model, device = workload.model, workload.device
    if strategy == "ddp":
        return replace(
            workload, model=DistributedDataParallel(model, device_ids=None if device.type == "cpu" else [device])
        )
    for block in _blocks(model):
        fully_shard(block)
    fully_shard(model)
    return replace(workload, optimizer=sgd(model))


def _blocks(model: nn.Module) -> Iterator[nn.Module]:
    """Blocks that follow one another, such as a ResNet's or a transformer's: what FSDP gathers at a time."""
    from torch import nn

    for parent in model.modules():
        if isinstance(parent, nn.Sequential | nn.ModuleList):
            yield from (block for block in parent if any(True for _ in block.children()))
