"""Data sets and transforms the loader's workers read from. Everything here can be pickled: workers may be spawned."""

from __future__ import annotations

import warnings
from typing import Any

from torch.utils.data import Dataset
from torchvision import transforms
from torchvision.datasets import FakeData, ImageFolder
from torchvision.datasets.folder import default_loader

from perftests.image_folder import Folder

FAKE_IMAGES = 1024
"""Images FakeData is said to hold, if a batch isn't larger."""

_IMAGENET = transforms.Normalize(mean=[0.485, 0.456, 0.406], std=[0.229, 0.224, 0.225])
_GRAY = transforms.Normalize(mean=[0.5], std=[0.25])


class ScannedImageFolder(ImageFolder):  # type: ignore[misc]
    """torchvision's ImageFolder on the classes and images that were found and checked before."""

    def __init__(self, folder: Folder, transform: Any) -> None:
        self._folder = folder
        super().__init__(str(folder.root), transform=transform, loader=load_image)

    def find_classes(self, directory: Any) -> tuple[list[str], dict[str, int]]:  # noqa: ARG002 - torchvision's signature
        return list(self._folder.classes), {name: number for number, name in enumerate(self._folder.classes)}

    def make_dataset(self, *_: Any, **__: Any) -> list[tuple[str, int]]:
        return list(self._folder.samples)


def load_image(path: str) -> Any:
    """torchvision's loader without Pillow's warnings: odd metadata in a good image is nobody's business here.

    :raises OSError: the image can't be decoded any more, though it could when the run began.
    """
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", module=r"PIL\.")
        try:
            return default_loader(path)
        except (OSError, SyntaxError, ValueError) as error:
            told = str(error).replace(path, "it")
            raise OSError(f"{path} can't be decoded any more ({told}): keep images as they are during a run") from error


def images(folder: Folder, input_shape: tuple[int, ...], augment: bool) -> Dataset[Any]:
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


def fake(input_shape: tuple[int, ...], classes: int, batch: int) -> Dataset[Any]:
    """torchvision's FakeData in the model's size: what the loader costs without reading and decoding files."""
    normalize = _GRAY if input_shape[0] == 1 else _IMAGENET
    dataset: Dataset[Any] = FakeData(
        size=max(FAKE_IMAGES, batch),
        image_size=input_shape,
        num_classes=classes,
        transform=transforms.Compose([transforms.ToTensor(), normalize]),
    )
    return dataset
