"""Names in results and names of files come from elsewhere: no command sends to a terminal what would steer it."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from roofline.show.tables import FORMATS
from tests.roofline import named
from tests.roofline.conftest import Run

STEERS = "a\x1b[2J\x9b31m\u202eb\tc\x07d\u200be"
"""Clears the screen, colors it, turns what follows around, jumps, rings, and has a letter that nobody sees."""
SHOWN = r"a\x1b[2J\x9b31m\u202eb\tc\x07d\u200be"
BREAKS = "x\nError: made up"
"""Looks like a message of ours."""


def _quiet(text: str) -> bool:
    """Nothing that a terminal would obey, and no line that a name made.

    Where a path is broken within one, the rest of it is indented, and is no message.
    """
    return text.replace("\n", "").isprintable() and not any(
        line.startswith("Error: made up") for line in text.splitlines()
    )


@pytest.mark.parametrize("name", [STEERS, BREAKS], ids=["steers", "breaks"])
@pytest.mark.parametrize("form", FORMATS)
@pytest.mark.parametrize("command", named.COMMANDS)
def test_no_table_steers_the_terminal(run: Run, tmp_path: Path, command: str, form: str, name: str) -> None:
    """Whatever the form, and whether columns are broken and dropped or not: escapes are shown instead."""
    line = named.words(named.COMMANDS[command], named.sessions(tmp_path, name))
    for width in (40, 80, 300):
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


@pytest.mark.parametrize("name", [STEERS, BREAKS], ids=["steers", "breaks"])
def test_no_message_steers_the_terminal(run: Run, tmp_path: Path, name: str) -> None:
    """Of what was written, left out, not found, or can't be read or compared."""
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
