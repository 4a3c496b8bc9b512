"""What is in an image folder, and the image folder built from installed photographs."""

from __future__ import annotations

import os
import shutil
from collections.abc import Callable
from pathlib import Path
from statistics import mean

import pytest
from PIL import Image

from perftests import image_folder, sample_images
from perftests.data_options import DataError

SOURCE = "--data"


def picture(path: Path) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    Image.effect_noise((20, 15), 50).convert("RGB").save(path)
    return path


@pytest.fixture
def root(tmp_path: Path) -> Path:
    """Two classes: a with two images, b with one."""
    for name in ("a/1.jpg", "a/2.png", "b/3.JPEG"):
        picture(tmp_path / "mini" / name)
    return tmp_path / "mini"


def _names(folder: image_folder.Folder) -> list[tuple[str, int]]:
    return [(Path(path).relative_to(folder.root).as_posix(), number) for path, number in folder.samples]


def test_classes_are_folders_and_are_numbered_by_name(root: Path) -> None:
    """As torchvision numbers them, to the bottom of each; empty classes are noted.

    What isn't an image is left out, and so is what is hidden: macOS leaves ``._1.jpg``, a notebook its folder.
    """
    for name in ("a/notes.txt", "list.txt", "a/._1.jpg"):
        (root / name).write_text("x")
    (root / "c").mkdir()
    picture(root / ".ipynb_checkpoints" / "1.jpg")
    picture(root / "a" / "more" / "0.jpg")
    found = image_folder.find(root, SOURCE)
    assert (found.root, found.classes) == (root, ("a", "b"))
    assert found.notes == ("classes without an image, left out: c",)
    assert _names(found) == [("a/1.jpg", 0), ("a/2.png", 0), ("a/more/0.jpg", 0), ("b/3.JPEG", 1)]


def test_the_extensions_are_torchvisions() -> None:
    """A file counts as an image exactly when torchvision's ImageFolder would take it."""
    from torchvision.datasets.folder import IMG_EXTENSIONS

    assert image_folder.EXTENSIONS == IMG_EXTENSIONS


def test_the_training_part_is_taken_where_there_is_one(root: Path) -> None:
    """ImageNet's layout: PATH/train and PATH/val."""
    picture(root / "train" / "c" / "4.jpg")
    found = image_folder.find(root, SOURCE)
    assert (found.root, _names(found)) == (root / "train", [("c/4.jpg", 0)])


def test_a_link_to_another_folder_is_followed(root: Path) -> None:
    """Not one that leads back: each image would come again and again."""
    picture(root.parent / "other" / "5.jpg")
    (root / "b" / "link").symlink_to(root.parent / "other")
    (root / "b" / "loop").symlink_to(root)
    found = image_folder.find(root, SOURCE)
    assert _names(found) == [("a/1.jpg", 0), ("a/2.png", 0), ("b/3.JPEG", 1), ("b/link/5.jpg", 1)]


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda _: None, "no such folder; it must hold one folder a class"),
        (lambda path: path.write_text("x"), "not a folder; it must hold one folder a class"),
        (lambda path: path.mkdir(), "it has no class folder; an image ends in .jpg, "),
        (lambda path: (path / "a").mkdir(parents=True), "its 1 class folders hold no image; an image ends in .jpg, "),
        (lambda path: picture(path / "1.jpg"), "it has no class folder (1 images lie in it directly: move each into "),
        (lambda path: path.symlink_to(path.name), "Too many levels of symbolic links; it must hold one folder a class"),
    ],
)
def test_a_folder_that_can_not_serve_is_refused(tmp_path: Path, make: Callable[[Path], object], message: str) -> None:
    """Missing, a file, empty, with empty classes, with images but no classes, or a link to itself."""
    make(tmp_path / "x")
    with pytest.raises(DataError) as error:
        image_folder.find(tmp_path / "x", "--roofline-data")
    assert str(error.value).startswith(f"--roofline-data: imagefolder:{tmp_path / 'x'}: {message}")


