"""What is in an image folder, and whether it can be read."""

import os
import re
import sys
from pathlib import Path

import pytest
from PIL import Image

from perftests import image_folder
from perftests.data_options import DataError

SOURCE = "--data"


def picture(path: Path, size: tuple[int, int] = (20, 15), mode: str = "RGB") -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    Image.effect_noise(size, 50).convert(mode).save(path)
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
    """As torchvision numbers them; what isn't an image is left out."""
    (root / "a" / "notes.txt").write_text("x")
    (root / "list.txt").write_text("x")
    found = image_folder.find(root, SOURCE)
    assert (found.root, found.classes, found.notes) == (root, ("a", "b"), ())
    assert _names(found) == [("a/1.jpg", 0), ("a/2.png", 0), ("b/3.JPEG", 1)]


def test_the_extensions_are_torchvisions() -> None:
    """A file counts as an image exactly when torchvision's ImageFolder would take it."""
    from torchvision.datasets.folder import IMG_EXTENSIONS

    assert image_folder.EXTENSIONS == IMG_EXTENSIONS


def test_the_training_part_is_taken_where_there_is_one(root: Path) -> None:
    """ImageNet's layout: PATH/train and PATH/val."""
    picture(root / "train" / "c" / "4.jpg")
    found = image_folder.find(root, SOURCE)
    assert (found.root, _names(found)) == (root / "train", [("c/4.jpg", 0)])


def test_images_deeper_in_a_class_belong_to_it(root: Path) -> None:
    """As in torchvision, a class's folder is searched to the bottom."""
    picture(root / "a" / "more" / "0.jpg")
    assert _names(image_folder.find(root, SOURCE))[:3] == [("a/1.jpg", 0), ("a/2.png", 0), ("a/more/0.jpg", 0)]


def test_hidden_folders_are_no_classes_and_empty_ones_are_noted(tmp_path: Path) -> None:
    """a has two images, b none, and a notebook left its folder: one class, two images, a note on b."""
    picture(tmp_path / "a/1.jpg")
    picture(tmp_path / "a/2.jpg")
    (tmp_path / "b").mkdir()
    picture(tmp_path / ".ipynb_checkpoints/1.jpg")
    found = image_folder.find(tmp_path, SOURCE)
    assert (found.classes, len(found.samples)) == (("a",), 2)
    assert found.notes == ("classes without an image, left out: b",)


def test_hidden_files_are_no_images(root: Path) -> None:
    """macOS leaves ``._1.jpg`` beside images on foreign disks; it isn't one."""
    (root / "a" / "._1.jpg").write_bytes(b"\0\5\26\7")
    assert len(image_folder.find(root, SOURCE).samples) == 3


def test_a_link_back_up_is_not_followed_and_noted(root: Path) -> None:
    """A loop would give every image again and again. A link elsewhere is followed."""
    (root / "a" / "loop").symlink_to(root)
    picture(root.parent / "elsewhere" / "5.jpg")
    (root / "b" / "link").symlink_to(root.parent / "elsewhere")
    found = image_folder.find(root, SOURCE)
    assert _names(found) == [("a/1.jpg", 0), ("a/2.png", 0), ("b/3.JPEG", 1), ("b/link/5.jpg", 1)]
    assert found.notes == ("link that leads back to a folder it is in, not followed: loop",)


def test_a_class_that_is_the_root_itself_is_empty(root: Path) -> None:
    """A link from a class to its root is a loop too."""
    (root / "self").symlink_to(root)
    found = image_folder.find(root, SOURCE)
    assert found.classes == ("a", "b")
    assert found.notes == (
        "link that leads back to a folder it is in, not followed: self",
        "classes without an image, left out: self",
    )


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda _: None, "no such folder; it must hold one folder a class, with the class's images in it"),
        (lambda path: path.write_text("x"), "not a folder; it must hold one folder a class, with the class's images"),
        (lambda path: path.mkdir(), "it has no class folder; an image ends in .jpg, "),
        (lambda path: (path / "a").mkdir(parents=True), "its 1 class folders hold no image; an image ends in .jpg, "),
        (
            lambda path: picture(path / "1.jpg"),
            "it has no class folder (1 images lie in it directly: move each into a folder named after its class); ",
        ),
    ],
)
def test_a_folder_that_can_not_serve_is_refused(tmp_path: Path, make: object, message: str) -> None:
    """Missing, a file, empty, with empty classes, or with images but no classes."""
    make(tmp_path / "x")  # type: ignore[operator]
    with pytest.raises(DataError) as error:
        image_folder.find(tmp_path / "x", "--roofline-data")
    assert str(error.value).startswith(f"--roofline-data: imagefolder:{tmp_path / 'x'}: {message}")


@pytest.mark.parametrize(
    ("name", "reason"), [("x" * 5000, "File name too long"), ("circle", "Too many levels of symbolic links")]
)
def test_a_path_the_system_refuses_is_refused(tmp_path: Path, name: str, reason: str) -> None:
    """The system's reason is given."""
    (tmp_path / "circle").symlink_to("circle")
    with pytest.raises(DataError, match=f": {reason}; it must hold one folder a class"):
        image_folder.find(tmp_path / name, SOURCE)


