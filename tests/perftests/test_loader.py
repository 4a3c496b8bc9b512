"""Batches of a data set: order, waiting, workers that fail; and the data sets."""

from __future__ import annotations

import os
import pickle
import warnings
from pathlib import Path
from typing import Any

import psutil
import pytest
import torch
from PIL import Image
from torch.utils.data import Dataset

from perftests import image_folder, loader
from perftests.data_options import DataError, LoaderOptions
from perftests.loader import EndlessBatches, LoaderBatches


class Numbers(Dataset[tuple[torch.Tensor, int]]):
    """Sample n is an image of nothing but n, of class n. ``bad`` can't be read, ``deadly`` ends the process."""

    def __init__(self, size: int = 10, bad: int | None = None, deadly: int | None = None) -> None:
        self.size, self.bad, self.deadly = size, bad, deadly

    def __len__(self) -> int:
        return self.size

    def __getitem__(self, index: int) -> tuple[torch.Tensor, int]:
        if index == self.bad:
            raise OSError(f"image {index} has gone")
        if index == self.deadly:
            os._exit(1)
        return torch.full((3, 2, 2), float(index)), index


class Ticking:
    """A clock that goes on by a second whenever it is read."""

    def __init__(self) -> None:
        self.now = 0.0

    def __call__(self) -> float:
        self.now += 1.0
        return self.now


def _open(dataset: Dataset[Any], options: LoaderOptions | None = None, **changes: Any) -> LoaderBatches:
    keywords: dict[str, Any] = {"batch": 4, "seed": 0, "device": torch.device("cpu")}
    return LoaderBatches(dataset, options=options or LoaderOptions(), **(keywords | changes))


def _classes(batches: LoaderBatches, count: int) -> list[list[int]]:
    targets = [batches.next()[1] for _ in range(count)]
    return [target.tolist() for target in targets if target is not None]


def _children() -> set[int]:
    return {child.pid for child in psutil.Process().children(recursive=True)}


def test_batches_are_full_shuffled_and_without_end() -> None:
    """Of ten images in fours an epoch gives two batches without repetition, in an order of its own."""
    batches = iter(EndlessBatches(10, 4, seed=1))
    epochs = [[*next(batches), *next(batches)] for _ in range(50)]
    assert all(len(set(epoch)) == 8 for epoch in epochs)
    assert len({tuple(epoch) for epoch in epochs}) == 50
    assert {image for epoch in epochs for image in epoch} == set(range(10))
    assert sorted(next(iter(EndlessBatches(4, 4, seed=0)))) == [0, 1, 2, 3]


def test_the_seed_decides_the_order() -> None:
    """The same seed gives the same batches, another one others, with workers or without."""
    first = _classes(_open(Numbers(), seed=3), 6)
    with_worker = _open(Numbers(), LoaderOptions(workers=1), seed=3)
    assert _classes(_open(Numbers(), seed=3), 6) == first == _classes(with_worker, 6)
    assert _classes(_open(Numbers(), seed=4), 6) != first
    with_worker.close()


def test_images_and_targets_belong_together_and_suit_the_case() -> None:
    """Layout, dtype and device are the case's; targets stay whole numbers. Meta stands in for an accelerator."""
    (images,), target = _open(Numbers(), layout="channels_last", dtype=torch.bfloat16).next()
    assert images.shape == (4, 3, 2, 2)
    assert images.is_contiguous(memory_format=torch.channels_last)
    assert target is not None
    assert (images.dtype, target.dtype) == (torch.bfloat16, torch.int64)
    assert torch.equal(images[:, 0, 0, 0].long(), target)
    (images,), target = _open(Numbers(), device=torch.device("meta")).next()
    assert target is not None
    assert (images.device.type, target.device.type) == ("meta", "meta")
    assert _open(Numbers(), with_target=False).next()[1] is None


def test_waiting_is_counted_per_batch_and_apart_from_starting() -> None:
    """The clock is read before and after each fetch and nowhere else: one tick a batch, one for the start."""
    batches = _open(Numbers(), clock=Ticking())
    assert (batches.startup_s, batches.wait_s()) == (1.0, 0.0)
    batches.next()
    batches.next()
    assert batches.wait_s() == 2.0


