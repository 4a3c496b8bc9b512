"""Data sets and transforms."""

import pickle
import warnings
from pathlib import Path

import pytest
import torch
from PIL import Image

from perftests import image_dataset, image_folder


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

    dataset = image_dataset.images(folder, (3, 8, 8), augment=False)
    assert isinstance(dataset, ImageFolder)
    assert dataset.classes == ["a", "b"]
    assert [dataset[index][1] for index in range(len(dataset))] == [0, 1, 1]


@pytest.mark.parametrize("augment", [True, False])
@pytest.mark.parametrize("shape", [(3, 24, 24), (1, 28, 28)])
def test_images_come_in_the_models_shape(
    folder: image_folder.Folder, augment: bool, shape: tuple[int, int, int]
) -> None:
    """Also gray ones; as float32."""
    image, _ = image_dataset.images(folder, shape, augment)[0]
    assert (image.shape, image.dtype) == (shape, torch.float32)


def test_colours_are_normalised_as_imagenets(folder: image_folder.Folder) -> None:
    """(value / 255 - mean) / standard deviation, channel by channel; this image is one colour."""
    image, _ = image_dataset.images(folder, (3, 8, 8), augment=False)[1]
    expected = [(60 / 255 - 0.485) / 0.229, (100 / 255 - 0.456) / 0.224, (0 - 0.406) / 0.225]
    assert torch.allclose(image.mean(dim=(1, 2)), torch.tensor(expected), atol=1e-5)
    assert image.std(dim=(1, 2)).max() < 1e-5


@pytest.mark.parametrize(
    ("augment", "expected"),
    [
        (True, ["RandomResizedCrop", "RandomHorizontalFlip", "ToTensor", "Normalize"]),
        (False, ["Resize", "CenterCrop", "ToTensor", "Normalize"]),
    ],
)
def test_transforms_are_those_of_the_imagenet_example(
    folder: image_folder.Folder, augment: bool, expected: list[str]
) -> None:
    """In its order: what the workers spend their time on is what people's workers do."""
    transform = image_dataset.images(folder, (3, 224, 224), augment).transform  # type: ignore[attr-defined]
    assert [type(part).__name__ for part in transform.transforms] == expected


@pytest.mark.parametrize(("size", "resized"), [(224, 256), (299, 342), (28, 32)])
def test_an_image_is_resized_in_proportion_to_its_crop(folder: image_folder.Folder, size: int, resized: int) -> None:
    """256 for 224, as the ImageNet example evaluates."""
    transform = image_dataset.images(folder, (3, size, size), False).transform  # type: ignore[attr-defined]
    assert transform.transforms[0].size == resized


@pytest.mark.parametrize("shape", [(3, 224, 224), (1, 28, 28)])
def test_fake_images_have_the_models_shape(shape: tuple[int, int, int]) -> None:
    """And targets the model has outputs for."""
    dataset = image_dataset.fake(shape, classes=3, batch=2000)
    image, target = dataset[0]
    assert (image.shape, image.dtype) == (shape, torch.float32)
    assert 0 <= target < 3
    assert len(dataset) == 2000  # type: ignore[arg-type]


@pytest.mark.parametrize("augment", [True, False])
def test_data_sets_can_be_pickled(folder: image_folder.Folder, augment: bool) -> None:
    """Spawned workers get them that way: no lambda, no local class."""
    for dataset in (image_dataset.images(folder, (1, 28, 28), augment), image_dataset.fake((3, 8, 8), 10, 4)):
        copy = pickle.loads(pickle.dumps(dataset))
        assert copy[0][0].shape == dataset[0][0].shape


def test_pillows_warnings_are_not_heard(tmp_path: Path) -> None:
    """An image with a palette and transparency is good, and makes Pillow warn."""
    path = tmp_path / "p.png"
    image = Image.new("P", (2, 2))
    image.putdata([0, 1, 2, 3])
    image.save(path, transparency=bytes([10, 200, 30, 40]))
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert image_dataset.load_image(str(path)).size == (2, 2)
        with pytest.raises(UserWarning, match="Palette images"), Image.open(path) as loud:
            loud.convert("RGB")


def test_an_image_that_breaks_during_a_run_is_named(tmp_path: Path) -> None:
    """It could be decoded when the run began."""
    path = tmp_path / "cut.jpg"
    Image.new("RGB", (64, 64), "red").save(path)
    path.write_bytes(path.read_bytes()[:200])
    with pytest.raises(OSError, match=r"cut\.jpg can't be decoded any more"):
        image_dataset.load_image(str(path))
