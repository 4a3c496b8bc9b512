"""Results in which all that a user names has one name, and command lines that show them."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

from roofline.schema.record import Flag
from roofline.schema.session import NotMeasured
from tests.roofline import build
from tests.roofline.expectations import build_points

COMMANDS = {
    **{name: f"{name} one" for name in ("points", "metrics", "summary", "ops", "sessions", "history", "audit")},
    "kinds of operations": "ops one --by kind",
    "machines": "machines one other",
    "compare": "compare one --with later",
    "check": "check later --baseline one",
    "another machine": "check other --baseline one",
    "expectations": "check one --expect e.toml",
}
"""What has a table. ``one`` and ``later`` stand for sessions of a machine, ``other`` for that of another one."""


def sessions(folder: Path, name: str) -> dict[str, Path]:
    """The files, by what stands for them in a command line; and ``e.toml`` in the current folder."""
    Path("e.toml").write_text("[[expected]]\ncase = '*'\nbound = 'memory'\nmin_fraction_of_roof = 0.9\n")
    return {
        "one": _session(folder / f"{name}1.json", name, f"lab {name}", hour=10),
        "later": _session(folder / f"{name}2.json", name, f"lab {name}", hour=12),
        "other": _session(folder / f"{name}3.json", name, f"other {name}", hour=14),
    }


def words(line: str, files: Mapping[str, Path]) -> list[object]:
    """A command line with its files."""
    return [files.get(word, word) for word in line.split()]


def _session(path: Path, name: str, label: str, hour: int) -> Path:
    case = build.case(id=f"{name}-train-b32-fp32", model=name)
    operation = build.operation(name=f"my::{name}", shape=f"4x{name}", time_s=0.05)
    flag = Flag(name="unsteady", evidence=f"seen by {name}")
    record = build.timed(operation, case=case, flags=(flag,), work=build_points.compute_work())
    session = build.session(
        build_points.roofs(),
        label=name,
        started_at=f"2026-11-20T{hour}:00:00+00:00",
        notes=(f"note of {name}",),
        arguments=(f"--label={name}",),
        not_measured=(NotMeasured(id=f"other {name}", outcome="failed", reason=f"by {name}"),),
    )
    content = build.document([record], of=session, on=build.machine(label))
    content["benchmarks"][0] |= {"name": f"test_{name}", "fullname": f"t.py::test_{name}"}
    return build.write(path, content)
