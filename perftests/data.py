"""From a data source to batches on the device."""

from __future__ import annotations

import functools
import math
from pathlib import Path
from typing import TYPE_CHECKING, Any

from perftests import image_folder, sample_images
from perftests.data_options import DataError, DataSpec, LoaderOptions, check_shared_memory
from perftests.models import ModelSpec
from pytest_roofline.roofs import stored
from pytest_roofline.workload.step import Batches, ReadyBatches

if TYPE_CHECKING:
    import torch
    from torch import Tensor

READY_BATCHES = 4
"""Synthetic batches that are taken in turn: one alone could stay in a cache that no real input stays in."""

_FLOAT32_BYTE = 4


def check(spec: DataSpec, model: ModelSpec, batch: int) -> tuple[str, ...]:
    """Make sure, before anything is timed, that the source can feed the model. Builds the sample images if need be.

    :returns: what a reader of the numbers should know, such as classes left out.
    :raises DataError: no such folder, nothing in it, fewer images than a batch, or more classes than the model has
        outputs.
    """
    folder = _folder(spec)
    if folder is None:
        return ()
    images = len(folder.samples)
    if images < batch:
        raise DataError(
            f"{spec.source}: {images} images < batch {batch}: {spec.label} has not one full batch. "
            f"Use a --batch of at most {images}, or more images."
        )
    if len(folder.classes) > model.classes:
        raise DataError(
            f"{spec.source}: {spec.label} has {len(folder.classes)} classes, and {model.name} has {model.classes} "
            "outputs. Use a folder with fewer classes or another --model."
        )
    return folder.notes


def describe(spec: DataSpec) -> dict[str, Any]:
    """Describe what about the source changes the work, as JSON values without any path, for the workload's hash."""
    folder = _folder(spec)
    if folder is None:
        return {"source": spec.label}
    version = {"version": sample_images.VERSION} if spec.kind == "sample" else {}
    return {"source": spec.label, "images": len(folder.samples), "classes": len(folder.classes), **version}


def open_batches(
    spec: DataSpec,
    model: ModelSpec,
    batch: int,
    device: torch.device,
    layout: str = "contiguous",
    loader: LoaderOptions | None = None,
    seed: int = 0,
    *,
    with_target: bool = True,
    dtype: torch.dtype | None = None,
) -> Batches:
    """Batches of the source for the model, in the model's input shape, on the device.

    Loader workers run and have delivered when this returns; `LoaderBatches.startup_s` tells what that took. Seeds fix
    order, synthetic values and the workers' augmentation (without workers that draws from torch's global generator).

    :param layout: ``contiguous`` or ``channels_last``.
    :param with_target: False for inference.
    :param dtype: of the inputs; None is float32. Tokens stay integers.
    :raises DataError: see `check`, which should have been called before; too little shared memory; a failing worker.
    """
    if spec.kind == "synthetic":
        return _synthetic(model, batch, device, layout, seed, with_target, dtype)
    if model.input_kind == "tokens":
        raise DataError(
            f"{spec.source}: {spec.label} data are images, and {model.name} takes tokens; use synthetic data"
        )
    # It imports torch, which nothing before this needs.
    from perftests import loader as loaders

    options = loader or LoaderOptions()
    check_shared_memory(options, _FLOAT32_BYTE * batch * math.prod(model.input_shape))
    folder = _folder(spec)
    return loaders.LoaderBatches(
        loaders.fake_images(model.input_shape, model.classes, batch)
        if folder is None
        else loaders.folder_images(folder, model.input_shape, not options.no_augment),
        batch=batch,
        device=device,
        options=options,
        seed=seed,
        layout=layout,
        dtype=dtype,
        with_target=with_target,
    )


def _folder(spec: DataSpec) -> image_folder.Folder | None:
    """The image folder of a source that has one; sample images are kept in the plugin's cache folder."""
    if spec.kind == "sample":
        try:
            return _built(stored.folder())
        except stored.CacheError as error:
            raise DataError(str(error)) from error
    return None if spec.path is None else _found(spec.path, spec.source)


# The cases of a session share what these find: a folder of a million images is not read anew for each of them.


@functools.cache
def _built(cache_folder: Path) -> image_folder.Folder:
    return image_folder.find(sample_images.folder(cache_folder, sample_images.IMAGES_PER_CLASS), "--data sample")


@functools.cache
def _found(path: Path, source: str) -> image_folder.Folder:
    return image_folder.find(path, source)


def _synthetic(
    model: ModelSpec,
    batch: int,
    device: torch.device,
    layout: str,
    seed: int,
    with_target: bool,
    dtype: torch.dtype | None,
) -> ReadyBatches:
    """Standard normal images, or uniform tokens, and uniform targets; the same values on every device."""
    import torch

    generator = torch.Generator().manual_seed(seed)
    shape = (batch, *model.input_shape)

    def one() -> tuple[tuple[Tensor, ...], Tensor | None]:
        if model.vocabulary is not None:
            inputs = torch.randint(model.vocabulary, shape, generator=generator).to(device)
        else:
            inputs = torch.randn(shape, generator=generator).to(device, dtype)
            if layout == "channels_last":
                inputs = inputs.contiguous(memory_format=torch.channels_last)
        target = torch.randint(model.classes, (batch, *model.target_shape), generator=generator)
        return (inputs,), target.to(device) if with_target else None

    return ReadyBatches([one() for _ in range(READY_BATCHES)])