@pytest.mark.parametrize("workers", [0, 1, 2])
def test_every_worker_has_delivered_before_the_first_batch(workers: int) -> None:
    """Starting fetches a batch from each worker, so that no round pays for a worker's start."""
    order = _classes(_open(Numbers(100)), 6)
    batches = _open(Numbers(100), LoaderOptions(workers=workers))
    skipped = max(1, workers) - 1
    assert _classes(batches, 4) == order[skipped : skipped + 4]
    batches.close()


def test_closing_stops_the_workers() -> None:
    """No process is left, and closing again does no harm."""
    before = _children()
    batches = _open(Numbers(), LoaderOptions(workers=2))
    assert len(_children() - before) == 2
    batches.close()
    batches.close()
    assert _children() - before == set()
    with pytest.raises(DataError, match="the loader is closed"):
        batches.next()


@pytest.mark.parametrize(
    ("fault", "workers", "reason"),
    [
        ({"bad": 0}, 0, "image 0 has gone$"),
        ({"bad": 0}, 1, "OSError: image 0 has gone$"),
        ({"deadly": 0}, 1, "(DataLoader worker .* exited unexpectedly|a worker ended before)"),
    ],
)
def test_a_worker_that_fails_ends_it_with_its_reason(fault: dict[str, int], workers: int, reason: str) -> None:
    """What it raised is told in one line, and the workers are gone; so it is where starting fails.

    Of a worker that died torch learns by its process or by its pipe, whichever is seen first.
    """
    before = _children()
    options = LoaderOptions(workers=workers)
    with pytest.raises(DataError, match=f"^the data loader failed: {reason}"):
        _classes(_open(Numbers(8, **fault), options, seed=_seed_with_late(0)), 8)
    with pytest.raises(DataError, match=f"^the data loader failed: {reason}"):
        _open(Numbers(4, **fault), options)
    assert _children() - before == set()


@pytest.mark.parametrize("error", [ConnectionResetError(104, "Connection reset by peer"), EOFError()])
def test_a_worker_that_dies_while_it_hands_over_is_told_as_one(
    monkeypatch: pytest.MonkeyPatch, error: Exception
) -> None:
    """The connection through which its batch comes is closed then."""

    def broken(_: object) -> None:
        raise error

    batches = _open(Numbers(8))
    monkeypatch.setattr(type(batches._iterator), "__next__", broken)
    with pytest.raises(DataError, match="a worker ended before it handed over its batch"):
        batches.next()


def _seed_with_late(image: int) -> int:
    """A seed with which the image is in the second batch of 4 of 8, so that starting goes well."""
    return next(seed for seed in range(100) if image not in next(iter(EndlessBatches(8, 4, seed))))


def test_more_workers_than_cpus_warn_nobody(monkeypatch: pytest.MonkeyPatch) -> None:
    """It is in the plan's notes; here warnings are errors."""
    if hasattr(os, "sched_getaffinity"):
        monkeypatch.setattr(os, "sched_getaffinity", lambda _: {0})
    monkeypatch.setattr(os, "cpu_count", lambda: 1)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        batches = _open(Numbers(), LoaderOptions(workers=2))
    batches.close()


def test_augmentation_in_workers_follows_the_seed(tmp_path: Path) -> None:
    """The same crops again for the same seed, and others for another."""
    (tmp_path / "a").mkdir()
    Image.effect_noise((60, 60), 50).convert("RGB").save(tmp_path / "a" / "1.png")
    dataset = loader.folder_images(image_folder.find(tmp_path, "--data"), (3, 8, 8), augment=True)

    def first(seed: int) -> torch.Tensor:
        batches = _open(dataset, LoaderOptions(workers=1), batch=1, seed=seed)
        (images,), _ = batches.next()
        batches.close()
        return images.clone()

    assert torch.equal(first(1), first(1))
    assert not torch.equal(first(1), first(2))


