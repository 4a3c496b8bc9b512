"""Files are written whole or not at all, wherever the path leads."""

from __future__ import annotations

import errno
import os
import stat
import threading
from pathlib import Path

import pytest

from roofline.files.writing import write_text
from tests.roofline.full_disk import nearly_full


def test_where_the_disk_is_full_the_old_file_stays(tmp_path: Path) -> None:
    """As it was, and nothing else is left in the folder; a new file isn't there at all."""
    path = tmp_path / "e.toml"
    path.write_text("good")
    for target in (path, tmp_path / "new.toml"):
        with nearly_full(), pytest.raises(OSError, match="File too large"):
            write_text(target, "x" * 10_000)
    assert path.read_text() == "good"
    assert list(tmp_path.iterdir()) == [path]


def test_the_mode_stays_and_a_link_is_followed(tmp_path: Path) -> None:
    """A link stays a link, also one to a file that isn't there yet; a new file has the mode of any other."""
    old, link, other = tmp_path / "old", tmp_path / "link", tmp_path / "other"
    old.write_text("before")
    old.chmod(0o640)
    for target in (old, tmp_path / "new"):
        link.unlink(missing_ok=True)
        link.symlink_to(target)
        write_text(link, "after")
        assert link.is_symlink()
        assert target.read_text() == "after"
    other.write_text("")
    assert stat.S_IMODE(old.stat().st_mode) == 0o640
    assert (tmp_path / "new").stat().st_mode == other.stat().st_mode


def test_a_link_to_itself_is_told(tmp_path: Path) -> None:
    """And stays."""
    (tmp_path / "a").symlink_to(tmp_path / "a")
    with pytest.raises(OSError, match=os.strerror(errno.ELOOP)):
        write_text(tmp_path / "a", "text")
    assert [one.is_symlink() for one in tmp_path.iterdir()] == [True]


def test_a_file_that_cannot_be_replaced_is_written_in_place(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """One that a container mounts by itself, or in a folder that takes no new file."""
    path = tmp_path / "a"
    path.write_text("before, and longer")

    def busy(_self: Path, _target: Path) -> None:
        raise OSError(errno.EBUSY, os.strerror(errno.EBUSY))

    monkeypatch.setattr(Path, "replace", busy)
    write_text(path, "after")
    assert path.read_text() == "after"
    assert list(tmp_path.iterdir()) == [path]


def test_a_pipe_is_written_to(tmp_path: Path) -> None:
    """And stays one: nothing takes its place."""
    path = tmp_path / "pipe"
    os.mkfifo(path)
    read: list[str] = []
    reader = threading.Thread(target=lambda: read.append(path.read_text()), daemon=True)
    reader.start()
    write_text(path, "text")
    reader.join(10)
    assert read == ["text"]
    assert path.is_fifo()
    write_text(Path(os.devnull), "text")
    assert Path(os.devnull).is_char_device()
