"""The environment of a run as Markdown: what a report's section on reproducibility needs."""

from __future__ import annotations

import shlex
from collections.abc import Iterable
from typing import Any

from roofline.results.result import ResultFile
from roofline.schema.session import Machine, Session
from roofline.show.machine_columns import MACHINE_COLUMNS
from roofline.show.render import cell, text_of
from roofline.show.tables import plain_value
from roofline.text.printable import markdown_text
from roofline.text.units import percent, scaled, unit_of


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
    """What is known of a file's machine and run, in words and texts, by the heading that they stand under."""
    values = [(column, plain_value(column, result)) for column in MACHINE_COLUMNS]
    known = [(column.title, text_of(column, value)) for column, value in values if value is not None]
    settings = {} if result.machine is None else _settings(result.machine)
    parts: dict[str, list[tuple[str, Any]]] = {"Machine": [*known], **settings}
    commit = None if result.commit is None else result.commit + (" (with changes)" if result.commit_dirty else "")
    run = [("written", result.written_at)] if result.session is None else _run(result.session)
    parts["Run"] = [*run, ("commit", commit), ("pytest-benchmark", result.pytest_benchmark_version)]
    return {
        heading: [(name, "not known" if value is None else str(value)) for name, value in rows]
        for heading, rows in parts.items()
    }


def _settings(machine: Machine) -> dict[str, list[tuple[str, Any]]]:
    others = {name: value for name, value in machine.versions.items() if name != "python"}
    versions = [(name, _value(f"versions.{name}", value, machine)) for name, value in others.items()]
    limits = [(_words(key), _value(f"limits.{key}", value, machine)) for key, value in machine.limits.items()]
    threads = [(f"threads, {_words(key)}", value) for key, value in machine.threads.items()]
    return {"Versions": versions, "Threads and limits": [*threads, *limits]}


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


def _value(path: str, value: Any, machine: Machine) -> str | None:
    """As text: with the unit that the path's ending says; the reason where there is none."""
    if value is None:
        reason = machine.missing.get(path)
        return None if reason is None else f"not known: {reason}"
    if isinstance(value, bool):
        return "yes" if value else "no"
    unit = unit_of(path)
    # A whole number in a file may be beyond the range of floats: shown as it stands.
    fits = isinstance(value, int | float) and abs(value) < 1e300
    return scaled(value, unit) if unit is not None and fits else str(value)


def _words(key: str) -> str:
    """A key without its unit, as people write it."""
    return (key if unit_of(key) is None else key.rpartition("_")[0]).replace("_", " ")
