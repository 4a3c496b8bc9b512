"""Batches through torch's DataLoader, without end, with the time spent waiting for them; and the data sets it reads.

Data sets and transforms can be pickled: workers may be spawned.
"""

from __future__ import annotations

import time
import traceback
import warnings
from collections.abc import Callable, Iterator, Sized
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any, cast

import torch
from PIL import Image
from torch.utils.data import DataLoader, Dataset, Sampler
from torchvision import transforms
from torchvision.datasets import FakeData, ImageFolder
from torchvision.datasets.folder import default_loader

from perftests.data_options import DataError, LoaderOptions
from perftests.image_folder import Folder

if TYPE_CHECKING:
    from torch import Tensor

_SILENT_WORKER_S = 300.0
"""A worker that delivers nothing for so long hangs. A forked one can, and would hold the run forever."""


class EndlessBatches(Sampler[list[int]]):
    """Shuffled full batches, epoch after epoch; what is left of an epoch is dropped.

    One iterator serves the whole case: at the end of an epoch the workers go on with the next. A loader that is started
    again drains its queue each time, which a folder of some hundred images would show in every round.
    """

    def __init__(self, images: int, batch: int, seed: int) -> None:
        self._images = images
        self._batch = batch
        self._seed = seed

    def __iter__(self) -> Iterator[list[int]]:
        generator = torch.Generator().manual_seed(self._seed)
        while True:
            order = torch.randperm(self._images, generator=generator).tolist()
            for first in range(0, self._images - self._batch + 1, self._batch):
                yield order[first : first + self._batch]


class LoaderBatches:
    """Batches of a data set on the device. Workers run, and each has delivered once, when it is made.

    :param layout: ``contiguous`` or ``channels_last``.
    :param dtype: of the inputs; None leaves what the data set gives.
    :param with_target: False for inference, which has no use for targets.
    :param clock: seconds on the host.
    :raises DataError: a worker fails.
    """

    def __init__(
        self,
        dataset: Dataset[Any],
        *,
        batch: int,
        device: torch.device,
        options: LoaderOptions,
        seed: int,
        layout: str = "contiguous",
        dtype: torch.dtype | None = None,
        with_target: bool = True,
        clock: Callable[[], float] = time.perf_counter,
    ) -> None:
        self._device, self._dtype, self._with_target, self._clock = device, dtype, with_target, clock
        self._format = torch.channels_last if layout == "channels_last" else torch.preserve_format
        self._pinned = options.pin_memory
        self._waited = 0.0
        began = clock()
        with _known_warnings():
            self._iterator: Iterator[Any] | None = iter(_loader(dataset, batch, options, seed))
            for _ in range(max(1, options.workers)):
                self._fetch()
        self.startup_s = clock() - began
        """Seconds from asking for workers to the first batch of each: not part of any wait."""

    def next(self) -> tuple[tuple[Tensor, ...], Tensor | None]:
        """The next ``(inputs, target)``.

        :raises DataError: a worker failed or died.
        """
        began = self._clock()
        images, target = self._fetch()
        self._waited += self._clock() - began
        inputs = images.to(self._device, self._dtype, non_blocking=self._pinned, memory_format=self._format)
        return (inputs,), target.to(self._device, non_blocking=self._pinned) if self._with_target else None

    def wait_s(self) -> float:
        """Seconds the host has waited for the loader so far.

        Copying to the device isn't in it: an unpinned copy waits for the steps queued before it. An accelerator that
        has steps queued may have been busy all the while.
        """
        return self._waited

    def close(self) -> None:
        """Stop the workers. Harmless when done twice."""
        self._iterator = None  # torch stops them when their iterator goes

    def _fetch(self) -> Any:
        if self._iterator is None:
            raise DataError("the loader is closed")
        try:
            return next(self._iterator)
        # What torch raises for a worker that died, and what reading images raises, there or here.
        except (OSError, EOFError, RuntimeError, ValueError) as error:
            traceback.clear_frames(error.__traceback__)  # they would keep the iterator, and so its workers, alive
            self.close()
            if isinstance(error, ConnectionError | EOFError):
                raise DataError("the data loader failed: a worker ended before it handed over its batch") from error
            raise DataError(f"the data loader failed: {_last_line(error)}") from error


