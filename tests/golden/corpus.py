"""Figures of `roofline`'s commands over stored files, keyed by command, row and figure.

A redesign may change words and layouts, never a number: `figures/` has what each command of `commands.toml` gave, and
`renamed.toml` leads from the keys stored there to those of today. ``python -m tests.golden.corpus`` stores anew.
"""

from __future__ import annotations

import contextlib
import csv
import io
import json
import math
import os
import re
import shlex
import shutil
import sqlite3
import sys
import tempfile
import tomllib
from collections import Counter
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

from roofline.cli import program as cli
from tests.by_table import by_file

HERE = Path(__file__).parent
FIGURES = HERE / "figures"
RECORDED = HERE.parents[1] / "results" / "amd-epyc-2cpu"
RECORDED_RUNS = ("20261128T013434Z-4d87b3f6.json", "20261128T044652Z-16dce561.json")
"""Those of it whose figures are stored: a run that is added there changes none of them."""

Figures = dict[str, Any]
"""Row and figure, such as "resnet18-train-b16-fp32 on a100 | step_time_s" -> number, truth value, or judgement."""

IDENTITY = (
    *("machine", "run", "device", "case", "test", "model", "mode", "batch", "precision", "section", "file", "row"),
    *(
        "id",
        "name",
        "kernel",
        "operation",
        "operator",
        "kind",
        "dtype",
        "shape",
        "rule",
        "roof",
        "tensor",
        "accumulate",
    ),
    *("level", "quantity", "range", "stream", "commit", "started_at"),
)
"""Columns that tell which row a row is, as far as it has them; equal ones are numbered."""

JUDGED = frozenset({"verdict", "bound", "provenance", "flop_source", "roof_source", "memory_level", "standing", "rule"})
"""Columns whose words are judgements: they are held as numbers are."""


def commands() -> dict[str, list[str]]:
    """Name -> arguments."""
    content = tomllib.loads((HERE / "commands.toml").read_text(encoding="utf-8"))
    return {name: shlex.split(line) for name, line in content.items()}


@contextlib.contextmanager
def inputs() -> Iterator[None]:
    """The stored files, and the recorded results beside them, in the current folder."""
    before = Path.cwd()
    with tempfile.TemporaryDirectory() as folder:
        shutil.copytree(HERE / "inputs", folder, dirs_exist_ok=True)
        Path(folder, "recorded").mkdir()
        for name in RECORDED_RUNS:
            shutil.copy(RECORDED / name, Path(folder, "recorded"))
        shutil.copy(HERE.parents[1] / "perftests" / "expected_bounds.toml", Path(folder, "recorded_bounds.toml"))
        with contextlib.closing(sqlite3.connect(Path(folder, "nsys", "export.sqlite"))) as connection:
            connection.executescript(Path(folder, "nsys", "export.sql").read_text(encoding="utf-8"))
        os.chdir(folder)
        try:
            yield
        finally:
            os.chdir(before)


def figures_of(arguments: Sequence[str]) -> Figures:
    """Run a command and flatten what it shows and writes.

    Raises AssertionError where a command ends with a usage error, for then it holds nothing.
    """
    writes_text = arguments[0] in ("lock", "report")
    out, err = io.StringIO(), io.StringIO()
    with contextlib.redirect_stdout(out), contextlib.redirect_stderr(err):
        code = cli.main([*arguments] if writes_text else [*arguments, "--format", "json"])
    assert code != 2, err.getvalue()
    found: Figures = {"command | exit code": code}
    if arguments[0] == "report":
        for path in sorted(Path("report").rglob("*.csv")):
            with path.open(encoding="utf-8", newline="") as file:
                found |= _flat(
                    [{key: _cell(cell) for key, cell in row.items()} for row in csv.DictReader(file)], path.stem
                )
    elif arguments[0] == "lock":
        found |= _flat(tomllib.loads(out.getvalue()), "")
    elif out.getvalue():
        shown = json.loads(out.getvalue())
        if arguments[0] in ("nsys", "trace"):
            files = by_file(out.getvalue())
            shown = files[0] if Path(arguments[1]).is_file() else {"files": files}
        found |= _flat({"rows": shown} if isinstance(shown, list) else shown, "")
    return found


def _flat(value: Any, where: str) -> Figures:
    found: Figures = {}
    if isinstance(value, dict):
        for key, inner in value.items():
            if isinstance(inner, dict | list):
                found |= _flat(inner, f"{where} {key}".strip())
            elif inner is None or isinstance(inner, int | float) or key in JUDGED:
                found[f"{where or 'whole'} | {key}"] = inner
    elif value and all(isinstance(one, dict) for one in value):
        seen: Counter[str] = Counter()
        for one in value:
            name = " ".join(str(one[key]) for key in IDENTITY if one.get(key) is not None)
            seen[name] += 1
            found |= _flat(one, f"{where} [{name}]" + (f" #{seen[name]}" if seen[name] > 1 else ""))
    else:
        found |= _flat(dict(enumerate(value)), where)
    return found


def _cell(text: str) -> float | str | None:
    try:
        return float(text)
    except ValueError:
        return text or None


def differences(stored: Figures, now: Figures, renamed: Sequence[tuple[str, str]]) -> list[str]:
    """Say each figure that is another one now. What wasn't known may be left out; what is new is no difference."""
    found = []
    for stored_key, value in stored.items():
        key = stored_key
        for old, new in renamed:
            key = re.sub(old, new, key)
        got = now.get(key)
        near = got == value
        if isinstance(got, int | float) and isinstance(value, int | float):
            near = math.isclose(got, value, rel_tol=1e-9)
        if not near:
            found.append(f"{key}: {value!r} before, {got!r} now")
    return found


def renamed() -> list[tuple[str, str]]:
    """Pattern of a stored key, and what it is replaced by, in turn."""
    return [(one["from"], one["to"]) for one in tomllib.loads((HERE / "renamed.toml").read_text("utf-8"))["renamed"]]


def stored(name: str) -> Figures:
    """Read what a command gave when it was stored."""
    found: Figures = {}
    for table in json.loads((FIGURES / f"{name}.json").read_text(encoding="utf-8")):
        for row, values in table["rows"].items():
            found |= {f"{row} | {figure}": value for figure, value in zip(table["figures"], values, strict=True)}
    return found


def store(name: str, found: Figures) -> None:
    """Write the figures, with a line for each row, and rows of the same figures in one table."""
    rows: dict[str, dict[str, Any]] = {}
    for key, value in found.items():
        row, _, figure = key.rpartition(" | ")
        rows.setdefault(row, {})[figure] = float(f"{value:.12g}") if isinstance(value, float) else value
    tables: dict[tuple[str, ...], list[str]] = {}
    for row, figures in rows.items():
        line = f"{json.dumps(row, ensure_ascii=False)}: {json.dumps(list(figures.values()))}"
        tables.setdefault(tuple(figures), []).append(line)
    parts = [
        f'{{"figures": {json.dumps(list(figures))}, "rows": {{\n' + ",\n".join(lines) + "\n}}"
        for figures, lines in tables.items()
    ]
    (FIGURES / f"{name}.json").write_text("[" + ",\n".join(parts) + "]\n", encoding="utf-8")


def main(names: Sequence[str]) -> None:
    """Store the figures of these commands, or of all."""
    FIGURES.mkdir(exist_ok=True)
    chosen = {name: line for name, line in commands().items() if not names or name in names}
    with inputs():
        for name, arguments in chosen.items():
            store(name, figures_of(arguments))


if __name__ == "__main__":
    main(sys.argv[1:])