def test_a_folder_that_must_not_be_read_is_refused(root: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The system's reason is given, whoever runs this: root may read everything, so the refusal is made up."""
    real = os.scandir

    def refuse(folder: str) -> object:
        if os.path.basename(folder) == "b":
            raise PermissionError(13, "Permission denied", folder)
        return real(folder)

    monkeypatch.setattr(os, "scandir", refuse)
    with pytest.raises(DataError, match=r"b: Permission denied; the folder must be readable"):
        image_folder.find(root, SOURCE)


def _images(folder: Path) -> dict[str, bytes]:
    return {path.relative_to(folder).as_posix(): path.read_bytes() for path in sorted(folder.rglob("*.jpg"))}


@pytest.fixture
def two(monkeypatch: pytest.MonkeyPatch) -> None:
    """Two photographs are quick to build of."""
    monkeypatch.setattr(sample_images, "PHOTOGRAPHS", sample_images.PHOTOGRAPHS[:2])


def test_sample_images_are_like_imagenets(tmp_path: Path) -> None:
    """A class a photograph, each image another crop of it: 500 x 375 or upright, colour, about 110 kB on average."""
    built = sample_images.folder(tmp_path, images_per_class=4)
    found = image_folder.find(built, SOURCE)
    assert len(found.classes) == len(sample_images.PHOTOGRAPHS) >= 5
    sizes, modes = set(), set()
    for path, _ in found.samples:
        with Image.open(path) as image:
            sizes.add(image.size)
            modes.add((image.format, image.mode))
    assert sizes == {(500, 375), (375, 500)}
    assert modes == {("JPEG", "RGB")}
    images = list(_images(built).values())
    assert len(set(images)) == len(images) == 4 * len(found.classes)
    assert mean(map(len, images)) == pytest.approx(110_000, rel=0.05)


@pytest.mark.usefixtures("two")
def test_sample_images_are_built_once_and_the_same_again(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Byte for byte. A finished folder is taken as it is, also one that another process finished meanwhile."""
    first = sample_images.folder(tmp_path / "1", images_per_class=1)
    (first / "mark").touch()
    assert sample_images.folder(tmp_path / "1", images_per_class=1) == first
    real = sample_images._build

    def build(*arguments: object) -> None:
        shutil.copytree(first, tmp_path / "2" / first.name)
        real(*arguments)  # type: ignore[arg-type]

    again = sample_images.folder(tmp_path / "3", images_per_class=1)
    assert _images(again) == _images(first)
    monkeypatch.setattr(sample_images, "_build", build)
    other = sample_images.folder(tmp_path / "2", images_per_class=1)
    assert (first / "mark").exists()
    assert (other / "mark").exists()
    assert [path.name for path in (tmp_path / "2").iterdir()] == [other.name]


def test_a_run_that_is_cut_off_leaves_no_sample_images(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The folder appears whole or not at all."""

    def interrupted(*_: object, **__: object) -> bytes:
        raise KeyboardInterrupt

    monkeypatch.setattr(sample_images, "_jpeg", interrupted)
    with pytest.raises(KeyboardInterrupt):
        sample_images.folder(tmp_path, images_per_class=1)
    assert list(tmp_path.iterdir()) == []


def test_one_package_with_photographs_is_enough(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A photograph that is missing is no class. Without any the packages to install are named."""
    missing = sample_images.Photograph("x", "no_such_package", "data/x.png")
    monkeypatch.setattr(sample_images, "PHOTOGRAPHS", (missing, sample_images.PHOTOGRAPHS[2]))
    one = sample_images.folder(tmp_path, images_per_class=1)
    assert image_folder.find(one, "").classes == ("coffee",)
    monkeypatch.setattr(sample_images, "PHOTOGRAPHS", (missing,))
    with pytest.raises(DataError, match=r"--data sample: .*pip install scikit-image scikit-learn"):
        sample_images.folder(tmp_path, images_per_class=1)


@pytest.mark.usefixtures("two")
def test_a_cache_that_can_not_be_written_is_named(tmp_path: Path) -> None:
    """With the reason and a way out."""
    (tmp_path / "file").write_text("")
    with pytest.raises(DataError, match=r"can't be built in .*file/cache: Not a directory.*ROOFLINE_CACHE"):
        sample_images.folder(tmp_path / "file" / "cache", images_per_class=1)
