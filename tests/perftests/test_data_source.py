"""Reading ``--data``."""

import re
from pathlib import Path

import pytest

from perftests import data_source
from perftests.data_source import DataError, DataSpec


@pytest.mark.parametrize("kind", ["synthetic", "fake", "sample"])
def test_a_word_names_a_source(kind: str) -> None:
    """Blanks around it don't matter, and the flag is kept for messages."""
    spec = data_source.parse(f" {kind} ", "--roofline-data")
    assert (spec.kind, spec.path, spec.source, spec.label) == (kind, None, "--roofline-data", kind)


def test_an_image_folder_has_a_path() -> None:
    """What follows the colon is the path; ~ is the home folder."""
    assert data_source.parse("imagefolder:~/pictures") == DataSpec(
        kind="imagefolder", path=Path("~/pictures").expanduser(), source="--data"
    )


@pytest.mark.parametrize("text", ["", "imagenet", "Synthetic", "synthetic:x", "sample:3", "fake:"])
def test_anything_else_is_refused_with_what_is_allowed(text: str) -> None:
    """The message holds the flag, the text and the choice."""
    expected = f"--data: {text!r} is not allowed: use synthetic, fake, sample or imagefolder:PATH"
    with pytest.raises(DataError, match=re.escape(expected) + "$"):
        data_source.parse(text)


def test_a_bare_path_is_refused_with_the_right_spelling(tmp_path: Path) -> None:
    """Somebody who gives a folder is told how."""
    with pytest.raises(DataError, match=re.escape(f"(for a folder: imagefolder:{tmp_path})")):
        data_source.parse(str(tmp_path))


@pytest.mark.parametrize("text", ["imagefolder:", "imagefolder: "])
def test_an_image_folder_without_a_path_is_refused(text: str) -> None:
    """There is no default folder."""
    with pytest.raises(DataError, match=re.escape(f"--data: {text!r} names no folder: use imagefolder:PATH")):
        data_source.parse(text)


@pytest.mark.parametrize(
    ("path", "label"),
    [
        ("/data/imagenet-mini", "imagefolder_imagenet-mini"),
        ("/data/imagenet-mini/", "imagefolder_imagenet-mini"),
        ("/data/imagenet-mini/train", "imagefolder_imagenet-mini"),
        ("/data/my pictures::2", "imagefolder_my_pictures_2"),
        ("/", "imagefolder_root"),
    ],
)
def test_a_label_holds_the_folders_name_and_no_path(path: str, label: str) -> None:
    """It is fit for a test id: no slash, no blank, no colon."""
    assert data_source.parse(f"imagefolder:{path}").label == label


def test_links_in_a_circle_have_a_label(tmp_path: Path) -> None:
    """Whether the folder is there is checked later, with a message."""
    (tmp_path / "a").symlink_to("b")
    (tmp_path / "b").symlink_to("a")
    assert data_source.parse(f"imagefolder:{tmp_path}/a").label in ("imagefolder_a", "imagefolder_b")


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("imagefolder:~nosuchuser/x", "--data: imagefolder:~nosuchuser/x: ~nosuchuser is no known home folder; give"),
        ("imagefolder:a\0b", "--data: imagefolder:'a\\x00b': a path holds no NUL character"),
        ("x" * 5000, f"--data: {'x' * 5000!r} is not allowed: use synthetic"),
    ],
)
def test_what_can_be_no_path_is_refused(text: str, message: str) -> None:
    """Somebody else's home folder that isn't known, a character no path has, and a name no file system takes."""
    with pytest.raises(DataError, match="^" + re.escape(message)):
        data_source.parse(text)
