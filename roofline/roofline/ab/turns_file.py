"""Every turn of a comparison in one JSON file, so that it can be judged again by other rules.

Format history
--------------
1   first version: ``kind``, ``schema``, ``at``, ``sides``, ``rules``, ``arguments``, ``told``, and ``cases``, each with
    ``test``, ``case``, ``workload_hash``, ``outcome``, ``why``, the ``effect`` and its ``pairs`` of processes (see
    `roofline.comparison.paired.PairTurns`; ``_s`` are seconds of a turn of ``steps`` steps).
2   ``build`` of each turn.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import asdict
from datetime import UTC, datetime
from pathlib import Path
from tempfile import TemporaryFile
from typing import Any

from roofline.ab.cases import CaseTrial, Trial
from roofline.comparison.paired import SIDES, PairTurns
from roofline.files.writing import write_text

KIND = "roofline-ab"
SCHEMA = 2


class TurnsFileError(ValueError):
    """The file can't be written, or is not of this kind."""


def try_to_write(folder: Path) -> None:
    """Whether a file can be written into the folder, which is made: before a long measurement, not after it.

    :raises TurnsFileError: it can't.
    """
    try:
        folder.mkdir(parents=True, exist_ok=True)
        TemporaryFile(dir=folder).close()
    except OSError as error:
        raise _unwritable(folder, error) from error


def write(trial: Trial, folder: Path, now: datetime | None = None) -> Path:
    """Write ``<UTC time>-ab.json`` into the folder, which is made: whole, or not at all where the disk is full.

    :returns: the file's path.
    :raises TurnsFileError: it can't be written.
    """
    stem = f"{now or datetime.now(UTC):%Y%m%dT%H%M%SZ}-ab"
    try:
        number, path = 1, folder / f"{stem}.json"
        while path.exists():
            number += 1
            path = folder / f"{stem}-{number}.json"
        write_text(path, json.dumps(document(trial, now), indent=1, allow_nan=False) + "\n")
    except OSError as error:
        raise _unwritable(folder, error) from error
    return path


def _unwritable(folder: Path, error: OSError) -> TurnsFileError:
    return TurnsFileError(f"--results {folder}: can't be written ({error.strerror or error}).")


def read(path: Path) -> dict[str, tuple[PairTurns, ...]]:
    """The turns of each case that was compared, by its test.

    :raises TurnsFileError: the file can't be read, or is of another kind or version.
    """
    try:
        content = json.loads(path.read_text(encoding="utf-8"))
        if content["kind"] != KIND or content["schema"] > SCHEMA:
            raise TurnsFileError(f"{path}: {content['kind']} of schema {content['schema']}; this reads {KIND} {SCHEMA}")
        return {case["test"]: tuple(_pair(pair) for pair in case["pairs"]) for case in content["cases"]}
    except OSError as error:
        raise TurnsFileError(f"{path}: can't be read ({error.strerror or error}).") from error
    except (ValueError, KeyError, TypeError) as error:
        if isinstance(error, TurnsFileError):
            raise
        raise TurnsFileError(
            f"{path}: no file of turns ({error!r}). Give one that roofline ab --results wrote."
        ) from error


def document(trial: Trial, now: datetime | None = None) -> dict[str, Any]:
    """Plain JSON values."""
    return {
        "kind": KIND,
        "schema": SCHEMA,
        "at": f"{now or datetime.now(UTC):%Y-%m-%dT%H:%M:%SZ}",
        "sides": {name: _side(trial, name) for name in SIDES},
        "rules": asdict(trial.rules),
        "arguments": list(trial.arguments),
        "told": list(trial.told),
        "cases": [_case(case) for case in trial.cases],
    }


def _side(trial: Trial, name: Any) -> dict[str, Any]:
    side, hello = trial.sides[name], trial.hellos[name]
    return {
        "what": side.what,
        "commit": side.commit,
        "slowdown": side.slowdown,
        "python": hello.python,
        "torch": hello.torch,
    }


def _case(case: CaseTrial) -> dict[str, Any]:
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


def _pair(values: dict[str, Any]) -> PairTurns:
    series: dict[str, Sequence[Any]] = {name: tuple(value) for name, value in values.items() if isinstance(value, list)}
    return PairTurns(**{**values, **series})