@pytest.fixture
def folder(tmp_path: Path) -> image_folder.Folder:
    for number, name in enumerate(("a/1.png", "b/2.png", "b/3.png")):
        (tmp_path / name).parent.mkdir(exist_ok=True)
        Image.new("RGB", (60, 40), (60 * number, 100, 0)).save(tmp_path / name)
    (tmp_path / "c").mkdir()
    (tmp_path / ".hidden").mkdir()
    return image_folder.find(tmp_path, "--data")


def test_it_is_torchvisions_image_folder_on_what_was_found(folder: image_folder.Folder) -> None:
    """Empty and hidden folders are no classes; images come with their class's number."""
    from torchvision.datasets import ImageFolder

    dataset = loader.folder_images(folder, (3, 8, 8), augment=False)
    assert isinstance(dataset, ImageFolder)
    assert dataset.classes == ["a", "b"]
    assert [dataset[index][1] for index in range(len(dataset))] == [0, 1, 1]


def test_colours_are_normalised_as_imagenets(folder: image_folder.Folder) -> None:
    """(value / 255 - mean) / standard deviation, channel by channel; this image is one colour."""
    image, _ = loader.folder_images(folder, (3, 8, 8), augment=False)[1]
    expected = [(60 / 255 - 0.485) / 0.229, (100 / 255 - 0.456) / 0.224, (0 - 0.406) / 0.225]
    assert torch.allclose(image.mean(dim=(1, 2)), torch.tensor(expected), atol=1e-5)
    assert image.std(dim=(1, 2)).max() < 1e-5


def test_transforms_are_those_of_the_imagenet_example(folder: image_folder.Folder) -> None:
    """In its order: what the workers spend their time on is what people's workers do. 256 is resized to for 224."""

    def names(transform: Any) -> list[str]:
        return [type(part).__name__ for part in transform.transforms]

    trained = loader.folder_images(folder, (3, 224, 224), augment=True).transform  # type: ignore[attr-defined]
    assert names(trained) == ["RandomResizedCrop", "RandomHorizontalFlip", "ToTensor", "Normalize"]
    for size, resized in ((224, 256), (299, 342), (28, 32)):
        evaluated = loader.folder_images(folder, (3, size, size), augment=False).transform  # type: ignore[attr-defined]
        assert names(evaluated) == ["Resize", "CenterCrop", "ToTensor", "Normalize"]
        assert evaluated.transforms[0].size == resized


@pytest.mark.parametrize("shape", [(3, 24, 24), (1, 28, 28)])
def test_images_come_in_the_models_shape(folder: image_folder.Folder, shape: tuple[int, int, int]) -> None:
    """Also gray ones; as float32. Spawned workers get the data sets pickled: no lambda, no local class."""
    fake = loader.fake_images(shape, classes=3, batch=2000)
    assert len(fake) == 2000  # type: ignore[arg-type]
    assert len(loader.fake_images(shape, classes=3, batch=2)) == loader.FAKE_IMAGES  # type: ignore[arg-type]
    assert 0 <= fake[0][1] < 3
    for dataset in (fake, *(loader.folder_images(folder, shape, augment) for augment in (True, False))):
        image, _ = pickle.loads(pickle.dumps(dataset))[0]
        assert (image.shape, image.dtype) == (shape, torch.float32)


def test_pillows_warnings_are_not_heard(tmp_path: Path) -> None:
    """An image with a palette and transparency is good, and makes Pillow warn."""
    path = tmp_path / "p.png"
    image = Image.new("P", (2, 2))
    image.putdata([0, 1, 2, 3])
    image.save(path, transparency=bytes([10, 200, 30, 40]))
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert loader.load_image(str(path)).size == (2, 2)
        with pytest.raises(UserWarning, match="Palette images"), Image.open(path) as loud:
            loud.convert("RGB")


def test_a_broken_image_is_named(tmp_path: Path) -> None:
    """Its head can still be read; the case fails with what to do."""
    path = tmp_path / "cut.jpg"
    Image.new("RGB", (64, 64), "red").save(path)
    path.write_bytes(path.read_bytes()[:-20])
    with pytest.raises(OSError, match=r"cut\.jpg can't be decoded \(.*truncated.*\): repair or remove it"):
        loader.load_image(str(path))
