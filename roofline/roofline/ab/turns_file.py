"""Keep every turn of a comparison in one JSON file, so that it can be judged again by other rules.

Format history
--------------
1   first version: ``kind``, ``schema``, ``at``, ``sides``, ``rules``, ``arguments``, ``told``, and ``cases``, each with
    ``test``, ``case``, ``workload_hash``, ``outcome``, ``why``, the ``effect`` and its ``pairs`` of processes (see
    `roofline.comparison.effects.paired.PairTurns`; ``_s`` are seconds of a turn of ``steps`` steps).
2   ``build`` of each turn.
"""

from __future__ import annotations

import json
from dataclasses import asdict
from datetime import UTC, datetime
from pathlib import Path
from tempfile import TemporaryFile
from typing import Any

from roofline.ab.measuring_in_turns import AbCase, AbResult
from roofline.ab.messages import Hello
from roofline.ab.side import MeasuredSide, WrongOptions
from roofline.comparison.effects.paired import SIDES
from roofline.files.writing import write_text

KIND = "roofline-ab"
SCHEMA = 2


def try_to_write(folder: Path) -> None:
    """Make the folder and try to write into it: before a long measurement, not after it.

    :raises WrongOptions: it can't.
    """
    try:
        folder.mkdir(parents=True, exist_ok=True)
        TemporaryFile(dir=folder).close()
    except OSError as error:
        raise _unwritable(folder, error) from error


def write(result: AbResult, folder: Path, now: datetime | None = None) -> Path:
    """Write ``<UTC time>-ab.json`` into the folder, which is made: whole, or not at all where the disk is full.

    :returns: the file's path.
    :raises WrongOptions: it can't be written.
    """
    stem = f"{now or datetime.now(UTC):%Y%m%dT%H%M%SZ}-ab"
    try:
        number, path = 1, folder / f"{stem}.json"
        while path.exists():
            number += 1
            path = folder / f"{stem}-{number}.json"
        write_text(path, json.dumps(document(result, now), indent=1, allow_nan=False) + "\n")
    except OSError as error:
        raise _unwritable(folder, error) from error
    return path


def _unwritable(folder: Path, error: OSError) -> WrongOptions:
    return WrongOptions(f"--results {folder}: can't be written ({error.strerror or error}).")


def document(result: AbResult, now: datetime | None = None) -> dict[str, Any]:
    """Plain JSON values."""
    return {
        "kind": KIND,
        "schema": SCHEMA,
        "at": f"{now or datetime.now(UTC):%Y-%m-%dT%H:%M:%SZ}",
        "sides": {name: _side(result.sides[name], result.hellos[name]) for name in SIDES},
        "rules": asdict(result.rules),
        "arguments": list(result.arguments),
        "told": list(result.notes),
        "cases": [_case(case) for case in result.cases],
    }


def _side(side: MeasuredSide, hello: Hello) -> dict[str, Any]:
    return {
        "what": side.what,
        "commit": side.commit,
        "slowdown": side.slowdown,
        "python": hello.python,
        "torch": hello.torch,
    }


def _case(case: AbCase) -> dict[str, Any]:
    effect = case.effect
    return {
        "test": case.test,
        "case": case.case,
        "workload_hash": case.workload_hash,
        "outcome": case.outcome,
        "why": case.why,
        "effect": None if effect is None else asdict(effect),
        "pairs": [asdict(pair) for pair in case.pairs],
    }
