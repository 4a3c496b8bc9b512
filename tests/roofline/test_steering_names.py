"""Names in results and names of files come from elsewhere: no command sends to a terminal what would steer it."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from roofline.record import Flag, NotMeasured
from roofline.tables import FORMATS
from tests.roofline import build
from tests.roofline.conftest import Run
from tests.roofline.expectations import build_points

STEERS = "a\x1b[2J\x9b31m\u202eb\tc\x07d\u200be"
"""Clears the screen, colors it, turns what follows around, jumps, rings, and has a letter that nobody sees."""
SHOWN = r"a\x1b[2J\x9b31m\u202eb\tc\x07d\u200be"
BREAKS = "x\nError: made up"
"""Looks like a message of ours."""

COMMANDS = {
    **{name: name for name in ("points", "metrics", "summary", "ops", "machines", "sessions", "audit")},
    "kinds": "ops --by kind",
    "expectations": "check --expect e.toml",
}


def _session(folder: Path, name: str) -> Path:
    """A session of one case in which all that a user names is ``name``."""
    case = build.case(id=f"{name}-train-b32-fp32", model=name)
    operation = build.operation(name=f"my::{name}", shape=f"4x{name}", time_s=0.05)
    flag = Flag(name="unsteady", evidence=f"seen by {name}")
    record = build.timed(operation, case=case, flags=(flag,), work=build_points.compute_work())
    session = build.session(
        build_points.roofs(),
        label=name,
        notes=(f"note of {name}",),
        arguments=(f"--label={name}",),
        not_measured=(NotMeasured(id=f"other {name}", outcome="failed", reason=f"by {name}"),),
    )
    content = build.document([record], of=session, on=build.machine(f"lab {name}"))
    content["benchmarks"][0] |= {"name": f"test_{name}", "fullname": f"t.py::test_{name}"}
    return build.write(folder / f"{name}.json", content)


def _quiet(text: str) -> bool:
    """Nothing that a terminal would obey, and no line that a name made."""
    return text.replace("\n", "").isprintable() and not any(
        line.lstrip().startswith("Error: made up") for line in text.splitlines()
    )


@pytest.mark.parametrize("name", [STEERS, BREAKS], ids=["steers", "breaks"])
@pytest.mark.parametrize("form", FORMATS)
@pytest.mark.parametrize("command", COMMANDS)
def test_no_table_steers_the_terminal(run: Run, tmp_path: Path, command: str, form: str, name: str) -> None:
    """Whatever the form, and whether columns are broken and dropped or not: escapes are shown instead."""
    Path("e.toml").write_text("[[expected]]\ncase = '*'\nbound = 'memory'\nmin_fraction_of_roof = 0.9\n")
    result = _session(tmp_path, name)
    first, *rest = COMMANDS[command].split()
    for width in (40, 80, 300):
        code, out, err = run(first, result, *rest, "--format", form, "--width", width)
        assert code in (0, 1, 3)
        assert out
        assert _quiet(out)
        assert _quiet(err)


def test_the_name_can_still_be_read(run: Run, tmp_path: Path) -> None:
    """As escapes in a table; JSON's own escapes give a program the name itself."""
    result = _session(tmp_path, STEERS)
    assert SHOWN in run("points", result, "--width", 300)[1]
    document = json.loads(run("points", result, "--format", "json")[1])
    assert document["rows"][0]["model"] == STEERS


@pytest.mark.parametrize("name", [STEERS, BREAKS], ids=["steers", "breaks"])
def test_no_message_steers_the_terminal(run: Run, tmp_path: Path, name: str) -> None:
    """Of what was written, left out, not found, or can't be read or compared."""
    result, broken = _session(tmp_path / name, name), tmp_path / name / f"broken {name}.json"
    broken.write_text("{")
    output = tmp_path / f"out {name}.csv"
    said = [
        run("points", tmp_path / name, "-o", output),
        run("points", broken),
        run("points", f"none {name}"),
        run("metrics", result, "--devices", f"none {name}"),
        run("ops", result, f"no such {name}"),
        run("lock", result, "-o", tmp_path / f"e {name}.toml"),
        run("lock", result),
        run("env", result),
        run("audit", tmp_path / name),
        run("trace", result),
        run("trace", f"none {name}"),
        run("nsys", broken),
        run("ncu", broken),
        run("check", result, "--baseline", f"none {name}"),
        run("check", result, "--baseline", result),
        run("check", result, "--expect", f"none {name}"),
        run("compare", result, broken),
        run(f"no such {name}"),
    ]
    assert [code for code, _, _ in said if code not in (0, 1, 2, 3)] == []
    assert output.exists()
    for _, out, err in said:
        assert _quiet(out)
        assert _quiet(err)
