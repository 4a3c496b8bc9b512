"""Records of JSON of several tables, put back into their tables."""

from __future__ import annotations

import json
from typing import Any

import pytest

TABLES = ("kernels", "kinds", "devices", "memcpy", "dram", "nvtx", "operators")


def by_file(text: str) -> list[dict[str, Any]]:
    """Make of what `nsys` or `trace` gave a mapping for each file: what is known of it, its sections, its tables."""
    found: dict[str, dict[str, Any]] = {}
    for record in json.loads(text, parse_constant=pytest.fail):
        table, file = record.pop("table"), record.pop("file")
        if table == "files":
            steps = {"count": record.pop("steps"), "median_s": record.pop("step_s")}
            found[file] = {"file": file, **record, "steps": steps if steps["count"] is not None else None}
            found[file] |= {"sections": {}, **{name: [] for name in TABLES}}
        elif table == "sections":
            found[file]["sections"][record.pop("section")] = record
        else:
            found[file][table].append(record)
    return list(found.values())
