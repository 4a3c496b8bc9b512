"""The environment of a run as Markdown: what a report's section on reproducibility needs."""

from __future__ import annotations

import shlex
from collections.abc import Iterable
from typing import Any

from roofline.results.result import ResultFile
from roofline.schema.session import Machine, Session
from roofline.show.machine_columns import MACHINE_COLUMNS, machine_columns
from roofline.show.render import cell, text_of
from roofline.show.tables import Column, plain_value
from roofline.text.printable import markdown_text
from roofline.text.units import percent, scaled


def environment(result: ResultFile) -> str:
    """Markdown of one file: machine, device, versions, limits, run."""
    lines = [f"# Environment: {markdown_text(result.machine_label)}", "", f"From {markdown_text(result.path.name)}."]
    if result.machine is None:
        lines += ["", "Written by another project: only what pytest-benchmark records is known."]
    for heading, rows in environment_parts(result).items():
        lines += ["", f"## {heading}", "", *_table(rows)]
    if result.session is not None:
        lines += _not_measured(result.session)
    return "\n".join(lines) + "\n"


def environment_parts(result: ResultFile) -> dict[str, list[tuple[str, str]]]:
    """List what is known of a file's machine and run, names with texts, by the heading that they stand under."""
    values = [(column, plain_value(column, result)) for column in MACHINE_COLUMNS]
    parts: dict[str, list[tuple[str, Any]]] = {
        "Machine": [(column.title, text_of(column, value)) for column, value in values if value is not None]
    }
    if result.machine is not None:
        parts |= {"Versions": [], "Threads and limits": []}
        for column in machine_columns([result])[len(MACHINE_COLUMNS) :]:
            heading = "Versions" if column.name.startswith("version_") else "Threads and limits"
            parts[heading].append((column.title, _text(column, result, result.machine)))
    commit = None if result.commit is None else result.commit + (" (with changes)" if result.commit_dirty else "")
    run = [("written", result.written_at)] if result.session is None else _run(result.session)
    parts["Run"] = [*run, ("commit", commit), ("pytest-benchmark", result.pytest_benchmark_version)]
    return {
        heading: [(name, "not known" if value is None else str(value)) for name, value in rows]
        for heading, rows in parts.items()
    }


def _text(column: Column[ResultFile], result: ResultFile, machine: Machine) -> str | None:
    """Show what a column has of a machine, or why that isn't known."""
    if (value := plain_value(column, result)) is not None:
        return text_of(column, value)
    reason = machine.missing.get(column.path.removeprefix("machine."))
    return None if reason is None else f"not known: {reason}"


def _run(session: Session) -> list[tuple[str, Any]]:
    place, share = session.set, None
    if session.wall_s and session.measuring_s is not None:
        share = f"{scaled(session.measuring_s, 's')} ({percent(session.measuring_s / session.wall_s)} of the wall time)"
    return [
        ("label", session.label),
        ("started", session.started_at),
        *session.noted.items(),
        *([("session", f"{place.index} of {place.count} of the set {place.id}")] if place is not None else []),
        ("wall time", None if session.wall_s is None else scaled(session.wall_s, "s")),
        ("warm-up and timed rounds", share),
        ("arguments", shlex.join(session.arguments) or None),
        *([("incomplete", session.why_incomplete)] if session.why_incomplete is not None else []),
        *(("note", note) for note in session.notes),
    ]


def _not_measured(session: Session) -> list[str]:
    if not session.not_measured:
        return []
    return ["", "## Not measured", "", *_table((case.id, case.why) for case in session.not_measured)]


def _table(pairs: Iterable[tuple[str, str]]) -> list[str]:
    rows = [f"| {cell(name)} | {cell(text)} |" for name, text in pairs]
    return ["| what | value |", "| --- | --- |", *rows]
