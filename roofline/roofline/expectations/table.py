"""Findings as a table: what was expected of each case, what was found, and a note for each that doesn't hold."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Sequence
from typing import Any

from roofline.comparison.gate import lines_of_unreadable
from roofline.expectations.commits import of_several_commits
from roofline.expectations.fraction import Fraction
from roofline.expectations.judging import Checked, Finding, Verdict, at_least, bounded
from roofline.expectations.reasons import reason
from roofline.model.bounds import input_share, launch_s
from roofline.model.points import Point
from roofline.schema.expected import Expected
from roofline.show.columns import percent_of, pick
from roofline.show.tables import Column, Table
from roofline.text.units import counted, first_lines, named, percent

_WORST_FIRST: tuple[Verdict, ...] = ("failed", "not_evaluable", "not_measured", "held", "not_applicable")


def summary(checked: Checked) -> str:
    """How many came to what: ``1 failed, 5 held, 1 unknown device``."""
    counts = Counter(finding.verdict for finding in checked.findings)
    told = [f"{counts[verdict]} {_words(verdict)}" for verdict in _WORST_FIRST if counts[verdict]]
    told = told or ["nothing is expected of these results"]
    told += [f"{counted(len(checked.unreadable), 'file')} not read"] if checked.unreadable else []
    told += [counted(len(checked.unknown_devices), "unknown device")] if checked.unknown_devices else []
    return ", ".join(told)


def findings_table(checked: Checked, *, passed: bool = True, in_full: bool = True) -> Table[Finding]:
    """A row a case and expectation, the worst first.

    :param passed: whether it is a pass; where it is none though all findings hold, the title says so.
    :param in_full: with a line for each case. Else only the first of a kind have theirs.
    """
    rows = sorted(checked.findings, key=lambda finding: _WORST_FIRST.index(finding.verdict))
    barred = checked.all_held and not passed
    mixed = of_several_commits((finding.points for finding in rows), "judged")
    return Table(
        title=f"Expected bounds: {'not passed: ' if barred else ''}{summary(checked)}",
        columns=_COLUMNS,
        rows=rows,
        display=[_BY_NAME[name] for name in _DISPLAYED],
        notes=[
            *_messages(rows, in_full=in_full),
            *first_lines("held, below the floor", [(line, 1) for line in _within(rows)], in_full=in_full),
            *first_lines("held without some sessions", [(line, 1) for line in _left_out(rows)], in_full=in_full),
            *first_lines("held, but roofs changed", [(line, 1) for line in _by_new_roofs(rows)], in_full=in_full),
            *([mixed] if mixed is not None else []),
            *_rest(checked, in_full=in_full),
        ],
    )


def _messages(rows: Sequence[Finding], *, in_full: bool) -> list[str]:
    """What speaks against each verdict but *held*."""
    lines: list[str] = []
    for verdict in _WORST_FIRST:
        told = [(message(finding), 1) for finding in rows if finding.verdict == verdict]
        lines += first_lines(_words(verdict), told, in_full=in_full) if verdict != "held" else []
    return lines


def message(finding: Finding) -> str:
    """What was expected, what was found, the evidence, and the likely reason."""
    head = f"{finding.case} on {finding.machine}: {_words(finding.verdict)}. Expected {wanted(finding.expected)}"
    parts = [f"{head} ({finding.expected.source})"]
    if not finding.claims:
        return ". ".join([*parts, finding.why]) + "."
    parts.append(f"Got {'; '.join(claim.got for claim in finding.claims)}")
    parts.append(standing(finding.points[-1]))
    parts += [finding.why] if finding.why else []
    likely = reason(finding)
    parts += [f"Likely: {likely}"] if likely else []
    return ". ".join(parts) + "."


def wanted(expected: Expected) -> str:
    """An expectation in words: ``compute-bound, at least 40 % of its roof``."""
    parts = [] if expected.bound is None else [bounded(expected.bound)]
    if expected.min_fraction_of_roof is not None:
        parts.append(at_least("roof", expected.min_fraction_of_roof))
    if expected.min_fraction_of_speed_of_light is not None:
        parts.append(at_least("speed_of_light", expected.min_fraction_of_speed_of_light))
    return ", ".join(parts) or "nothing"


def standing(point: Point) -> str:
    """The evidence: where the bound comes from, and how the time of a step divides as far as it is known."""
    record = point.benchmark.record
    step_s = point.step_time_s
    if record is None or not step_s:
        return f"Evidence: {point.bound.evidence}"
    shares = {
        "arithmetic at the roofs": None if point.sol.compute_s is None else point.sol.compute_s / step_s,
        "traffic at the roofs": None if point.sol.memory_s is None else point.sol.memory_s / step_s,
        "launches": None if (launches := launch_s(record, point.roofs)) is None else launches / step_s,
        "waiting for input": input_share(record),
    }
    known = [f"{what} {percent(share)}" for what, share in shares.items() if share is not None]
    busy = point.placement.device_share
    known += [] if busy is None else [f"device busy {percent(busy)}"]
    told = f". Of a step: {', '.join(known)}" if known else ""
    why_none = point.roofs.why_none
    if why_none is not None and why_none not in point.bound.evidence:
        told += f". No roofs: {why_none}"
    return f"Evidence: {point.bound.evidence}{told}"


def _within(rows: Sequence[Finding]) -> list[str]:
    """Floors that hold only because the measurement isn't better known."""
    return [
        f"{finding.case} on {finding.machine}: {claim.expected}; got {claim.got}."
        for finding in rows
        for claim in finding.claims
        if finding.verdict == "held" and "not shown" in claim.got
    ]


