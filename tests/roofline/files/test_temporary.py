"""Temporary folders end with their block; what killed runs have left goes with the next one."""

import os
import tempfile
import time
from pathlib import Path

import pytest

from roofline.files.writing import private_folder


def test_what_a_killed_run_has_left_is_removed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """After three days, as pytest removes its own; the folder of a run that may still go on stays."""
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    left, running, other = (tmp_path / name for name in ("roofline-ab-left", "roofline-ab-running", "other"))
    for folder, days in ((left, 4), (running, 2), (other, 4)):
        folder.mkdir()
        os.utime(folder, (0, time.time() - days * 86400))
    with private_folder("roofline-ab-") as made:
        assert {*tmp_path.iterdir()} == {made, running, other}
    assert not made.exists()
