"""How images are loaded, and whether the machine can: CPUs shared with the model, shared memory for the batches."""

from __future__ import annotations

import shutil
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

from perftests.data_source import DataError
from roofline.text.units import scaled

StartMethod = Literal["fork", "spawn", "forkserver"]

PREFETCH_FACTOR = 2
_MOST_WORKERS = 16
"""The default never starts more: each holds its own batches in memory. A wish may be for so many on each CPU."""


@dataclass(frozen=True, slots=True, kw_only=True)
class LoaderOptions:
    """How images are loaded.

    :param prefetch_factor: batches each worker prepares ahead; without workers nobody does.
    :param augment: random crop and flip, as in training; else resize and centre crop.
    :param start_method: how workers are started; None is Python's own way on this platform.
    """

    workers: int = 0
    pin_memory: bool = False
    prefetch_factor: int = PREFETCH_FACTOR
    augment: bool = True
    start_method: StartMethod | None = None

    def describe(self) -> dict[str, Any]:
        """What changes the work, as JSON values, for the workload's hash."""
        return {
            "workers": self.workers,
            "pin_memory": self.pin_memory,
            "prefetch_factor": self.prefetch_factor if self.workers else None,
            "augment": self.augment,
        }


@dataclass(frozen=True, slots=True)
class LoaderPlan:
    """Options that suit the machine.

    :param threads: torch threads of the main process; every worker has one of its own.
    :param notes: which wish has no effect or gets in the way of the model, and why.
    """

    options: LoaderOptions
    threads: int
    notes: tuple[str, ...] = ()


def plan(
    *,
    data: str,
    device_kind: str,
    effective_cpus: int,
    workers: int | None = None,
    pin_memory: bool = False,
    prefetch_factor: int | None = None,
    augment: bool = True,
) -> LoaderPlan:
    """Share the CPUs between workers and the main process's threads, so that together they are no more than there are.

    On a CPU the model computes with what the loader leaves: one CPU in eight loads, at least one of two. An accelerator
    needs one thread to be driven, so the rest loads, up to 16.

    :param data: kind of the data source; ``synthetic`` needs no loader.
    :param workers: the user's wish; None chooses. A wish for more than there is room for is granted, and noted.
    :raises DataError: the wish is for more than can be started in reasonable time.
    """
    if data == "synthetic":
        return LoaderPlan(LoaderOptions(), effective_cpus)
    if workers is None:
        spare = effective_cpus - 1
        workers = min(spare, max(1, effective_cpus // 8) if device_kind == "cpu" else _MOST_WORKERS)
    most = _MOST_WORKERS * effective_cpus
    if workers > most:
        raise DataError(f"--workers {workers}: too many to start on {effective_cpus} CPUs. Use at most {most}.")
    threads = max(1, effective_cpus - workers)
    notes = []
    if workers + threads > effective_cpus and workers > 0:
        notes.append(f"{workers} loader workers and {threads} thread compete for {effective_cpus} CPUs")
    if pin_memory and device_kind != "cuda":
        notes.append(f"pinned memory only speeds up copies to CUDA devices; left off for {device_kind}")
    if prefetch_factor not in (None, PREFETCH_FACTOR) and workers == 0:
        notes.append("without workers nobody prefetches; the prefetch factor has no effect")
    options = LoaderOptions(
        workers=workers,
        pin_memory=pin_memory and device_kind == "cuda",
        prefetch_factor=prefetch_factor or PREFETCH_FACTOR,
        augment=augment,
    )
    return LoaderPlan(options, threads, tuple(notes))


def check_shared_memory(options: LoaderOptions, batch_byte: int, folder: Path = Path("/dev/shm")) -> None:
    """Make sure that the batches in flight fit where workers hand them over.

    In flight are the batches each worker prepares ahead, and the one the model is working on. Containers often have
    64 MB there, and a worker that finds it full dies by a bus error.

    :param batch_byte: size of one batch's inputs.
    :param folder: where shared memory is mounted; a platform without it needs none.
    :raises DataError: they don't fit.
    """
    if options.workers == 0 or not folder.is_dir():
        return
    free = shutil.disk_usage(folder).free
    need = batch_byte * (options.workers * options.prefetch_factor + 1)
    if need <= free:
        return
    fitting = max(0, (free // batch_byte - 1) // options.prefetch_factor)
    raise DataError(
        f"--workers {options.workers}: the loader needs {scaled(need, 'B')} of shared memory, and {folder} has "
        f"{scaled(free, 'B')} free: {scaled(batch_byte, 'B')} a batch, {options.workers} x {options.prefetch_factor} "
        f"prepared ahead and 1 in use. Use --workers {fitting}, a smaller --batch, or give the container more "
        "(docker: --shm-size or --ipc=host)."
    )