def _left_out(rows: Sequence[Finding]) -> list[str]:
    """Of what is held: sessions that it wasn't judged by."""
    return [
        f"{finding.case} on {finding.machine}: held. {finding.why}."
        for finding in rows
        if finding.verdict == "held" and finding.why
    ]


def _by_new_roofs(rows: Sequence[Finding]) -> list[str]:
    """Of what is held: roofs that it wasn't locked under. Lower ones let a slower case hold."""
    return [
        f"{finding.case} on {finding.machine}: held, but roofs changed: {'; '.join(finding.changed_roofs)}."
        for finding in rows
        if finding.verdict == "held" and finding.changed_roofs
    ]


def _rest(checked: Checked, *, in_full: bool) -> list[str]:
    notes = lines_of_unreadable(checked.unreadable, in_full=in_full)
    notes += first_lines("bound otherwise by counters", [(line, 1) for line in checked.counters], in_full=in_full)
    if checked.unexpected:
        notes.append(f"Nothing is expected of: {named(checked.unexpected, in_full=in_full)}")
    if checked.elsewhere:
        counts = Counter(expected.device for expected in checked.elsewhere)
        told = ", ".join(f"{device} ({count})" for device, count in counts.items())
        notes.append(f"Expectations for other devices or machines, not looked at: {told}")
    return [*notes, *checked.unknown_devices]


def _words(verdict: str) -> str:
    return verdict.replace("_", " ")


def _of_point(name: str) -> Column[Finding]:
    """A column of the points, of a finding's newest session."""
    (column,) = pick(name)
    return Column(
        name=column.name,
        title=column.title,
        get=lambda finding: column.get(finding.points[-1]) if finding.points else None,
        show=column.show,
        narrow=column.narrow,
        right=column.right,
    )


def _words_of(name: str, title: str, get: Callable[[Finding], Any], drop: int = 0) -> Column[Finding]:
    return Column(name=name, title=title, get=get, right=False, drop=drop)


def _share_of(name: str, title: str, get: Callable[[Finding], float | None], drop: int = 0) -> Column[Finding]:
    return Column(name=name, title=title, get=get, show=percent_of, drop=drop)


def _known(fraction: Fraction | None, get: Callable[[Fraction], float | None]) -> float | None:
    return None if fraction is None else get(fraction)


_COLUMNS: tuple[Column[Finding], ...] = (
    _words_of("case", "case", lambda finding: finding.case),
    _words_of("machine", "machine", lambda finding: finding.machine),
    Column(name="verdict", title="verdict", get=lambda finding: finding.verdict, show=_words, right=False),
    _words_of("expected_bound", "expected", lambda finding: finding.expected.bound),
    _of_point("bound"),
    _of_point("bound_why"),
    _of_point("bound_evidence"),
    _share_of("min_fraction_of_roof", "least %\nof roof", lambda finding: finding.expected.min_fraction_of_roof, 3),
    _share_of("fraction_of_roof", "% of\nroof", lambda finding: _known(finding.roof, lambda one: one.value), 3),
    _share_of("fraction_of_roof_at_most", "at most", lambda finding: _known(finding.roof, lambda one: one.at_most)),
    _share_of(
        "min_fraction_of_speed_of_light",
        "least %\nof SOL",
        lambda finding: finding.expected.min_fraction_of_speed_of_light,
        2,
    ),
    _share_of(
        "fraction_of_speed_of_light",
        "% of\nSOL",
        lambda finding: _known(finding.speed_of_light, lambda one: one.value),
        2,
    ),
    _share_of(
        "fraction_of_speed_of_light_at_most",
        "at most",
        lambda finding: _known(finding.speed_of_light, lambda one: one.at_most),
    ),
    Column(name="sessions", title="sessions", get=lambda finding: len(finding.points)),
    _words_of("source", "from", lambda finding: finding.expected.source, 4),
    _words_of("message", "message", message),
    _of_point("test"),
    _of_point("file"),
)

_BY_NAME = {column.name: column for column in _COLUMNS}

_DISPLAYED = (
    *("case", "verdict", "expected_bound", "bound", "min_fraction_of_roof", "fraction_of_roof"),
    *("min_fraction_of_speed_of_light", "fraction_of_speed_of_light", "source"),
)
