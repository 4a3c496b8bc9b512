"""The image folder built from installed photographs."""

import json
import shutil
from pathlib import Path
from statistics import mean

import pytest
from PIL import Image

from perftests import image_folder, sample_images
from perftests.data_options import DataError

TWO = sample_images.PHOTOGRAPHS[:2]


@pytest.fixture(scope="module")
def built(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return sample_images.folder(tmp_path_factory.mktemp("cache"), images_per_class=4)


def _images(folder: Path) -> dict[str, bytes]:
    return {path.relative_to(folder).as_posix(): path.read_bytes() for path in sorted(folder.rglob("*.jpg"))}


def test_it_is_an_image_folder_of_several_classes(built: Path) -> None:
    """A class a photograph, as many images in each as asked for, and every one can be decoded."""
    found = image_folder.find(built, "--data")
    assert len(found.classes) == len(sample_images.PHOTOGRAPHS) >= 5
    assert len(found.samples) == 4 * len(found.classes)
    image_folder.verify(found, "--data", built.parent, threads=1)


def test_by_default_there_are_some_hundred() -> None:
    """Enough for a batch of 256."""
    assert 256 <= sample_images.IMAGES_PER_CLASS * len(sample_images.PHOTOGRAPHS) < 1000


def test_its_images_are_like_imagenets(built: Path) -> None:
    """500 x 375 or upright, colour JPEGs of about 110 kB on average."""
    sizes, modes = set(), set()
    for path in built.rglob("*.jpg"):
        with Image.open(path) as image:
            sizes.add(image.size)
            modes.add((image.format, image.mode))
    assert sizes == {(500, 375), (375, 500)}
    assert modes == {("JPEG", "RGB")}
    assert mean(len(data) for data in _images(built).values()) == pytest.approx(110_000, rel=0.05)


def test_no_two_images_are_the_same(built: Path) -> None:
    """Every one is another crop."""
    images = _images(built)
    assert len(set(images.values())) == len(images)


def test_it_is_built_the_same_again(two: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Byte for byte, from the same packages."""
    monkeypatch.setattr(sample_images, "PHOTOGRAPHS", TWO)
    assert _images(sample_images.folder(tmp_path, images_per_class=1)) == _images(two)


@pytest.fixture(scope="module")
def two(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder of two classes with an image each, which is quick to build."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(sample_images, "PHOTOGRAPHS", TWO)
        return sample_images.folder(tmp_path_factory.mktemp("two"), images_per_class=1)


@pytest.fixture
def cache(two: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A cache with the finished folder of two classes, for tests that spoil it."""
    monkeypatch.setattr(sample_images, "PHOTOGRAPHS", TWO)
    shutil.copytree(two, tmp_path / two.name)
    return tmp_path


def _marked(folder: Path) -> Path:
    """A file that is gone when the folder is built anew."""
    (folder / "mark").write_text("")
    return folder / "mark"


def test_a_finished_folder_is_taken_as_it_is(cache: Path, two: Path) -> None:
    """Nothing is built the second time."""
    mark = _marked(cache / two.name)
    assert sample_images.folder(cache, images_per_class=1) == cache / two.name
    assert mark.exists()


@pytest.mark.parametrize(
    "spoil",
    [
        lambda folder: (folder / "cat/0000.jpg").unlink(),
        lambda folder: (folder / "cat/0000.jpg").write_bytes(b"short"),
        lambda folder: (folder / "manifest.json").unlink(),
        lambda folder: (folder / "manifest.json").write_text("{"),
        lambda folder: (folder / "manifest.json").write_text("[]"),
        lambda folder: (folder / "manifest.json").write_text("{}"),
        lambda folder: (folder / "manifest.json").write_text("[" * 100_000),
        lambda folder: _change_manifest(folder, sizes=None),
        lambda folder: _change_manifest(folder, sizes={}),
        lambda folder: _change_manifest(folder, sizes=[1]),
        lambda folder: _change_manifest(folder, sizes={"cat/0000.jpg": None}),
        lambda folder: _change_manifest(folder, version=0),
        lambda folder: _change_manifest(folder, classes=["cat"]),
    ],
)
def test_a_folder_that_is_not_whole_or_of_another_version_is_built_anew(cache: Path, two: Path, spoil: object) -> None:
    """An image lost or cut off, no manifest or a broken one, another version or other photographs."""
    mark = _marked(cache / two.name)
    spoil(cache / two.name)  # type: ignore[operator]
    assert _images(sample_images.folder(cache, images_per_class=1)) == _images(two)
    assert not mark.exists()


def _change_manifest(folder: Path, **changes: object) -> None:
    manifest = json.loads((folder / "manifest.json").read_text())
    (folder / "manifest.json").write_text(json.dumps(manifest | changes))


def test_nothing_is_left_beside_it(cache: Path, two: Path) -> None:
    """Neither the half-built folder nor the one it replaces."""
    (cache / two.name / "manifest.json").unlink()
    sample_images.folder(cache, images_per_class=1)
    assert [path.name for path in cache.iterdir()] == [two.name]


def test_a_run_that_is_cut_off_leaves_no_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """It appears whole or not at all."""
    monkeypatch.setattr(sample_images, "_jpeg", _interrupted)
    with pytest.raises(KeyboardInterrupt):
        sample_images.folder(tmp_path, images_per_class=1)
    assert list(tmp_path.iterdir()) == []


def _interrupted(*_: object, **__: object) -> bytes:
    raise KeyboardInterrupt


def test_another_process_may_be_faster(tmp_path: Path, two: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """If a whole folder appears while this one is built, that one stays and this one goes."""
    monkeypatch.setattr(sample_images, "PHOTOGRAPHS", TWO)
    real = sample_images._build

    def build(root: Path, photographs: object, images_per_class: int) -> dict[str, int]:
        shutil.copytree(two, tmp_path / two.name)
        _marked(tmp_path / two.name)
        return real(root, photographs, images_per_class)  # type: ignore[arg-type]

    monkeypatch.setattr(sample_images, "_build", build)
    place = sample_images.folder(tmp_path, images_per_class=1)
    assert (place / "mark").exists()
    assert list(tmp_path.iterdir()) == [place]


def test_without_photographs_the_packages_are_named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """What to install."""
    monkeypatch.setattr(sample_images, "PHOTOGRAPHS", (sample_images.Photograph("x", "no_such_package", "x.png"),))
    with pytest.raises(DataError, match=r"--data sample: .*pip install scikit-image scikit-learn"):
        sample_images.folder(tmp_path, images_per_class=1)


def test_one_package_is_enough(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A photograph that isn't there is no class."""
    missing = sample_images.Photograph("x", "skimage", "data/x.png")
    monkeypatch.setattr(sample_images, "PHOTOGRAPHS", (missing, sample_images.PHOTOGRAPHS[2]))
    assert image_folder.find(sample_images.folder(tmp_path, images_per_class=1), "").classes == ("coffee",)


def test_a_cache_that_can_not_be_written_is_named(tmp_path: Path) -> None:
    """With the reason and a way out."""
    (tmp_path / "file").write_text("")
    with pytest.raises(DataError, match=r"can't be built in .*file/cache: Not a directory.*ROOFLINE_CACHE"):
        sample_images.folder(tmp_path / "file" / "cache", images_per_class=1)
