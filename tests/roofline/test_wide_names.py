"""Names may be of letters that take two columns of a terminal, or none: its width is kept all the same."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest
from rich.cells import cell_len

from tests.roofline import named
from tests.roofline.conftest import Run

NAMES = {
    "two columns": "深層学習の訓練-画像分類-残差網",
    "marks above letters": "re\u0301seau re\u0301siduel-e\u0301tape",
    "both, and blanks": "畳み込み re\u0301seau 畳み込み ネットワーク",
}


@pytest.mark.parametrize("name", NAMES.values(), ids=NAMES)
@pytest.mark.parametrize("command", named.COMMANDS)
@pytest.mark.parametrize("width", [80, 100])
def test_no_line_is_wider_than_the_terminal(
    run: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, width: int, command: str, name: str
) -> None:
    """Of tables, of the notes below them, and of what is told beside them but for whole words, such as paths."""
    monkeypatch.setattr(sys.stderr, "isatty", lambda: True)
    monkeypatch.setenv("COLUMNS", str(width))
    _, out, err = run(*named.words(named.COMMANDS[command], named.sessions(tmp_path, name)))
    assert out
    assert [line for line in out.splitlines() if cell_len(line) > width] == []
    wide = [line for line in err.splitlines() if cell_len(line) > width]
    assert [line for line in wide if " " in line.strip()] == []
