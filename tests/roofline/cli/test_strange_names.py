"""Names come from elsewhere: no command sends to a terminal what would steer it, and all keep its width."""

from __future__ import annotations

import json
import sys
from pathlib import Path

import pytest
from rich.cells import cell_len

from roofline.show.tables import FORMATS
from tests.roofline import named
from tests.roofline.conftest import Run

STEERS = "a\x1b[2J\x9b31m\u202eb\tc\x07d\u200be\nError: made up"
"""Clears the screen, colors it, turns what follows around, jumps, rings, has a letter that nobody sees, and ends with
what looks like a message of ours.
"""
SHOWN = r"a\x1b[2J\x9b31m\u202eb\tc\x07d\u200be\nError: made up"

WIDE = "畳み込み re\u0301seau 畳み込み ネットワーク"
"""Letters that take two columns of a terminal, or none."""


def _quiet(text: str) -> bool:
    """Nothing that a terminal would obey, and no line that a name made.

    Where a path is broken within one, the rest of it is indented, and is no message.
    """
    return text.replace("\n", "").isprintable() and not any(
        line.startswith("Error: made up") for line in text.splitlines()
    )


@pytest.mark.parametrize("command", named.COMMANDS)
def test_no_table_steers_the_terminal(run: Run, tmp_path: Path, command: str) -> None:
    """Whatever the form, and whether columns are broken and dropped or not: escapes are shown instead."""
    line = named.words(named.COMMANDS[command], named.sessions(tmp_path, STEERS))
    for form, width in (*((form, 80) for form in FORMATS), ("table", 40), ("table", 300)):
        code, out, err = run(*line, "--format", form, "--width", width)
        assert code in (0, 1, 3)
        assert out
        assert _quiet(out)
        assert _quiet(err)


def test_the_name_can_still_be_read(run: Run, tmp_path: Path) -> None:
    """As escapes in a table; JSON's own escapes give a program the name itself."""
    result = named.sessions(tmp_path, STEERS)["one"]
    assert SHOWN in run("points", result, "--width", 300)[1]
    document = json.loads(run("points", result, "--format", "json")[1])
    assert document[0]["model"] == STEERS


def test_no_message_steers_the_terminal(run: Run, tmp_path: Path) -> None:
    """Of what was written, left out, not found, or can't be read or compared."""
    name = STEERS
    folder, output = tmp_path / name, tmp_path / f"out {name}.csv"
    result, broken = named.sessions(folder, name)["one"], folder / f"broken {name}.json"
    broken.write_text("{")
    said = [
        run("points", folder, "-o", output),
        run("points", broken),
        run("points", f"none {name}"),
        run("metrics", result, "--devices", f"none {name}"),
        run("ops", result, f"no such {name}"),
        run("lock", result, "-o", tmp_path / f"e {name}.toml"),
        run("lock", result),
        run("env", result),
        run("audit", folder),
        run("trace", result),
        run("trace", f"none {name}"),
        run("nsys", broken),
        run("ncu", broken),
        run("check", result, "--baseline", f"none {name}"),
        run("check", result, "--baseline", result),
        run("check", result, "--expect", f"none {name}"),
        run("compare", result, "--with", broken),
        run(f"no such {name}"),
    ]
    assert {code for code, _, _ in said} <= {0, 1, 2, 3}
    assert output.exists()
    for _, out, err in said:
        assert _quiet(out)
        assert _quiet(err)


@pytest.mark.parametrize("command", named.COMMANDS)
def test_no_line_is_wider_than_the_terminal(
    run: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, command: str
) -> None:
    """Of tables, of the notes below them but for whole commands, and of what is told beside them but for whole words,
    such as paths.
    """
    width = 80
    monkeypatch.setattr(sys.stderr, "isatty", lambda: True)
    monkeypatch.setenv("COLUMNS", str(width))
    _, out, err = run(*named.words(named.COMMANDS[command], named.sessions(tmp_path, WIDE)))
    assert out
    wide = [line for line in out.splitlines() if cell_len(line) > width]
    assert [line for line in wide if not line.startswith("    roofline ")] == []
    wide = [line for line in err.splitlines() if cell_len(line) > width]
    assert [line for line in wide if " " in line.strip()] == []
