"""Define what ``--data`` can name and how it is loaded; neither touches torch.

A data source is parsed here, and the loader's workers are shared out: between them and the model the CPUs of the
machine, and its shared memory for the batches.
"""

from __future__ import annotations

import os
import re
import shutil
from collections.abc import Mapping
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any, Literal

from roofline.text.units import scaled

Kind = Literal["synthetic", "fake", "sample", "imagefolder"]

_WITHOUT_PATH: tuple[Kind, ...] = ("synthetic", "fake", "sample")

ALLOWED = "synthetic, fake, sample or imagefolder:PATH"


class DataError(ValueError):
    """The data asked for can't be used. The message says what, from which flag, and what to do."""


@dataclass(frozen=True, slots=True, kw_only=True)
class DataSpec:
    """A data source.

    ``synthetic``: normal random values, ready on the device. ``fake``: torchvision's FakeData through a data loader.
    ``sample``: photographs built once from installed packages. ``imagefolder``: the user's ``path``.

    :param source: the flag or file the text came from, for messages.
    """

    kind: Kind
    path: Path | None = None
    source: str = "--data"

    @property
    def label(self) -> str:
        """A word for ids and tables, without the path: ``imagefolder_imagenet-mini``."""
        if self.path is None:
            return self.kind
        # Not Path.resolve: that raises for links in a circle, and whether the folder is there is checked later.
        resolved = Path(os.path.realpath(self.path))
        name = resolved.parent.name if resolved.name == "train" else resolved.name
        return f"imagefolder_{re.sub(r'[^A-Za-z0-9_.-]+', '_', name) or 'root'}"


def parse(text: str, source: str = "--data") -> DataSpec:
    """Read ``synthetic``, ``fake``, ``sample`` or ``imagefolder:PATH``. Whether PATH exists is checked later.

    :raises DataError: anything else.
    """
    word = text.strip()
    kind, colon, path = word.partition(":")
    if kind == "imagefolder":
        if not path.strip():
            raise DataError(f"{source}: {text!r} names no folder: use imagefolder:PATH")
        return DataSpec(kind="imagefolder", path=Path(os.path.expanduser(path.strip())), source=source)
    if not colon:
        for without_path in _WITHOUT_PATH:
            if word == without_path:
                return DataSpec(kind=without_path, source=source)
    is_path = "/" in word or "\\" in word or os.path.isdir(word)
    hint = f" (for a folder: imagefolder:{word})" if is_path else ""
    raise DataError(f"{source}: {text!r} is not allowed: use {ALLOWED}{hint}")


_MOST_WORKERS = 16
"""The default never starts more: each holds its own batches in memory. A wish may be for so many on each CPU."""


@dataclass(frozen=True, slots=True, kw_only=True)
class LoaderOptions:
    """How images are loaded: a field for each setting of `suite_options.LOADER`.

    :param prefetch_factor: batches each worker prepares ahead; without workers nobody does.
    :param no_augment: resize and centre crop; else random crop and flip, as in training.
    """

    workers: int = 0
    pin_memory: bool = False
    prefetch_factor: int = 2
    no_augment: bool = False

    def describe(self) -> dict[str, Any]:
        """Describe what changes the work, as JSON values, for the workload's hash."""
        values = asdict(self)
        values["augment"] = not values.pop("no_augment")
        if not self.workers:
            values["prefetch_factor"] = None
        return values


@dataclass(frozen=True, slots=True)
class LoaderPlan:
    """Options that suit the machine.

    :param threads: torch threads of the main process; every worker has one of its own.
    :param notes: which wish has no effect or gets in the way of the model, and why.
    """

    options: LoaderOptions
    threads: int
    notes: tuple[str, ...] = ()


def plan(wish: Mapping[str, Any], *, data: str, device_kind: str, effective_cpus: int) -> LoaderPlan:
    """Share the CPUs between workers and the main process's threads, so that together they are no more than there are.

    On a CPU the model computes with what the loader leaves: one CPU in eight loads, at least one of two. An accelerator
    needs one thread to be driven, so the rest loads, up to 16.

    :param wish: fields of `LoaderOptions`. Of ``workers`` None chooses; more than there is room for are granted, and
        noted.
    :param data: kind of the data source; ``synthetic`` needs no loader.
    :raises DataError: the wish is for more workers than can be started in reasonable time.
    """
    if data == "synthetic":
        return LoaderPlan(LoaderOptions(), effective_cpus)
    workers = wish.get("workers")
    if workers is None:
        spare = effective_cpus - 1
        workers = min(spare, max(1, effective_cpus // 8) if device_kind == "cpu" else _MOST_WORKERS)
    most = _MOST_WORKERS * effective_cpus
    if workers > most:
        raise DataError(f"--workers {workers}: too many to start on {effective_cpus} CPUs. Use at most {most}.")
    threads = max(1, effective_cpus - workers)
    options = LoaderOptions(**{**wish, "workers": workers})
    notes = []
    if workers + threads > effective_cpus and workers > 0:
        notes.append(f"{workers} loader workers and {threads} thread compete for {effective_cpus} CPUs")
    if options.pin_memory and device_kind != "cuda":
        notes.append(f"pinned memory only speeds up copies to CUDA devices; left off for {device_kind}")
        options = replace(options, pin_memory=False)
    if options.prefetch_factor != LoaderOptions().prefetch_factor and workers == 0:
        notes.append("without workers nobody prefetches; the prefetch factor has no effect")
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