def _loader(dataset: Dataset[Any], batch: int, options: LoaderOptions, seed: int) -> DataLoader[Any]:
    workers = options.workers
    return DataLoader(
        dataset,
        batch_sampler=EndlessBatches(len(cast(Sized, dataset)), batch, seed),
        num_workers=workers,
        pin_memory=options.pin_memory,
        generator=torch.Generator().manual_seed(seed),
        # torch takes these two only where there are workers
        prefetch_factor=options.prefetch_factor if workers else None,
        timeout=_SILENT_WORKER_S if workers else 0,
    )


@contextmanager
def _known_warnings() -> Iterator[None]:
    """Silence what is known when workers start: that there are many is noted in the plan, and torch means to fork."""
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", message="This DataLoader will create", category=UserWarning)
        warnings.filterwarnings("ignore", message=".*use of fork", category=DeprecationWarning)
        yield


def _last_line(error: Exception) -> str:
    """Find what went wrong in a message that may hold a worker's traceback."""
    lines = [line.strip() for line in str(error).splitlines() if line.strip()]
    return lines[-1] if lines else type(error).__name__


FAKE_IMAGES = 1024
"""Images FakeData is said to hold, if a batch isn't larger."""

_IMAGENET = transforms.Normalize(mean=[0.485, 0.456, 0.406], std=[0.229, 0.224, 0.225])
_GRAY = transforms.Normalize(mean=[0.5], std=[0.25])


class ScannedImageFolder(ImageFolder):  # type: ignore[misc]
    """torchvision's ImageFolder on the classes and images that `image_folder` found."""

    def __init__(self, folder: Folder, transform: Any) -> None:
        self._folder = folder
        super().__init__(str(folder.root), transform=transform, loader=load_image)

    def find_classes(self, directory: Any) -> tuple[list[str], dict[str, int]]:  # noqa: ARG002 - torchvision's signature
        return list(self._folder.classes), {name: number for number, name in enumerate(self._folder.classes)}

    def make_dataset(self, *_: Any, **__: Any) -> list[tuple[str, int]]:
        return list(self._folder.samples)


def load_image(path: str) -> Any:
    """torchvision's loader without Pillow's warnings: odd metadata in a good image is nobody's business here.

    :raises OSError: the image can't be decoded.
    """
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", module=r"PIL\.")
        try:
            return default_loader(path)
        except (OSError, SyntaxError, ValueError, Image.DecompressionBombError) as error:
            reason = str(error).replace(path, "it")
            raise OSError(f"{path} can't be decoded ({reason}): repair or remove it") from error


def folder_images(folder: Folder, input_shape: tuple[int, ...], augment: bool) -> Dataset[Any]:
    """The folder's images as the model takes them.

    With ``augment`` a random crop and flip, as PyTorch's ImageNet example trains; else resize and centre crop, as it
    evaluates. A model with one input channel gets them gray.

    :param input_shape: ``(channels, height, width)``.
    """
    channels, height, width = input_shape
    crop = (
        [transforms.RandomResizedCrop((height, width)), transforms.RandomHorizontalFlip()]
        if augment
        # 256 for a crop of 224, in proportion for others
        else [transforms.Resize(round(max(height, width) * 256 / 224)), transforms.CenterCrop((height, width))]
    )
    gray = [transforms.Grayscale()] if channels == 1 else []
    normalize = _GRAY if channels == 1 else _IMAGENET
    dataset: Dataset[Any] = ScannedImageFolder(
        folder, transforms.Compose([*gray, *crop, transforms.ToTensor(), normalize])
    )
    return dataset


def fake_images(input_shape: tuple[int, ...], classes: int, batch: int) -> Dataset[Any]:
    """torchvision's FakeData in the model's size: what the loader costs without reading and decoding files."""
    normalize = _GRAY if input_shape[0] == 1 else _IMAGENET
    dataset: Dataset[Any] = FakeData(
        size=max(FAKE_IMAGES, batch),
        image_size=input_shape,
        num_classes=classes,
        transform=transforms.Compose([transforms.ToTensor(), normalize]),
    )
    return dataset