def test_an_image_may_lie_deeper_than_python_recurses(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """More folders below each other than the interpreter nests calls."""
    depth = sys.getrecursionlimit() + 200
    (tmp_path / "r" / "a").mkdir(parents=True)
    # Step by step down and up again: neither os.makedirs nor shutil.rmtree gets that deep, pytest's clean-up included.
    monkeypatch.chdir(tmp_path / "r" / "a")
    for _ in range(depth):
        os.mkdir("d")
        os.chdir("d")
    picture(Path("1.png"))
    os.chdir(tmp_path)
    try:
        ((image, number),) = image_folder.find(Path("r"), SOURCE).samples
    finally:
        os.chdir(Path("r/a", *["d"] * depth))
        os.remove("1.png")
        for _ in range(depth):
            os.chdir("..")
            os.rmdir("d")
    assert (image.count("/d"), number) == (depth, 0)


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


@pytest.mark.skipif(os.name == "nt" or os.geteuid() == 0, reason="root may read everything")
def test_a_folder_of_somebody_else_is_refused(root: Path) -> None:
    """The same, refused by the system."""
    (root / "b").chmod(0)
    try:
        with pytest.raises(DataError, match=r"b: Permission denied; the folder must be readable"):
            image_folder.find(root, SOURCE)
    finally:
        (root / "b").chmod(0o755)


def _verify(root: Path, cache: Path) -> None:
    image_folder.verify(image_folder.find(root, SOURCE), SOURCE, cache, threads=2)


def test_good_images_pass(root: Path, tmp_path: Path) -> None:
    """Of every mode that is converted to RGB."""
    picture(root / "a/gray.png", mode="L")
    picture(root / "a/palette.png", mode="P")
    picture(root / "a/alpha.png", mode="RGBA")
    picture(root / "a/print.jpg", mode="CMYK")
    _verify(root, tmp_path / "cache")


@pytest.mark.parametrize(
    ("damage", "reason"),
    [
        (lambda path: path.write_bytes(b""), "the file is empty"),
        (lambda path: path.write_bytes(path.read_bytes()[:-20]), "image file is truncated"),
        (lambda path: path.write_text("not an image"), "cannot identify image file"),
        (lambda path: (path.unlink(), path.symlink_to("nowhere")), "No such file or directory"),
    ],
)
def test_an_image_that_can_not_be_read_is_named(root: Path, tmp_path: Path, damage: object, reason: str) -> None:
    """Empty, cut off, something else, or a link to nothing: named with the reason, and the cure."""
    damage(root / "a/1.jpg")  # type: ignore[operator]
    with pytest.raises(DataError) as error:
        _verify(root, tmp_path / "cache")
    assert str(error.value).startswith(f"--data: 1 of 3 images in {root} can't be read: a/1.jpg: {reason}")
    assert str(error.value).endswith(". Repair or remove them.")


def test_a_cut_off_image_is_found_though_its_head_is_good(root: Path, tmp_path: Path) -> None:
    """The size can still be read from it: only decoding to the end shows it."""
    path = picture(root / "b/big.jpg", (300, 300))
    path.write_bytes(path.read_bytes()[:-2000])
    with Image.open(path) as image:
        assert image.size == (300, 300)
    with pytest.raises(DataError, match=r"b/big\.jpg: image file is truncated"):
        _verify(root, tmp_path / "cache")


def test_of_many_bad_images_three_are_named(root: Path, tmp_path: Path) -> None:
    """The rest are counted."""
    for number in range(5):
        (root / "b" / f"bad{number}.jpg").write_bytes(b"")
    with pytest.raises(DataError, match=re.escape("5 of 8 images") + ".*bad0.*bad1.*bad2.*; and 2 more") as error:
        _verify(root, tmp_path / "cache")
    assert "bad3" not in str(error.value)


def _decoded(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    seen: list[str] = []
    real = image_folder._defect
    monkeypatch.setattr(image_folder, "_defect", lambda path: (seen.append(Path(path).name), real(path))[1])
    return seen


def test_a_good_image_is_decoded_once(root: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The second run only looks whether images changed: one that did is decoded again, and so is a new one."""
    seen = _decoded(monkeypatch)
    _verify(root, tmp_path / "cache")
    assert sorted(seen) == ["1.jpg", "2.png", "3.JPEG"]
    seen.clear()
    _verify(root, tmp_path / "cache")
    assert seen == []
    picture(root / "b/4.jpg")
    os.utime(root / "a/1.jpg", ns=(0, 0))
    _verify(root, tmp_path / "cache")
    assert sorted(seen) == ["1.jpg", "4.jpg"]


def test_a_bad_image_is_not_remembered_as_good(root: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """It is refused in every run until it is repaired, while the good ones beside it are not decoded again."""
    good = (root / "a/1.jpg").read_bytes()
    (root / "a/1.jpg").write_bytes(b"x")
    seen = _decoded(monkeypatch)
    for _ in range(2):
        with pytest.raises(DataError, match=r"a/1\.jpg"):
            _verify(root, tmp_path / "cache")
    assert sorted(seen) == ["1.jpg", "1.jpg", "2.png", "3.JPEG"]
    (root / "a/1.jpg").write_bytes(good)
    _verify(root, tmp_path / "cache")


@pytest.mark.parametrize("junk", ["", "[]", "{", '{"a/1.jpg": 3}', "[" * 100_000])
def test_a_damaged_memory_is_no_memory(root: Path, tmp_path: Path, junk: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Whatever stands in the file, the images are decoded again and the memory is written anew."""
    _verify(root, tmp_path / "cache")
    (ledger,) = (tmp_path / "cache" / "verified").iterdir()
    ledger.write_text(junk)
    seen = _decoded(monkeypatch)
    _verify(root, tmp_path / "cache")
    _verify(root, tmp_path / "cache")
    assert len(seen) == 3


def test_without_a_place_to_remember_it_still_verifies(root: Path, tmp_path: Path) -> None:
    """A cache that can't be written costs time in the next run, nothing else."""
    (tmp_path / "cache").write_text("a file where a folder should be")
    _verify(root, tmp_path / "cache")
    (root / "a/1.jpg").write_bytes(b"")
    with pytest.raises(DataError, match="the file is empty"):
        _verify(root, tmp_path / "cache")
